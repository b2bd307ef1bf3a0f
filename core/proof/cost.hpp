// SPDX-License-Identifier: Apache-2.0
// What a call takes by its schedules, whatever the sizes.
#pragma once

#include <cstdint>
#include <span>

#include "schedule/schedule.hpp"

namespace weft::proof {

struct Cost {
  uint64_t steps = 0;           // of the rank that has most
  uint32_t rounds = 0;          // signals on the longest chain
  double sent = 0;              // blocks that leave the memory of a rank, or that it writes to
                                // peers: of the rank that sends most
  uint32_t scratch_blocks = 0;  // of each rank
  bool writes_to_peers = false;
};

/// Of one call. Schedules are by rank.
[[nodiscard]] Cost cost(std::span<const schedule::Schedule> schedules);

}  // namespace weft::proof
