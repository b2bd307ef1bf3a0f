// SPDX-License-Identifier: Apache-2.0
// Ranks that are killed, leave or end: the others learn it within seconds, or need not care.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <ostream>
#include <thread>

#include "cases.hpp"
#include "policy_file.hpp"

namespace weft::test {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kNotice{10};

struct Victim {
  uint32_t ranks;
  uint32_t rank;
};

void PrintTo(const Victim& victim, std::ostream* out) {
  *out << "rank " << victim.rank << " of " << victim.ranks;
}

class Killed : public testing::TestWithParam<Victim> {};
std::string name_of_victim(const testing::TestParamInfo<Victim>& given) {
  return "rank_" + std::to_string(given.param.rank) + "_of_" + std::to_string(given.param.ranks);
}
INSTANTIATE_TEST_SUITE_P(Each, Killed,
                         testing::Values(Victim{2, 1}, Victim{2, 0}, Victim{4, 2}, Victim{4, 0},
                                         Victim{8, 7}, Victim{8, 0}),
                         name_of_victim);

/// A vector that is summed again and again.
struct Loop {
  explicit Loop(HcclComm made) : comm(made), data(arena.lend(kBytes)) {}

  /// The text of the error that ended a call, empty if it went well.
  std::string call() const {
    if (HcclAllReduce(data, data, kBytes / 4, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm,
                      stream) == HCCL_SUCCESS &&
        aclrtSynchronizeStream(stream) == ACL_SUCCESS) {
      return "";
    }
    // The runtime only knows that it aborted the stream of the tasks engine.
    if (runs_as_tasks()) HcclBarrier(comm, stream);
    const char* text = aclGetRecentErrMsg();
    return text == nullptr ? "no text" : text;
  }

  static constexpr size_t kBytes = 40000;
  HcclComm comm;
  const Stream stream;
  Arena arena{Memory::kDevice, kBytes};
  std::byte* data;
};

/// Calls until one fails, which it must soon.
std::string call_until_it_fails(const Loop& loop) {
  const Clock::time_point deadline = Clock::now() + kNotice;
  for (;;) {
    std::string text = loop.call();
    if (!text.empty()) return text;
    check(Clock::now() < deadline, "the calls go on without the lost rank");
  }
}

void expect_over(const Loop& loop) {
  HcclResult state = HCCL_SUCCESS;
  ok(HcclGetCommAsyncError(loop.comm, &state));
  check(state == HCCL_E_REMOTE, "HcclGetCommAsyncError says " + std::to_string(state));
  for (int i = 0; i < 2; ++i) {
    refused(HcclBarrier(loop.comm, loop.stream), HCCL_E_REMOTE, {"HcclBarrier", "has failed"});
  }
  ok(HcclCommDestroy(loop.comm));
}

/// Nothing that this process uses has a name that would stay behind it.
void check_nothing_named() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    check(!contains(line, "/dev/shm/") && !contains(line, " /tmp/weft"), "mapped: " + line);
  }
  for (int fd = 0; fd < 1024; ++fd) {
    char target[512] = {};
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    if (readlink(link.c_str(), target, sizeof target - 1) <= 0) continue;
    check(!contains(target, "/dev/shm/") && !contains(target, "/tmp/weft"),
          std::string("open: ") + target);
  }
}

TEST_P(Killed, AKilledRankIsNamedToAllOthers) {
  const Victim victim = GetParam();
  run_ranks(victim.ranks, Layout::kProcesses, [&](Rank& rank) {
    const Loop loop(rank.join());
    check_nothing_named();
    if (rank.rank() == victim.rank) {
      std::thread([&] {  // kills it in the middle of some call
        rank.await(0, 200);
        rank.die();
      })
          .detach();
      for (;;) {
        check(loop.call().empty(), "a call failed before anybody was killed");
        rank.event(0);
      }
    }
    const std::string text = call_until_it_fails(loop);
    check(contains(text, "rank " + std::to_string(victim.rank)),
          "the victim is not named: " + text);
    rank.event(1);
    rank.await(1, victim.ranks - 1);
    expect_over(loop);
  });
}

TEST_P(Killed, ARankThatIsKilledBetweenCallsIsNoticedWithoutACall) {
  const Victim victim = GetParam();
  run_ranks(victim.ranks, Layout::kProcesses, [&](Rank& rank) {
    const Loop loop(rank.join());
    check(loop.call().empty(), "the first call failed");
    rank.sync();
    if (rank.rank() == victim.rank) rank.die();
    eventually(
        [&] {
          HcclResult state = HCCL_SUCCESS;
          ok(HcclGetCommAsyncError(loop.comm, &state));
          return state == HCCL_E_REMOTE;
        },
        "HcclGetCommAsyncError tells of the death");
    refused(HcclBarrier(loop.comm, loop.stream), HCCL_E_REMOTE,
            {"rank " + std::to_string(victim.rank), "is gone"});
    rank.event(1);
    rank.await(1, victim.ranks - 1);
    ok(HcclCommDestroy(loop.comm));
  });
}

