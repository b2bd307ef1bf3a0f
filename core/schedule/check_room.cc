// SPDX-License-Identifier: Apache-2.0
// Whether a schedule ends where only few signals can be on their way from one rank to another. No
// choice of what runs first can make ranks wait for each other, since steps only ever become
// possible: one run shows it.
#include "schedule/check.hpp"

namespace weft::schedule {
namespace {

constexpr uint32_t kMeeting = UINT32_MAX;

struct Sync {
  bool signals = false;
  uint32_t peer = 0;
  uint32_t step = kMeeting;
};

/// What a rank of the tasks engine signals and waits for in a call: it meets its partners, does its
/// steps, and meets them again.
std::vector<Sync> syncs_of(const Schedule& schedule, const std::vector<bool>& partners) {
  std::vector<Sync> syncs;
  const auto meet = [&] {
    for (const bool signals : {true, false}) {
      for (uint32_t peer = 0; peer < partners.size(); ++peer) {
        if (partners[peer]) syncs.push_back({signals, peer});
      }
    }
  };
  meet();
  for (uint32_t i = 0; i < schedule.steps.size(); ++i) {
    const Step& step = schedule.steps[i];
    if (step.verb == WEFT_VERB_SIGNAL) syncs.push_back({true, step.peer, i});
    if (step.verb == WEFT_VERB_WAIT) syncs.push_back({false, step.peer, i});
  }
  meet();
  return syncs;
}

}  // namespace

Report check_room(std::span<const Schedule> schedules, uint32_t room) {
  const auto n = static_cast<uint32_t>(schedules.size());
  std::vector<std::vector<bool>> partners(n, std::vector<bool>(n, false));
  for (uint32_t r = 0; r < n; ++r) {
    const auto pair = [&](uint32_t q) {
      if (q != r) partners[r][q] = partners[q][r] = true;
    };
    for (const weft_chunk& chunk : schedules[r].operands) pair(chunk.rank);
    for (const Step& step : schedules[r].steps) {
      if (step.verb == WEFT_VERB_SIGNAL || step.verb == WEFT_VERB_WAIT) pair(step.peer);
    }
  }
  std::vector<std::vector<Sync>> programs;
  for (uint32_t r = 0; r < n; ++r) programs.push_back(syncs_of(schedules[r], partners[r]));
  std::vector<size_t> at(n, 0);
  std::vector<uint32_t> flying(size_t{n} * n, 0);  // signals, [from * n + to]
  for (bool moved = true; moved;) {
    moved = false;
    for (uint32_t r = 0; r < n; ++r) {
      for (; at[r] < programs[r].size(); ++at[r], moved = true) {
        const Sync& sync = programs[r][at[r]];
        uint32_t& count = flying[sync.signals ? r * n + sync.peer : sync.peer * n + r];
        if (sync.signals ? count == room : count == 0) break;
        count += sync.signals ? 1 : -1;
      }
    }
  }
  Report found;
  for (uint32_t r = 0; r < n; ++r) {
    if (at[r] == programs[r].size()) continue;
    const Sync& sync = programs[r][at[r]];
    if (found.ok()) {
      found.fault = Fault::kAhead;
      found.text = std::string(fault_name(found.fault)) + ": with " + std::to_string(room) +
                   " signals of one rank to another on their way, as the tasks engine allows, ";
    } else {
      found.text += "; ";
    }
    found.text += "rank " + std::to_string(r) +
                  (sync.signals ? " cannot signal " : " waits for ever for ") +
                  std::to_string(sync.peer);
    if (sync.step == kMeeting) continue;
    found.text += " in step " + std::to_string(sync.step);
    found.evidence.events.push_back({r, 1, sync.step, 0});
  }
  return found;
}

}  // namespace weft::schedule
