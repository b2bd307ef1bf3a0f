// SPDX-License-Identifier: Apache-2.0
// What the operators refuse: every argument, every code, and the order in which they are looked at.
#include "arguments.hpp"

#include <cstdint>
#include <thread>

#include "cases.hpp"
#include "weft/comm.h"

namespace weft::test {
namespace {

using F = Function;

class OperatorArguments : public testing::TestWithParam<Function> {};
INSTANTIATE_TEST_SUITE_P(Each, OperatorArguments, testing::ValuesIn(all_functions()), test_name);

class CountedArguments : public testing::TestWithParam<Function> {};
INSTANTIATE_TEST_SUITE_P(Each, CountedArguments, testing::ValuesIn(counted_functions()), test_name);

class ReductionArguments : public testing::TestWithParam<Function> {};
INSTANTIATE_TEST_SUITE_P(Each, ReductionArguments, testing::ValuesIn(reducing_functions()),
                         test_name);

void spoil_type(Arguments& a, int type) {
  a.type = a.recv_type = static_cast<HcclDataType>(type);
  static_cast<HcclSendRecvItem*>(a.items)->dataType = a.type;
}

TEST_P(CountedArguments, NothingToDoIsASuccessBeforeAnythingIsLookedAt) {
  with_fixture([function = GetParam()](const Fixture& f) {
    Arguments a(f);
    a.count = a.recv_count = 0;
    a.send = a.recv = a.comm = a.stream = nullptr;
    a.type = static_cast<HcclDataType>(99);
    a.op = static_cast<HcclReduceOp>(77);
    a.root = 12345;
    ok(call(function, a));
  });
}

TEST_P(OperatorArguments, NullPointersAreNamedInTheDocumentedOrder) {
  with_fixture([function = GetParam()](const Fixture& f) {
    const Names names = names_of(function);
    const Arguments good(f);
    Arguments a = good;
    for (const Pointer& pointer : names.pointers) a.*pointer.value = nullptr;
    for (const Pointer& pointer : names.pointers) {
      refused(call(function, a), HCCL_E_PTR, {names.function, pointer.name + " is", "null"});
      a.*pointer.value = good.*pointer.value;
    }
  });
}

TEST_P(OperatorArguments, EachNullPointerAloneIsNamed) {
  with_fixture([function = GetParam()](const Fixture& f) {
    const Names names = names_of(function);
    std::vector<Pointer> all = names.pointers;
    all.insert(all.end(), names.buffers.begin(), names.buffers.end());
    for (const Pointer& pointer : all) {
      Arguments a(f);
      a.*pointer.value = nullptr;
      refused(call(function, a), HCCL_E_PTR, {names.function, pointer.name, "null"});
    }
  });
}

TEST_P(CountedArguments, NullPointersComeBeforeTheCountAndTheCountBeforeTheType) {
  with_fixture([function = GetParam()](const Fixture& f) {
    const Names names = names_of(function);
    Arguments a(f);
    a.count = a.recv_count = kMaxCount + 1;
    a.type = a.recv_type = static_cast<HcclDataType>(13);
    a.op = static_cast<HcclReduceOp>(4);
    a.root = 1;
    a.stream = nullptr;
    refused(call(function, a), HCCL_E_PTR, {names.function, "stream"});
    a.stream = f.stream;
    refused(call(function, a), HCCL_E_PARA,
            {names.function, names.count, "34359738368", "34359738367"});
    a.count = a.recv_count = 1;
    refused(call(function, a), HCCL_E_NOT_SUPPORT, {names.function, "type 13"});
  });
}

TEST_P(CountedArguments, TheLargestNumbersAreRefusedToo) {
  with_fixture([function = GetParam()](const Fixture& f) {
    Arguments a(f);
    a.count = a.recv_count = UINT64_MAX;
    refused(call(function, a), HCCL_E_PARA, {names_of(function).count, "18446744073709551615"});
  });
}

TEST(Counts, TheLargestCountIsAccepted) {
  with_fixture([](const Fixture& f) {
    // With one rank and the same buffer there is nothing to do, however long it is said to be.
    uint64_t largest = kMaxCount;
    Arguments a(f);
    a.recv = a.send;
    a.count = kMaxCount;
    a.send_counts = a.recv_counts = &largest;
    for (const F function : {F::kAllReduce, F::kBroadcast, F::kReduceScatter, F::kAllGather,
                             F::kReduce, F::kScatter, F::kAllGatherV, F::kReduceScatterV}) {
      ok(call(function, a));
      f.stream.synchronize();
    }
    check(f.send[0] == Arena::kFill, "a call without work wrote");
  });
}

TEST_P(OperatorArguments, UnknownTypesAreNotSupported) {
  with_fixture([function = GetParam()](const Fixture& f) {
    Arguments a(f);
    for (const int type : {-1, 13, 18, 255, 256, INT32_MAX}) {
      spoil_type(a, type);
      refused(call(function, a), HCCL_E_NOT_SUPPORT,
              {names_of(function).function, "type " + std::to_string(type)});
    }
  });
}

TEST_P(OperatorArguments, HandlesThatAreNoneAreParameterErrors) {
  run_alone([function = GetParam()](Rank& rank) {
    HcclComm stale = rank.join();
    ok(HcclCommDestroy(stale));
    const Fixture f(rank);
    int elsewhere = 0;
    for (HcclComm wrong : {stale, static_cast<HcclComm>(&elsewhere), reinterpret_cast<HcclComm>(8),
                           reinterpret_cast<HcclComm>(UINTPTR_MAX),
                           static_cast<HcclComm>(static_cast<char*>(f.comm) + 1)}) {
      Arguments a(f);
      a.comm = wrong;
      refused(call(function, a), HCCL_E_PARA, {names_of(function).function, "comm"});
    }
  });
}

TEST_P(OperatorArguments, AfterARefusalTheCommunicatorStillWorks) {
  with_fixture([function = GetParam()](const Fixture& f) {
    Arguments a(f);
    spoil_type(a, HCCL_DATA_TYPE_RESERVED);
    refused(call(function, a), HCCL_E_NOT_SUPPORT);
    HcclResult state = HCCL_E_INTERNAL;
    ok(HcclGetCommAsyncError(f.comm, &state));
    check(state == HCCL_SUCCESS, "a refused call broke the communicator");
    spoil_type(a, HCCL_DATA_TYPE_FP32);
    const bool pair =
        function == F::kSend || function == F::kRecv;  // to itself: not outside a group
    ok(call(pair ? F::kBatchSendRecv : function, a));
    f.stream.synchronize();
  });
}

TEST_P(ReductionArguments, UnknownOperationsAreNotSupported) {
  with_fixture([function = GetParam()](const Fixture& f) {
    Arguments a(f);
    for (const int reduce : {-1, 4, 255, 256}) {
      a.op = static_cast<HcclReduceOp>(reduce);
      refused(call(function, a), HCCL_E_NOT_SUPPORT,
              {names_of(function).function, "operation " + std::to_string(reduce)});
    }
  });
}

TEST_P(ReductionArguments, TypesThatCanOnlyBeMovedAreNotSupported) {
  with_fixture([function = GetParam()](const Fixture& f) {
    Arguments a(f);
    for (const HcclDataType type : kMovableOnlyTypes) {
      for (const HcclReduceOp reduce : kReduceOps) {
        a.type = type;
        a.op = reduce;
        refused(call(function, a), HCCL_E_NOT_SUPPORT,
                {names_of(function).function, name_of(type)});
      }
    }
  });
}

TEST(Roots, ARootThatDoesNotExistIsAParameterError) {
  run_ranks(2, Layout::kThreads, [](Rank& rank) {
    const Fixture f(rank);
    for (const F function : {F::kBroadcast, F::kReduce, F::kScatter}) {
      Arguments a(f);
      for (const uint32_t root : {2u, 3u, UINT32_MAX}) {
        a.root = root;
        refused(call(function, a), HCCL_E_PARA,
                {names_of(function).function, "root", std::to_string(root), "0..1"});
        a.type = HCCL_DATA_TYPE_RESERVED;
        refused(call(function, a), HCCL_E_NOT_SUPPORT);
        a.type = HCCL_DATA_TYPE_FP32;
      }
      a.op = static_cast<HcclReduceOp>(4);
      if (function == F::kReduce) refused(call(function, a), HCCL_E_NOT_SUPPORT, {"operation 4"});
      a.op = HCCL_REDUCE_SUM;
      a.root = 1;
      ok(call(function, a));
      f.stream.synchronize();
    }
  });
}

TEST(Scatter, NeedsASendBufferOnRootOnly) {
  run_ranks(2, Layout::kThreads, [](Rank& rank) {
    const Fixture f(rank);
    Arguments a(f);
    a.root = 1;
    if (rank.rank() == 1) {
      a.send = nullptr;
      refused(call(F::kScatter, a), HCCL_E_PTR, {"HcclScatter", "sendBuf", "null"});
      a.send = f.send;
    } else {
      a.send = nullptr;
    }
    ok(call(F::kScatter, a));
    f.stream.synchronize();
  });
}

TEST(Reduce, NeedsAReceiveBufferOnEveryRank) {
  run_ranks(2, Layout::kThreads, [](Rank& rank) {
    const Fixture f(rank);
    Arguments a(f);
    a.root = 1;
    a.recv = nullptr;
    refused(call(F::kReduce, a), HCCL_E_PTR, {"HcclReduce", "recvBuf", "null"});
  });
}

TEST(AllToAll, CountsTypesAndBuffersAreComparedInThisOrder) {
  with_fixture([](const Fixture& f) {
    Arguments a(f);
    a.recv_count = 5;
    a.recv_type = HCCL_DATA_TYPE_INT32;
    a.recv = a.send;
    refused(call(F::kAllToAll, a), HCCL_E_PARA, {"sendCount", "recvCount", "4", "5"});
    a.recv_count = 4;
    refused(call(F::kAllToAll, a), HCCL_E_PARA, {"sendType", "recvType"});
    a.recv_type = HCCL_DATA_TYPE_FP32;
    refused(call(F::kAllToAll, a), HCCL_E_PARA, {"sendBuf", "recvBuf", "same"});
    a.recv = f.recv;
    ok(call(F::kAllToAll, a));
    f.stream.synchronize();
  });
}

TEST(AllToAll, OneZeroCountIsADifferenceAndNotNothingToDo) {
  with_fixture([](const Fixture& f) {
    Arguments a(f);
    a.count = 0;
    refused(call(F::kAllToAll, a), HCCL_E_PARA, {"sendCount"});
    a.recv = nullptr;
    refused(call(F::kAllToAll, a), HCCL_E_PTR, {"recvBuf"});
    a.count = a.recv_count = 0;
    ok(call(F::kAllToAll, a));
  });
}

TEST(Barrier, ChecksItsArguments) {
  with_fixture([](const Fixture& f) {
    refused(HcclBarrier(nullptr, f.stream), HCCL_E_PTR, {"HcclBarrier", "comm"});
    refused(HcclBarrier(f.comm, nullptr), HCCL_E_PTR, {"HcclBarrier", "stream"});
    int elsewhere = 0;
    refused(HcclBarrier(&elsewhere, f.stream), HCCL_E_PARA, {"HcclBarrier", "comm"});
    ok(HcclBarrier(f.comm, f.stream));
    f.stream.synchronize();
  });
}

TEST(Streams, ADestroyedStreamIsRefused) {
  with_fixture([](const Fixture& f) {
    aclrtStream gone = nullptr;
    ok(aclrtCreateStream(&gone));
    ok(aclrtDestroyStream(gone));
    Arguments a(f);
    a.stream = gone;
    refused(call(F::kAllReduce, a), HCCL_E_RUNTIME, {"HcclAllReduce", "stream"});
    ok(call(F::kAllReduce, Arguments(f)));
    f.stream.synchronize();
  });
}

TEST(Texts, BelongToTheThreadAndAreReadOnceFromAcl) {
  with_fixture([](const Fixture& f) {
    refused(HcclBarrier(nullptr, f.stream), HCCL_E_PTR, {"comm"});
    check(aclGetRecentErrMsg() == nullptr, "aclGetRecentErrMsg gave a text twice");
    check(contains(weft_last_error(), "comm"), "weft_last_error lost its text");
    bool clean = false;
    std::thread([&] {
      clean = *weft_last_error() == '\0' && aclGetRecentErrMsg() == nullptr;
    }).join();
    check(clean, "a new thread has a text already");
  });
}

TEST(LastCall, TellsWhatTheOperatorsDid) {
  run_ranks(2, Layout::kProcesses, [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    weft_call_info info{};
    info.head = WEFT_HEAD(weft_call_info);
    refused(weft_comm_last_call(nullptr, &info), HCCL_E_PTR, {"comm"});
    refused(weft_comm_last_call(comm, nullptr), HCCL_E_PTR, {"info"});
    refused(weft_comm_last_call(&info, &info), HCCL_E_PARA, {"comm"});
    refused(weft_comm_last_call(comm, &info), HCCL_E_NOT_FOUND, {"operator"});
    info.head.size = 8;
    refused(weft_comm_last_call(comm, &info), HCCL_E_PARA, {"WEFT_HEAD"});

    Arena device(Memory::kDevice, 64);
    Arena host(Memory::kHost, 64);
    std::byte* in = device.lend(4);
    std::byte* out = host.lend(4);
    ok(HcclAllReduce(in, out, 1, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm, stream));
    const CallFacts facts = last_call(comm);
    check(contains(facts.algorithm, "mesh."), facts.algorithm);
    check(contains(facts.source, "policy.toml:"), facts.source);
    check(facts.pieces == 1 && !facts.staged_in && !facts.staged_out, "wrong facts");
    info.head = WEFT_HEAD(weft_call_info);
    ok(weft_comm_last_call(comm, &info));
    check(info.in_way == WEFT_WAY_HEAP && info.out_way == WEFT_WAY_OWN, "wrong ways");
    stream.synchronize();
    ok(HcclCommDestroy(comm));
  });
}

}  // namespace
}  // namespace weft::test