TEST(Destroyed, ACallWithoutTheRankThatLeftFailsAndNamesIt) {
  for (const Layout layout : {Layout::kProcesses, Layout::kThreads}) {
    run_ranks(3, layout, [](Rank& rank) {
      const Loop loop(rank.join());
      for (int i = 0; i < 3; ++i) check(loop.call().empty(), "a good call failed");
      if (rank.rank() == 1) {
        ok(HcclCommDestroy(loop.comm));
        rank.await(0, 2);
        return;
      }
      const std::string text = call_until_it_fails(loop);
      check(contains(text, "rank 1") && contains(text, "destroyed"), text);
      rank.event(0);
      rank.await(0, 2);
      expect_over(loop);
    });
  }
}

TEST(Destroyed, ARankMayLeaveBeforeOthersBeginACallThatNeedsItNoMore) {
  const PolicyFile policy(policy_text({{"broadcast", "mesh.broadcast"}}));
  GroupOptions options;
  options.environment = policy.environment();
  const auto body = [](Rank& rank) {
    const Loop loop(rank.join());
    check(loop.call().empty(), "the first call failed");
    if (rank.rank() == 1) rank.await(0, 1);
    std::fill_n(loop.data, Loop::kBytes, std::byte(rank.rank() + 7));
    ok(HcclBroadcast(loop.data, Loop::kBytes, HCCL_DATA_TYPE_INT8, 0, loop.comm, loop.stream));
    loop.stream.synchronize();
    check(loop.data[0] == std::byte{7} && loop.data[Loop::kBytes - 1] == std::byte{7},
          "wrong data");
    ok(HcclCommDestroy(loop.comm));
    if (rank.rank() == 2) rank.event(0);
  };
  run_ranks(3, Layout::kProcesses, body, options);
  run_ranks(3, Layout::kThreads, body, options);
}

TEST(Destroyed, ALaterGroupOfTheSameProcessesWorks) {
  run_ranks(3, Layout::kProcesses, [](Rank& rank) {
    const Loop loop(rank.join());
    if (rank.rank() == 1) {
      ok(HcclCommDestroy(loop.comm));
    } else {
      call_until_it_fails(loop);
      rank.event(0);
      rank.await(0, 2);
      expect_over(loop);
    }
    const Loop next(rank.join());
    for (int i = 0; i < 10; ++i) check(next.call().empty(), "a good call failed");
    ok(HcclCommDestroy(next.comm));
  });
}

/// A few calls of one kind, the last of which some rank leaves behind as it ends.
void end_after_last_call(Rank& rank, Op op, uint32_t who) {
  HcclComm comm = rank.join();
  const Stream stream;
  Arena send(Memory::kDevice, 65536);
  Arena recv(Memory::kDevice, 65536);
  for (uint32_t i = 0; i < 3; ++i) {
    const Case c{op, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, 1000, Place::kApart, who};
    const Trial trial(c, rank.rank(), rank.ranks(), send, recv);
    trial.run(comm, stream);
    stream.synchronize();
    trial.verify();
  }
  if (rank.rank() == who) rank.exit_process();
  ok(HcclCommDestroy(comm));
}

TEST(Ended, ARankThatEndsAfterItsLastCallDoesNotBreakTheLastCallOfOthers) {
  for (const std::string push : {"mesh.broadcast", "mesh.broadcast_push", "ring.broadcast"}) {
    const PolicyFile policy(policy_text({{"broadcast", push}}));
    GroupOptions options;
    options.environment = policy.environment();
    for (const Op op :
         {Op::kAllReduce, Op::kBroadcast, Op::kReduceScatter, Op::kAllGather, Op::kAllToAll}) {
      if (op != Op::kBroadcast && push != "mesh.broadcast") continue;
      for (const uint32_t who : {0u, 2u}) {
        for (int i = 0; i < 4; ++i) {
          run_ranks(
              4, Layout::kProcesses, [&](Rank& rank) { end_after_last_call(rank, op, who); },
              options);
        }
      }
    }
  }
}

TEST(Ended, EverybodyMayEndWithoutDestroying) {
  for (int i = 0; i < 5; ++i) {
    run_ranks(4, Layout::kProcesses, [](Rank& rank) {
      const Loop loop(rank.join());
      check(loop.call().empty(), "a good call failed");
      rank.exit_process();
    });
  }
}

}  // namespace
}  // namespace weft::test
