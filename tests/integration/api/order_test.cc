// SPDX-License-Identifier: Apache-2.0
// Many calls on their way at once: queued, of several communicators, on several streams; long
// vectors and pieces.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "cases.hpp"
#include "policy_file.hpp"

namespace weft::test {
namespace {

constexpr Op kOps[] = {Op::kAllReduce, Op::kReduceScatter,  Op::kAllGather, Op::kBroadcast,
                       Op::kAllToAll,  Op::kReduce,         Op::kScatter,   Op::kAllGatherV,
                       Op::kAllToAllV, Op::kReduceScatterV, Op::kAllToAllVC};
constexpr uint32_t kOpCount = std::size(kOps);

/// A mixture of operations, types and sizes; equal on all ranks.
Case mixed_case(uint32_t number, uint32_t ranks) {
  static constexpr uint64_t kCounts[] = {5, 1, 300, 4099, 2};
  Case c;
  c.op = kOps[number % kOpCount];
  c.type = reducible_types()[number % reducible_types().size()];
  c.reduce = reduce_ops()[number % reduce_ops().size()];
  c.count = kCounts[number / kOpCount % 5];
  c.root = number % ranks;
  return c;
}

/// Buffers for `calls` calls that are on their way together.
class Batch {
 public:
  Batch(uint32_t calls, size_t capacity) {
    for (uint32_t i = 0; i < calls; ++i) {
      send_.push_back(std::make_unique<Arena>(Memory::kDevice, capacity));
      recv_.push_back(std::make_unique<Arena>(Memory::kDevice, capacity));
    }
  }
  Trial trial(uint32_t i, const Case& c, const Rank& rank) const {
    return {c, rank.rank(), rank.ranks(), *send_[i], *recv_[i]};
  }

