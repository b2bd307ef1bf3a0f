// SPDX-License-Identifier: Apache-2.0
// What comes of two arms.
#pragma once

#include <vector>

#include "bench/rows.hpp"

namespace weft::tools {

/// Of one size after the other.
class Judgement : public Rows {
 public:
  void add(const Comparison& comparison) override { found_.push_back(comparison); }
  [[nodiscard]] const std::vector<Comparison>& found() const { return found_; }

 private:
  std::vector<Comparison> found_;
};

/// Every arm brings its own policy: nothing in the environment may choose instead, and what each
/// communicator could say is not of interest.
void prepare_arms();

}  // namespace weft::tools
