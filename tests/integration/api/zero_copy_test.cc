// SPDX-License-Identifier: Apache-2.0
// Zero-copy ranges through the HCCL API: as programs use them, between threads and processes.
#include "zero_copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "cases.hpp"

namespace weft::test {
namespace {

class ZeroCopy : public testing::TestWithParam<Shape> {
 protected:
  static void run(const std::function<void(Rank&)>& body) {
    GroupOptions options;
    options.deadline = std::chrono::seconds(110);
    run_ranks(GetParam().ranks, GetParam().layout, body, options);
  }
  static uint32_t way_without() {
    return GetParam().layout == Layout::kThreads ? WEFT_WAY_LOCAL : WEFT_WAY_STAGED;
  }
};

INSTANTIATE_TEST_SUITE_P(, ZeroCopy,
                         testing::Values(Shape{2, Layout::kProcesses}, Shape{3, Layout::kThreads},
                                         Shape{3, Layout::kProcesses}, Shape{4, Layout::kPairs}),
                         shape_name);

TEST_P(ZeroCopy, TheDocumentedSequenceWorks) {
  run([](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    const size_t memory = free_memory();
    RangeOf range(comm, 64 * kUnit);
    std::deque<Block> blocks;
    for (size_t i = 0; i < 3; ++i) {
      blocks.emplace_back(comm, range.at(i));
      sum_at(comm, range.at(i) + 4096 * i, rank.rank(), rank.ranks(), stream);
      went_by(comm, WEFT_WAY_RANGE);
    }
    for (Block& block : blocks) block.close(comm);
    range.close(comm);
    rank.sync();
    check(free_memory() == memory, "memory is missing");
    rank.sync();
    ok(HcclCommDestroy(comm));
  });
}

constexpr std::array kOps = {Op::kAllReduce, Op::kBroadcast,  Op::kReduceScatter,
                             Op::kAllGather, Op::kAllToAll,   Op::kReduce,
                             Op::kScatter,   Op::kAllGatherV, Op::kReduceScatterV,
                             Op::kAllToAllV, Op::kAllToAllVC};

/// Whether a buffer of this rank has any: those of V operators need not.
bool has_data(const Case& c, const Rank& rank) {
  const Buffers buffers = buffers_of(c, rank.rank(), rank.ranks());
  const auto any = [](const std::vector<Part>& parts) {
    return std::any_of(parts.begin(), parts.end(),
                       [](const Part& part) { return part.count != 0; });
  };
  return any(buffers.send) || any(buffers.recv);
}

TEST_P(ZeroCopy, OperatorsGiveTheSameBitsAsWithDeviceMemory) {
  run([](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    RangeOf range(comm, 16 * kUnit);
    std::deque<Block> blocks;
    for (const size_t units : {1, 2, 1, 4}) {  // buffers lie over several of them
      blocks.emplace_back(comm,
                          range.at(blocks.empty()       ? 0
                                   : blocks.size() == 1 ? 1
                                   : blocks.size() == 2 ? 3
                                                        : 4),
                          units * kUnit);
    }
    Arena send(range.at(0), 4 * kUnit);
    Arena recv(range.at(4), 4 * kUnit);
    Arena heap_send(Memory::kDevice, 4 * kUnit);
    Arena heap_recv(Memory::kDevice, 4 * kUnit);
    for (const Op op : kOps) {
      for (const uint64_t count : {1, 17, 1000, 65537}) {
        Case c;
        c.op = op;
        c.count = count;
        c.root = static_cast<uint32_t>(count) % rank.ranks();
        c.rough = true;
        rank.note(describe(c));
        const auto digest = [&](Arena& in, Arena& out, uint32_t way) {
          const Trial trial(c, rank.rank(), rank.ranks(), in, out);
          trial.run(comm, stream);
          stream.synchronize();
          went_by(comm, has_data(c, rank) ? way : uint32_t{WEFT_WAY_NONE});
          check(!in.guards_broken() && !out.guards_broken(), "bytes around a buffer were written");
          return trial.digest();
        };
        check(digest(send, recv, WEFT_WAY_RANGE) == digest(heap_send, heap_recv, WEFT_WAY_HEAP),
              "the bits differ: " + describe(c));
      }
    }
    for (Block& block : blocks) block.close(comm);
    range.close(comm);
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(ZeroCopy, OperatorsGiveRightResults) {
  run([](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    const RangeOf range(comm, 8 * kUnit);
    const Block first(comm, range.at(0), 3 * kUnit);
    const Block second(comm, range.at(3), 5 * kUnit);
    Arena send(range.at(0), 4 * kUnit);
    Arena recv(range.at(4), 4 * kUnit);
    for (const Op op : kOps) {
      for (const uint64_t count : {3, 4099, 50021}) {
        Case c;
        c.op = op;
        c.type = HCCL_DATA_TYPE_INT32;
        c.count = count;
        rank.note(describe(c));
        const Trial trial(c, rank.rank(), rank.ranks(), send, recv);
        trial.run(comm, stream);
        stream.synchronize();
        trial.verify();
        went_by(comm, has_data(c, rank) ? WEFT_WAY_RANGE : WEFT_WAY_NONE);
      }
    }
    rank.sync();
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(ZeroCopy, MessagesTravelByRange) {
  run([](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    const RangeOf range(comm, kUnit);
    const Block block(comm, range.at(0));
    constexpr uint64_t kCount = 30011;
    auto* out = reinterpret_cast<int32_t*>(block.address());
    int32_t* in = out + kCount + 3;
    for (uint64_t i = 0; i < kCount; ++i) out[i] = static_cast<int32_t>(rank.rank() * 7919 + i);
    const uint32_t n = rank.ranks();
    const uint32_t left = (rank.rank() + n - 1) % n;
    HcclSendRecvItem items[] = {
        {HCCL_SEND, out, kCount, HCCL_DATA_TYPE_INT32, (rank.rank() + 1) % n},
        {HCCL_RECV, in, kCount, HCCL_DATA_TYPE_INT32, left}};
    ok(HcclBatchSendRecv(items, 2, comm, stream));
    stream.synchronize();
    for (uint64_t i = 0; i < kCount; ++i) {
      check(in[i] == static_cast<int32_t>(left * 7919 + i), "an element of a message");
    }
    rank.sync();
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(ZeroCopy, ABufferMaySpanBlocksButNoGap) {
  run([](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    const RangeOf range(comm, 4 * kUnit);
    Block first(comm, range.at(0));
    Block second(comm, range.at(1));
    const Block third(comm, range.at(2));
    auto* data = reinterpret_cast<int32_t*>(range.at(0));
    constexpr uint64_t kCount = 3 * kUnit / 4;
    const auto sum = [&](int32_t* from, uint64_t count) {
      for (uint64_t i = 0; i < count; ++i) from[i] = static_cast<int32_t>(rank.rank() + i);
      ok(HcclAllReduce(from, from, count, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm, stream));
      stream.synchronize();
      const uint32_t n = rank.ranks();
      for (uint64_t i = 0; i < count; ++i) {
        check(from[i] == static_cast<int32_t>(n * i + n * (n - 1) / 2), "an element");
      }
    };
    sum(data, kCount);
    went_by(comm, WEFT_WAY_RANGE);
    ok(HcclCommDeactivateCommMemory(comm, second.address()));
    sum(data, kCount);  // still mapped, but no longer known to all
    went_by(comm, way_without());
    check(contains(call_info(comm).in_why, "but not activated at 0x"), call_info(comm).in_why);
    sum(data, kUnit / 4);
    went_by(comm, WEFT_WAY_RANGE);
    ok(HcclCommActivateCommMemory(comm, second.address(), kUnit, 0, second.handle(), 0));
    sum(data, kCount);
    went_by(comm, WEFT_WAY_RANGE);
    rank.sync();
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(ZeroCopy, GrowsAndShrinksWhileCallsAreInFlight) {
  run([](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    constexpr size_t kBlocks = 24;
    RangeOf range(comm, (kBlocks + 1) * kUnit);
    Block work(comm, range.at(0));
    auto* data = reinterpret_cast<int32_t*>(work.address());
    constexpr uint64_t kCount = 10007;
    std::memset(data, 0, kUnit);
    data[0] = 1;
    uint64_t product = 1;
    std::deque<Block> blocks;
    for (size_t i = 0; i < 2 * kBlocks; ++i) {
      ok(HcclAllReduce(data, data, kCount, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_MAX, comm, stream));
      if (i < kBlocks) {
        blocks.emplace_back(comm, range.at(1 + i));
      } else {
        blocks.front().close(comm);
        blocks.pop_front();
      }
    }
    ok(HcclAllReduce(data, data, kCount, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm, stream));
    product *= rank.ranks();
    stream.synchronize();
    check(data[0] == static_cast<int32_t>(product), "the result");
    work.close(comm);
    range.close(comm);
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(ZeroCopy, OneRangeServesAllCommunicatorsOfTheProcesses) {
  run([](Rank& rank) {
    HcclComm first = rank.join();
    HcclComm early = rank.join();
    const Stream stream;
    RangeOf range(first, 2 * kUnit);
    Block block(first, range.at(0));
    rank.sync();
    HcclComm late = rank.join();
    for (HcclComm comm : {first, early, late}) {
      sum_at(comm, range.at(0), rank.rank(), rank.ranks(), stream);
      went_by(comm, WEFT_WAY_RANGE);
    }
    refused(HcclCommDeactivateCommMemory(late, block.address()), HCCL_E_PARA,
            {"no range was set through this communicator"});
    block.close(first);
    range.close(first);
    rank.sync();
    for (HcclComm comm : {first, early, late}) {
      void* heap = nullptr;
      ok(aclrtMalloc(&heap, 4, ACL_MEM_MALLOC_HUGE_FIRST));
      sum_at(comm, heap, rank.rank(), rank.ranks(), stream);
      went_by(comm, WEFT_WAY_HEAP);
      ok(aclrtFree(heap));
      ok(HcclCommDestroy(comm));
    }
  });
}

TEST_P(ZeroCopy, ARangeOutlivesACommunicatorThatDidNotSetIt) {
  run([](Rank& rank) {
    HcclComm first = rank.join();
    HcclComm second = rank.join();
    const Stream stream;
    const RangeOf range(first, kUnit);
    const Block block(first, range.at(0));
    sum_at(second, range.at(0), rank.rank(), rank.ranks(), stream);
    rank.sync();
    ok(HcclCommDestroy(second));
    rank.sync();
    sum_at(first, range.at(0), rank.rank(), rank.ranks(), stream);
    went_by(first, WEFT_WAY_RANGE);
    HcclComm third = rank.join();
    rank.sync();
    ok(HcclCommDestroy(first));  // what was set through it ends
    rank.sync();
    sum_at(third, range.at(0), rank.rank(), rank.ranks(), stream);
    went_by(third, GetParam().layout == Layout::kThreads ? WEFT_WAY_LOCAL : WEFT_WAY_OWN);
    ok(HcclCommSetMemoryRange(third, range.at(0), kUnit, 0, 0));
    ok(HcclCommActivateCommMemory(third, range.at(0), kUnit, 0, block.handle(), 0));
    sum_at(third, range.at(0), rank.rank(), rank.ranks(), stream);
    went_by(third, WEFT_WAY_RANGE);
    rank.sync();
    ok(HcclCommDestroy(third));
  });
}

TEST_P(ZeroCopy, LaterRangesNeedNoOtherRank) {
  run([](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    const RangeOf first(comm, kUnit);
    rank.sync();
    for (uint32_t turn = 0; turn < rank.ranks(); ++turn) {
      if (turn == rank.rank()) {
        RangeOf own(comm, 3 * kUnit);
        Block block(comm, own.at(2));
        block.close(comm);
        own.close(comm);
      }
      rank.sync();
    }
    rank.sync();
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(ZeroCopy, ABlockThatACallUsesIsKept) {
  run([](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    const RangeOf range(comm, 2 * kUnit);
    Block block(comm, range.at(1));
    rank.sync();
    auto* value = reinterpret_cast<int32_t*>(block.address() + 64);
    *value = 1;
    const auto sum = [&] {
      ok(HcclAllReduce(value, value, 1, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm, stream));
    };
    if (rank.rank() == 0) {
      sum();  // waits for the others
      refused(HcclCommDeactivateCommMemory(comm, block.address()), HCCL_E_AGAIN, {"synchronise"});
    }
    rank.sync();
    if (rank.rank() != 0) sum();
    stream.synchronize();
    check(*value == static_cast<int32_t>(rank.ranks()), "the sum");
    went_by(comm, WEFT_WAY_RANGE);
    block.close(comm);
    rank.sync();
    ok(HcclCommDestroy(comm));
  });
}

}  // namespace
}  // namespace weft::test
