// SPDX-License-Identifier: Apache-2.0
// Computing that a host thread does while collectives are on their way: in registers, so that it
// needs a core and nothing else.
#pragma once

#include <chrono>
#include <cstdint>

namespace weft::tools {

class Work {
 public:
  /// Measures how fast this thread is: about 1 ms.
  Work();

  /// How long run() takes on a core of its own.
  void set(std::chrono::duration<double> time);
  void run() const;

 private:
  double steps_a_second_;
  uint64_t steps_ = 0;
};

}  // namespace weft::tools
