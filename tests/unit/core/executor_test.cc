// SPDX-License-Identifier: Apache-2.0
// The executor on ordinary memory: all ranks in one thread, resumed in a random order, over real
// data.
#include "exec/executor.hpp"

#include <gtest/gtest.h>

#include "support.hpp"

namespace {

void swap_through_scratch(const weft::Problem& p,
                          weft::Schedule& s) {  // one-shot, sums in rank order
  std::vector<weft::Chunk> all;
  for (const uint32_t peer : p.peers()) {
    s.copy(p.scratch(p.rank()).at(peer), p.in().all());
    s.signal(peer);
  }
  for (const uint32_t peer : p.peers()) s.wait(peer);
  for (uint32_t r = 0; r < p.ranks(); ++r) {
    all.push_back(r == p.rank() ? p.in().all() : p.scratch(r));
  }
  const weft::Chunk out = p.out().all();
  s.reduce(std::span(&out, 1), all);
}

void direct(const weft::Problem& p, weft::Schedule& s) {  // two-shot
  std::vector<weft::Chunk> ins, outs;
  for (uint32_t r = 0; r < p.ranks(); ++r) {
    ins.push_back(p.in()[p.rank()].at(r));
    outs.push_back(p.out()[p.rank()].at(r));
  }
  for (int round = 0; round < 2; ++round) {
    for (const uint32_t peer : p.peers()) s.signal(peer);
    for (const uint32_t peer : p.peers()) s.wait(peer);
    if (round == 0) s.reduce(outs, ins);
  }
}

void chain(const weft::Problem& p, weft::Schedule& s) {  // no all-reduce: only who waits for whom
  if (p.rank() + 1 < p.ranks()) s.wait(p.rank() + 1);
  if (p.rank() > 0) s.signal(p.rank() - 1);
}

void tell(const weft::Problem& p, weft::Schedule& s) {  // the root waits for nobody
  if (p.rank() != 0) {
    s.wait(0);
    s.copy(p.out().all(), p.scratch(0));
    return;
  }
  for (const uint32_t peer : p.peers()) {
    s.copy(p.scratch(0).at(peer), p.in().all());
    s.signal(peer);
  }
}

void show(const weft::Problem& p, weft::Schedule& s) {  // the same without Scratch
  if (p.rank() == 0) return s.signal(p.peers());
  s.wait(0);
  s.copy(p.out().all(), p.in().all().at(0));
}

void many_sources(const weft::Problem& p, weft::Schedule& s) {  // sums its own input over and over
  const std::vector<weft::Chunk> sources(weft::schedule::max_operands(p.ranks()), p.in().all());
  s.reduce(p.out().all(), sources);
}

}  // namespace

WEFT_ALGORITHM(chain, .name = "chain", .summary = "", .op = WEFT_OP_ALL_REDUCE);
WEFT_ALGORITHM(tell, .name = "tell", .summary = "", .op = WEFT_OP_BROADCAST);
WEFT_ALGORITHM(show, .name = "show", .summary = "", .op = WEFT_OP_BROADCAST);
WEFT_ALGORITHM(many_sources, .name = "many_sources", .summary = "", .op = WEFT_OP_ALL_REDUCE);
WEFT_ALGORITHM(swap_through_scratch, .name = "swap", .summary = "", .op = WEFT_OP_ALL_REDUCE);
WEFT_ALGORITHM(direct, .name = "direct", .summary = "", .op = WEFT_OP_ALL_REDUCE);

