// SPDX-License-Identifier: Apache-2.0
// The calls of an operation, cut where rules and algorithms begin and end: within a cell, every
// policy that was named answers every call alike. So what holds for one call of each cell holds for
// all calls, and nothing is sampled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "config/policy.hpp"
#include "config/rules.hpp"

namespace weft::config {

struct Cell {
  Conditions calls;      // what its calls are, but for the name of the communicator
  std::string name;      // the longest pattern that this fits; empty: none in the policies
  Query query;           // one of the calls; borrows from the cells
  bool possible = true;  // some numbers of ranks, hosts and ranks per host in it go together
};

class Cells {
 public:
  /// For one operation and all these policies, which are resolved.
  Cells(uint32_t op, std::initializer_list<const Policy*> policies);

  void visit(const std::function<void(const Cell&)>& each) const;

  /// How many values Cell::name has.
  [[nodiscard]] size_t names() const { return names_.size(); }

 private:
  struct Name {
    std::string pattern;
    std::string example;
  };

  void add_names(const std::vector<const Policy*>& policies);

  uint32_t op_;
  std::vector<Range> bytes_;
  std::vector<Range> ranks_;
  std::vector<Range> hosts_;
  std::vector<Range> ranks_per_host_;
  std::vector<uint32_t> types_;
  std::vector<uint32_t> reduce_ops_;
  std::vector<uint32_t> deterministic_;
  std::vector<Name> names_;
};

}  // namespace weft::config
