// SPDX-License-Identifier: Apache-2.0
// Send, Recv and BatchSendRecv in the patterns that programs use, alone, in groups and mixed.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <ostream>
#include <vector>

#include "cases.hpp"

namespace weft::test {
namespace {

struct Shape {
  uint32_t ranks;
  Layout layout;
};
void PrintTo(const Shape& shape, std::ostream* out) {
  *out << shape.ranks << ' ' << layout_name(shape.layout);
}
std::string shape_name(const testing::TestParamInfo<Shape>& given) {
  return layout_name(given.param.layout) + "_" + std::to_string(given.param.ranks);
}

/// Between two ranks and more.
class Pairs : public testing::TestWithParam<Shape> {};
INSTANTIATE_TEST_SUITE_P(Groups, Pairs,
                         testing::Values(Shape{2, Layout::kThreads}, Shape{2, Layout::kProcesses},
                                         Shape{3, Layout::kProcesses}, Shape{4, Layout::kPairs},
                                         Shape{7, Layout::kThreads}, Shape{8, Layout::kProcesses}),
                         shape_name);

/// Of a rank with itself too.
class Batches : public testing::TestWithParam<Shape> {};
INSTANTIATE_TEST_SUITE_P(Groups, Batches,
                         testing::Values(Shape{1, Layout::kProcesses}, Shape{2, Layout::kProcesses},
                                         Shape{3, Layout::kThreads}, Shape{4, Layout::kPairs},
                                         Shape{7, Layout::kProcesses}, Shape{16, Layout::kThreads}),
                         shape_name);

constexpr uint64_t kCounts[] = {1, 3, 17, 1000, 65537};

/// The transfers of one rank: what it sends, what it must have received.
class Transfers {
 public:
  explicit Transfers(const Rank& rank) : rank_(rank.rank()) {}

  /// The k-th send to a peer carries what the k-th receive of the peer expects for the same `tag`.
  std::byte* outgoing(HcclDataType type, uint64_t count, uint32_t tag, Memory kind) {
    std::byte* data = lend(type, count, kind);
    moved(type, rank_).write(data, first_of(tag), count);
    return data;
  }
  std::byte* incoming(HcclDataType type, uint64_t count, uint32_t from, uint32_t tag, Memory kind) {
    std::byte* data = lend(type, count, kind);
    expected_.push_back({data, type, count, from, tag});
    return data;
  }
  void send(HcclDataType type, uint64_t count, uint32_t peer, uint32_t tag,
            Memory kind = Memory::kDevice) {
    items_.push_back({HCCL_SEND, outgoing(type, count, tag, kind), count, type, peer});
  }
  void receive(HcclDataType type, uint64_t count, uint32_t peer, uint32_t tag,
               Memory kind = Memory::kDevice) {
    items_.push_back({HCCL_RECV, incoming(type, count, peer, tag, kind), count, type, peer});
  }
  void add(const HcclSendRecvItem& item) { items_.push_back(item); }
  std::vector<HcclSendRecvItem>& items() { return items_; }

  void batch(HcclComm comm, aclrtStream stream) {
    std::vector<HcclSendRecvItem> items = items_;
    ok(HcclBatchSendRecv(items.data(), static_cast<uint32_t>(items.size()), comm, stream));
    std::fill(items.begin(), items.end(), HcclSendRecvItem{});  // they are read during the call
  }

  void verify() const {
    for (const Expected& e : expected_) {
      const auto wrong = moved(e.type, e.from).first_wrong(e.data, first_of(e.tag), e.count);
      check(!wrong, name_of(e.type) + " " + std::to_string(wrong.value_or(0)) + " of " +
                        std::to_string(e.count) + " from rank " + std::to_string(e.from) +
                        ", transfer " + std::to_string(e.tag) + ", is wrong");
    }
    for (const Arena& arena : arenas_) check(!arena.guards_broken(), "bytes around were written");
  }

 private:
  struct Expected {
    std::byte* data;
    HcclDataType type;
    uint64_t count;
    uint32_t from;
    uint32_t tag;
  };
  static uint64_t first_of(uint32_t tag) { return uint64_t{tag} * 101; }
  std::byte* lend(HcclDataType type, uint64_t count, Memory kind) {
    const size_t bytes = count * size_of(type);
    return arenas_.emplace_back(kind, bytes).lend(bytes);
  }

