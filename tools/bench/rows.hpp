// SPDX-License-Identifier: Apache-2.0
// Where the rows of a bench go as they are finished.
#pragma once

#include "bench/team.hpp"

namespace weft::tools {

class Rows {
 public:
  virtual ~Rows() = default;
  virtual void add(const Row& row) = 0;
};

}  // namespace weft::tools
