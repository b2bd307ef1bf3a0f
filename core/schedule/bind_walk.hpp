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
  std::vector<uint32_t> signals(schedule.shape.ranks, 0);
  std::vector<uint32_t> waits(schedule.shape.ranks, 0);
  for (const Step& step : schedule.steps) {
    const bool is_signal = step.verb == WEFT_VERB_SIGNAL;
    if (!is_signal && step.verb != WEFT_VERB_WAIT) {
      on_move(step);
      continue;
    }
    PlanStep sync;
    sync.opcode = is_signal ? Opcode::kSignal : Opcode::kWait;
    sync.peer = step.peer;
    sync.ordinal = ordinal_of(step.peer, ++(is_signal ? signals : waits)[step.peer]);
    on_sync(sync);
  }
}

}  // namespace weft::schedule
