// SPDX-License-Identifier: Apache-2.0
// What a call costs, found from the schedules of all its ranks without data, memory or time.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "schedule/plan.hpp"
#include "schedule/schedule.hpp"

namespace weft::schedule {

/// Bytes of other ranks' memory that a rank reads and writes, all pieces of the call together.
/// What a signal carries counts as written.
struct RankCost {
  uint64_t steps = 0;  // of one piece
  uint64_t read = 0;
  uint64_t written = 0;
};

struct Cost {
  std::vector<RankCost> ranks;
  /// Signals in the longest chain in which each is sent after a wait for the one before it; of one
  /// piece.
  uint32_t rounds = 0;
  uint32_t pieces = 1;
  uint32_t scratch_blocks = 0;  // most of any rank
};

/// `emit` gives the schedule of a rank. Where blocks have lengths of their own, all are taken to
/// have geometry.count elements. Throws Error, also if ranks wait for signals that nobody sends.
[[nodiscard]] Cost cost_of(uint32_t ranks, const Geometry& geometry,
                           const std::function<Schedule(uint32_t rank)>& emit);

}  // namespace weft::schedule
