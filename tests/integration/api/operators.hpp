// SPDX-License-Identifier: Apache-2.0
// The table that the tests of the operators are driven by: groups, algorithms and cases.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "cases.hpp"
#include "policy_file.hpp"

namespace weft::test {

/// A group that runs all cases of an operator.
struct Shape {
  uint32_t ranks;
  Layout layout;
};
void PrintTo(const Shape& shape, std::ostream* out);
std::string shape_name(const testing::TestParamInfo<Shape>& given);
std::vector<Shape> shapes();

struct Algorithm {
  std::string name;
  bool rank_order;  // it declares to reduce in the order of the ranks
};
/// All algorithms of the plugins of this tree.
std::vector<Algorithm> algorithms_of(Op op);

/// `body` gets a communicator for each algorithm in turn: the policy file says which one.
void for_each_algorithm(Rank& rank, const PolicyFile& policy, Op op,
                        const std::vector<Algorithm>& algorithms,
                        const std::function<void(HcclComm, const Algorithm&)>& body);

/// Runs an operator with every type, reduction, length, place and algorithm; roots, kinds of memory
/// and NULL buffers take turns. Larger groups run a part of the cases, in which all of these occur.
void run_all(const Shape& shape, Op op, const std::vector<Place>& places = {Place::kApart});

}  // namespace weft::test
