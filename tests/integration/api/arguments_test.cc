// SPDX-License-Identifier: Apache-2.0
// What the operators refuse: every argument, every code, and the order in which they are looked at.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <thread>

#include "cases.hpp"
#include "weft/comm.h"

namespace weft::test {
namespace {

constexpr uint64_t kMaxCount = 0x7FFFFFFFF;

/// A single rank with a communicator, a stream and two buffers.
struct Fixture {
  explicit Fixture(Rank& rank) : comm(rank.join()), send(bytes.lend(512)), recv(send + 256) {}
  ~Fixture() { HcclCommDestroy(comm); }

  HcclComm comm;
  const Stream stream;
  Arena bytes{Memory::kDevice, 512};
  std::byte* send;
  std::byte* recv;
};

void with_fixture(const std::function<void(const Fixture&)>& body) {
  run_alone([&](Rank& rank) {
    const Fixture fixture(rank);
    body(fixture);
  });
}

/// One call with all its arguments, good to begin with.
struct Arguments {
  explicit Arguments(const Fixture& f)
      : send(f.send), recv(f.recv), comm(f.comm), stream(f.stream) {}

  void* send;
  void* recv;
  uint64_t count = 4;
  uint64_t recv_count = 4;  // AlltoAll
  HcclDataType type = HCCL_DATA_TYPE_FP32;
  HcclDataType recv_type = HCCL_DATA_TYPE_FP32;  // AlltoAll
  HcclReduceOp op = HCCL_REDUCE_SUM;
  uint32_t root = 0;
  HcclComm comm;
  aclrtStream stream;
};

HcclResult call(Op op, const Arguments& a) {
  switch (op) {
    case Op::kAllReduce:
      return HcclAllReduce(a.send, a.recv, a.count, a.type, a.op, a.comm, a.stream);
    case Op::kBroadcast:
      return HcclBroadcast(a.recv, a.count, a.type, a.root, a.comm, a.stream);
    case Op::kReduceScatter:
      return HcclReduceScatter(a.send, a.recv, a.count, a.type, a.op, a.comm, a.stream);
    case Op::kAllGather:
      return HcclAllGather(a.send, a.recv, a.count, a.type, a.comm, a.stream);
    default:
      return HcclAlltoAll(a.send, a.count, a.type, a.recv, a.recv_count, a.recv_type, a.comm,
                          a.stream);
  }
}

/// The name of the function and of its count and buffer, as its errors tell them.
struct Names {
  std::string function;
  std::string count;
  std::string recv;
};

Names names_of(Op op) {
  switch (op) {
    case Op::kAllReduce:
      return {"HcclAllReduce", "count", "recvBuf"};
    case Op::kBroadcast:
      return {"HcclBroadcast", "count", "buf"};
    case Op::kReduceScatter:
      return {"HcclReduceScatter", "recvCount", "recvBuf"};
    case Op::kAllGather:
      return {"HcclAllGather", "sendCount", "recvBuf"};
    default:
      return {"HcclAlltoAll", "sendCount", "recvBuf"};
  }
}

class OperatorArguments : public testing::TestWithParam<Op> {};
std::string name_of_op(const testing::TestParamInfo<Op>& given) { return name_of(given.param); }
INSTANTIATE_TEST_SUITE_P(Each, OperatorArguments,
                         testing::Values(Op::kAllReduce, Op::kBroadcast, Op::kReduceScatter,
                                         Op::kAllGather, Op::kAllToAll),
                         name_of_op);

TEST_P(OperatorArguments, NothingToDoIsASuccessBeforeAnythingIsLookedAt) {
  with_fixture([op = GetParam()](const Fixture& f) {
    Arguments a(f);
    a.count = a.recv_count = 0;
    a.send = a.recv = nullptr;
    a.comm = nullptr;
    a.stream = nullptr;
    a.type = static_cast<HcclDataType>(99);
    a.op = static_cast<HcclReduceOp>(77);
    a.root = 12345;
    ok(call(op, a));
  });
}

TEST_P(OperatorArguments, EveryNullPointerIsNamed) {
  with_fixture([op = GetParam()](const Fixture& f) {
    const Names names = names_of(op);
    Arguments a(f);
    a.comm = nullptr;
    refused(call(op, a), HCCL_E_PTR, {names.function, "comm", "null"});
    a = Arguments(f);
    a.recv = nullptr;
    refused(call(op, a), HCCL_E_PTR, {names.function, names.recv, "null"});
    a = Arguments(f);
    a.stream = nullptr;
    refused(call(op, a), HCCL_E_PTR, {names.function, "stream", "null"});
    if (op == Op::kBroadcast) return;
    a = Arguments(f);
    a.send = nullptr;
    refused(call(op, a), HCCL_E_PTR, {names.function, "sendBuf", "null"});
  });
}

TEST_P(OperatorArguments, NullPointersComeBeforeTheCountAndTheCountBeforeTheType) {
  with_fixture([op = GetParam()](const Fixture& f) {
    Arguments a(f);
    a.count = a.recv_count = kMaxCount + 1;
    a.type = a.recv_type = static_cast<HcclDataType>(13);
    a.op = static_cast<HcclReduceOp>(4);
    a.root = 1;
    a.stream = nullptr;
    refused(call(op, a), HCCL_E_PTR, {"stream"});
    a.stream = f.stream;
    refused(call(op, a), HCCL_E_PARA, {names_of(op).count, "34359738368", "34359738367"});
    a.count = a.recv_count = 1;
    refused(call(op, a), HCCL_E_NOT_SUPPORT, {"type 13"});
  });
}

TEST_P(OperatorArguments, TheLargestNumbersAreRefusedToo) {
  with_fixture([op = GetParam()](const Fixture& f) {
    Arguments a(f);
    a.count = a.recv_count = UINT64_MAX;
    refused(call(op, a), HCCL_E_PARA, {names_of(op).count, "18446744073709551615"});
  });
}

TEST_P(OperatorArguments, UnknownTypesAreNotSupported) {
  with_fixture([op = GetParam()](const Fixture& f) {
    Arguments a(f);
    for (const int type : {-1, 13, 18, 255, 256, INT32_MAX}) {
      a.type = a.recv_type = static_cast<HcclDataType>(type);
      refused(call(op, a), HCCL_E_NOT_SUPPORT, {"type " + std::to_string(type)});
    }
  });
}

TEST_P(OperatorArguments, HandlesThatAreNoneAreParameterErrors) {
  run_alone([op = GetParam()](Rank& rank) {
    HcclComm stale = rank.join();
    ok(HcclCommDestroy(stale));
    const Fixture f(rank);
    int elsewhere = 0;
    for (HcclComm wrong : {stale, static_cast<HcclComm>(&elsewhere), reinterpret_cast<HcclComm>(8),
                           reinterpret_cast<HcclComm>(UINTPTR_MAX),
                           static_cast<HcclComm>(static_cast<char*>(f.comm) + 1)}) {
      Arguments a(f);
      a.comm = wrong;
      refused(call(op, a), HCCL_E_PARA, {names_of(op).function, "comm"});
    }
  });
}

TEST_P(OperatorArguments, AfterARefusalTheCommunicatorStillWorks) {
  with_fixture([op = GetParam()](const Fixture& f) {
    Arguments a(f);
    a.type = a.recv_type = HCCL_DATA_TYPE_RESERVED;
    refused(call(op, a), HCCL_E_NOT_SUPPORT);
    HcclResult state = HCCL_E_INTERNAL;
    ok(HcclGetCommAsyncError(f.comm, &state));
    check(state == HCCL_SUCCESS, "a refused call broke the communicator");
    ok(call(op, Arguments(f)));
    f.stream.synchronize();
  });
}

TEST(Reductions, UnknownOperationsAreNotSupported) {
  with_fixture([](const Fixture& f) {
    Arguments a(f);
    for (const Op op : {Op::kAllReduce, Op::kReduceScatter}) {
      for (const int reduce : {-1, 4, 255, 256}) {
        a.op = static_cast<HcclReduceOp>(reduce);
        refused(call(op, a), HCCL_E_NOT_SUPPORT, {"operation " + std::to_string(reduce)});
      }
    }
  });
}

TEST(Reductions, TypesThatCanOnlyBeMovedAreNotSupported) {
  with_fixture([](const Fixture& f) {
    Arguments a(f);
    for (const Op op : {Op::kAllReduce, Op::kReduceScatter}) {
      for (const HcclDataType type : kMovableOnlyTypes) {
        for (const HcclReduceOp reduce : kReduceOps) {
          a.type = type;
          a.op = reduce;
          refused(call(op, a), HCCL_E_NOT_SUPPORT, {name_of(type)});
        }
      }
    }
  });
}

TEST(Roots, ARootThatDoesNotExistIsAParameterError) {
  run_ranks(2, Layout::kThreads, [](Rank& rank) {
    const Fixture f(rank);
    Arguments a(f);
    for (const uint32_t root : {2u, 3u, UINT32_MAX}) {
      a.root = root;
      refused(call(Op::kBroadcast, a), HCCL_E_PARA, {"root", std::to_string(root), "0..1"});
      a.type = HCCL_DATA_TYPE_RESERVED;
      refused(call(Op::kBroadcast, a), HCCL_E_NOT_SUPPORT);
      a.type = HCCL_DATA_TYPE_FP32;
    }
    a.root = 1;
    ok(call(Op::kBroadcast, a));
    f.stream.synchronize();
  });
}

TEST(AllToAll, CountsTypesAndBuffersAreComparedInThisOrder) {
  with_fixture([](const Fixture& f) {
    Arguments a(f);
    a.recv_count = 5;
    a.recv_type = HCCL_DATA_TYPE_INT32;
    a.recv = a.send;
    refused(call(Op::kAllToAll, a), HCCL_E_PARA, {"sendCount", "recvCount", "4", "5"});
    a.recv_count = 4;
    refused(call(Op::kAllToAll, a), HCCL_E_PARA, {"sendType", "recvType"});
    a.recv_type = HCCL_DATA_TYPE_FP32;
    refused(call(Op::kAllToAll, a), HCCL_E_PARA, {"sendBuf", "recvBuf", "same"});
    a.recv = f.recv;
    ok(call(Op::kAllToAll, a));
    f.stream.synchronize();
  });
}

TEST(AllToAll, OneZeroCountIsADifferenceAndNotNothingToDo) {
  with_fixture([](const Fixture& f) {
    Arguments a(f);
    a.count = 0;
    refused(call(Op::kAllToAll, a), HCCL_E_PARA, {"sendCount"});
    a.recv = nullptr;
    refused(call(Op::kAllToAll, a), HCCL_E_PTR, {"recvBuf"});
    a.count = a.recv_count = 0;
    ok(call(Op::kAllToAll, a));
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
    refused(call(Op::kAllReduce, a), HCCL_E_RUNTIME, {"HcclAllReduce", "stream"});
    ok(call(Op::kAllReduce, Arguments(f)));
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
    check(facts.pieces == 1 && !facts.staged_in && facts.staged_out, "wrong facts");
    stream.synchronize();
    ok(HcclCommDestroy(comm));
  });
}

}  // namespace
}  // namespace weft::test
