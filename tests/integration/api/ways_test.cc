// SPDX-License-Identifier: Apache-2.0
// The way of every buffer: found in the order of the policy, each on its own, told and counted, and
// never seen in the result.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "cases.hpp"
#include "policy_file.hpp"
#include "samples.hpp"
#include "vmm.hpp"
#include "weft/comm.h"

namespace weft::test {
namespace {

constexpr uint64_t kCount = 1003;  // int32 elements of a block

weft_call_info info_of(HcclComm comm) {
  weft_call_info info{};
  info.head = WEFT_HEAD(weft_call_info);
  ok(weft_comm_last_call(comm, &info));
  return info;
}

void expect_way(uint32_t taken, uint32_t wanted, const char* why) {
  check(taken == wanted, std::string(weft_way_name(taken)) + " instead of " +
                             weft_way_name(wanted) + ", why: " + why);
}

/// Memory in a window, and in an active range of its own.
class Known {
 public:
  Known(HcclComm comm, size_t bytes, bool window, bool range)
      : comm_(comm), memory_(bytes), range_(range) {
    if (window) ok(HcclCommSymWinRegister(comm, memory_.data(), memory_.size(), &window_, 1));
    if (!range) return;
    ok(HcclCommSetMemoryRange(comm, memory_.data(), memory_.size(), 0, 0));
    ok(HcclCommActivateCommMemory(comm, memory_.data(), memory_.size(), 0, memory_.handle(), 0));
  }
  /// No call uses the memory any more. Collective, since peers are asked.
  void close(Rank& self) {
    if (window_ != nullptr) ok(HcclCommSymWinDeregister(window_));
    if (range_) {
      ok(HcclCommDeactivateCommMemory(comm_, memory_.data()));
      ok(HcclCommUnsetMemoryRange(comm_, memory_.data()));
    }
    self.sync();
  }
  void* at(size_t bytes) const { return memory_.data() + bytes; }

