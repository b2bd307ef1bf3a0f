// SPDX-License-Identifier: Apache-2.0
// HcclGroupStart and HcclGroupEnd: nesting, what is checked when, what End returns, messages.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <thread>
#include <vector>

#include "arguments.hpp"
#include "cases.hpp"
#include "samples.hpp"

namespace weft::test {
namespace {

constexpr HcclDataType kInt32 = HCCL_DATA_TYPE_INT32;
constexpr auto kNoType = static_cast<HcclDataType>(99);
constexpr auto kNoOp = static_cast<HcclReduceOp>(7);

using F = Function;

bool in_group() {
  bool open = false;
  ok(HcclGroupStatusGet(&open));
  return open;
}

/// No group, and nothing left of one.
void check_no_group() {
  check(!in_group(), "the group goes on");
  refused(HcclGroupEnd(), HCCL_E_NOT_SUPPORT, {"HcclGroupEnd", "HcclGroupStart"});
  ok(HcclGroupStart());
  ok(HcclGroupEnd());
}

bool is_complete(aclrtStream stream) {
  aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
  ok(aclrtStreamQuery(stream, &status));
  return status == ACL_STREAM_STATUS_COMPLETE;
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

class GroupOfRanks : public testing::TestWithParam<Layout> {};
INSTANTIATE_TEST_SUITE_P(Groups, GroupOfRanks,
                         testing::Values(Layout::kThreads, Layout::kProcesses, Layout::kPairs),
                         [](const auto& given) { return layout_name(given.param); });

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

TEST(Group, ANestedGroupIsPartOfTheOuterOne) {
  run_ranks(2, Layout::kProcesses, [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    const uint32_t me = rank.rank();
    Parcel sent(100);
    const Parcel received(100);
    sent.pack(me, 1 - me, 1);
    ok(HcclGroupStart());
    ok(HcclGroupStart());
    sent.send(1 - me, comm, stream);
    ok(HcclGroupEnd());
    check(is_complete(stream), "the inner end issued the message");
    received.receive(1 - me, comm, stream);
    ok(HcclGroupEnd());
    stream.synchronize();
    received.check_is(1 - me, me, 1);
    ok(HcclCommDestroy(comm));
  });
}

/// A group of one operator, which is accepted at first.
template <class Call>
void fails_at_end(const Call& call, HcclResult wanted, std::initializer_list<std::string> parts) {
  ok(HcclGroupStart());
  ok(call());
  refused(HcclGroupEnd(), wanted, parts);
  check_no_group();
}

TEST(Group, OtherErrorsOfCollectivesComeFromItsEnd) {
  run_alone([](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream s;
    const Words in(1);
    const Words out(1);
    int32_t* a = in.data();
    int32_t* b = out.data();
    constexpr HcclReduceOp kSum = HCCL_REDUCE_SUM;
    constexpr uint64_t kTooMany = 0x800000000;
    const uint64_t one[] = {1};
    const auto para = [](const auto& call, const char* function, const char* part) {
      fails_at_end(call, HCCL_E_PARA, {"HcclGroupEnd", function, part});
    };
    const auto unsupported = [](const auto& call, const char* function, const char* part) {
      fails_at_end(call, HCCL_E_NOT_SUPPORT, {"HcclGroupEnd", function, part});
    };
    unsupported([&] { return HcclAllReduce(a, b, 1, kNoType, kSum, comm, s); }, "HcclAllReduce",
                "99");
    unsupported([&] { return HcclAllReduce(a, b, 1, kInt32, kNoOp, comm, s); }, "HcclAllReduce",
                "7");
    para([&] { return HcclAllReduce(a, b, kTooMany, kInt32, kSum, comm, s); }, "HcclAllReduce",
         "count");
    para([&] { return HcclBroadcast(a, 1, kInt32, 9, comm, s); }, "HcclBroadcast", "root is 9");
    para([&] { return HcclReduce(a, b, 1, kInt32, kSum, 9, comm, s); }, "HcclReduce", "root is 9");
    para([&] { return HcclScatter(a, b, 1, kInt32, 9, comm, s); }, "HcclScatter", "root is 9");
    unsupported([&] { return HcclAllGather(a, b, 1, kNoType, comm, s); }, "HcclAllGather", "99");
    unsupported([&] { return HcclReduceScatter(a, b, 1, kNoType, kSum, comm, s); },
                "HcclReduceScatter", "99");
    para([&] { return HcclAlltoAll(a, 1, kInt32, b, 2, kInt32, comm, s); }, "HcclAlltoAll",
         "recvCount is 2");
    para([&] { return HcclAllGatherV(a, 2, b, one, one, kInt32, comm, s); }, "HcclAllGatherV",
         "sendCount is 2");
    para([&] { return HcclReduceScatterV(a, one, one, b, 2, kInt32, kSum, comm, s); },
         "HcclReduceScatterV", "recvCount is 2");
    para([&] { return HcclAlltoAllV(a, one, one, kInt32, a, one, one, kInt32, comm, s); },
         "HcclAlltoAllV", "same");
    para([&] { return HcclAlltoAllVC(a, one, kInt32, a, kInt32, comm, s); }, "HcclAlltoAllVC",
         "same");
    para([&] { return HcclAllReduce(a, b, 1, kInt32, kSum, a, s); }, "HcclAllReduce", "comm");
    ok(HcclCommDestroy(comm));
  });
}

TEST(Group, OtherErrorsOfMessagesComeFromItsEndAndNameTheFunction) {
  run_alone([](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream s;
    const Words words(1);
    int32_t* a = words.data();
    fails_at_end([&] { return HcclSend(a, 1, kInt32, 9, comm, s); }, HCCL_E_PARA,
                 {"HcclSend", "destRank is 9"});
    fails_at_end([&] { return HcclRecv(a, 1, kInt32, 9, comm, s); }, HCCL_E_PARA,
                 {"HcclRecv", "srcRank is 9"});
    fails_at_end([&] { return HcclSend(a, 1, kNoType, 0, comm, s); }, HCCL_E_NOT_SUPPORT,
                 {"HcclSend", "99"});
    fails_at_end([&] { return HcclRecv(a, 1, kInt32, 0, a, s); }, HCCL_E_PARA,
                 {"HcclRecv", "comm"});
    fails_at_end([&] { return HcclRecv(a, 1, kInt32, 0, comm, a); }, HCCL_E_PARA,
                 {"HcclRecv", "receives more messages from itself"});
    // The one that is wrong is named, not the first of its batch.
    ok(HcclGroupStart());
    ok(HcclSend(a, 1, kInt32, 0, comm, s));
    ok(HcclRecv(a, 1, kInt32, 0, comm, s));
    ok(HcclRecv(a, 1, kInt32, 9, comm, s));
    refused(HcclGroupEnd(), HCCL_E_PARA, {"HcclRecv", "srcRank is 9"});
    check_no_group();
    s.synchronize();
    ok(HcclCommDestroy(comm));
  });
}

TEST(Group, AnErrorEndsWhatTheGroupHoldsForItsCommunicatorOnly) {
  run_ranks(2, Layout::kThreads, [](Rank& rank) {
    HcclComm wrong = rank.join();
    HcclComm right = rank.join();
    const Stream stream;
    const uint32_t me = rank.rank();
    const Sample good({Op::kAllReduce, 300, 3}, me, 2);
    Parcel sent(50);
    const Parcel received(50);
    const Words untouched(1);
    untouched.data()[0] = 7;
    const Words a(1);
    for (const bool by_message : {false, true}) {
      sent.pack(me, 1 - me, by_message ? 2 : 1);
      ok(HcclGroupStart());
      if (by_message) {
        ok(HcclSend(a.data(), 1, kInt32, 55, wrong, stream));
        ok(HcclSend(a.data(), 1, kInt32, 1 - me, wrong, stream));
        ok(HcclRecv(untouched.data(), 1, kInt32, 1 - me, wrong, stream));
      } else {
        ok(HcclBroadcast(a.data(), 1000, kInt32, 77, wrong, stream));
      }
      ok(HcclAllReduce(untouched.data(), untouched.data(), 1, kInt32, HCCL_REDUCE_SUM, wrong,
                       stream));
      sent.send(1 - me, right, stream);
      good.run(right, stream);
      received.receive(1 - me, right, stream);
      refused(HcclGroupEnd(), HCCL_E_PARA, {by_message ? "HcclSend" : "HcclBroadcast"});
      good.verify();
      received.check_is(1 - me, me, by_message ? 2 : 1);
      check(untouched.data()[0] == 7, "a later operator of the wrong communicator ran");
      check_no_group();
      expect_working(wrong, 2);
    }
    ok(HcclCommDestroy(wrong));
    ok(HcclCommDestroy(right));
  });
}

TEST(Group, AStreamThatIsNoneIsTold) {
  run_alone([](Rank& rank) {
    HcclComm comm = rank.join();
    const Words a(1);
    fails_at_end(
        [&] {
          return HcclAllReduce(a.data(), a.data(), 1, kInt32, HCCL_REDUCE_SUM, comm, a.data());
        },
        HCCL_E_RUNTIME, {"HcclAllReduce", "no stream"});
    ok(HcclCommDestroy(comm));
  });
}

TEST(Group, MessagesBecomeOneBatchOnTheFirstStreamAndTheEndDoesNotWait) {
  run_ranks(2, Layout::kProcesses, [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream first;
    const Stream second;
    const uint32_t me = rank.rank();
    Parcel sent(20000);
    const Parcel received(20000);
    sent.pack(me, 1 - me, 1);
    if (me == 1) rank.await(0, 1);
    ok(HcclGroupStart());
    sent.send(1 - me, comm, first);
    received.receive(1 - me, comm, second);
    ok(HcclGroupEnd());
    if (me == 0) {
      check(is_complete(second), "the second stream was used");
      check(!is_complete(first), "the messages are done and the peer did nothing");
      rank.event(0);
    }
    first.synchronize();
    received.check_is(1 - me, me, 1);
    ok(HcclCommDestroy(comm));
  });
}

TEST(Group, AllRanksMaySendToAllFirstAndToThemselvesToo) {
  for (const Layout layout : {Layout::kThreads, Layout::kPairs}) {
    run_ranks(4, layout, [](Rank& rank) {
      HcclComm comm = rank.join();
      const Stream stream;
      const uint32_t me = rank.rank();
      std::vector<Parcel> sent;
      std::vector<Parcel> received;
      for (uint32_t number = 0; number < 6; ++number) {
        for (uint32_t peer = 0; peer < rank.ranks(); ++peer) {
          const uint64_t count = 1 + number * number * 700;  // some are carried, some are not
          const auto kind = static_cast<Memory>((number + peer) % kMemoryKinds);
          sent.emplace_back(count, kind).pack(me, peer, number);
          received.emplace_back(count, kind);
        }
      }
      ok(HcclGroupStart());
      for (uint32_t i = 0; i < sent.size(); ++i) sent[i].send(i % 4, comm, stream);
      for (uint32_t i = 0; i < sent.size(); ++i) received[i].receive(i % 4, comm, stream);
      ok(HcclGroupEnd());
      stream.synchronize();
      for (uint32_t i = 0; i < sent.size(); ++i) received[i].check_is(i % 4, me, i / 4);
      ok(HcclCommDestroy(comm));
    });
  }
}

TEST(Group, WhatARankSendsToItselfMustMatchWhatItReceives) {
  run_alone([](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream s;
    Parcel sent(10);
    const Parcel received(10);
    sent.pack(0, 0, 1);
    fails_at_end([&] { return HcclSend(sent.data(), 10, kInt32, 0, comm, s); }, HCCL_E_PARA,
                 {"HcclSend", "sends more messages to itself"});
    for (const bool type_differs : {false, true}) {
      ok(HcclGroupStart());
      ok(HcclSend(sent.data(), 10, kInt32, 0, comm, s));
      ok(HcclRecv(received.data(), type_differs ? 10 : 9,
                  type_differs ? HCCL_DATA_TYPE_FP32 : kInt32, 0, comm, s));
      refused(HcclGroupEnd(), HCCL_E_PARA, {"sends 10 int32 to itself and receives"});
      check_no_group();
    }
    ok(HcclGroupStart());
    received.receive(0, comm, s);  // the order of the two does not matter
    sent.send(0, comm, s);
    ok(HcclGroupEnd());
    s.synchronize();
    received.check_is(0, 0, 1);
    ok(HcclCommDestroy(comm));
  });
}

TEST(Group, BatchesAndBarriersActAtOnce) {
  run_ranks(2, Layout::kProcesses, [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    const uint32_t me = rank.rank();
    Parcel sent(1000);
    const Parcel received(1000);
    sent.pack(me, 1 - me, 1);
    HcclSendRecvItem items[] = {sent.item(HCCL_SEND, 1 - me), received.item(HCCL_RECV, 1 - me)};
    ok(HcclGroupStart());
    ok(HcclBatchSendRecv(items, 2, comm, stream));
    stream.synchronize();
    received.check_is(1 - me, me, 1);
    if (me == 0) {
      ok(HcclBarrier(comm, stream));
      check(!is_complete(stream), "a barrier of one rank ended, or was not issued");
      rank.event(0);
    } else {
      rank.await(0, 1);
      ok(HcclBarrier(comm, stream));
    }
    stream.synchronize();
    ok(HcclGroupEnd());
    check_no_group();
    ok(HcclCommDestroy(comm));
  });
}

}  // namespace
}  // namespace weft::test