namespace weft::exec {
namespace {

/// A few calls, every other one on the second stream. Threads resume them if `seed` is 0.
void run_calls(uint32_t n, const weft_algorithm& algorithm, uint64_t count, uint32_t seed) {
  const uint32_t calls = count >= 100 ? 5 : n < 5 ? depth_of(n) + 5 : 20;
  Group group(n);
  std::vector<std::vector<int32_t>> ins, outs;
  for (uint32_t call = 0; call < calls; ++call) {
    for (uint32_t r = 0; r < n; ++r) {
      ins.emplace_back(count);
      for (uint64_t i = 0; i < count; ++i) ins.back()[i] = value(r, call, i);
      outs.emplace_back(count, -1);
    }
  }
  for (uint32_t call = 0; call < calls; ++call) {
    for (uint32_t r = 0; r < n; ++r) {
      group.add(r, algorithm, count, ins[call * n + r].data(), outs[call * n + r].data(), call % 2);
    }
  }
  seed == 0 ? group.run_on_threads() : group.run(seed);
  for (uint32_t call = 0; call < calls; ++call) {
    for (uint64_t i = 0; i < count; ++i) {
      int32_t sum = 0;
      for (uint32_t r = 0; r < n; ++r) sum += value(r, call, i);
      for (uint32_t r = 0; r < n; ++r) {
        ASSERT_EQ(outs[call * n + r][i], sum) << n << " ranks, " << count << " elements, call "
                                              << call << ", rank " << r << ", " << i;
      }
    }
  }
}

TEST(Executor, SumsRightWhateverTheOrderOfResumes) {
  for (const uint32_t n : {2, 3, 5, 8}) {
    for (const uint64_t count : {1, 8, 9, 100, 3000}) {  // carried, plain, cut into pieces
      for (uint32_t seed = 1; seed < 4; ++seed) {
        run_calls(n, weft_algorithm_swap_through_scratch, count, seed);
        run_calls(n, weft_algorithm_direct, count, seed);
      }
    }
  }
}

TEST(Executor, SumsRightOnThreads) {
  for (const uint64_t count : {1, 100, 3000}) {
    run_calls(3, weft_algorithm_swap_through_scratch, count, 0);
    run_calls(3, weft_algorithm_direct, count, 0);
  }
}

void run_ahead(const weft_algorithm& algorithm, uint64_t count, uint64_t ahead) {
  constexpr uint64_t kRoom = 256 << 10;
  Group group(3, kPatience, kRoom);
  std::deque<std::vector<int32_t>> data, rooms;
  const uint32_t calls = count < 10'000 ? 2 * kMostDepth + 5 : kMiddleAreas + 5;
  for (uint32_t call = 0; call < calls; ++call) {
    data.emplace_back(count);
    for (uint64_t i = 0; i < count; ++i) data.back()[i] = value(0, call, i);
    group.add(0, algorithm, count, data.back().data(), nullptr);
    for (const uint32_t r : {1, 2}) {
      group.add(r, algorithm, count, nullptr, rooms.emplace_back(count).data());
    }
  }
  for (int i = 0; i < 2 * int{kMostDepth}; ++i) group.step(0);
  EXPECT_EQ(group.executor(0).done(), ahead) << "calls, or pieces of one";
  group.run(1);
  for (size_t i = 0; i < rooms.size(); ++i) ASSERT_EQ(rooms[i], data[i / 2]) << "call " << i / 2;
}

TEST(Executor, ARankThatWaitsForNobodyIsTheFurtherAheadTheShorterItsCallsAre) {
  run_ahead(weft_algorithm_tell, 8, depth_of(3));  // carried
  run_ahead(weft_algorithm_tell, 9, depth_of(3));
  run_ahead(weft_algorithm_tell, 500, kMiddleAreas);
  run_ahead(weft_algorithm_tell, 16384, kMiddleAreas);
  run_ahead(weft_algorithm_tell, 16385, 2);
  run_ahead(weft_algorithm_tell, 100'000, 2);  // cut into pieces
  for (const uint64_t count : {8, 500}) run_ahead(weft_algorithm_show, count, depth_of(3));
}

TEST(Executor, CallsThatDifferFailOnEveryRankWithBothCallsNamed) {
  Group group(3);
  std::vector<int32_t> in(64, 1), out(64, 77);
  std::vector<std::vector<int32_t>> outs(3, std::vector<int32_t>(64, 77));
  for (uint32_t r = 0; r < 3; ++r) {
    group.add(r, weft_algorithm_direct, r == 2 ? 33 : 32, in.data(), outs[r].data());
  }
  for (uint32_t rounds = 0; rounds < 10000; ++rounds) {
    for (uint32_t r = 0; r < 3; ++r) {
      if (group.idle(r)) continue;
      const int32_t result = group.step(r);
      if (result <= 0) continue;
      EXPECT_EQ(result, HCCL_E_PARA);
      EXPECT_NE(last_task_error.find("32 int32"), std::string::npos) << last_task_error;
      EXPECT_NE(last_task_error.find("33 int32"), std::string::npos) << last_task_error;
    }
  }
  for (uint32_t r = 0; r < 3; ++r) {
    EXPECT_TRUE(group.idle(r));
    EXPECT_EQ(group.watch(r).health(), HCCL_E_PARA);
    EXPECT_EQ(outs[r], std::vector<int32_t>(64, 77)) << "a differing call must not write";
  }
}

TEST(Executor, AWaitForALostPeerFailsAndNamesIt) {
  Group group(2);
  std::vector<int32_t> in(4, 1), out(4);
  group.add(0, weft_algorithm_direct, 4, in.data(), out.data());
  EXPECT_EQ(group.step(0), WEFT_TASK_AGAIN);
  group.watch(0).peer_lost(1, "its process ended");
  int32_t result = WEFT_TASK_AGAIN;
  for (int i = 0; i < 1000 && result == WEFT_TASK_AGAIN; ++i) result = group.step(0);
  EXPECT_EQ(result, HCCL_E_REMOTE);
  EXPECT_NE(last_task_error.find("rank 1 is gone"), std::string::npos) << last_task_error;
  EXPECT_EQ(group.watch(0).health(), HCCL_E_REMOTE);
}

TEST(Executor, ALostPeerThatDidItsPartFirstDoesNoHarm) {
  Group group(2);
  std::vector<int32_t> in(4, 1), out0(4), out1(4);
  group.add(0, weft_algorithm_swap_through_scratch, 4, in.data(), out0.data());
  group.add(1, weft_algorithm_swap_through_scratch, 4, in.data(), out1.data());
  EXPECT_EQ(group.step(0), WEFT_TASK_AGAIN);
  EXPECT_EQ(group.step(1), WEFT_TASK_DONE);
  group.watch(0).peer_lost(1, "its process ended");
  EXPECT_EQ(group.step(0), WEFT_TASK_DONE);
  EXPECT_EQ(out0, std::vector<int32_t>(4, 2));
}

TEST(Executor, AWaitForAPeerThatLeftFailsAndSaysSo) {
  Group group(2);
  std::vector<int32_t> in(4, 1), out(4);
  group.add(0, weft_algorithm_direct, 4, in.data(), out.data());
  group.watch(0).peer_left(1);
  int32_t result = WEFT_TASK_AGAIN;
  for (int i = 0; i < 1000 && result == WEFT_TASK_AGAIN; ++i) result = group.step(0);
  EXPECT_EQ(result, HCCL_E_REMOTE);
  EXPECT_NE(last_task_error.find("destroyed"), std::string::npos) << last_task_error;
}

TEST(Executor, ARankThatWaitsForAWaitingRankLearnsOfTheDeparture) {
  // A chain: rank 0 waits for rank 1, which waits for rank 2, which has left.
  Group group(3);
  std::vector<int32_t> in(4, 1), out(4);
  for (const uint32_t r : {0, 1}) group.add(r, weft_algorithm_chain, 4, in.data(), out.data());
  group.watch(1).peer_left(2);
  int32_t results[2] = {WEFT_TASK_AGAIN, WEFT_TASK_AGAIN};
  for (int i = 0; i < 1000; ++i) {
    for (const uint32_t r : {0, 1}) {
      if (results[r] == WEFT_TASK_AGAIN) results[r] = group.step(r);
    }
  }
  EXPECT_EQ(results[1], HCCL_E_REMOTE);
  EXPECT_EQ(results[0], HCCL_E_REMOTE);
  EXPECT_NE(group.watch(0).health_text().find("rank 2"), std::string::npos)
      << group.watch(0).health_text();
}

TEST(Executor, ACallNeverWritesToTheBoardOfARankThatHasClosedIt) {
  Group group(2);
  std::vector<int32_t> in(4, 1), out(4);
  group.board(1).identity.magic = 0;
  const std::vector<std::byte> before = group.bytes_of_board(1);
  group.add(0, weft_algorithm_swap_through_scratch, 4, in.data(), out.data());
  EXPECT_EQ(group.step(0), HCCL_E_REMOTE);
  EXPECT_EQ(group.bytes_of_board(1), before);
}

TEST(Executor, AStepMayHaveAsManyOperandsAsTheBuilderAllows) {
  Group group(2);
  const uint64_t most = schedule::max_operands(2);
  std::vector<int32_t> in(64, 3), outs[2] = {std::vector<int32_t>(64), std::vector<int32_t>(64)};
  for (const uint32_t r : {0, 1}) {
    group.add(r, weft_algorithm_many_sources, 64, in.data(), outs[r].data());
  }
  group.run(1);
  EXPECT_EQ(outs[0], std::vector<int32_t>(64, static_cast<int32_t>(3 * most)));
}

TEST(Executor, ADroppedCallFailsTheCommunicatorOnAllRanks) {
  Group group(2);
  std::vector<int32_t> in(4, 1), out(4);
  group.add(0, weft_algorithm_direct, 4, in.data(), out.data());
  group.add(1, weft_algorithm_direct, 4, in.data(), out.data());
  EXPECT_EQ(group.step(0), WEFT_TASK_AGAIN);
  group.drop(1);
  EXPECT_EQ(group.watch(1).health(), HCCL_E_UNAVAIL);
  EXPECT_EQ(group.executor(1).skipped(), 1u);
  int32_t result = WEFT_TASK_AGAIN;
  for (int i = 0; i < 1000 && result == WEFT_TASK_AGAIN; ++i) result = group.step(0);
  EXPECT_EQ(result, HCCL_E_REMOTE);
}

TEST(Executor, ACallThatFailsBeforeItsTurnDoesNotCountAsDone) {
  Group group(2);
  std::vector<int32_t> in(4, 1), out(4);
  group.add(0, weft_algorithm_direct, 4, in.data(), out.data(), 0);
  group.add(0, weft_algorithm_direct, 4, in.data(), out.data(), 1);
  EXPECT_EQ(group.step(0, 0), WEFT_TASK_AGAIN);
  group.drop(0, 1);
  EXPECT_EQ(group.executor(0).done(), 0u) << "the first one is still running";
  EXPECT_EQ(group.finish(0, 0), HCCL_E_UNAVAIL) << "its communicator has failed";
  EXPECT_EQ(group.executor(0).done(), 1u);
  EXPECT_EQ(group.executor(0).skipped(), 1u);
}

TEST(Executor, CountsCallsThatEndedHoweverTheyEnded) {
  Group group(2);
  std::vector<int32_t> in(4, 1), out(4);
  group.add(0, weft_algorithm_direct, 4, in.data(), out.data());
  group.add(0, weft_algorithm_direct, 4, in.data(), out.data());
  EXPECT_EQ(group.step(0), WEFT_TASK_AGAIN);
  EXPECT_EQ(group.executor(0).done() + group.executor(0).skipped(), 0u);
  group.watch(0).peer_left(1);
  while (!group.idle(0)) group.step(0);
  EXPECT_EQ(group.executor(0).done() + group.executor(0).skipped(), 2u);
}

TEST(Executor, AWaitEndsAtItsTimeOutOnAllRanks) {
  Group group(3, std::chrono::milliseconds(20));
  std::vector<int32_t> in(4, 1), out(4);
  for (const uint32_t r : {0, 1}) group.add(r, weft_algorithm_direct, 4, in.data(), out.data());
  int32_t results[2] = {WEFT_TASK_AGAIN, WEFT_TASK_AGAIN};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (results[0] == WEFT_TASK_AGAIN || results[1] == WEFT_TASK_AGAIN) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    for (const uint32_t r : {0, 1}) {
      if (results[r] == WEFT_TASK_AGAIN) results[r] = group.step(r);
    }
  }
  EXPECT_EQ(results[0], HCCL_E_TIMEOUT);
  EXPECT_EQ(results[1], HCCL_E_TIMEOUT);
  EXPECT_NE(last_task_error.find("rank 2"), std::string::npos) << last_task_error;
}

TEST(Executor, CallsOnTwoStreamsRunInTheOrderOfIssue) {
  Group group(1);
  std::vector<int32_t> a(1), b(1);
  // A single rank copies at once; the second call is resumed first and must wait for its turn.
  auto copy_plan = [](std::vector<int32_t>& in, std::vector<int32_t>& out, Task& task,
                      ExecPlan& plan, Executor& executor, uint64_t call) {
    schedule::Schedule s;
    s.shape = {WEFT_OP_ALL_REDUCE, 1, 0, 0};
    s.operands = {{WEFT_SPACE_OUT, 0, 0, 0, 1}, {WEFT_SPACE_IN, 0, 0, 0, 1}};
    s.steps = {{WEFT_VERB_COPY, 0, 0, 1, 1}};
    plan.plan = schedule::bind(s, {1, 4, kScratch});
    task.executor = &executor;
    task.plan = &plan;
    task.in = in.data();
    task.out = out.data();
    task.first_call = task.last_call = call;
  };
  std::vector<int32_t> first{41}, second{42}, out{0};
  Task tasks[2];
  ExecPlan plans[2];
  copy_plan(first, out, tasks[0], plans[0], group.executor(0), 1);
  copy_plan(second, out, tasks[1], plans[1], group.executor(0), 2);
  EXPECT_EQ(Executor::run(&tasks[1].base), WEFT_TASK_AGAIN);
  EXPECT_EQ(out[0], 0);
  EXPECT_EQ(Executor::run(&tasks[0].base), WEFT_TASK_DONE);
  EXPECT_EQ(out[0], 41);
  EXPECT_EQ(Executor::run(&tasks[1].base), WEFT_TASK_DONE);
  EXPECT_EQ(out[0], 42);
}

}  // namespace
}  // namespace weft::exec
