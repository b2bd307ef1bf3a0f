// SPDX-License-Identifier: Apache-2.0
// Which places of a fixed table are free.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <deque>

#include "base/error.hpp"

namespace weft::api {

/// Not thread-safe.
class FreeSlots {
 public:
  explicit FreeSlots(uint32_t most) : most_(most) {}

  /// One that was never taken if there is any, else that which was given back first: a stale handle
  /// stays stale for long. Throws Error (HCCL_E_MEMORY) if all are taken.
  uint32_t take() {
    if (fresh_ < most_) return fresh_++;
    if (used_.empty()) {
      throw Error(
          HCCL_E_MEMORY,
          fmt::format("this process has {} communicators, the most there can be; destroy some",
                      most_));
    }
    const uint32_t oldest = used_.front();
    used_.pop_front();
    return oldest;
  }
  void give_back(uint32_t slot) { used_.push_back(slot); }

 private:
  const uint32_t most_;
  uint32_t fresh_ = 0;  // below: taken at least once
  std::deque<uint32_t> used_;
};

}  // namespace weft::api