  const uint32_t rank_;
  std::deque<Arena> arenas_;
  std::vector<Expected> expected_;
  std::vector<HcclSendRecvItem> items_;
};

/// Runs `body` with a communicator and a stream.
void run_group(const Shape& shape,
               const std::function<void(Rank&, HcclComm, const Stream&)>& body) {
  run_ranks(shape.ranks, shape.layout, [&](Rank& rank) {
    HcclComm comm = rank.join();
    {
      const Stream stream;
      body(rank, comm, stream);
    }
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(Pairs, AValueGoesRoundAndComesBack) {
  run_group(GetParam(), [](Rank& rank, HcclComm comm, const Stream& stream) {
    const uint32_t n = rank.ranks();
    const uint32_t left = (rank.rank() + n - 1) % n;
    const uint32_t right = (rank.rank() + 1) % n;
    uint32_t turn = 0;
    for (const HcclDataType type : all_types()) {
      for (const uint64_t count : {uint64_t{1}, uint64_t{17}, uint64_t{4099}}) {
        const auto kind = static_cast<Memory>((turn + rank.rank()) % kMemoryKinds);
        const auto to = static_cast<Memory>(turn / 2 % kMemoryKinds);
        Transfers transfers(rank);
        std::byte* out = transfers.outgoing(type, count, turn, kind);
        std::byte* in = transfers.incoming(type, count, left, turn, to);
        rank.note("ring of " + std::to_string(count) + ' ' + name_of(type));
        // One rank begins; the others pass on after they have received.
        if (rank.rank() == 0) ok(HcclSend(out, count, type, right, comm, stream));
        ok(HcclRecv(in, count, type, left, comm, stream));
        if (rank.rank() != 0) ok(HcclSend(out, count, type, right, comm, stream));
        stream.synchronize();
        transfers.verify();
        ++turn;
      }
    }
  });
}

TEST_P(Pairs, ManySendsToOnePeerAreReceivedInTheirOrder) {
  run_group(GetParam(), [](Rank& rank, HcclComm comm, const Stream& stream) {
    const uint32_t n = rank.ranks();
    const uint32_t partner = rank.rank() ^ 1;
    Transfers transfers(rank);
    for (uint32_t k = 0; k < 40 && partner < n; ++k) {
      const uint64_t count = kCounts[k % 5] + k;
      const bool sends = (rank.rank() + k / 8) % 2 == 0;  // the direction changes
      if (sends) {
        std::byte* data = transfers.outgoing(HCCL_DATA_TYPE_INT32, count, k, Memory::kDevice);
        ok(HcclSend(data, count, HCCL_DATA_TYPE_INT32, partner, comm, stream));
      } else {
        std::byte* data =
            transfers.incoming(HCCL_DATA_TYPE_INT32, count, partner, k, Memory::kDevice);
        ok(HcclRecv(data, count, HCCL_DATA_TYPE_INT32, partner, comm, stream));
      }
    }
    stream.synchronize();
    transfers.verify();
  });
}

TEST_P(Pairs, ASendAndAReceiveOnTwoStreamsDoNotWaitForEachOther) {
  run_group(GetParam(), [](Rank& rank, HcclComm comm, const Stream& stream) {
    const uint32_t n = rank.ranks();
    const Stream other;
    Transfers transfers(rank);
    constexpr HcclDataType kType = HCCL_DATA_TYPE_FP32;
    for (uint32_t k = 0; k < 10; ++k) {
      const uint64_t count = kCounts[k % 5];
      ok(HcclSend(transfers.outgoing(kType, count, k, Memory::kDevice), count, kType,
                  (rank.rank() + 1) % n, comm, stream));
      ok(HcclRecv(transfers.incoming(kType, count, (rank.rank() + n - 1) % n, k, Memory::kDevice),
                  count, kType, (rank.rank() + n - 1) % n, comm, other));
    }
    stream.synchronize();
    other.synchronize();
    transfers.verify();
  });
}

TEST_P(Pairs, AReceiveThatWaitsDoesNotHoldUpAnotherStream) {
  run_group(GetParam(), [](Rank& rank, HcclComm comm, const Stream& stream) {
    const Stream other;
    Transfers transfers(rank);
    constexpr HcclDataType kType = HCCL_DATA_TYPE_FP32;
    if (rank.rank() == 0) {
      ok(HcclRecv(transfers.incoming(kType, 1000, 1, 0, Memory::kDevice), 1000, kType, 1, comm,
                  other));
    }
    expect_working(comm, rank.ranks());  // on a stream of its own, to its end
    if (rank.rank() == 1) {
      ok(HcclSend(transfers.outgoing(kType, 1000, 0, Memory::kDevice), 1000, kType, 0, comm,
                  stream));
    }
    stream.synchronize();
    other.synchronize();
    transfers.verify();
  });
}

TEST_P(Pairs, AThousandShortSendsCanBeQueued) {
  run_group(GetParam(), [](Rank& rank, HcclComm comm, const Stream& stream) {
    constexpr uint32_t kSends = 1000;
    Arena arena(Memory::kDevice, kSends * sizeof(uint32_t));
    auto* data = reinterpret_cast<uint32_t*>(arena.lend(kSends * sizeof(uint32_t)));
    for (uint32_t k = 0; k < kSends; ++k) {
      if (rank.rank() == 0) {
        data[k] = k;
        ok(HcclSend(&data[k], 1, HCCL_DATA_TYPE_UINT32, 1, comm, stream));
      } else if (rank.rank() == 1) {
        ok(HcclRecv(&data[k], 1, HCCL_DATA_TYPE_UINT32, 0, comm, stream));
      }
    }
    stream.synchronize();
    for (uint32_t k = 0; k < kSends && rank.rank() < 2; ++k) {
      check(data[k] == k, "value " + std::to_string(k) + " is " + std::to_string(data[k]));
    }
  });
}

TEST_P(Batches, ABatchShiftsRoundTheRing) {
  run_group(GetParam(), [](Rank& rank, HcclComm comm, const Stream& stream) {
    const uint32_t n = rank.ranks();
    uint32_t turn = 0;
    for (const HcclDataType type : all_types()) {
      const uint64_t count = kCounts[turn % 5];
      const uint32_t by = turn % n;  // 0: to itself
      Transfers transfers(rank);
      transfers.send(type, count, (rank.rank() + by) % n, turn,
                     static_cast<Memory>(turn % kMemoryKinds));
      transfers.receive(type, count, (rank.rank() + n - by) % n, turn,
                        static_cast<Memory>((turn / 3 + rank.rank()) % kMemoryKinds));
      if (rank.rank() % 2 == 1) std::swap(transfers.items()[0], transfers.items()[1]);
      rank.note("batch shift by " + std::to_string(by));
      transfers.batch(comm, stream);
      stream.synchronize();
      transfers.verify();
      ++turn;
    }
  });
}

TEST_P(Batches, ABatchJoinsAllRanksWithAllAndWithThemselves) {
  run_group(GetParam(), [](Rank& rank, HcclComm comm, const Stream& stream) {
    const uint32_t n = rank.ranks();
    for (uint32_t round = 0; round < 3; ++round) {
      const auto length = [&](uint32_t from, uint32_t to) {
        return (from * 7 + to * 3 + round) % 5 == 0 ? 0 : 1 + (from * 131 + to * 17) % 3000;
      };
      Transfers transfers(rank);
      for (uint32_t k = 0; k < n; ++k) {
        const uint32_t to = (rank.rank() + k) % n;
        const uint32_t from = (rank.rank() + n - k + round) % n;
        transfers.send(HCCL_DATA_TYPE_FP32, length(rank.rank(), to), to, to + n * round);
        transfers.receive(HCCL_DATA_TYPE_FP32, length(from, rank.rank()), from,
                          rank.rank() + n * round);
      }
      transfers.batch(comm, stream);
      stream.synchronize();
      transfers.verify();
    }
  });
}

TEST_P(Batches, ItemsOfABatchToOnePeerMeetInTheirOrder) {
  run_group(GetParam(), [](Rank& rank, HcclComm comm, const Stream& stream) {
    const uint32_t n = rank.ranks();
    const uint32_t right = (rank.rank() + 1) % n;
    const uint32_t left = (rank.rank() + n - 1) % n;
    constexpr uint64_t kLengths[] = {5, 70000, 1, 0, 333, 5, 4096};
    constexpr HcclDataType kTypes[] = {HCCL_DATA_TYPE_INT8, HCCL_DATA_TYPE_FP32,
                                       HCCL_DATA_TYPE_INT128};
    Transfers transfers(rank);
    // First all of one kind, then all of the other, on every second rank the other way round.
    for (const bool sends : {rank.rank() % 2 == 0, rank.rank() % 2 != 0}) {
      for (uint32_t k = 0; k < std::size(kLengths); ++k) {
        const HcclDataType type = kTypes[k % 3];
        if (kLengths[k] == 0) {
          transfers.add({sends ? HCCL_SEND : HCCL_RECV, nullptr, 0, type, sends ? right : left});
        } else if (sends) {
          transfers.send(type, kLengths[k], right, k);
        } else {
          transfers.receive(type, kLengths[k], left, k);
        }
      }
    }
    transfers.batch(comm, stream);
    stream.synchronize();
    transfers.verify();
  });
}

TEST_P(Pairs, LongTransfersAreRightFromAndToAnyMemory) {
  run_group(GetParam(), [](Rank& rank, HcclComm comm, const Stream& stream) {
    const uint32_t last = rank.ranks() - 1;
    constexpr uint64_t kLong = (uint64_t{1} << 20) + 3;
    for (uint32_t turn = 0; turn < kMemoryKinds; ++turn) {
      const auto from = static_cast<Memory>(turn);
      const auto to = static_cast<Memory>((turn * 3 + 1) % kMemoryKinds);
      Transfers transfers(rank);
      if (rank.rank() == 0) transfers.send(HCCL_DATA_TYPE_INT16, kLong, last, turn, from);
      if (rank.rank() == last) transfers.receive(HCCL_DATA_TYPE_INT16, kLong, 0, turn, to);
      rank.note("from " + name_of(from) + " to " + name_of(to));
      if (!transfers.items().empty()) transfers.batch(comm, stream);
      stream.synchronize();
      transfers.verify();
    }
  });
}

TEST_P(Pairs, OnlyTheTwoRanksTakePart) {
  run_group(GetParam(), [](Rank& rank, HcclComm comm, const Stream& stream) {
    const uint32_t last = rank.ranks() - 1;
    Transfers transfers(rank);
    if (rank.rank() == 0) transfers.send(HCCL_DATA_TYPE_INT16, 777, last, 1);
    if (rank.rank() == last) transfers.receive(HCCL_DATA_TYPE_INT16, 777, 0, 1);
    if (!transfers.items().empty()) transfers.batch(comm, stream);
    stream.synchronize();
    transfers.verify();
  });
}

TEST_P(Batches, AGroupOfSendsAndReceivesIsOneBatch) {
  run_group(GetParam(), [](Rank& rank, HcclComm comm, const Stream& stream) {
    const uint32_t n = rank.ranks();
    Transfers transfers(rank);
    constexpr HcclDataType kType = HCCL_DATA_TYPE_INT64;
    ok(HcclGroupStart());
    for (uint32_t peer = 0; peer < n; ++peer) {  // itself among them: both first send, then receive
      const uint64_t out = 1 + (rank.rank() * 31 + peer) % 900;
      const uint64_t in = 1 + (peer * 31 + rank.rank()) % 900;
      ok(HcclSend(transfers.outgoing(kType, out, peer, Memory::kDevice), out, kType, peer, comm,
                  stream));
      ok(HcclRecv(transfers.incoming(kType, in, peer, rank.rank(), Memory::kHost), in, kType, peer,
                  comm, stream));
    }
    ok(HcclGroupEnd());
    stream.synchronize();
    transfers.verify();
  });
}

TEST_P(Batches, TransfersAndCollectivesTakeTurnsOnOneStream) {
  run_group(GetParam(), [](Rank& rank, HcclComm comm, const Stream& stream) {
    const uint32_t n = rank.ranks();
    std::deque<Transfers> all;
    Arena arena(Memory::kDevice, sizeof(int32_t));
    auto* sum = reinterpret_cast<int32_t*>(arena.lend(sizeof(int32_t)));
    *sum = 1;
    int64_t wanted = 1;
    for (uint32_t k = 0; k < 9; ++k) {
      Transfers& transfers = all.emplace_back(rank);
      transfers.send(HCCL_DATA_TYPE_UINT8, 100 + k, (rank.rank() + k) % n, k);
      transfers.receive(HCCL_DATA_TYPE_UINT8, 100 + k, (rank.rank() + n * k - k) % n, k);
      transfers.batch(comm, stream);
      ok(HcclAllReduce(sum, sum, 1, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm, stream));
      wanted *= n;
    }
    stream.synchronize();
    for (const Transfers& transfers : all) transfers.verify();
    check(*sum == static_cast<int32_t>(wanted), "the sum is " + std::to_string(*sum));
  });
}

}  // namespace
}  // namespace weft::test