 private:
  HcclComm comm_;
  Mapped memory_;
  const bool range_;
  HcclCommSymWindow window_ = nullptr;
};

int32_t value(uint32_t rank, uint64_t i) { return static_cast<int32_t>(rank * 100003 + i * 7); }

void fill(void* at, uint32_t rank) {
  std::vector<int32_t> data(kCount);
  for (uint64_t i = 0; i < kCount; ++i) data[i] = value(rank, i);
  std::memcpy(at, data.data(), kCount * 4);
}

/// An all-gather, checked. Memory of the host runtime can be read by the CPU.
void gather(Rank& self, HcclComm comm, void* in, void* out) {
  const Stream stream;
  fill(in, self.rank());
  std::memset(out, 0x5a, kCount * 4 * self.ranks());
  ok(HcclAllGather(in, out, kCount, HCCL_DATA_TYPE_INT32, comm, stream));
  stream.synchronize();
  const auto* all = static_cast<const int32_t*>(out);
  for (uint32_t r = 0; r < self.ranks(); ++r) {
    for (uint64_t i = 0; i < kCount; ++i) {
      check(all[r * kCount + i] == value(r, i),
            "element " + std::to_string(i) + " of block " + std::to_string(r) + " is wrong");
    }
  }
}

class Order : public testing::TestWithParam<Layout> {};

TEST_P(Order, WindowsComeFirstThenRangesThenTheHeap) {
  const auto body = [](Rank& self) {
    HcclComm comm = self.join();
    Known both(comm, kPhysicalUnit, true, true);
    Known range(comm, kPhysicalUnit, false, true);
    Arena heap(Memory::kDevice, 4 * kCount);
    Arena more(Memory::kDevice, 4 * kCount * self.ranks());
    gather(self, comm, both.at(0), both.at(1 << 16));
    expect_way(info_of(comm).in_way, WEFT_WAY_WINDOW, info_of(comm).in_why);
    check(info_of(comm).out_why[0] == '\0', info_of(comm).out_why);
    gather(self, comm, range.at(64), range.at(1 << 16));
    expect_way(info_of(comm).out_way, WEFT_WAY_RANGE, info_of(comm).out_why);
    check(contains(info_of(comm).out_why, "symwin: "), info_of(comm).out_why);
    gather(self, comm, heap.lend(kCount * 4), more.lend(4 * kCount * self.ranks()));
    expect_way(info_of(comm).in_way, WEFT_WAY_HEAP, info_of(comm).in_why);
    check(contains(info_of(comm).in_why, "zerocopy: "), info_of(comm).in_why);
    both.close(self);
    range.close(self);
    ok(HcclCommDestroy(comm));
  };
  run_ranks(3, GetParam(), body);
}

TEST_P(Order, EveryBufferOfEveryRankGoesItsOwnWay) {
  const auto body = [](Rank& self) {
    HcclComm comm = self.join();
    Known window(comm, kPhysicalUnit, true, false);
    Known range(comm, kPhysicalUnit, false, true);
    Arena heap(Memory::kDevice, 4 * kCount);
    Arena more(Memory::kDevice, 4 * kCount * self.ranks());
    std::vector<int32_t> plain(kCount * self.ranks());
    void* outs[] = {window.at(1 << 16), range.at(1 << 16), more.lend(kCount * 4 * self.ranks()),
                    plain.data()};
    void* ins[] = {window.at(4), range.at(12), heap.lend(kCount * 4), plain.data()};
    for (uint32_t round = 0; round < 4; ++round) {
      for (uint32_t shift = 0; shift < 4; ++shift) {
        void* in = ins[(self.rank() + round) % 4];
        void* out = outs[(self.rank() + shift) % 4];
        if (in == plain.data() && out == plain.data()) in = ins[2];
        gather(self, comm, in, out);
      }
    }
    weft_comm_counters counters{};
    counters.head = WEFT_HEAD(weft_comm_counters);
    ok(weft_comm_get_counters(comm, &counters));
    uint64_t calls = 0;
    for (const uint64_t each : counters.calls_by_way) calls += each;
    check(calls == 16, "counted " + std::to_string(calls));
    check(counters.calls_by_way[WEFT_WAY_WINDOW] == 1, "calls that used windows only");
    window.close(self);
    range.close(self);
    ok(HcclCommDestroy(comm));
  };
  run_ranks(4, GetParam(), body);
}

TEST_P(Order, ThePolicyTurnsItAround) {
  const PolicyFile policy(policy_text({}, "[memory]\norder = [\"zerocopy\", \"symwin\"]\n"));
  const auto body = [](Rank& self) {
    HcclComm comm = self.join();
    Known both(comm, kPhysicalUnit, true, true);
    gather(self, comm, both.at(0), both.at(1 << 16));
    expect_way(info_of(comm).in_way, WEFT_WAY_RANGE, info_of(comm).in_why);
    Arena heap(Memory::kDevice, 8 * kCount * self.ranks());
    gather(self, comm, heap.lend(kCount * 4), both.at(1 << 16));
    check(info_of(comm).in_way >= WEFT_WAY_LOCAL, "the heap is not in the order");
    both.close(self);
    ok(HcclCommDestroy(comm));
  };
  GroupOptions options;
  options.environment = policy.environment();
  run_ranks(2, GetParam(), body, options);
}

INSTANTIATE_TEST_SUITE_P(Ways, Order,
                         testing::Values(Layout::kThreads, Layout::kProcesses, Layout::kPairs),
                         [](const auto& each) { return layout_name(each.param); });

TEST(Ways, APluginThatIsNotInTheOrderIsNotThere) {
  const PolicyFile policy(policy_text({}, "[memory]\norder = [\"heap\"]\n"));
  const auto body = [](Rank& self) {
    HcclComm comm = self.join();
    const Mapped memory(kPhysicalUnit);
    HcclCommSymWindow window = nullptr;
    refused(HcclCommSymWinRegister(comm, memory.data(), memory.size(), &window, 1),
            HCCL_E_NOT_SUPPORT, {"symmetric windows", "order"});
    refused(HcclCommSetMemoryRange(comm, memory.data(), memory.size(), 0, 0), HCCL_E_NOT_SUPPORT,
            {"memory ranges", "order"});
    ok(HcclCommDestroy(comm));
  };
  GroupOptions options;
  options.environment = policy.environment();
  run_ranks(2, Layout::kProcesses, body, options);
}

TEST(Ways, AnUnknownPluginInTheOrderIsNamedWithItsPlace) {
  const PolicyFile policy(policy_text({}, "[memory]\norder = [\"heap\", \"symwim\"]\n"));
  const auto body = [&](Rank&) {
    HcclRootInfo root{};
    refused(HcclGetRootInfo(&root), HCCL_E_NOT_FOUND,
            {policy.path() + ":", ":18: no memory plugin \"symwim\"; did you mean \"symwin\"?"});
  };
  GroupOptions options;
  options.environment = policy.environment();
  run_alone(body, options);
}

TEST(Ways, MessagesTellTheWayOfWhatIsSent) {
  const auto body = [](Rank& self) {
    HcclComm comm = self.join();
    Known window(comm, kPhysicalUnit, true, false);
    const Stream stream;
    const uint32_t peer = 1 - self.rank();
    void* mine = window.at(0);
    void* theirs = window.at(1 << 16);
    fill(mine, self.rank());
    HcclSendRecvItem items[] = {{HCCL_SEND, mine, kCount, HCCL_DATA_TYPE_INT32, peer},
                                {HCCL_RECV, theirs, kCount, HCCL_DATA_TYPE_INT32, peer}};
    ok(HcclBatchSendRecv(items, 2, comm, stream));
    expect_way(info_of(comm).in_way, WEFT_WAY_WINDOW, info_of(comm).in_why);
    stream.synchronize();
    for (uint64_t i = 0; i < kCount; ++i) {
      check(static_cast<int32_t*>(theirs)[i] == value(peer, i), "wrong element");
    }
    window.close(self);
    ok(HcclCommDestroy(comm));
  };
  run_ranks(2, Layout::kProcesses, body);
  run_ranks(2, Layout::kThreads, body);
}

TEST(Ways, OverlappingBuffersAreStagedAndSaySo) {
  const auto body = [](Rank& self) {
    HcclComm comm = self.join();
    Arena heap(Memory::kDevice, 8 * kCount * self.ranks());
    const Stream stream;
    std::byte* data = heap.lend(8 * kCount);
    fill(data, self.rank());
    ok(HcclAllReduce(data, data + 4, kCount, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm, stream));
    stream.synchronize();
    check(contains(info_of(comm).in_why, "overlap"), info_of(comm).in_why);
    ok(HcclCommDestroy(comm));
  };
  run_ranks(2, Layout::kProcesses, body);
}

// Queued calls that come again in the same order are not prepared anew.
TEST(Ways, TheLastCallIsToldOfQueuedCallsThatComeAgain) {
  run_ranks(2, Layout::kProcesses, [](Rank& self) {
    HcclComm comm = self.join();
    const Stream stream;
    const Parcel in(kCount);
    const Parcel sum(kCount);
    std::vector<int32_t> largest(kCount);  // that nobody else touches
    const auto reduce = [&](int32_t* to, uint64_t count, HcclReduceOp op) {
      ok(HcclAllReduce(in.data(), to, count, HCCL_DATA_TYPE_INT32, op, comm, stream));
      const weft_call_info info = info_of(comm);
      expect_way(info.in_way, WEFT_WAY_HEAP, info.in_why);
      expect_way(info.out_way, to == sum.data() ? WEFT_WAY_HEAP : WEFT_WAY_OWN, info.out_why);
    };
    for (int32_t round = 1; round < 5; ++round) {
      std::fill_n(in.data(), kCount, round * static_cast<int32_t>(self.rank() + 1));
      std::fill_n(sum.data(), kCount, 0);
      std::fill(largest.begin(), largest.end(), 0);
      reduce(sum.data(), 5, HCCL_REDUCE_SUM);
      reduce(largest.data(), 7, HCCL_REDUCE_MAX);
      if (round == 3) reduce(largest.data(), 9, HCCL_REDUCE_MAX);  // what follows comes one later
      reduce(sum.data(), 3, HCCL_REDUCE_MAX);
      stream.synchronize();
      const int32_t most = 2 * round;
      check(std::count(largest.begin(), largest.end(), most) == (round == 3 ? 9 : 7), "max");
      check(std::count(sum.data(), sum.data() + kCount, most) == 3 &&
                std::count(sum.data(), sum.data() + kCount, 3 * round) == 2,
            "sum");
    }
    ok(HcclCommDestroy(comm));
  });
}

TEST(Ways, MemoryThatNobodyElseTouchesIsNotStaged) {
  struct Wanted {
    const char* algorithm;
    uint32_t root, others;
  };
  for (const Wanted wanted : {Wanted{"mesh.broadcast", WEFT_WAY_STAGED, WEFT_WAY_OWN},
                              Wanted{"mesh.broadcast_push", WEFT_WAY_OWN, WEFT_WAY_STAGED},
                              Wanted{"mesh.broadcast_pull", WEFT_WAY_OWN, WEFT_WAY_OWN}}) {
    const PolicyFile policy(policy_text({{"broadcast", wanted.algorithm}}));
    GroupOptions options;
    options.environment = policy.environment();
    const auto body = [&](Rank& self) {
      HcclComm comm = self.join();
      const Stream stream;
      std::vector<int32_t> data(kCount, self.rank() == 1 ? 0 : -1);
      for (uint64_t i = 0; i < kCount && self.rank() == 1; ++i) data[i] = int32_t(i * 7 + 3);
      for (int round = 0; round < 3; ++round) {
        if (self.rank() != 1) std::fill(data.begin(), data.end(), -1);
        ok(HcclBroadcast(data.data(), kCount, HCCL_DATA_TYPE_INT32, 1, comm, stream));
        stream.synchronize();
        for (uint64_t i = 0; i < kCount; ++i) {
          check(data[i] == int32_t(i * 7 + 3), "wrong at " + std::to_string(i));
        }
      }
      const weft_call_info info = info_of(comm);
      expect_way(info.out_way, self.rank() == 1 ? wanted.root : wanted.others, info.out_why);
      ok(HcclCommDestroy(comm));
    };
    run_ranks(3, Layout::kProcesses, body, options);
  }
}

// What is kept of the last call must not be taken for this one.
TEST(Ways, ACallThatComesToNothingLeavesNothingBehindForTheNextOne) {
  GroupOptions options;
  options.environment["WEFT_DEVICE_MEMORY"] = "256M";
  options.environment["HCCL_BUFFSIZE"] = "1";
  const auto body = [](Rank& rank) {
    constexpr uint64_t kLong = uint64_t{300} << 20;  // bytes; more than the device has
    HcclComm comm = rank.join();
    const Stream stream;
    const Parcel in(500);
    const Parcel out(500);
    const Parcel other(500);
    void* memory = mmap(nullptr, kLong, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    check(memory != MAP_FAILED, "no address space");
    for (int32_t round = 1; round < 6; ++round) {
      const Parcel& from = round == 4 ? other : in;  // the same plan with another buffer
      std::fill_n(from.data(), 500, round * static_cast<int32_t>(rank.rank() + 1));
      std::fill_n(out.data(), 500, 0);
      ok(HcclAllReduce(from.data(), out.data(), 500, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm,
                       stream));
      stream.synchronize();
      check(std::count(out.data(), out.data() + 500, 3 * round) == 500, "the sum is wrong");
      refused(HcclAllReduce(memory, memory, kLong / 4, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm,
                            stream),
              HCCL_E_OOM, {"HcclAllReduce", "aclrtMalloc"});
    }
    munmap(memory, kLong);
    ok(HcclCommDestroy(comm));
  };
  run_ranks(2, Layout::kProcesses, body, options);
}

TEST(Ways, TheFunctionsThatTellCheckTheirArguments) {
  const auto body = [](Rank& self) {
    HcclComm comm = self.join();
    weft_comm_counters counters{};
    refused(weft_comm_get_counters(comm, &counters), HCCL_E_PARA, {"WEFT_HEAD"});
    refused(weft_comm_get_counters(comm, nullptr), HCCL_E_PTR);
    refused(weft_comm_get_counters(nullptr, &counters), HCCL_E_PTR);
    check(std::string(weft_way_name(77)) == "none", weft_way_name(77));
    check(std::string(weft_way_name(257)) == "none", weft_way_name(257));
    ok(HcclCommDestroy(comm));
  };
  run_alone(body);
}

}  // namespace
}  // namespace weft::test
