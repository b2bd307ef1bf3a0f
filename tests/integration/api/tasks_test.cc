// SPDX-License-Identifier: Apache-2.0
// The tasks engine where it differs from the direct one: what it refuses, what it needs of the
// device, how its calls end that cannot end well.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "cases.hpp"
#include "policy_file.hpp"
#include "samples.hpp"

namespace weft::test {
namespace {

std::string tasks_policy(const std::string& rest = "") {
  return policy_text({}, "[transport]\nengine = \"tasks\"\n" + rest);
}

GroupOptions with(const PolicyFile& policy) {
  GroupOptions options;
  options.environment = policy.environment();
  return options;
}

std::string layout_of(const testing::TestParamInfo<Layout>& given) {
  return layout_name(given.param);
}
class Tasks : public testing::TestWithParam<Layout> {};
INSTANTIATE_TEST_SUITE_P(Groups, Tasks,
                         testing::Values(Layout::kThreads, Layout::kProcesses, Layout::kPairs),
                         layout_of);

TEST_P(Tasks, ReductionsThatInlineReduceLacksAreCarriedOutByTheDirectEngine) {
  const PolicyFile policy(
      policy_text({{"all_reduce", "mesh.two_shot"}}, "[transport]\nengine = \"tasks\"\n"));
  const auto body = [](Rank& rank) {
    HcclComm comm = rank.join();
    Runner runner(rank, 16384);
    const auto reduce = [&](HcclDataType type, HcclReduceOp op) {
      const Case one{Op::kAllReduce, type, op, 1001};
      runner.run(comm, one, "mesh.two_shot");
      return last_call(comm);
    };
    const std::string by_tasks = reduce(HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM).source;
    check(!contains(by_tasks, "direct engine"), by_tasks);
    const std::string product = reduce(HCCL_DATA_TYPE_FP32, HCCL_REDUCE_PROD).source;
    check(contains(product, "by the direct engine since inline reduce has no prod of fp32"),
          product);
    for (const HcclDataType type :
         {HCCL_DATA_TYPE_INT64, HCCL_DATA_TYPE_UINT64, HCCL_DATA_TYPE_FP64, HCCL_DATA_TYPE_UINT8,
          HCCL_DATA_TYPE_UINT16, HCCL_DATA_TYPE_UINT32}) {
      const CallFacts call = reduce(type, HCCL_REDUCE_SUM);
      check(contains(call.source, "by the direct engine since inline reduce has no sum of"),
            call.source);
      check(!call.staged_in && !call.staged_out, "it was staged");
      reduce(HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM);  // one after the other on the same stream
    }
    ok(HcclCommDestroy(comm));
  };
  run_ranks(4, GetParam(), body, with(policy));
}

TEST_P(Tasks, CallsOfBothEnginesOnSeveralStreamsEndWhateverTheirOrderOnEachRank) {
  const PolicyFile policy(tasks_policy());
  const auto body = [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream streams[3];
    Arena arena(Memory::kDevice, size_t{16} * 30);
    auto* data = reinterpret_cast<int64_t*>(arena.lend(size_t{16} * 30));
    for (uint32_t i = 0; i < 30; ++i) {
      int64_t* mine = data + size_t{2} * i;
      mine[0] = rank.rank() + i;
      mine[1] = rank.rank() * i;
      const Stream& stream = streams[(i + rank.rank()) % 3];
      const bool direct = i % 4 < 2;  // int64 has no inline reduce
      ok(HcclAllReduce(mine, mine, direct ? 2 : 4,
                       direct ? HCCL_DATA_TYPE_INT64 : HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm,
                       stream));
    }
    for (const Stream& stream : streams) stream.synchronize();
    for (uint32_t i = 0; i < 30; ++i) {
      check(data[2 * i] == 6 + 4 * i && data[2 * i + 1] == 6 * i, "wrong in " + std::to_string(i));
    }
    ok(HcclCommDestroy(comm));
  };
  run_ranks(4, GetParam(), body, with(policy));
}

TEST_P(Tasks, MemoryThatStreamsCannotCopyIsRefused) {
  const PolicyFile policy(tasks_policy());
  const auto body = [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    std::vector<int32_t> heap(100, 1);
    const Parcel parcel(100);
    refused(HcclAllReduce(heap.data(), parcel.data(), 100, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                          comm, stream),
            HCCL_E_PARA, {"aclrtMalloc", "engine = \"direct\""});
    refused(HcclSend(heap.data(), 100, HCCL_DATA_TYPE_INT32, 1 - rank.rank(), comm, stream),
            HCCL_E_PARA, {"aclrtMalloc"});
    expect_working(comm, rank.ranks());
    ok(HcclCommDestroy(comm));
  };
  run_ranks(2, GetParam(), body, with(policy));
}

TEST_P(Tasks, ACallOnAStreamThatIsNoneDoesNotCount) {
  const PolicyFile policy(tasks_policy());
  const auto body = [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    const Parcel parcel(100);
    for (uint32_t i = 0; i < 3; ++i) {
      int32_t none = 0;
      if (rank.rank() == i % 2) {
        refused(HcclAllReduce(parcel.data(), parcel.data(), 100, HCCL_DATA_TYPE_INT32,
                              HCCL_REDUCE_SUM, comm, &none),
                HCCL_E_RUNTIME, {"HcclAllReduce"});
      }
      expect_working(comm, rank.ranks());
    }
    ok(HcclCommDestroy(comm));
  };
  run_ranks(2, GetParam(), body, with(policy));
}

TEST_P(Tasks, ACallThatAPeerNeverMakesIsATimeOut) {
  const PolicyFile policy(tasks_policy("[control]\nexec_timeout = \"300ms\"\n"));
  const auto body = [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    const Parcel parcel(1000);
    if (rank.rank() != 2) {
      ok(HcclAllReduce(parcel.data(), parcel.data(), 1000, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                       comm, stream));
      check(aclrtSynchronizeStream(stream) == ACL_ERROR_RT_STREAM_ABORT, "the call ended well");
      HcclResult state = HCCL_SUCCESS;
      ok(HcclGetCommAsyncError(comm, &state));
      check(state == HCCL_E_TIMEOUT, "HcclGetCommAsyncError says " + std::to_string(state));
      refused(HcclBarrier(comm, stream), HCCL_E_TIMEOUT,
              {"all_reduce of 1000 int32", "0.3 s", "HCCL_EXEC_TIMEOUT"});
      rank.event(0);
    }
    rank.await(0, rank.ranks() - 1);
    ok(HcclCommDestroy(comm));
  };
  run_ranks(3, GetParam(), body, with(policy));
}

/// Takes all notifies of the current device.
std::vector<aclrtNotify> take_all_notifies() {
  std::vector<aclrtNotify> taken;
  for (aclrtNotify notify = nullptr; aclrtCreateNotify(&notify, 0) == ACL_SUCCESS;) {
    taken.push_back(notify);
  }
  return taken;
}

void give_back(std::vector<aclrtNotify>& taken, size_t count) {
  for (; count > 0; --count) {
    ok(aclrtDestroyNotify(taken.back()));
    taken.pop_back();
  }
}

TEST(TasksAlone, TooFewNotifiesAreAnErrorThatGivesBackAllThatItTook) {
  const PolicyFile policy(tasks_policy());
  const auto body = [](Rank& rank) {
    HcclRootInfo root = rank.share_root();
    std::vector<aclrtNotify> taken = take_all_notifies();
    check(taken.size() > 1000, "there are few notifies");
    give_back(taken, 5);
    HcclComm comm = nullptr;
    refused(HcclCommInitRootInfo(rank.ranks(), &root, rank.rank(), &comm), HCCL_E_RUNTIME,
            {"notifies", "engine = \"direct\"", "207009"});
    std::vector<aclrtNotify> left = take_all_notifies();
    check(left.size() == 5, std::to_string(left.size()) + " notifies are left");
    give_back(left, left.size());
    give_back(taken, taken.size());
    comm = rank.join();
    expect_working(comm, rank.ranks());
    ok(HcclCommDestroy(comm));
  };
  run_ranks(2, Layout::kThreads, body, with(policy));
}

TEST(TasksAlone, OneThreadMayDriveRanksWhoseTasksDoNotFitIntoAStream) {
  const PolicyFile policy(tasks_policy());
  GroupOptions options = with(policy);
  options.environment["HCCL_BUFFSIZE"] = "1";  // MiB: messages and calls go in many pieces
  const auto body = [](Rank&) {
    constexpr uint32_t kRanks = 2;
    constexpr uint64_t kCount = uint64_t{30} << 20;
    int32_t devices[kRanks] = {0, 1};
    HcclComm comms[kRanks] = {};
    ok(HcclCommInitAll(kRanks, devices, comms));
    aclrtStream streams[kRanks] = {};
    std::vector<Parcel> parcels;
    for (uint32_t r = 0; r < kRanks; ++r) {
      ok(aclrtSetDevice(devices[r]));
      ok(aclrtCreateStream(&streams[r]));
      parcels.emplace_back(kCount);
    }
    parcels[0].pack(0, 1, 1);
    ok(HcclGroupStart());
    parcels[0].send(1, comms[0], streams[0]);
    parcels[1].receive(0, comms[1], streams[1]);
    ok(HcclGroupEnd());
    ok(aclrtSetDevice(devices[1]));
    ok(aclrtSynchronizeStream(streams[1]));
    parcels[1].check_is(0, 1, 1);
    ok(HcclGroupStart());
    for (uint32_t r = 0; r < kRanks; ++r) {
      ok(HcclBroadcast(parcels[r].data(), kCount, HCCL_DATA_TYPE_INT32, 1, comms[r], streams[r]));
    }
    ok(HcclGroupEnd());
    parcels[0].check_is(0, 1, 1);
    for (HcclComm comm : comms) ok(HcclCommDestroy(comm));
  };
  run_alone(body, options);
}

TEST_P(Tasks, CallsOnSeveralStreamsRunInTheOrderOfIssue) {
  const PolicyFile policy(tasks_policy());
  const auto body = [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream streams[3];
    Arena arena(Memory::kDevice, 64);
    auto* data = reinterpret_cast<int32_t*>(arena.lend(64));
    *data = 1;
    for (uint32_t i = 0; i < 9; ++i) {
      ok(HcclAllReduce(data, data, 1, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm,
                       streams[(i + rank.rank()) % 3]));
    }
    for (const Stream& stream : streams) stream.synchronize();
    check(*data == 1 << 18, "the sum is " + std::to_string(*data));
    ok(HcclCommDestroy(comm));
  };
  run_ranks(4, GetParam(), body, with(policy));
}

TEST_P(Tasks, BuffersThatOverlapAreRightThoughTheCallGoesInPieces) {
  const PolicyFile policy(tasks_policy());
  GroupOptions options = with(policy);
  options.environment["HCCL_BUFFSIZE"] = "1";
  const auto body = [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    constexpr uint64_t kCount = 700001;
    constexpr uint64_t kShift = 1000;
    const Parcel parcel(kCount + kShift);
    int32_t* in = parcel.data();
    for (uint64_t i = 0; i < kCount + kShift; ++i) in[i] = static_cast<int32_t>(i % 1009);
    ok(HcclAllReduce(in, in + kShift, kCount, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm, stream));
    stream.synchronize();
    check(last_call(comm).pieces > 3, "it went in few pieces");
    for (uint64_t i = 0; i < kCount; ++i) {
      if (in[kShift + i] != 3 * static_cast<int32_t>(i % 1009)) {
        check(false, "wrong at " + std::to_string(i));
      }
    }
    ok(HcclCommDestroy(comm));
  };
  run_ranks(3, GetParam(), body, options);
}

TEST(TasksAlone, ACommunicatorIsBusyUntilItsTasksHaveEnded) {
  const PolicyFile policy(tasks_policy());
  // A send ends when the receiver has taken the message.
  const auto body = [&](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    const Parcel sent(100000);
    const Parcel received(100000);
    if (rank.rank() == 0) {
      sent.send(1, comm, stream);
      refused(HcclCommDestroy(comm), HCCL_E_AGAIN, {"HcclCommDestroy", "synchronise"});
      rank.event(0);
    } else {
      rank.await(0, 1);
      received.receive(0, comm, stream);
    }
    stream.synchronize();
    ok(HcclCommDestroy(comm));
  };
  run_ranks(2, Layout::kProcesses, body, with(policy));
  run_ranks(2, Layout::kThreads, body, with(policy));
}

}  // namespace
}  // namespace weft::test