 private:
  std::vector<std::unique_ptr<Arena>> send_;
  std::vector<std::unique_ptr<Arena>> recv_;
};

constexpr uint32_t kCalls = 50;
constexpr size_t kCapacity = (size_t{4099} * 2 + 10) * 8 * 4;

class Order : public testing::TestWithParam<Layout> {};
std::string name_of_layout(const testing::TestParamInfo<Layout>& given) {
  return layout_name(given.param);
}
INSTANTIATE_TEST_SUITE_P(Groups, Order,
                         testing::Values(Layout::kThreads, Layout::kProcesses, Layout::kPairs),
                         name_of_layout);

TEST_P(Order, ManyCallsBeforeOneSynchronisationAreAllRight) {
  run_ranks(4, GetParam(), [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    const Batch batch(kCalls, kCapacity);
    std::vector<Trial> trials;
    for (uint32_t i = 0; i < kCalls; ++i) {
      trials.push_back(batch.trial(i, mixed_case(i, rank.ranks()), rank));
      trials.back().run(comm, stream);
    }
    stream.synchronize();
    for (const Trial& trial : trials) trial.verify();
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(Order, ACallSeesWhatTheCallBeforeItWrote) {
  run_ranks(4, GetParam(), [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    const uint64_t count = 1000;
    constexpr uint32_t kTimes = 8;
    Arena arena(Memory::kDevice, count * sizeof(int32_t));
    auto* data = reinterpret_cast<int32_t*>(arena.lend(count * sizeof(int32_t)));
    for (uint64_t i = 0; i < count; ++i) data[i] = static_cast<int32_t>(i + rank.rank());
    for (uint32_t k = 0; k < kTimes; ++k) {
      ok(HcclAllReduce(data, data, count, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm, stream));
    }
    stream.synchronize();
    const auto n = static_cast<int32_t>(rank.ranks());
    int32_t factor = 1;
    for (uint32_t k = 1; k < kTimes; ++k) factor *= n;
    for (uint64_t i = 0; i < count; ++i) {
      const int32_t sum = n * static_cast<int32_t>(i) + n * (n - 1) / 2;
      check(data[i] == sum * factor, "wrong at " + std::to_string(i));
    }
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(Order, TwoCommunicatorsDoNotDisturbEachOther) {
  run_ranks(4, GetParam(), [](Rank& rank) {
    HcclComm comms[] = {rank.join(), rank.join()};
    const Stream streams[2];
    const Batch batch(kCalls, kCapacity);
    std::vector<Trial> trials;
    for (uint32_t i = 0; i < kCalls; ++i) {
      // The ranks interleave the two in different ways.
      const uint32_t which = (i + rank.rank()) % 2;
      const uint32_t number = i / 2 + which * 100;
      trials.push_back(batch.trial(i, mixed_case(number, rank.ranks()), rank));
      trials.back().run(comms[which], streams[which]);
    }
    for (const Stream& stream : streams) stream.synchronize();
    for (const Trial& trial : trials) trial.verify();
    for (HcclComm comm : comms) ok(HcclCommDestroy(comm));
  });
}

TEST_P(Order, CallsOnSeveralStreamsRunInTheOrderOfIssue) {
  run_ranks(4, GetParam(), [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream streams[3];
    const Batch batch(kCalls, kCapacity);
    for (uint32_t round = 0; round < 3; ++round) {
      std::vector<Trial> trials;
      for (uint32_t i = 0; i < kCalls; ++i) {
        trials.push_back(batch.trial(i, mixed_case(i + round, rank.ranks()), rank));
        trials.back().run(comm, streams[(i * 7 + rank.rank()) % 3]);
      }
      // Any order of waiting must do.
      for (uint32_t s = 0; s < 3; ++s) streams[(s + rank.rank() + round) % 3].synchronize();
      for (const Trial& trial : trials) trial.verify();
    }
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(Order, WorkIsDoneWithoutASynchronisation) {
  run_ranks(3, GetParam(), [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    const Batch batch(1, kCapacity);
    const Trial trial = batch.trial(0, mixed_case(0, rank.ranks()), rank);
    trial.run(comm, stream);
    eventually(
        [&] {
          aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
          ok(aclrtStreamQuery(stream, &status));
          return status == ACL_STREAM_STATUS_COMPLETE;
        },
        "the stream completes by itself");
    trial.verify();
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(Order, MoreCallsThanACommunicatorKeepsCanBeQueuedInALoop) {
  run_ranks(2, GetParam(), [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    Arena arena(Memory::kDevice, sizeof(int32_t));
    auto* data = reinterpret_cast<int32_t*>(arena.lend(sizeof(int32_t)));
    *data = static_cast<int32_t>(rank.rank());
    for (uint32_t i = 0; i < 5000; ++i) {
      ok(HcclAllReduce(data, data, 1, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_MAX, comm, stream));
    }
    stream.synchronize();
    check(*data == 1, "wrong maximum");
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(Order, ASmallHcclBufferCutsACallIntoPieces) {
  const PolicyFile policy(policy_text({{"all_reduce", "mesh.one_shot"}}));
  GroupOptions options;
  options.environment = policy.environment();
  options.environment["HCCL_BUFFSIZE"] = "1";
  const auto body = [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    const uint64_t count = 1048577;
    Arena send(Memory::kDevice, count * sizeof(float));
    Arena recv(Memory::kHost, count * sizeof(float));
    for (const Place place : {Place::kApart, Place::kSame}) {
      const Case c{Op::kAllReduce, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, count, place};
      const Trial trial(c, rank.rank(), rank.ranks(), send, recv);
      trial.run(comm, stream);
      const CallFacts facts = last_call(comm);
      check(facts.algorithm == "mesh.one_shot" && facts.pieces > rank.ranks(),
            facts.algorithm + " in " + std::to_string(facts.pieces) + " pieces");
      stream.synchronize();
      trial.verify();
    }
    ok(HcclCommDestroy(comm));
  };
  run_ranks(3, GetParam(), body, options);
}

TEST_P(Order, LongVectorsAreRight) {
  run_ranks(2, GetParam(), [](Rank& rank) {
    HcclComm comm = rank.join();
    const uint64_t count = 1048577;
    Runner runner(rank, count * 8 * 2);
    for (const HcclDataType type :
         {HCCL_DATA_TYPE_INT8, HCCL_DATA_TYPE_FP16, HCCL_DATA_TYPE_FP32, HCCL_DATA_TYPE_INT64}) {
      if (type == HCCL_DATA_TYPE_INT64 && runs_as_tasks()) continue;  // no inline reduce
      Case c{Op::kAllReduce, type, HCCL_REDUCE_SUM, count, Place::kSame};
      runner.run(comm, c, "mesh.two_shot");
      c.place = Place::kApart;
      c.send = Memory::kHost;
      runner.run(comm, c, "mesh.two_shot");
      runner.run(comm, {Op::kReduceScatter, type, HCCL_REDUCE_MAX, count}, "mesh.reduce_scatter");
      runner.run(comm, {Op::kAllGather, type, HCCL_REDUCE_SUM, count}, "mesh.all_gather");
      runner.run(comm, {Op::kBroadcast, type, HCCL_REDUCE_SUM, count}, "mesh.broadcast");
      runner.run(comm, {Op::kAllToAll, type, HCCL_REDUCE_SUM, count}, "mesh.all_to_all");
    }
    ok(HcclCommDestroy(comm));
  });
}

#ifdef NDEBUG
constexpr uint64_t kHuge = uint64_t{16} << 20;

TEST_P(Order, SixtyFourMebibytesAreRight) {
  run_ranks(4, GetParam(), [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    Arena send(Memory::kDevice, kHuge * sizeof(float));
    Arena recv(Memory::kDevice, kHuge * sizeof(float));
    for (const Case& c :
         {Case{Op::kAllReduce, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, kHuge},
          Case{Op::kAllReduce, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, kHuge, Place::kSame},
          Case{Op::kAllGather, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, kHuge / 4},
          Case{Op::kReduceScatter, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, kHuge / 4}}) {
      rank.note(describe(c));
      const Trial trial(c, rank.rank(), rank.ranks(), send, recv);
      trial.run(comm, stream);
      stream.synchronize();
      trial.verify();
    }
    ok(HcclCommDestroy(comm));
  });
}
#endif

}  // namespace
}  // namespace weft::test
