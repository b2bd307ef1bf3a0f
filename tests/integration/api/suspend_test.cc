// SPDX-License-Identifier: Apache-2.0
// Communicators that are suspended and resumed, and what asks for their state.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "arguments.hpp"
#include "cases.hpp"
#include "weft/comm.h"

namespace weft::test {
namespace {

uint64_t calls_so_far(HcclComm comm) {
  weft_comm_counters counters{};
  counters.head = WEFT_HEAD(weft_comm_counters);
  ok(weft_comm_get_counters(comm, &counters));
  return std::accumulate(std::begin(counters.calls_by_way), std::end(counters.calls_by_way),
                         uint64_t{0});
}

void expect_status(HcclComm comm, HcclCommStatus wanted,
                   const std::source_location& where = std::source_location::current()) {
  HcclCommStatus status = HCCL_COMM_STATUS_RESERVED;
  ok(HcclCommGetStatus(comm_name(comm).c_str(), &status), where);
  check(status == wanted, "the status is " + std::to_string(status), where);
}

/// Of one int32 in a buffer that lives as long as the call.
struct Sum {
  explicit Sum(HcclComm made) : comm(made) {}
  HcclResult issue() {
    *value = 1;
    return HcclAllReduce(value, value, 1, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm, stream);
  }
  void expect(int32_t wanted) const {
    stream.synchronize();
    check(*value == wanted, "the sum is " + std::to_string(*value));
  }

