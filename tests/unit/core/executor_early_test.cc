// SPDX-License-Identifier: Apache-2.0
// Calls that begin before those ahead of them on the stream have ended.
#include <gtest/gtest.h>

#include "exec/executor.hpp"
#include "support.hpp"

WEFT_EXTERN_ALGORITHM(swap_through_scratch);
WEFT_EXTERN_ALGORITHM(direct);
WEFT_EXTERN_ALGORITHM(tell);

namespace weft::exec {
namespace {

TEST(EarlyCalls, CallsMayBeginBeforeThoseAheadOfThemHaveEnded) {
  constexpr uint32_t kCalls = 3 * kMostDepth;
  for (const uint32_t n : {2u, 3u, 20u}) {
    const uint32_t calls = n == 20 ? 100 : kCalls;
    for (const uint64_t count : {1u, 20u}) {  // carried, and not
      Group group(n);
      std::deque<std::vector<int32_t>> ins, outs;
      std::vector<std::vector<Task*>> tasks(n);
      for (uint32_t call = 0; call < calls; ++call) {
        const weft_algorithm& algorithm = call % 5 == 4   ? weft_algorithm_direct
                                          : call % 7 == 6 ? weft_algorithm_tell
                                                          : weft_algorithm_swap_through_scratch;
        for (uint32_t r = 0; r < n; ++r) {
          std::vector<int32_t>& in = ins.emplace_back(count);
          for (uint64_t i = 0; i < count; ++i) in[i] = value(r, call, i);
          std::vector<int32_t>& out = outs.emplace_back(count, -1);
          tasks[r].push_back(&group.add(r, algorithm, count, in.data(), out.data()));
        }
      }
      // Each rank begins a few more, then goes on a little with the oldest one.
      std::mt19937 random(n);
      std::vector<size_t> next(n, 0);
      uint32_t early = 0;
      const auto deadline = std::chrono::steady_clock::now() + kPatience;
      const auto busy = [&] {
        for (uint32_t r = 0; r < n; ++r) {
          if (!group.idle(r)) return true;
        }
        return false;
      };
      while (busy()) {
        ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "stuck";
        const uint32_t r = static_cast<uint32_t>(random() % n);
        for (auto k = random() % 40; k > 0; --k) {
          next[r] = std::max<size_t>(next[r], group.executor(r).done() + 1);
          if (next[r] >= calls || !tasks[r][next[r] - 1]->begun) break;
          group.begin_early(*tasks[r][next[r]]);
          if (!tasks[r][next[r]]->begun) break;
          ++early;
          ++next[r];
        }
        for (auto k = random() % 5; k > 0; --k) ASSERT_LE(group.step(r), 0) << last_task_error;
      }
      EXPECT_GT(early, n * calls / 10);
      for (uint32_t call = 0; call < calls; ++call) {
        for (uint64_t i = 0; i < count; ++i) {
          const bool sums = call % 5 == 4 || call % 7 != 6;
          int32_t sum = 0;
          for (uint32_t r = 0; r < (sums ? n : 1); ++r) sum += value(r, call, i);
          for (uint32_t r = sums ? 0 : 1; r < n; ++r) {
            ASSERT_EQ(outs[call * n + r][i], sum) << n << " ranks, call " << call << ", rank " << r;
          }
        }
      }
    }
  }
}

TEST(EarlyCalls, OnlyTheNextCallMayBeginEarlyAndOnlySoMany) {
  Group group(3);
  std::deque<std::vector<int32_t>> rooms;
  std::vector<Task*> tasks;
  const uint32_t most = in_flight_of(depth_of(3));
  for (uint32_t call = 0; call < most + 2; ++call) {
    std::vector<int32_t>& in = rooms.emplace_back(1, 5);
    std::vector<int32_t>& out = rooms.emplace_back(1, -1);
    tasks.push_back(&group.add(0, weft_algorithm_tell, 1, in.data(), out.data()));
  }
  group.begin_early(*tasks[1]);
  EXPECT_FALSE(tasks[1]->begun) << "the first has not begun";
  for (uint32_t call = 0; call < most + 2; ++call) {
    group.begin_early(*tasks[call]);
    EXPECT_EQ(tasks[call]->begun, call < most) << call;
  }
  EXPECT_EQ(group.executor(0).done(), 0u) << "it has done all its steps, but not in its turn";
  EXPECT_EQ(group.step(0), 0);
  EXPECT_EQ(group.executor(0).done(), 1u);
}

TEST(EarlyCalls, ACallThatBeganEarlyFailsWithTheOneBeforeIt) {
  Group group(2);
  std::vector<int32_t> in(4, 1), out(4, 77), other(4, 77);
  Task* tasks[2][2];
  for (uint32_t r = 0; r < 2; ++r) {
    tasks[r][0] =
        &group.add(r, weft_algorithm_swap_through_scratch, r == 0 ? 1 : 2, in.data(), out.data());
    tasks[r][1] = &group.add(r, weft_algorithm_swap_through_scratch, 1, in.data(), other.data());
  }
  for (uint32_t r = 0; r < 2; ++r) {
    for (Task* task : tasks[r]) group.begin_early(*task);
    EXPECT_TRUE(tasks[r][1]->begun);
  }
  for (uint32_t r = 0; r < 2; ++r) {
    EXPECT_EQ(group.finish(r), HCCL_E_PARA);
    EXPECT_EQ(group.finish(r), HCCL_E_PARA);
    EXPECT_EQ(group.executor(r).done(), 2u);
    EXPECT_EQ(group.board(r).progress.done, 0u) << "a peer must not take it for good";
  }
  EXPECT_EQ(other, std::vector<int32_t>(4, 77));
}

TEST(EarlyCalls, ACallThatBeganEarlyDoesNotEndWellInACommunicatorThatHasFailed) {
  Group group(2);
  std::vector<int32_t> in(1, 1), out(1, 77);
  Task* tasks[2][2];
  for (uint32_t r = 0; r < 2; ++r) {
    for (Task*& task : tasks[r]) {
      task = &group.add(r, weft_algorithm_swap_through_scratch, 1, in.data(), out.data());
    }
  }
  EXPECT_EQ(group.step(0), WEFT_TASK_AGAIN);
  group.begin_early(*tasks[0][1]);
  EXPECT_EQ(group.step(1), 0);
  EXPECT_EQ(group.step(1), WEFT_TASK_AGAIN);  // all that rank 0 waits for is there
  const int32_t code = group.watch(0).raise_remote(1, 1, tasks[0][0]->key);
  EXPECT_GT(code, 0);
  EXPECT_EQ(group.finish(0), 0) << "it had begun in its turn";
  EXPECT_EQ(group.finish(0), code);
}

TEST(EarlyCalls, ACallThatBeganEarlyGoesOnOnlyWithAllRanks) {
  Group group(2);
  std::vector<int32_t> in(1, 1), out(1, 77);
  Task& first = group.add(0, weft_algorithm_swap_through_scratch, 1, in.data(), out.data());
  Task& second = group.add(0, weft_algorithm_swap_through_scratch, 1, in.data(), out.data());
  group.add(1, weft_algorithm_swap_through_scratch, 1, in.data(), out.data());
  EXPECT_EQ(group.step(0), WEFT_TASK_AGAIN);
  group.begin_early(second);
  EXPECT_TRUE(first.begun && second.begun);
  EXPECT_EQ(group.step(1), 0);
  group.board(1).identity.magic = closed(Board::kMagic);  // it has done one call and left
  const std::vector<std::byte> before = group.bytes_of_board(1);
  EXPECT_EQ(group.finish(0), 0);
  EXPECT_EQ(group.finish(0), HCCL_E_REMOTE);
  EXPECT_EQ(group.bytes_of_board(1), before);
}

TEST(EarlyCalls, NothingGoesOnAheadOfItsTurnWithARankThatHasGivenUp) {
  Group group(3);
  int32_t in[3] = {3, 5, 7};
  int32_t out[3][3] = {{-1, -1, -1}, {-1, -1, -1}, {-1, -1, -1}};
  Task* tasks[3][3];
  for (uint32_t r = 0; r < 3; ++r) {
    for (int i = 0; i < 3; ++i) {
      const auto& algorithm = i < 2 ? weft_algorithm_swap_through_scratch : weft_algorithm_direct;
      tasks[r][i] = &group.add(r, algorithm, 1, &in[r], &out[r][i]);
    }
  }
  // Rank 0 is early in its second call, so the others have the data of that and must wait. All have
  // begun the third, so rank 1 could go on with that.
  EXPECT_EQ(group.step(0), WEFT_TASK_AGAIN);
  group.begin_early(*tasks[0][1]);
  group.begin_early(*tasks[0][2]);
  EXPECT_EQ(group.step(2), WEFT_TASK_AGAIN);
  EXPECT_EQ(group.step(1), 0);
  EXPECT_EQ(group.step(1), WEFT_TASK_AGAIN);
  group.begin_early(*tasks[1][2]);
  EXPECT_EQ(group.step(2), 0);
  EXPECT_EQ(group.step(2), WEFT_TASK_AGAIN);
  group.begin_early(*tasks[2][2]);
  ASSERT_TRUE(tasks[0][2]->begun && tasks[1][2]->begun && tasks[2][2]->begun);

  group.board(2).identity.gave_up = 1;
  const std::vector<std::byte> before = group.bytes_of_board(2);
  EXPECT_EQ(group.step(1), WEFT_TASK_AGAIN);
  EXPECT_TRUE(tasks[1][1]->ended) << "it waits for rank 0 only";
  EXPECT_EQ(out[1][2], -1);
  EXPECT_EQ(group.bytes_of_board(2), before);
}

// Each resume looks for the peers that the end of a call waits for, does what it can of the calls
// behind it, and, now and then, looks for faults: one of the peers may get there in between.
TEST(EarlyCalls, TheTimeOfAWaitForOnePeerIsNotThatOfAnother) {
  for (int resumes = 1; resumes <= 130; ++resumes) {
    Group group(3);
    int32_t in[3] = {3, 5, 7};
    int32_t out[3][3] = {{-1, -1, -1}, {-1, -1, -1}, {-1, -1, -1}};
    Task* tasks[3][3];
    for (uint32_t r = 0; r < 3; ++r) {
      for (int i = 0; i < 3; ++i) {
        tasks[r][i] = &group.add(r, weft_algorithm_swap_through_scratch, 1, &in[r], &out[r][i]);
      }
    }
    for (const uint32_t r : {0u, 2u}) {
      EXPECT_EQ(group.step(r), WEFT_TASK_AGAIN);
      group.begin_early(*tasks[r][1]);
    }
    EXPECT_EQ(group.step(1), 0);
    EXPECT_EQ(group.step(1), WEFT_TASK_AGAIN) << "both were early";
    group.begin_early(*tasks[1][2]);
    for (int i = 1; i < resumes; ++i) ASSERT_EQ(group.step(1), WEFT_TASK_AGAIN);
    group.begin_early(*tasks[0][2]);
    group.begin_early(*tasks[2][2]);
    on_reduce = [&] { group.board(0).progress.done = 1; };
    EXPECT_EQ(group.step(1), WEFT_TASK_AGAIN) << resumes << ": " << last_task_error;
    on_reduce = nullptr;
    EXPECT_TRUE(tasks[1][2]->ended);
    group.board(2).progress.done = 1;
    EXPECT_EQ(group.step(1), 0) << resumes;
  }
}

TEST(EarlyCalls, ABoardIsLookedAtUntilTheCallMayBeToldOf) {
  Group group(2);
  int32_t in[2] = {3, 5};
  int32_t out[2][2] = {{-1, -1}, {-1, -1}};
  Task* early = nullptr;
  for (uint32_t r = 0; r < 2; ++r) {
    for (int i = 0; i < 2; ++i) {
      Task& task = group.add(r, weft_algorithm_swap_through_scratch, 1, &in[r], &out[r][i]);
      if (r == 0 && i == 1) early = &task;
    }
  }
  EXPECT_EQ(group.step(0), WEFT_TASK_AGAIN);
  group.begin_early(*early);
  EXPECT_EQ(group.step(1), 0);
  EXPECT_EQ(group.step(1), WEFT_TASK_AGAIN);
  const Board::Progress& progress = group.board(1).progress;
  EXPECT_EQ(progress.done, 2u);
  EXPECT_EQ(progress.passed, 1u) << "rank 0 must keep its board for it";
  EXPECT_EQ(group.step(0), 0);
  EXPECT_EQ(group.step(1), 0);
  EXPECT_EQ(progress.passed, 2u);
}

TEST(EarlyCalls, NothingBeginsEarlyWithARankThatHasLeft) {
  Group group(2);
  std::vector<int32_t> in(1, 1), out(1, 77);
  Task& task = group.add(0, weft_algorithm_swap_through_scratch, 1, in.data(), out.data());
  group.board(1).identity.magic = closed(Board::kMagic);
  const std::vector<std::byte> before = group.bytes_of_board(1);
  group.begin_early(task);
  EXPECT_FALSE(task.begun);
  EXPECT_EQ(group.bytes_of_board(1), before);
}

TEST(EarlyCalls, AreToldOfOnlyWhenWhoWasEarlyHasEndedTheOneBefore) {
  Group group(2);
  int32_t in[2] = {3, 5};
  int32_t out[2][3] = {{-1, -1, -1}, {-1, -1, -1}};
  Task* tasks[2][3];
  for (uint32_t r = 0; r < 2; ++r) {
    for (int i = 0; i < 3; ++i) {
      tasks[r][i] = &group.add(r, weft_algorithm_swap_through_scratch, 1, &in[r], &out[r][i]);
    }
  }
  EXPECT_EQ(group.step(0), WEFT_TASK_AGAIN);
  group.begin_early(*tasks[0][1]);
  group.begin_early(*tasks[0][2]);
  EXPECT_EQ(group.step(1), 0) << "rank 0 began this one in its turn";
  EXPECT_EQ(group.step(1), WEFT_TASK_AGAIN);
  EXPECT_EQ(out[1][1], 8) << "its data are there";
  group.begin_early(*tasks[1][2]);
  EXPECT_EQ(group.step(1), WEFT_TASK_AGAIN) << "rank 0 has not ended its first call";
  EXPECT_EQ(out[1][2], 8) << "what follows goes on meanwhile";
  EXPECT_EQ(out[0][0], -1);
  EXPECT_EQ(group.step(0), 0);
  EXPECT_EQ(out[0][0], 8);
  EXPECT_EQ(group.step(1), 0);
  EXPECT_EQ(group.step(1), WEFT_TASK_AGAIN) << "rank 0 has not ended its second call";
  EXPECT_EQ(group.step(0), 0);
  EXPECT_EQ(group.step(1), 0);
  EXPECT_EQ(group.step(0), 0);
  EXPECT_EQ(out[0][2], 8);
}

}  // namespace
}  // namespace weft::exec
