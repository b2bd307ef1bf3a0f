// SPDX-License-Identifier: Apache-2.0
// What the processes of a group of ranks share. Part of ranks.hpp's implementation.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "ranks.hpp"

namespace weft::test {

inline constexpr uint32_t kMaxRanks = 64;

/// In memory of all processes of a group.
struct Shared {
  std::chrono::steady_clock::time_point deadline;
  std::atomic<uint32_t> failed;      // some rank has: nobody shall wait for it
  std::atomic<uint32_t> arrived;     // in this round of sync()
  std::atomic<uint32_t> generation;  // rounds of sync() so far
  std::atomic<uint32_t> counters[Rank::kCounters];
  std::atomic<bool> may_end[kMaxRanks];  // the process of this rank ends itself on purpose
  HcclRootInfo root;
  char notes[kMaxRanks][200];
};

/// Another rank has failed, or time is up; this rank only stops.
struct Stopped {};

}  // namespace weft::test
