// SPDX-License-Identifier: Apache-2.0
// HcclGroupStart and HcclGroupEnd: nesting, what is checked when, what End runs and returns.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <thread>
#include <vector>

#include "arguments.hpp"
#include "cases.hpp"

namespace weft::test {
namespace {

using F = Function;

bool in_group() {
  bool open = false;
  ok(HcclGroupStatusGet(&open));
  return open;
}

TEST(Group, NestsAndBelongsToTheThread) {
  with_fixture([](const Fixture&) {
    refused(HcclGroupStatusGet(nullptr), HCCL_E_PTR, {"HcclGroupStatusGet", "isGroupEnabled"});
    refused(HcclGroupEnd(), HCCL_E_NOT_SUPPORT, {"HcclGroupEnd", "HcclGroupStart"});
    check(!in_group(), "a group is open at the beginning");
    ok(HcclGroupStart());
    ok(HcclGroupStart());
    bool elsewhere = true;
    std::thread([&] { elsewhere = in_group(); }).join();
    check(!elsewhere, "a group is open in another thread");
    ok(HcclGroupEnd());
    check(in_group(), "the inner end closed the outer group");
    ok(HcclGroupEnd());
    check(!in_group(), "a group is open after its end");
    refused(HcclGroupEnd(), HCCL_E_NOT_SUPPORT);
  });
}

TEST(Group, ChecksPointersAtOnceAndTheRestAtItsEnd) {
  with_fixture([](const Fixture& f) {
    for (const F function : all_functions()) {
      if (function == F::kBatchSendRecv) continue;  // not queued
      const Names names = names_of(function);
      ok(HcclGroupStart());
      Arguments a(f);
      a.stream = nullptr;
      refused(call(function, a), HCCL_E_PTR, {names.function, "stream"});
      a = Arguments(f);
      a.type = a.recv_type = static_cast<HcclDataType>(13);
      ok(call(function, a));
      refused(HcclGroupEnd(), HCCL_E_NOT_SUPPORT, {names.function, "type 13"});
      check(!in_group(), "the group is open after an error");
      ok(HcclGroupStart());
      ok(HcclGroupEnd());  // nothing is left in it
    }
    for (const F function : {F::kSend, F::kRecv}) {
      ok(HcclGroupStart());
      Arguments a(f);
      a.count = kMaxCount + 1;
      refused(call(function, a), HCCL_E_PARA, {names_of(function).function, "count"});
      ok(HcclGroupEnd());
    }
  });
}

TEST(Group, OfNothingToDoIsASuccess) {
  with_fixture([](const Fixture& f) {
    ok(HcclGroupStart());
    for (const F function : counted_functions()) {
      Arguments a(f);
      a.count = a.recv_count = 0;
      a.send = a.recv = a.comm = a.stream = nullptr;
      ok(call(function, a));
    }
    ok(HcclGroupEnd());
  });
}

TEST(Group, ReturnsTheFirstErrorAndDoesNotBreakTheCommunicator) {
  with_fixture([](const Fixture& f) {
    ok(HcclGroupStart());
    Arguments a(f);
    a.root = 7;
    ok(call(F::kBroadcast, a));
    a = Arguments(f);
    a.op = static_cast<HcclReduceOp>(4);
    ok(call(F::kAllReduce, a));
    refused(HcclGroupEnd(), HCCL_E_PARA, {"HcclBroadcast", "root"});
    ok(call(F::kAllReduce, Arguments(f)));
    f.stream.synchronize();
  });
}

TEST(Group, ASendToItselfNeedsItsReceive) {
  with_fixture([](const Fixture& f) {
    ok(HcclGroupStart());
    ok(call(F::kSend, Arguments(f)));
    refused(HcclGroupEnd(), HCCL_E_PARA, {"itself"});
    ok(HcclGroupStart());
    std::fill_n(f.send, 16, std::byte{0x42});
    ok(call(F::kSend, Arguments(f)));
    ok(call(F::kRecv, Arguments(f)));
    ok(HcclGroupEnd());
    f.stream.synchronize();
    check(f.recv[15] == std::byte{0x42}, "nothing arrived");
  });
}

TEST(Group, DoesNotQueueABatchOrABarrier) {
  with_fixture([](const Fixture& f) {
    ok(HcclGroupStart());
    std::fill_n(f.send, 16, std::byte{0x42});
    ok(call(F::kBatchSendRecv, Arguments(f)));
    ok(HcclBarrier(f.comm, f.stream));
    f.stream.synchronize();
    check(f.recv[15] == std::byte{0x42}, "the batch was not run at once");
    ok(HcclGroupEnd());
  });
}

class GroupOfRanks : public testing::TestWithParam<Layout> {};
INSTANTIATE_TEST_SUITE_P(Groups, GroupOfRanks,
                         testing::Values(Layout::kThreads, Layout::kProcesses, Layout::kPairs),
                         [](const auto& given) { return layout_name(given.param); });

TEST_P(GroupOfRanks, CollectivesOnSeveralStreamsAreDoneAtItsEnd) {
  run_ranks(4, GetParam(), [](Rank& rank) {
    constexpr Op kOps[] = {Op::kAllToAllV,  Op::kReduce,        Op::kAllReduce, Op::kScatter,
                           Op::kAllToAllVC, Op::kAllToAll,      Op::kAllGather, Op::kReduceScatterV,
                           Op::kBroadcast,  Op::kReduceScatter, Op::kAllGatherV};
    HcclComm comms[] = {rank.join(), rank.join()};
    const Stream streams[3];
    std::deque<Arena> arenas;
    std::deque<Trial> trials;
    ok(HcclGroupStart());
    for (uint32_t i = 0; i < 2 * std::size(kOps); ++i) {
      Case c{kOps[i % std::size(kOps)], kReducibleTypes[i % std::size(kReducibleTypes)],
             kReduceOps[i % 4], 1 + i * 97};
      c.root = i % rank.ranks();
      const size_t bytes = most_elements(c, rank.ranks()) * size_of(c.type);
      Arena& send = arenas.emplace_back(Memory::kDevice, bytes);
      Arena& recv = arenas.emplace_back(Memory::kDevice, bytes);
      trials.emplace_back(c, rank.rank(), rank.ranks(), send, recv);
      trials.back().run(comms[i / 3 % 2], streams[i % 3]);
    }
    ok(HcclGroupEnd());
    for (const Trial& trial : trials) trial.verify();  // End has waited for them
    for (HcclComm comm : comms) ok(HcclCommDestroy(comm));
  });
}

TEST_P(GroupOfRanks, TransfersOfSeveralCommunicatorsDoNotWaitForEachOther) {
  run_ranks(4, GetParam(), [](Rank& rank) {
    HcclComm comms[] = {rank.join(), rank.join()};
    const Stream streams[2];
    const uint32_t n = rank.ranks();
    Arena arena(Memory::kDevice, 4 * sizeof(uint64_t));
    auto* data = reinterpret_cast<uint64_t*>(arena.lend(4 * sizeof(uint64_t)));
    ok(HcclGroupStart());
    for (uint32_t k = 0; k < 2; ++k) {
      const uint32_t which = (k + rank.rank()) % 2;  // the ranks begin with different ones
      data[which] = rank.rank() + 10 * which;
      ok(HcclSend(&data[which], 1, HCCL_DATA_TYPE_UINT64, (rank.rank() + 1) % n, comms[which],
                  streams[which]));
      ok(HcclRecv(&data[2 + which], 1, HCCL_DATA_TYPE_UINT64, (rank.rank() + n - 1) % n,
                  comms[which], streams[which]));
    }
    ok(HcclGroupEnd());
    for (const Stream& stream : streams) stream.synchronize();
    for (uint32_t which = 0; which < 2; ++which) {
      check(data[2 + which] == (rank.rank() + n - 1) % n + 10 * which, "wrong value");
    }
    for (HcclComm comm : comms) ok(HcclCommDestroy(comm));
  });
}

TEST(Group, MakesAndDestroysTheCommunicatorsOfOneProcess) {
  run_alone([](Rank&) {
    constexpr uint32_t kRanks = 3;
    HcclRootInfo root;
    HcclComm comms[kRanks] = {};
    ok(HcclGetRootInfo(&root));
    ok(HcclGroupStart());
    for (uint32_t r = 0; r < kRanks; ++r) {
      ok(aclrtSetDevice(static_cast<int32_t>(r)));
      ok(HcclCommInitRootInfo(kRanks, &root, r, &comms[r]));
    }
    ok(HcclGroupEnd());
    for (uint32_t r = 0; r < kRanks; ++r) {
      uint32_t rank = kRanks;
      ok(HcclGetRankId(comms[r], &rank));
      check(rank == r, "a communicator of another rank");
    }
    ok(HcclGroupStart());
    for (HcclComm comm : comms) ok(HcclCommDestroy(comm));
    ok(HcclGroupEnd());
    for (HcclComm comm : comms) refused(HcclCommDestroy(comm), HCCL_E_PARA, {"comm"});
  });
}

}  // namespace
}  // namespace weft::test
