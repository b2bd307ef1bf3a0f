// SPDX-License-Identifier: Apache-2.0
// How long a call took, for who wants to know.
#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "support.hpp"

WEFT_EXTERN_ALGORITHM(swap_through_scratch);

namespace weft::exec {
namespace {

using Clock = std::chrono::steady_clock;

class Times final : public CallTimes {
 public:
  void add(std::chrono::nanoseconds time) noexcept override { all.push_back(time); }
  std::vector<std::chrono::nanoseconds> all;
};

TEST(CallTimes, GoFromIssueOrFromTheEndBeforeToTheEnd) {
  Group group(2);
  group.time_calls();
  int32_t in[2] = {3, 5};
  int32_t out[2][3] = {};
  Times times;
  Task* mine[3];
  const auto start = Clock::now();
  for (uint32_t r = 0; r < 2; ++r) {
    for (int i = 0; i < 3; ++i) {
      Task& task = group.add(r, weft_algorithm_swap_through_scratch, 1, &in[r], &out[r][i]);
      if (r == 0) mine[i] = &task;
      task.issued_at = start;
      if (r == 0 && i != 1) task.times = &times;  // the second is nobody's business
    }
  }
  EXPECT_EQ(group.step(0), WEFT_TASK_AGAIN);
  EXPECT_TRUE(times.all.empty()) << "it has not ended";
  EXPECT_EQ(group.step(1), 0);
  EXPECT_EQ(group.finish(0), 0);
  ASSERT_EQ(times.all.size(), 1u);
  EXPECT_GT(times.all[0].count(), 0);
  const auto first_end = start + times.all[0];
  EXPECT_EQ(group.step(1), WEFT_TASK_AGAIN);
  EXPECT_EQ(group.finish(0), 0);
  EXPECT_EQ(times.all.size(), 1u);
  const auto later = Clock::now();
  EXPECT_EQ(group.finish(1), 0);
  EXPECT_EQ(group.step(1), WEFT_TASK_AGAIN);
  EXPECT_EQ(group.finish(0), 0);
  ASSERT_EQ(times.all.size(), 2u);
  EXPECT_LE(times.all[1], Clock::now() - first_end) << "the call before is not in it";
  EXPECT_EQ(group.finish(1), 0);
  // Issued after all that was before.
  Task& last = group.add(0, weft_algorithm_swap_through_scratch, 1, in, out[0]);
  last.times = &times;
  last.issued_at = Clock::now();
  EXPECT_EQ(group.step(0), WEFT_TASK_AGAIN);
  group.add(1, weft_algorithm_swap_through_scratch, 1, in, out[1]);
  EXPECT_EQ(group.finish(1), 0);
  EXPECT_EQ(group.finish(0), 0);
  ASSERT_EQ(times.all.size(), 3u);
  EXPECT_LE(times.all[2], Clock::now() - last.issued_at);
  EXPECT_LT(later, last.issued_at);
  EXPECT_EQ(mine[1]->times, nullptr);
}

TEST(CallTimes, AreNotToldOfACallThatFails) {
  Group group(2);
  group.time_calls();
  std::vector<int32_t> in(2, 1), out(2, 7);
  Times times;
  for (uint32_t r = 0; r < 2; ++r) {
    Task& task = group.add(r, weft_algorithm_swap_through_scratch, r + 1, in.data(), out.data());
    task.times = &times;
    task.issued_at = Clock::now();
  }
  EXPECT_EQ(group.step(0), WEFT_TASK_AGAIN);
  EXPECT_EQ(group.finish(1), HCCL_E_PARA);
  EXPECT_EQ(group.finish(0), HCCL_E_PARA);
  EXPECT_TRUE(times.all.empty());
}

}  // namespace
}  // namespace weft::exec
