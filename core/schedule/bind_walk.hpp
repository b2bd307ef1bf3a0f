// SPDX-License-Identifier: Apache-2.0
// What both binders do with a schedule: number its signals and waits, hand on its moves.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/plan.hpp"

namespace weft::schedule {

/// Calls on_sync(step) for every signal and wait, as a PlanStep with its ordinal, and on_move(step)
/// for every copy and reduce, as the schedule has it. Throws Error.
template <class OnSync, class OnMove>
void walk(const Schedule& schedule, const OnSync& on_sync, const OnMove& on_move) {
  const uint32_t ranks = schedule.shape.ranks;
  std::vector<uint32_t> ordinals(size_t{2} * ranks, 0);  // of signals, of waits
  for (const Step& step : schedule.steps) {
    const bool is_signal = step.verb == WEFT_VERB_SIGNAL;
    if (!is_signal && step.verb != WEFT_VERB_WAIT) {
      on_move(step);
      continue;
    }
    PlanStep sync;
    sync.opcode = is_signal ? Opcode::kSignal : Opcode::kWait;
    sync.peer = step.peer;
    sync.ordinal = ordinal_of(step.peer, ++ordinals[(is_signal ? 0 : ranks) + step.peer]);
    on_sync(sync);
  }
}

}  // namespace weft::schedule