  HcclComm comm;
  Stream stream;
  Arena arena{Memory::kDevice, 4};
  int32_t* value = reinterpret_cast<int32_t*>(arena.lend(4));
};

/// All but those that send to and receive from another rank.
std::vector<Function> functions_of_one_rank() {
  std::vector<Function> functions = all_functions();
  std::erase(functions, Function::kSend);
  std::erase(functions, Function::kRecv);
  return functions;
}

class Suspended : public testing::TestWithParam<Layout> {};
std::string suspended_layout(const testing::TestParamInfo<Layout>& given) {
  return layout_name(given.param);
}
INSTANTIATE_TEST_SUITE_P(, Suspended, testing::Values(Layout::kThreads, Layout::kProcesses),
                         suspended_layout);

TEST(Suspend, EveryOperatorIsRefusedAndNothingOfItIsIssued) {
  with_fixture([](const Fixture& f) {
    ok(call(Function::kAllReduce, Arguments(f)));  // one that repeats below
    f.stream.synchronize();
    const uint64_t before = calls_so_far(f.comm);
    ok(HcclCommSuspend(f.comm));
    std::fill_n(f.recv, 256, std::byte{0x11});
    for (const Function function : functions_of_one_rank()) {
      const std::string name = names_of(function).function;
      refused(call(function, Arguments(f)), HCCL_E_SUSPENDING,
              {name, "suspended", "HcclCommResume"});
      Arguments wrong(f);
      wrong.stream = nullptr;
      refused(call(function, wrong), HCCL_E_PTR, {name, "stream"});
    }
    refused(HcclBarrier(f.comm, f.stream), HCCL_E_SUSPENDING, {"HcclBarrier", "suspended"});
    Arguments nothing(f);
    nothing.count = nothing.recv_count = 0;
    ok(call(Function::kAllReduce, nothing));
    f.stream.synchronize();
    check(calls_so_far(f.comm) == before, "a call was counted");
    check(std::all_of(f.recv, f.recv + 256, [](std::byte b) { return b == std::byte{0x11}; }),
          "a call wrote its output");
    ok(HcclCommResume(f.comm));
    for (const Function function : functions_of_one_rank()) ok(call(function, Arguments(f)));
    f.stream.synchronize();
  });
}

TEST(Suspend, AGroupTellsAtItsEnd) {
  with_fixture([](const Fixture& f) {
    ok(HcclCommSuspend(f.comm));
    for (const Function function : {Function::kSend, Function::kAllGather}) {
      ok(HcclGroupStart());
      ok(call(function, Arguments(f)));
      refused(HcclGroupEnd(), HCCL_E_SUSPENDING, {"HcclGroupEnd", "suspended"});
    }
    ok(HcclCommResume(f.comm));
    ok(HcclGroupStart());
    ok(call(Function::kAllGather, Arguments(f)));
    ok(HcclGroupEnd());
  });
}

TEST_P(Suspended, OneRankMayBeWhileOthersWaitForIt) {
  run_ranks(3, GetParam(), [](Rank& rank) {
    HcclComm comm = rank.join();
    Sum sum(comm);
    ok(sum.issue());
    sum.expect(3);
    if (rank.rank() == 1) {
      ok(HcclCommSuspend(comm));
      ok(HcclCommSuspend(comm));
      expect_status(comm, HCCL_COMM_STATUS_SUSPENDING);
      refused(sum.issue(), HCCL_E_SUSPENDING, {"suspended"});
      for (const auto message : {HcclSend, HcclRecv}) {
        refused(message(sum.value, 1, HCCL_DATA_TYPE_INT32, 0, comm, sum.stream), HCCL_E_SUSPENDING,
                {"suspended"});
      }
    }
    rank.sync();
    if (rank.rank() != 1) {
      expect_status(comm, HCCL_COMM_STATUS_READY);
      ok(sum.issue());
    }
    rank.sync();
    if (rank.rank() == 1) {
      HcclResult state = HCCL_E_INTERNAL;
      ok(HcclGetCommAsyncError(comm, &state));
      check(state == HCCL_SUCCESS, "to be suspended is an error");
      ok(HcclCommResume(comm));
      expect_status(comm, HCCL_COMM_STATUS_READY);
      ok(sum.issue());
    }
    sum.expect(3);
    rank.sync();
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(Suspended, WhatIsOnItsWayGoesOn) {
  run_ranks(2, GetParam(), [](Rank& rank) {
    HcclComm comm = rank.join();
    Sum sum(comm);
    if (rank.rank() == 0) {
      ok(sum.issue());
      ok(HcclCommSuspend(comm));
      refused(HcclCommDestroy(comm), HCCL_E_AGAIN, {"synchronise"});
      rank.event(0);
    } else {
      rank.await(0, 1);
      ok(sum.issue());
    }
    sum.expect(2);
    ok(HcclCommDestroy(comm));  // also a suspended one
  });
}

TEST(Suspend, ResumeWithoutItDoesNothing) {
  run_alone([](Rank& rank) {
    HcclComm comm = rank.join();
    ok(HcclCommResume(comm));
    ok(HcclCommSuspend(comm));
    ok(HcclCommSuspend(comm));
    ok(HcclCommResume(comm));
    expect_status(comm, HCCL_COMM_STATUS_READY);
    expect_working(comm, 1);
    ok(HcclCommDestroy(comm));
  });
}

TEST(Suspend, ACommunicatorThatHasFailedStaysSo) {
  run_ranks(2, Layout::kProcesses, [](Rank& rank) {
    HcclComm comm = rank.join();
    expect_working(comm, 2);
    rank.sync();
    if (rank.rank() == 1) rank.die();
    ok(HcclCommSuspend(comm));
    HcclCommStatus status = HCCL_COMM_STATUS_RESERVED;
    eventually(
        [&] {
          ok(HcclCommGetStatus(comm_name(comm).c_str(), &status));
          return status == HCCL_COMM_STATUS_INVALID;
        },
        "the status tells of the death");
    refused(HcclCommResume(comm), HCCL_E_REMOTE, {"HcclCommResume", "rank 1", "destroy"});
    Sum sum(comm);
    refused(sum.issue(), HCCL_E_REMOTE, {"has failed"});
    ok(HcclCommDestroy(comm));
  });
}

TEST(GetStatus, IsAboutTheNameOnTheCurrentDevice) {
  run_alone([](Rank& rank) {
    HcclCommStatus status = HCCL_COMM_STATUS_RESERVED;
    refused(HcclCommGetStatus("nobody", &status), HCCL_E_PARA, {"HcclCommGetStatus", "'nobody'"});
    HcclComm first = rank.join();
    HcclComm second = rank.join();
    const std::string name = comm_name(first);
    ok(HcclCommSuspend(first));
    expect_status(first, HCCL_COMM_STATUS_SUSPENDING);
    expect_status(second, HCCL_COMM_STATUS_READY);
    status = HCCL_COMM_STATUS_RESERVED;
    ok(aclrtSetDevice(1));
    refused(HcclCommGetStatus(name.c_str(), &status), HCCL_E_PARA, {name});
    ok(aclrtSetDevice(0));
    ok(HcclCommDestroy(first));
    refused(HcclCommGetStatus(name.c_str(), &status), HCCL_E_PARA, {name});
    check(status == HCCL_COMM_STATUS_RESERVED, "a failed query wrote its output");
    ok(HcclCommDestroy(second));
  });
}

}  // namespace
}  // namespace weft::test
