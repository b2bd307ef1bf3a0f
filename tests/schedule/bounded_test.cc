// SPDX-License-Identifier: Apache-2.0
// In the tasks engine a signal waits when too many of its predecessors to the same rank have not
// been waited for. Every algorithm of this tree ends all the same, whatever the timing: no choice
// of what runs first can make ranks wait for each other, since steps only ever become possible.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "base/op_names.hpp"
#include "exec/task_layout.hpp"
#include "schedule/builder.hpp"
#include "schedule/partners.hpp"
#include "support.hpp"

namespace weft::schedule {
namespace {

/// The least that the ring takes: it stops a sender at the border of a half only.
constexpr uint32_t kRoom = exec::kHalfRing;

struct Sync {
  bool signals = false;
  uint32_t peer = 0;
};

/// What a rank of the tasks engine signals and waits for in a call: it meets its partners, does
/// its steps, and meets them again.
std::vector<Sync> syncs_of(const std::vector<Schedule>& schedules, uint32_t rank) {
  const std::vector<bool> all =
      partners(schedules[rank].shape, [&](const Shape& shape) { return schedules[shape.rank]; });
  std::vector<Sync> syncs;
  const auto meet = [&] {
    for (const bool signals : {true, false}) {
      for (uint32_t peer = 0; peer < all.size(); ++peer) {
        if (all[peer]) syncs.push_back({signals, peer});
      }
    }
  };
  meet();
  for (const Step& step : schedules[rank].steps) {
    if (step.verb == WEFT_VERB_SIGNAL) syncs.push_back({true, step.peer});
    if (step.verb == WEFT_VERB_WAIT) syncs.push_back({false, step.peer});
  }
  meet();
  return syncs;
}

/// Ranks that cannot go on; empty if all come to their end.
std::vector<uint32_t> stuck(const std::vector<Schedule>& schedules, uint32_t room) {
  const auto n = static_cast<uint32_t>(schedules.size());
  std::vector<std::vector<Sync>> programs;
  for (uint32_t r = 0; r < n; ++r) programs.push_back(syncs_of(schedules, r));
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
  std::vector<uint32_t> ranks;
  for (uint32_t r = 0; r < n; ++r) {
    if (at[r] < programs[r].size()) ranks.push_back(r);
  }
  return ranks;
}

std::vector<Schedule> emit_with(const plugin::Algorithm& algorithm, uint32_t ranks, uint32_t root,
                                const std::vector<int64_t>& params) {
  std::vector<Schedule> all;
  for (uint32_t r = 0; r < ranks; ++r) {
    const Shape shape{algorithm.table.op, ranks, r, root};
    all.push_back(emit(algorithm.table, algorithm.name.c_str(), shape, params));
  }
  return all;
}

TEST(Bounded, EveryAlgorithmEndsWithTheSignalsThatTheRingCanHold) {
  size_t seen = 0;
  std::vector<uint32_t> sizes = {33};
  for (uint32_t n = 2; n <= 17; ++n) sizes.push_back(n);
  for (const plugin::Algorithm& each : plugins().algorithms()) {
    std::vector<int64_t> most = defaults(each);
    for (size_t i = 0; i < most.size(); ++i) most[i] = each.params[i].max;
    for (const uint32_t n : sizes) {
      for (const uint32_t root : {0u, n - 1}) {
        if (n < each.table.min_ranks || (root != 0 && !has_root(each.table.op))) continue;
        for (const std::vector<int64_t>& params : {defaults(each), most}) {
          EXPECT_TRUE(stuck(emit_with(each, n, root, params), kRoom).empty())
              << each.name << " n=" << n << " root=" << root;
          ++seen;
        }
      }
    }
  }
  EXPECT_GT(seen, 40 * 2 * sizes.size());
}

TEST(Bounded, AScheduleThatRunsAheadIsFoundToBeStuck) {
  Schedule ahead;
  ahead.shape = {WEFT_OP_BARRIER, 2, 0, 0};
  Schedule behind = ahead;
  behind.shape.rank = 1;
  const auto add = [](Schedule& schedule, uint32_t verb) {
    schedule.steps.push_back({verb, 1 - schedule.shape.rank, 0, 0, 0});
  };
  for (uint32_t i = 0; i <= kRoom; ++i) add(ahead, WEFT_VERB_SIGNAL);
  add(ahead, WEFT_VERB_SIGNAL);
  add(ahead, WEFT_VERB_WAIT);
  // Rank 1 signals in its turn only when it runs ahead itself.
  for (uint32_t i = 0; i < kRoom + 2; ++i) add(behind, WEFT_VERB_SIGNAL);
  for (uint32_t i = 0; i < kRoom + 2; ++i) add(behind, WEFT_VERB_WAIT);
  for (uint32_t i = 0; i < kRoom + 1; ++i) add(ahead, WEFT_VERB_WAIT);
  EXPECT_EQ(stuck({ahead, behind}, kRoom), (std::vector<uint32_t>{0, 1}));
  EXPECT_TRUE(stuck({ahead, behind}, 2 * kRoom).empty());
}

}  // namespace
}  // namespace weft::schedule
