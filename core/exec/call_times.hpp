// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

namespace weft::exec {

/// Who wants to know how long a call took. See Setup::times_calls.
class CallTimes {
 public:
  /// A call has ended well. Calls of one communicator end in their order, one at a time.
  virtual void add(std::chrono::nanoseconds time) noexcept = 0;

 protected:
  ~CallTimes() = default;
};

}  // namespace weft::exec
