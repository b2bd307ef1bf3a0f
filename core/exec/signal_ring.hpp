// SPDX-License-Identifier: Apache-2.0
// The counted signals of schedules, made of flags that hold one bit each.
#pragma once

#include <cstdint>
#include <vector>

#include "exec/task_layout.hpp"
#include "exec/task_queue.hpp"

namespace weft::exec {

class SignalRing {
 public:
  explicit SignalRing(uint32_t ranks) : sent_(ranks, 0), received_(ranks, 0) {}

  void signal(TaskQueue& queue, uint32_t peer) {
    const uint64_t number = sent_[peer]++;
    if (number % kHalfRing == 0 && number >= kRing) queue.wait(peer, credit(number));
    queue.record(peer, static_cast<uint32_t>(number % kRing));
  }

  void wait(TaskQueue& queue, uint32_t peer) {
    const uint64_t number = received_[peer]++;
    queue.wait(peer, static_cast<uint32_t>(number % kRing));
    if (number % kHalfRing == kHalfRing - 1) queue.record(peer, credit(number));
  }

 private:
  static uint32_t credit(uint64_t number) {
    return kCreditFlag + static_cast<uint32_t>(number / kHalfRing % 2);
  }

  std::vector<uint64_t> sent_;  // to each peer so far
  std::vector<uint64_t> received_;
};

}  // namespace weft::exec
