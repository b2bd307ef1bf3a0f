// SPDX-License-Identifier: Apache-2.0
// Every operator with every type, reduction, in-place form, kind of memory and algorithm, on groups
// of threads and of processes. One group runs all cases of an operator.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <vector>

#include "cases.hpp"
#include "policy_file.hpp"

namespace weft::test {
namespace {

struct Shape {
  uint32_t ranks;
  Layout layout;
};

void PrintTo(const Shape& shape, std::ostream* out) {
  *out << shape.ranks << ' ' << layout_name(shape.layout);
}

class Operators : public testing::TestWithParam<Shape> {};

std::string shape_name(const testing::TestParamInfo<Shape>& given) {
  return layout_name(given.param.layout) + "_" + std::to_string(given.param.ranks);
}

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (const Layout layout : {Layout::kThreads, Layout::kProcesses}) {
    for (const uint32_t ranks : {1u, 2u, 3u, 4u, 7u, 8u, 16u}) all.push_back({ranks, layout});
  }
  all.push_back({4, Layout::kPairs});
  return all;
}
INSTANTIATE_TEST_SUITE_P(Groups, Operators, testing::ValuesIn(shapes()), shape_name);

constexpr uint64_t kCounts[] = {1, 3, 17, 1000};
constexpr uint64_t kLong = 65537;
constexpr size_t kLargest = size_t{4} << 20;  // bytes of a buffer, but for one element of each rank

/// Takes turns: all ranks in device memory, all in another kind, a mixture.
void place(Case& c, uint32_t turn, uint32_t rank) {
  const auto kind = [](uint32_t number) { return static_cast<Memory>(number % kMemoryKinds); };
  switch (turn % 3) {
    case 0:
      return;
    case 1:
      c.send = c.recv = kind(turn / 3);
      return;
    default:
      c.send = kind(turn / 3 + rank);
      c.recv = kind(turn + 2 * rank);
  }
}

/// `body` gets a communicator for each algorithm in turn: the policy file says which one.
void for_each_algorithm(Rank& rank, const PolicyFile& policy, Op op,
                        const std::vector<std::string>& algorithms,
                        const std::function<void(HcclComm, const std::string&)>& body) {
  for (const std::string& algorithm : algorithms) {
    rank.sync();
    if (rank.rank() == 0) policy.write(policy_text({{name_of(op), algorithm}}));
    rank.sync();
    HcclComm comm = rank.join();
    body(comm, algorithm);
    ok(HcclCommDestroy(comm));
  }
}

/// Runs the cases that `make` lists, with every algorithm.
void run_all(const Shape& shape, Op op, const std::vector<std::string>& algorithms,
             const std::vector<Case>& cases) {
  const PolicyFile policy(policy_text());
  GroupOptions options;
  options.environment = policy.environment();
  options.deadline = std::chrono::seconds(110);
  const auto body = [&](Rank& rank) {
    Runner runner(rank, kLargest);
    uint32_t turn = 0;
    for_each_algorithm(rank, policy, op, algorithms,
                       [&](HcclComm comm, const std::string& algorithm) {
                         for (Case c : cases) {
                           place(c, turn++, rank.rank());
                           c.root = turn % rank.ranks();
                           runner.run(comm, c, algorithm);
                         }
                       });
  };
  run_ranks(shape.ranks, shape.layout, body, options);
}

bool fits(Op op, HcclDataType type, uint64_t count, uint32_t ranks) {
  const uint64_t blocks = std::max(send_blocks(op, ranks), recv_blocks(op, ranks));
  return blocks * count * size_of(type) <= kLargest;
}

std::vector<Case> reductions(Op op, uint32_t ranks, const std::vector<Place>& places) {
  std::vector<Case> cases;
  uint32_t turn = ranks;
  for (const HcclDataType type : kReducibleTypes) {
    for (const HcclReduceOp reduce : kReduceOps) {
      // Many ranks on few cores take long; half of the reductions, alternating, do for them.
      if (ranks > 8 && (static_cast<uint32_t>(type) + reduce) % 2 == 0) continue;
      for (const uint64_t count : kCounts) {
        for (const Place place : places) cases.push_back({op, type, reduce, count, place});
      }
      ++turn;
      if (!fits(op, type, kLong, ranks) || turn % 2 == 0) continue;
      cases.push_back({op, type, reduce, kLong, places[turn / 2 % places.size()]});
    }
  }
  return cases;
}

std::vector<Case> movements(Op op, uint32_t ranks, const std::vector<Place>& places) {
  std::vector<Case> cases;
  for (const HcclDataType type : all_types()) {
    for (const Place place : places) {
      for (const uint64_t count : kCounts) {
        cases.push_back({op, type, HCCL_REDUCE_SUM, count, place});
      }
      if (fits(op, type, kLong, ranks)) {
        cases.push_back({op, type, HCCL_REDUCE_SUM, kLong, place});
      }
    }
  }
  return cases;
}

TEST_P(Operators, AllReduceIsRightInEveryForm) {
  run_all(GetParam(), Op::kAllReduce, {"mesh.one_shot", "mesh.two_shot", "ring.all_reduce"},
          reductions(Op::kAllReduce, GetParam().ranks, {Place::kApart, Place::kSame}));
}

TEST_P(Operators, ReduceScatterIsRightInEveryForm) {
  run_all(GetParam(), Op::kReduceScatter, {"mesh.reduce_scatter", "ring.reduce_scatter"},
          reductions(Op::kReduceScatter, GetParam().ranks,
                     {Place::kApart, Place::kSame, Place::kOwnSlot}));
}

TEST_P(Operators, AllGatherIsRightInEveryForm) {
  run_all(GetParam(), Op::kAllGather, {"mesh.all_gather", "ring.all_gather"},
          movements(Op::kAllGather, GetParam().ranks, {Place::kApart, Place::kOwnSlot}));
}

TEST_P(Operators, BroadcastIsRightFromEveryRoot) {
  run_all(GetParam(), Op::kBroadcast, {"mesh.broadcast", "mesh.broadcast_push", "ring.broadcast"},
          movements(Op::kBroadcast, GetParam().ranks, {Place::kApart}));
}

TEST_P(Operators, AllToAllIsRight) {
  run_all(GetParam(), Op::kAllToAll, {"mesh.all_to_all"},
          movements(Op::kAllToAll, GetParam().ranks, {Place::kApart}));
}

TEST_P(Operators, NobodyPassesABarrierBeforeAllHaveReachedIt) {
  run_ranks(GetParam().ranks, GetParam().layout, [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    for (uint32_t round = 1; round <= 20; ++round) {
      rank.event(0);
      ok(HcclBarrier(comm, stream));
      stream.synchronize();
      check(rank.counted(0) >= round * rank.ranks(), "the barrier let a rank through too early");
    }
    ok(HcclCommDestroy(comm));
  });
}

}  // namespace
}  // namespace weft::test
