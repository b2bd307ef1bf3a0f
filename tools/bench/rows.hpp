// SPDX-License-Identifier: Apache-2.0
// Where the rows of a bench go as they are finished: of one kind.
#pragma once

#include "bench/team.hpp"

namespace weft::tools {

class Rows {
 public:
  virtual ~Rows() = default;
  virtual void add(const Row&) {}
  virtual void add(const Creation&) {}
  virtual void add(const Comparison&) {}
  virtual void add(const Standing&) {}
  virtual void add(const Progress&) {}
};

}  // namespace weft::tools
