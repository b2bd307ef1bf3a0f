// SPDX-License-Identifier: Apache-2.0
// In the tasks engine a signal waits when too many of its predecessors to the same rank have not
// been waited for.
#include <gtest/gtest.h>

#include "exec/task_layout.hpp"
#include "support.hpp"

namespace weft::schedule {
namespace {

// The least that the ring takes: it stops a sender at the border of a half only.
static_assert(kSignalRoom == exec::kHalfRing);

TEST(Bounded, AScheduleThatRunsAheadIsFoundToBeStuck) {
  Schedule ahead;
  ahead.shape = {WEFT_OP_BARRIER, 2, 0, 0};
  Schedule behind = ahead;
  behind.shape.rank = 1;
  const auto add = [](Schedule& schedule, uint32_t verb) {
    schedule.steps.push_back({verb, 1 - schedule.shape.rank, 0, 0, 0});
  };
  // Both signal, then both wait.
  for (uint32_t i = 0; i <= kSignalRoom; ++i) add(ahead, WEFT_VERB_SIGNAL);
  for (uint32_t i = 0; i <= kSignalRoom; ++i) add(behind, WEFT_VERB_SIGNAL);
  for (uint32_t i = 0; i <= kSignalRoom; ++i) add(behind, WEFT_VERB_WAIT);
  for (uint32_t i = 0; i <= kSignalRoom; ++i) add(ahead, WEFT_VERB_WAIT);
  const std::vector<Schedule> both = {ahead, behind};
  EXPECT_TRUE(is_rejected(check_room(both), Fault::kAhead,
                          "rank 0 cannot signal 1 in step 4; rank 1 cannot signal 0 in step 4"));
  EXPECT_TRUE(check_room(both, kSignalRoom + 1).ok());
  EXPECT_EQ(check(both, 0).fault, Fault::kAhead);
}

TEST(Bounded, OneThatListensInBetweenIsNot) {
  Schedule ahead;
  ahead.shape = {WEFT_OP_BARRIER, 2, 0, 0};
  Schedule behind = ahead;
  behind.shape.rank = 1;
  for (uint32_t i = 0; i < 10 * kSignalRoom; ++i) {
    ahead.steps.push_back({WEFT_VERB_SIGNAL, 1, 0, 0, 0});
    behind.steps.push_back({WEFT_VERB_WAIT, 0, 0, 0, 0});
  }
  const std::vector<Schedule> both = {ahead, behind};
  EXPECT_TRUE(check_room(both).ok());
}

}  // namespace
}  // namespace weft::schedule
