// SPDX-License-Identifier: Apache-2.0
#include "proof/cost.hpp"

#include <algorithm>
#include <vector>

#include "proof/timeline.hpp"

namespace weft::proof {

Cost cost(std::span<const schedule::Schedule> schedules) {
  Cost total;
  std::vector<double> sent(schedules.size(), 0);
  for (const schedule::Schedule& each : schedules) {
    const uint32_t self = each.shape.rank;
    total.steps = std::max<uint64_t>(total.steps, each.steps.size());
    total.scratch_blocks = std::max(total.scratch_blocks, each.scratch_blocks);
    for (const schedule::Step& step : each.steps) {
      for (const weft_chunk& src : each.srcs(step)) {
        if (src.rank != self) sent[src.rank] += 1.0 / src.parts;
      }
      for (const weft_chunk& dst : each.dsts(step)) {
        if (dst.rank == self) continue;
        sent[self] += 1.0 / dst.parts;
        total.writes_to_peers = true;
      }
    }
  }
  if (!sent.empty()) total.sent = *std::max_element(sent.begin(), sent.end());
  total.rounds = timeline(schedules, 1).rounds;
  return total;
}

}  // namespace weft::proof
