// SPDX-License-Identifier: Apache-2.0
// Short calls that follow one another on a stream without a wait: they overlap where they can.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "operators.hpp"

namespace weft::test {
namespace {

constexpr Op kOperators[] = {Op::kAllReduce, Op::kReduceScatter,  Op::kAllGather, Op::kBroadcast,
                             Op::kAllToAll,  Op::kReduce,         Op::kScatter,   Op::kAllGatherV,
                             Op::kAllToAllV, Op::kReduceScatterV, Op::kAllToAllVC};

class Queued : public testing::TestWithParam<Shape> {};
INSTANTIATE_TEST_SUITE_P(Groups, Queued,
                         testing::Values(Shape{2, Layout::kProcesses}, Shape{3, Layout::kThreads},
                                         Shape{4, Layout::kProcesses},
                                         Shape{8, Layout::kProcesses}),
                         shape_name);

TEST_P(Queued, CallsOfEveryAlgorithmAreRight) {
  constexpr uint32_t kCalls = 70;
  constexpr size_t kCapacity = 4096;
  const Shape shape = GetParam();
  const PolicyFile policy(policy_text());
  GroupOptions options;
  options.environment = policy.environment();
  options.deadline = std::chrono::seconds(110);
  const auto body = [&](Rank& rank) {
    std::vector<std::unique_ptr<Arena>> send, recv;
    for (uint32_t i = 0; i < kCalls; ++i) {
      send.push_back(std::make_unique<Arena>(Memory::kDevice, kCapacity));
      recv.push_back(std::make_unique<Arena>(Memory::kDevice, kCapacity));
    }
    const Stream stream;
    for (const Op op : kOperators) {
      for_each_algorithm(
          rank, policy, op, algorithms_of(op), [&](HcclComm comm, const Algorithm& algorithm) {
            rank.note(algorithm.name);
            // The second time on the same buffers: calls that come again.
            for (int time = 0; time < 2; ++time) {
              std::vector<Trial> trials;
              for (uint32_t i = 0; i < kCalls; ++i) {
                Case c;
                c.op = op;
                c.type = HCCL_DATA_TYPE_INT32;
                c.count = i % 6;
                c.root = i % rank.ranks();
                trials.emplace_back(c, rank.rank(), rank.ranks(), *send[i], *recv[i]);
              }
              for (const Trial& trial : trials) trial.run(comm, stream);
              stream.synchronize();
              for (const Trial& trial : trials) trial.verify();
            }
          });
    }
  };
  run_ranks(shape.ranks, shape.layout, body, options);
}

// A call whose input is the output of one before it, or is written by the stream, must wait for it.
TEST_P(Queued, CallsSeeWhatTheStreamDidBefore) {
  const Shape shape = GetParam();
  run_ranks(shape.ranks, shape.layout, [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    constexpr uint32_t kRounds = 16;
    constexpr uint64_t kCount = 3;
    constexpr size_t kBytes = kCount * sizeof(int32_t);
    Arena arena(Memory::kDevice, (kRounds + 2) * size_t{64});
    auto* memory = reinterpret_cast<int32_t*>(arena.lend((kRounds + 2) * size_t{64}));
    const auto slot = [&](uint32_t i) { return memory + size_t{16} * i; };
    const auto n = static_cast<int32_t>(rank.ranks());
    const auto me = static_cast<int32_t>(rank.rank());
    const auto sum = [&](uint32_t from, uint32_t to) {
      ok(HcclAllReduce(slot(from), slot(to), kCount, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm,
                       stream));
    };
    for (int32_t turn = 0; turn < 50; ++turn) {
      for (int32_t i = 0; i < static_cast<int32_t>(kCount); ++i) {
        slot(0)[i] = 10 * i + me + turn;
        slot(1)[i] = -i - me * turn;
      }
      for (uint32_t round = 0; round < kRounds; ++round) sum(round, round + 2);
      stream.synchronize();
      for (uint32_t round = 0; round < kRounds; ++round) {
        int32_t factor = 1;
        for (uint32_t k = 2; k <= round; k += 2) factor *= n;
        const int32_t ranks = n * (n - 1) / 2;
        for (int32_t i = 0; i < static_cast<int32_t>(kCount); ++i) {
          const int32_t first =
              round % 2 == 0 ? n * (10 * i + turn) + ranks : -n * i - ranks * turn;
          check(slot(round + 2)[i] == first * factor,
                "turn " + std::to_string(turn) + ", round " + std::to_string(round) + ", element " +
                    std::to_string(i) + ": " + std::to_string(slot(round + 2)[i]));
        }
      }
    }
    // An output that is overwritten, by a call and by a copy.
    for (int32_t turn = 0; turn < 50; ++turn) {
      slot(0)[0] = 1 + me;
      slot(1)[0] = turn;
      sum(0, 2);
      sum(1, 2);
      sum(2, 3);
      ok(aclrtMemcpyAsync(slot(2), kBytes, slot(0), kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
      sum(2, 4);
      sum(4, 0);
      stream.synchronize();
      check(slot(3)[0] == n * n * turn && slot(4)[0] == n * (n + 1) / 2 &&
                slot(0)[0] == n * n * (n + 1) / 2,
            "turn " + std::to_string(turn));
    }
    ok(HcclCommDestroy(comm));
  });
}

// What a program may see of a peer once a barrier is over: all that the peer issued before it.
TEST(QueuedFaults, ABarrierEndsAfterTheCallsBeforeItOnEveryRank) {
  static std::atomic<int32_t*> shown{nullptr};  // threads: rank 0 looks at the buffer of rank 1
  shown = nullptr;
  run_ranks(2, Layout::kThreads, [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    Arena arena(Memory::kDevice, sizeof(int32_t));
    auto* data = reinterpret_cast<int32_t*>(arena.lend(sizeof(int32_t)));
    if (rank.rank() == 1) shown = data;
    rank.sync();
    for (int32_t round = 1; round <= 200; ++round) {
      if (rank.rank() == 1) {
        *data = -1;
        ok(HcclBroadcast(data, 1, HCCL_DATA_TYPE_INT32, 0, comm, stream));
        ok(HcclBarrier(comm, stream));
        rank.event(0);
        rank.await(1, static_cast<uint32_t>(round));
        stream.synchronize();
      } else {
        rank.await(0, static_cast<uint32_t>(round));
        *data = round;
        ok(HcclBroadcast(data, 1, HCCL_DATA_TYPE_INT32, 0, comm, stream));
        ok(HcclBarrier(comm, stream));
        stream.synchronize();
        const int32_t seen = std::atomic_ref<int32_t>(*shown.load()).load();
        check(seen == round, "round " + std::to_string(round) + ": " + std::to_string(seen));
        rank.event(1);
      }
    }
    ok(HcclCommDestroy(comm));
  });
}

class QueuedOrder : public testing::TestWithParam<Layout> {};
INSTANTIATE_TEST_SUITE_P(Layouts, QueuedOrder,
                         testing::Values(Layout::kThreads, Layout::kProcesses),
                         [](const auto& given) { return layout_name(given.param); });

// The broadcast of rank 0 follows its reduce, the message of rank 1 follows the broadcast, and the
// copy of rank 0 follows the message, on another stream: so it follows the reduce.
TEST_P(QueuedOrder, CanBeFollowedThroughOtherRanks) {
  run_ranks(3, GetParam(), [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    const Stream other;
    constexpr size_t kBytes = sizeof(int32_t);
    Arena arena(Memory::kDevice, 5 * 64);
    auto* base = reinterpret_cast<int32_t*>(arena.lend(5 * 64));
    const auto at = [&](int i) { return base + i * 16; };
    int32_t *in = at(0), *out = at(1), *told = at(2), *heard = at(3), *copy = at(4);
    for (int32_t round = 1; round <= 10; ++round) {
      *in = round;
      *out = *copy = -1;
      rank.sync();
      if (rank.rank() == 2) {  // late, unless the copy has been made without it
        const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
        while (rank.counted(0) < static_cast<uint32_t>(round) &&
               std::chrono::steady_clock::now() < until) {
          std::this_thread::yield();
        }
      }
      ok(HcclReduce(in, out, 1, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, 0, comm, stream));
      ok(HcclBroadcast(told, 1, HCCL_DATA_TYPE_INT32, 0, comm, stream));
      if (rank.rank() == 1) ok(HcclSend(told, 1, HCCL_DATA_TYPE_INT32, 0, comm, stream));
      if (rank.rank() == 0) {
        ok(HcclRecv(heard, 1, HCCL_DATA_TYPE_INT32, 1, comm, other));
        ok(aclrtMemcpyAsync(copy, kBytes, out, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE, other));
        other.synchronize();
        rank.event(0);
        check(*copy == 3 * round, "round " + std::to_string(round) + ": " + std::to_string(*copy));
      }
      stream.synchronize();
    }
    ok(HcclCommDestroy(comm));
  });
}

// Rank 0 writes the input of its second call only when rank 1 is about to launch its first.
TEST_P(QueuedOrder, HoldsForInputsTooWithoutEarlyCalls) {
  GroupOptions options;
  options.environment = {{"WEFT_EARLY_CALLS", "0"}};
  const auto body = [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    Arena arena(Memory::kDevice, 4 * 64);
    auto* base = reinterpret_cast<int32_t*>(arena.lend(4 * 64));
    const auto at = [&](int i) { return base + i * 16; };
    for (int32_t round = 1; round <= 20; ++round) {
      for (int i = 0; i < 4; ++i) *at(i) = -1;
      rank.sync();
      *at(0) = round;
      if (rank.rank() == 1) {
        *at(1) = 2 * round;
        rank.await(0, static_cast<uint32_t>(round));
      }
      for (int i = 0; i < 2; ++i) {
        ok(HcclAllReduce(at(i), at(2 + i), 1, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm, stream));
      }
      if (rank.rank() == 0) {
        *at(1) = 3 * round;
        rank.event(0);
      }
      stream.synchronize();
      check(*at(2) == 2 * round && *at(3) == 5 * round, "round " + std::to_string(round));
    }
    ok(HcclCommDestroy(comm));
  };
  run_ranks(2, GetParam(), body, options);
}

/// Memory that the process has at two addresses.
class TwiceMapped {
 public:
  explicit TwiceMapped(size_t bytes) : bytes_(bytes) {
    const int file = memfd_create("twice", MFD_CLOEXEC);
    EXPECT_EQ(ftruncate(file, static_cast<off_t>(bytes)), 0);
    for (void*& each : address_) {
      each = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      EXPECT_NE(each, MAP_FAILED);
    }
    close(file);
  }
  ~TwiceMapped() {
    for (void* each : address_) munmap(each, bytes_);
  }
  TwiceMapped(const TwiceMapped&) = delete;
  TwiceMapped& operator=(const TwiceMapped&) = delete;

  int32_t* first() const { return static_cast<int32_t*>(address_[0]); }
  int32_t* second() const { return static_cast<int32_t*>(address_[1]); }

 private:
  const size_t bytes_;
  void* address_[2] = {};
};

TEST_P(QueuedOrder, HoldsForMemoryWithTwoAddresses) {
  run_ranks(3, GetParam(), [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    const TwiceMapped memory(4096);
    Arena arena(Memory::kDevice, 128);
    auto* in = reinterpret_cast<int32_t*>(arena.lend(128));
    int32_t* out = in + 16;
    const auto sum = [&](const int32_t* from, int32_t* to) {
      ok(HcclAllReduce(const_cast<int32_t*>(from), to, 1, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                       comm, stream));
    };
    for (int32_t round = 1; round <= 100; ++round) {
      *in = round;
      *memory.first() = *out = -1;
      rank.sync();
      sum(in, memory.first());
      sum(memory.second(), out);
      stream.synchronize();
      check(*out == 9 * round, "round " + std::to_string(round) + ": " + std::to_string(*out));
    }
    ok(HcclCommDestroy(comm));
  });
}

TEST(QueuedFaults, ALateRankTakesNothingOfCallsThatFailed) {
  const PolicyFile policy(policy_text({{"broadcast", "mesh.broadcast"}}));
  GroupOptions options;
  options.environment = policy.environment();
  options.environment["HCCL_EXEC_TIMEOUT"] = "1";
  for (const bool queued : {false, true}) {
    const auto body = [&](Rank& rank) {
      HcclComm comm = rank.join();
      const Stream stream;
      constexpr uint64_t kCount = 700;
      Arena arena(Memory::kDevice, (kCount + 2) * sizeof(int32_t));
      auto* data = reinterpret_cast<int32_t*>(arena.lend((kCount + 2) * sizeof(int32_t)));
      std::fill_n(data, kCount + 2, rank.rank() == 0 ? 7 : -1);
      if (rank.rank() == 1) rank.await(0, 1);
      HcclResult code = HCCL_SUCCESS;
      if (queued) {
        code = HcclAllReduce(data + kCount, data + kCount + 1, 1, HCCL_DATA_TYPE_INT32,
                             HCCL_REDUCE_SUM, comm, stream);
      }
      if (code == HCCL_SUCCESS) {
        code = HcclBroadcast(data, kCount, HCCL_DATA_TYPE_INT32, 0, comm, stream);
      }
      const aclError synchronised = aclrtSynchronizeStream(stream);
      if (rank.rank() == 1) rank.event(1);
      check(code != HCCL_SUCCESS || synchronised != ACL_SUCCESS,
            "a call without its peer succeeds");
      if (rank.rank() == 1) {
        // Streams copy what the root had when it called; that is complete before the root ends.
        const int32_t arrived = runs_as_tasks() ? data[0] : -1;
        check(arrived == -1 || arrived == 7, "data of after the call: " + std::to_string(arrived));
        check(std::count(data, data + kCount, arrived) == kCount, "data of a call that failed");
        return;
      }
      ok(HcclCommDestroy(comm));
      std::fill_n(data, kCount, 999);
      rank.event(0);
      rank.await(1, 1);  // the memory stays for the other
    };
    run_ranks(2, Layout::kProcesses, body, options);
  }
}

}  // namespace
}  // namespace weft::test
