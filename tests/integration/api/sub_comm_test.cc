// SPDX-License-Identifier: Apache-2.0
// Sub communicators: arguments, names, how members meet, and what goes wrong with them.
#include "sub_comm.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cases.hpp"
#include "policy_file.hpp"

namespace weft::test {
namespace {

constexpr uint64_t kNoMember = 0xFFFFFFFF;

void expect_rank(HcclComm comm, uint32_t rank, uint32_t ranks) {
  uint32_t id = 99;
  uint32_t size = 99;
  ok(HcclGetRankId(comm, &id));
  ok(HcclGetRankSize(comm, &size));
  check(id == rank && size == ranks, "rank " + std::to_string(id) + " of " + std::to_string(size));
}

TEST(SubComm, LooksAtItsArgumentsInTheDocumentedOrder) {
  run_ranks(2, Layout::kProcesses, [](Rank& rank) {
    HcclComm comm = join_small(rank);
    HcclComm none = nullptr;
    HcclComm sub = nullptr;
    HcclCommConfig config = small_config();
    HcclCommConfig bad = small_config();
    bad.reserved[8] = 0;
    HcclCommConfig taken = small_config(comm_name(comm));
    uint32_t ids[] = {0, 1};
    uint32_t twice[] = {1, 1};
    uint32_t beyond[] = {0, 2};
    uint32_t three[] = {0, 1, 0};
    const uint32_t self = rank.rank();
    const auto call = HcclCreateSubCommConfig;
    refused(call(&comm, 2, nullptr, kNoMember, 0, nullptr, nullptr), HCCL_E_PTR, {"subComm"});
    ok(call(nullptr, 0, nullptr, kNoMember, 7, nullptr, &sub));
    refused(call(nullptr, 0, nullptr, 5, 7, nullptr, &sub), HCCL_E_PARA, {"rankIds NULL"});
    refused(call(nullptr, 0, ids, kNoMember, 7, nullptr, &sub), HCCL_E_PARA, {"0xFFFFFFFF"});
    refused(call(nullptr, 0, ids, 5, 7, nullptr, &sub), HCCL_E_PARA, {"rankNum"});
    refused(call(nullptr, 2, ids, 5, 2, nullptr, &sub), HCCL_E_PARA, {"subCommRankId", "0..1"});
    refused(call(nullptr, 2, ids, 5, 1, nullptr, &sub), HCCL_E_PTR, {"config"});
    refused(call(nullptr, 2, ids, 5, 1, &bad, &sub), HCCL_E_PTR, {"comm"});
    refused(call(&none, 2, ids, 5, 1, &bad, &sub), HCCL_E_PTR, {"*comm"});
    HcclComm wrong = ids;
    refused(call(&wrong, 2, ids, 5, 1, &bad, &sub), HCCL_E_PARA, {"comm"});
    refused(call(&comm, 3, three, 5, 1, &bad, &sub), HCCL_E_PARA, {"rankNum is 3", "has 2 ranks"});
    refused(call(&comm, 2, beyond, 5, 1, &bad, &sub), HCCL_E_PARA, {"magic"});
    refused(call(&comm, 2, beyond, 5, 1, &taken, &sub), HCCL_E_PARA, {"named"});
    refused(call(&comm, 2, beyond, 5, 1, &config, &sub), HCCL_E_PARA, {"rankIds has 2", "0..1"});
    refused(call(&comm, 2, twice, 5, 1, &config, &sub), HCCL_E_PARA, {"1 twice"});
    refused(call(&comm, 1, &ids[1 - self], 5, 0, &config, &sub), HCCL_E_NOT_FOUND,
            {"without this rank", "0xFFFFFFFF"});
    refused(call(&comm, 2, ids, 5, 1 - self, &config, &sub), HCCL_E_PARA, {"subCommRankId"});
    ok(aclrtSetDevice(7));
    refused(call(&comm, 2, ids, 5, self, &config, &sub), HCCL_E_PARA, {"device is 7"});
    ok(aclrtResetDevice(7));
    ok(aclrtSetDevice(rank.device()));
    check(sub == nullptr, "a failed call gave a communicator");
    // A name that failed is free again, and neither peer has heard of anything.
    ok(call(&comm, 2, ids, 5, self, &config, &sub));
    expect_working(sub, 2);
    ok(HcclCommDestroy(sub));
    ok(HcclCommDestroy(comm));
  });
}

TEST(SubComm, NeedsACurrentDeviceBeforeAnythingElse) {
  GroupOptions options;
  options.device = false;
  const auto body = [](Rank&) {
    HcclComm sub = nullptr;
    refused(HcclCreateSubCommConfig(nullptr, 0, nullptr, kNoMember, 0, nullptr, &sub),
            HCCL_E_RUNTIME, {"aclrtSetDevice"});
  };
  run_alone(body, options);
}

class SubCommIn : public testing::TestWithParam<Layout> {};
INSTANTIATE_TEST_SUITE_P(All, SubCommIn,
                         testing::Values(Layout::kThreads, Layout::kProcesses, Layout::kPairs),
                         [](const auto& test) { return layout_name(test.param); });

TEST_P(SubCommIn, MembersWorkApartFromTheOthersInTheOrderOfRankIds) {
  run_ranks(6, GetParam(), [](Rank& rank) {
    HcclComm comm = join_small(rank);
    // The same id and name in two groups; rank 5 is in none.
    const std::vector<uint32_t> members =
        rank.rank() % 2 == 0 ? std::vector<uint32_t>{4, 0, 2} : std::vector<uint32_t>{3, 1};
    HcclComm sub = nullptr;
    if (rank.rank() == 5) {
      ok(HcclCreateSubCommConfig(&comm, 2, nullptr, kNoMember, 0, nullptr, &sub));
      check(sub == nullptr, "a rank that is no member got a communicator");
    } else {
      ok(create_sub(comm, members, rank.rank(), 77, small_config(), &sub));
      const auto ranks = static_cast<uint32_t>(members.size());
      const auto self = static_cast<uint32_t>(
          std::find(members.begin(), members.end(), rank.rank()) - members.begin());
      expect_rank(sub, self, ranks);
      check(comm_name(sub) == comm_name(comm) + "_sub_77", "the name is " + comm_name(sub));
      const Stream stream;
      Arena send(Memory::kDevice, 1 << 16);
      Arena recv(Memory::kDevice, 3 << 16);
      for (const Op op : {Op::kAllReduce, Op::kAllGather, Op::kBroadcast, Op::kAllToAll}) {
        const Case c{op, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, 1000};
        const Trial trial(c, self, ranks, send, recv);
        trial.run(sub, stream);
        stream.synchronize();
        trial.verify();
      }
    }
    expect_working(comm, 6);
    if (sub != nullptr) ok(HcclCommDestroy(sub));
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(SubCommIn, OutlivesItsParentAndCanBeSplitAgain) {
  run_ranks(4, GetParam(), [](Rank& rank) {
    HcclComm comm = join_small(rank);
    HcclComm half =
        rank.rank() == 3 ? nullptr : sub_of(comm, {2, 1, 0}, rank.rank(), small_config("half"));
    if (half != nullptr) expect_working(half, 3);
    ok(HcclCommDestroy(comm));
    if (half == nullptr) return;
    HcclComm pair = nullptr;
    if (rank.rank() != 1) pair = sub_of(half, {0, 2}, 2 - rank.rank(), small_config("pair"));
    if (pair != nullptr) {
      expect_rank(pair, rank.rank() == 2 ? 0 : 1, 2);
      expect_working(pair, 2);
      ok(HcclCommDestroy(pair));
    }
    ok(HcclCommDestroy(half));
  });
}

TEST_P(SubCommIn, CanBeMadeInADifferentOrderOnEveryRank) {
  run_ranks(3, GetParam(), [](Rank& rank) {
    HcclComm comm = join_small(rank);
    const uint32_t next = (rank.rank() + 1) % 3;
    const uint32_t last = (rank.rank() + 2) % 3;
    const auto name = [](uint32_t a, uint32_t b) {
      return "pair" + std::to_string(std::min(a, b)) + std::to_string(std::max(a, b));
    };
    const auto pair = [&](uint32_t other) {
      const uint32_t self = rank.rank();
      return sub_of(comm, {std::min(self, other), std::max(self, other)}, self,
                    small_config(name(self, other)));
    };
    HcclComm first = pair(next);
    HcclComm second = pair(last);
    // The calls must come in one order on all ranks.
    for (const auto& each : {std::pair<uint32_t, uint32_t>{0, 1}, {0, 2}, {1, 2}}) {
      if (each.first != rank.rank() && each.second != rank.rank()) continue;
      const bool with_next = each.first == next || each.second == next;
      expect_working(with_next ? first : second, 2);
    }
    ok(HcclCommDestroy(first));
    ok(HcclCommDestroy(second));
    ok(HcclCommDestroy(comm));
  });
}

TEST(SubComm, OneThreadCanMakeThoseOfAllRanks) {
  run_alone([](Rank&) {
    int32_t devices[] = {0, 1, 2, 3};
    HcclComm comms[4] = {};
    ok(HcclCommInitAll(4, devices, comms));
    HcclComm subs[4] = {};
    int32_t* data[4] = {};
    aclrtStream streams[4] = {};
    for (uint32_t r = 0; r < 4; ++r) {
      ok(aclrtSetDevice(devices[r]));
      ok(create_sub(comms[r], {r & 2, (r & 2) + 1}, r, 3, small_config("half"), &subs[r]));
      expect_rank(subs[r], r & 1, 2);
      ok(aclrtCreateStream(&streams[r]));
      void* memory = nullptr;
      ok(aclrtMalloc(&memory, 4, ACL_MEM_MALLOC_HUGE_FIRST));
      data[r] = static_cast<int32_t*>(memory);
      *data[r] = static_cast<int32_t>(10 + r);
    }
    ok(HcclGroupStart());
    for (uint32_t r = 0; r < 4; ++r) {
      ok(HcclAllReduce(data[r], data[r], 1, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, subs[r],
                       streams[r]));
    }
    ok(HcclGroupEnd());
    for (uint32_t r = 0; r < 4; ++r) {
      check(*data[r] == (r < 2 ? 21 : 25), "the sum is " + std::to_string(*data[r]));
      ok(aclrtSetDevice(devices[r]));
      ok(aclrtDestroyStream(streams[r]));
      ok(HcclCommDestroy(subs[r]));
      ok(HcclCommDestroy(comms[r]));
    }
  });
}

TEST(SubComm, HundredsLiveSideBySide) {
  run_ranks(2, Layout::kProcesses, [](Rank& rank) {
    constexpr uint64_t kMany = 300;
    rlimit limit{};  // of open files: the first member's process takes four for each
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    HcclComm comm = join_small(rank);
    expect_working(comm, 2);
    const size_t descriptors = open_descriptors();
    std::vector<HcclComm> subs(kMany, nullptr);
    for (uint64_t i = 0; i < kMany; ++i) {
      ok(create_sub(comm, {0, 1}, rank.rank(), i, small_config(), &subs[i]));
    }
    for (const HcclComm sub : subs) expect_working(sub, 2);
    for (const HcclComm sub : subs) ok(HcclCommDestroy(sub));
    rank.sync();
    expect_working(comm, 2);
    eventually([&] { return open_descriptors() < descriptors + kMany; },
               "descriptors are given back");
    rank.sync();
    ok(HcclCommDestroy(comm));
  });
}

TEST(SubComm, NamesAreUniqueOnADeviceUntilTheyAreGivenBack) {
  run_ranks(2, Layout::kProcesses, [](Rank& rank) {
    HcclComm comm = join_small(rank);
    HcclComm sub = sub_of(comm, {0, 1}, rank.rank());
    HcclComm other = nullptr;
    refused(create_sub(comm, {0, 1}, rank.rank(), 2, small_config("sub"), &other), HCCL_E_PARA,
            {"'sub'"});
    refused(create_sub(comm, {rank.rank()}, rank.rank(), 2, small_config("sub"), &other),
            HCCL_E_PARA, {"'sub'"});
    expect_working(sub, 2);
    ok(HcclCommDestroy(sub));
    sub = sub_of(comm, {1, 0}, rank.rank());
    expect_rank(sub, 1 - rank.rank(), 2);
    expect_working(sub, 2);
    ok(HcclCommDestroy(sub));
    HcclComm longest = sub_of(comm, {0, 1}, rank.rank(), small_config(std::string(127, 'n')));
    expect_working(longest, 2);
    refused(create_sub(longest, {0, 1}, rank.rank(), 2, small_config(), &other), HCCL_E_PARA,
            {"127", "hcclCommName"});
    ok(HcclCommDestroy(longest));
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(SubCommIn, HandlesAreFoundByNameOnTheirDevice) {
  run_ranks(2, GetParam(), [](Rank& rank) {
    HcclComm comm = join_small(rank);
    HcclComm sub = sub_of(comm, {0, 1}, rank.rank(), small_config("found"));
    HcclComm found = nullptr;
    ok(HcclCommGetHandleWithName("found", &found));
    check(found == sub, "another handle");
    ok(HcclCommGetHandleWithName(comm_name(comm).c_str(), &found));
    check(found == comm, "another handle");
    refused(HcclCommGetHandleWithName(nullptr, &found), HCCL_E_PTR, {"commName"});
    refused(HcclCommGetHandleWithName("found", nullptr), HCCL_E_PTR, {"comm"});
    refused(HcclCommGetHandleWithName("lost", &found), HCCL_E_PARA, {"'lost'"});
    ok(aclrtSetDevice(7));
    refused(HcclCommGetHandleWithName("found", &found), HCCL_E_PARA, {"device 7"});
    ok(aclrtResetDevice(7));
    ok(aclrtSetDevice(rank.device()));
    check(found == comm, "a failed call wrote its output");
    expect_working(sub, 2);
    ok(HcclCommDestroy(sub));
    refused(HcclCommGetHandleWithName("found", &found), HCCL_E_PARA, {"'found'"});
    ok(HcclCommDestroy(comm));
  });
}

TEST(SubComm, ThreadsOfOneDeviceFindTheirOwnHandles) {
  GroupOptions options;
  options.environment = {{"WEFT_DEVICES", "1"}};
  const auto body = [](Rank& rank) {
    HcclComm comm = join_small(rank);
    HcclComm sub = nullptr;
    if (rank.rank() != 1) sub = sub_of(comm, {0, 2}, rank.rank(), small_config("shared"));
    rank.sync();
    HcclComm found = nullptr;
    if (rank.rank() == 1) {
      refused(HcclCommGetHandleWithName("shared", &found), HCCL_E_PARA, {"2 ranks", "'shared'"});
    } else {
      ok(HcclCommGetHandleWithName("shared", &found));
      check(found == sub, "another rank's handle");
      expect_working(sub, 2);
    }
    rank.sync();
    ok(HcclCommDestroy(sub));
    ok(HcclCommDestroy(comm));
  };
  run_ranks(3, Layout::kThreads, body, options);
}

TEST(SubComm, AMemberThatDiedIsNamedAtOnce) {
  for (const uint32_t victim : {0u, 1u, 2u}) {
    run_ranks(3, Layout::kProcesses, [&](Rank& rank) {
      HcclComm comm = join_small(rank);
      rank.sync();
      if (rank.rank() == victim) {
        rank.await(0, 2);
        rank.die();
      }
      // Before it dies, and not known when: the call that waits for it tells.
      HcclComm sub = sub_of(comm, {0, 1, 2}, rank.rank());
      rank.event(0);
      // That of rank 0 is also the process where they meet.
      const std::string named = victim == 0 ? "ended" : "rank " + std::to_string(victim);
      refused(HcclBarrier(sub, Stream()), HCCL_E_REMOTE, {named});
      ok(HcclCommDestroy(sub));
      // Afterwards it cannot be made at all, by those who need that rank.
      HcclComm again = nullptr;
      const HcclResult code =
          create_sub(comm, {0, 1, 2}, rank.rank(), 1, small_config("again"), &again);
      if (code == HCCL_SUCCESS) {
        refused(HcclBarrier(again, Stream()), HCCL_E_REMOTE);
        ok(HcclCommDestroy(again));
      } else {
        refused(code, HCCL_E_REMOTE, {named});
      }
      rank.event(1);
      rank.await(1, 2);
      ok(HcclCommDestroy(comm));
    });
  }
}

TEST(SubComm, AMemberThatNeverComesIsATimeOut) {
  const PolicyFile policy(policy_text({}, "[control]\nconnect_timeout = \"1s\"\n"));
  GroupOptions options;
  options.environment = policy.environment();
  run_ranks(
      3, Layout::kProcesses,
      [](Rank& rank) {
        HcclComm comm = join_small(rank);
        if (rank.rank() == 1) {  // the first member misses nobody but the last
          rank.await(0, 1);
          HcclComm sub = sub_of(comm, {1, 2}, 1, small_config("late"));
          refused(HcclBarrier(sub, Stream()), HCCL_E_TIMEOUT,
                  {"communicator late", "rank 1", "did not join",
                   "rank 2 of the parent was waiting for 0,2"});
          ok(HcclCommDestroy(sub));
        }
        if (rank.rank() == 2) {
          HcclComm sub = sub_of(comm, {0, 2}, 2, small_config("late"));
          rank.event(0);
          refused(HcclBarrier(sub, Stream()), HCCL_E_TIMEOUT,
                  {"communicator late", "rank 0", "members 0,2"});
          ok(HcclCommDestroy(sub));
        }
        rank.sync();
        if (rank.rank() == 2) {  // the invitation of rank 1 was withdrawn
          HcclComm sub = sub_of(comm, {0, 1, 2}, 2, small_config("late"));
          refused(HcclBarrier(sub, Stream()), HCCL_E_TIMEOUT,
                  {"communicator late", "rank 0", "members 0,1,2"});
          ok(HcclCommDestroy(sub));
        }
        rank.sync();
        if (rank.rank() != 0) {
          HcclComm sub = sub_of(comm, {1, 2}, rank.rank(), small_config("late"));
          expect_working(sub, 2);
          ok(HcclCommDestroy(sub));
        }
        rank.sync();
        ok(HcclCommDestroy(comm));
      },
      options);
}

TEST(SubComm, CanBeDestroyedBeforeItsMembersMeet) {
  run_ranks(2, Layout::kProcesses, [](Rank& rank) {
    HcclComm comm = join_small(rank);
    if (rank.rank() == 1) {
      HcclComm sub = sub_of(comm, {0, 1}, 1);
      refused(HcclCommDestroy(comm), HCCL_E_AGAIN, {"sub communicator"});
      HcclResult state = HCCL_E_INTERNAL;
      ok(HcclGetCommAsyncError(sub, &state));
      check(state == HCCL_SUCCESS, "waiting is no error");
      ok(HcclCommDestroy(sub));
      refused(HcclCommDestroy(sub), HCCL_E_PARA, {"destroyed"});
    }
    rank.sync();
    if (rank.rank() == 0) {  // meets the rank that has gone again
      HcclComm sub = sub_of(comm, {0, 1}, 0);
      const Stream stream;
      if (HcclBarrier(sub, stream) == HCCL_SUCCESS) {
        check(aclrtSynchronizeStream(stream) != ACL_SUCCESS, "a barrier with nobody");
      }
      HcclResult state = HCCL_SUCCESS;
      ok(HcclGetCommAsyncError(sub, &state));
      check(state == HCCL_E_REMOTE, "the asynchronous error is " + std::to_string(state));
      ok(HcclCommDestroy(sub));
    }
    rank.sync();
    HcclComm sub = sub_of(comm, {0, 1}, rank.rank());
    expect_working(sub, 2);
    ok(HcclCommDestroy(sub));
    // One that was given up lets go of its parent.
    eventually([&] { return HcclCommDestroy(comm) == HCCL_SUCCESS; }, "the parent is free");
  });
}

}  // namespace
}  // namespace weft::test
