// SPDX-License-Identifier: Apache-2.0
#include "operators.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <ostream>

namespace weft::test {
namespace {

constexpr uint64_t kCounts[] = {1, 3, 17, 1000, 65537};
constexpr size_t kLargest = size_t{2} << 20;  // bytes of a buffer

/// Every how many-th of `all` cases is run: a number that has no divisor in common with the
/// dimensions of the table but the types, so that what is left has everything in it.
size_t stride(size_t all, uint32_t ranks) {
  size_t wanted = ranks <= 3 ? 240 : ranks <= 9 ? 40 : ranks <= 16 ? 20 : 8;
  if (runs_as_tasks()) wanted /= 2;
  size_t step = std::max<size_t>(1, all / wanted);
  while (std::gcd(step, 2 * 3 * 5) != 1) ++step;
  return step;
}

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

std::vector<Case> all_cases(Op op, const std::vector<Place>& places) {
  const std::vector<HcclReduceOp> reductions =
      reduces(op) ? reduce_ops() : std::vector<HcclReduceOp>{HCCL_REDUCE_SUM};
  const std::vector<HcclDataType> types = reduces(op) ? reducible_types() : all_types();
  std::vector<Case> all;
  for (const HcclDataType type : types) {
    for (const HcclReduceOp reduce : reductions) {
      for (const uint64_t count : kCounts) {
        for (const Place place : places) all.push_back({op, type, reduce, count, place});
      }
    }
  }
  return all;
}

std::vector<Case> cases_of(Op op, const std::vector<Place>& places, uint32_t ranks) {
  const std::vector<Case> all = all_cases(op, places);
  const size_t step = stride(all.size(), ranks);
  std::vector<Case> cases;
  for (size_t i = ranks % step; i < all.size(); i += step) {
    if (most_elements(all[i], ranks) * size_of(all[i].type) <= kLargest) cases.push_back(all[i]);
  }
  return cases;
}

}  // namespace

void PrintTo(const Shape& shape, std::ostream* out) {
  *out << shape.ranks << ' ' << layout_name(shape.layout);
}

std::string shape_name(const testing::TestParamInfo<Shape>& given) {
  return layout_name(given.param.layout) + "_" + std::to_string(given.param.ranks);
}

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (const uint32_t ranks : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 9u, 16u, 33u}) {
    all.push_back({ranks, Layout::kThreads});
  }
  for (const uint32_t ranks : {2u, 3u, 4u, 8u, 16u}) {
    all.push_back({ranks, Layout::kProcesses});
  }
  all.push_back({4, Layout::kPairs});
  return all;
}

std::vector<Algorithm> algorithms_of(Op op) {
  switch (op) {
    case Op::kAllReduce:
      return {{"mesh.one_shot", true},          {"mesh.two_shot", true},
              {"ring.all_reduce", false},       {"tree.hd_all_reduce", false},
              {"tree.nhr_all_reduce", false},   {"tree.doubling_all_reduce", false},
              {"tree.gather_all_reduce", true}, {"tree.star_all_reduce", true}};
    case Op::kBroadcast:
      return {{"mesh.broadcast", false},      {"mesh.broadcast_flat", false},
              {"mesh.broadcast_pull", false}, {"mesh.broadcast_push", false},
              {"ring.broadcast", false},      {"tree.hd_broadcast", false},
              {"tree.nhr_broadcast", false}};
    case Op::kReduceScatter:
      return {{"mesh.reduce_scatter", true},
              {"mesh.reduce_scatter_push", true},
              {"ring.reduce_scatter", false},
              {"tree.hd_reduce_scatter", false},
              {"tree.nhr_reduce_scatter", false}};
    case Op::kAllGather:
      return {{"mesh.all_gather", false},
              {"mesh.all_gather_push", false},
              {"ring.all_gather", false},
              {"tree.hd_all_gather", false},
              {"tree.nhr_all_gather", false}};
    case Op::kAllToAll:
      return {
          {"mesh.all_to_all", false}, {"mesh.all_to_all_push", false}, {"mesh.pairwise", false}};
    case Op::kReduce:
      return {{"mesh.reduce", true},
              {"mesh.reduce_flat", true},
              {"mesh.reduce_pull", true},
              {"tree.hd_reduce", false},
              {"tree.nhr_reduce", false}};
    case Op::kScatter:
      return {{"mesh.scatter", false}, {"mesh.scatter_push", false}, {"tree.nhr_scatter", false}};
    case Op::kAllGatherV:
      return {{"mesh.all_gather_v", false},
              {"ring.all_gather_v", false},
              {"tree.nhr_all_gather_v", false}};
    case Op::kReduceScatterV:
      return {{"mesh.reduce_scatter_v", true},
              {"ring.reduce_scatter_v", false},
              {"tree.nhr_reduce_scatter_v", false}};
    default:  // AlltoAllV, AlltoAllVC
      return {{"mesh.all_to_all_v", false}, {"mesh.pairwise_v", false}};
  }
}

void for_each_algorithm(Rank& rank, const PolicyFile& policy, Op op,
                        const std::vector<Algorithm>& algorithms,
                        const std::function<void(HcclComm, const Algorithm&)>& body) {
  for (const Algorithm& algorithm : algorithms) {
    rank.sync();
    if (rank.rank() == 0) policy.write(policy_text({{operation_of(op), algorithm.name}}));
    rank.sync();
    HcclComm comm = rank.join();
    body(comm, algorithm);
    ok(HcclCommDestroy(comm));
  }
}

void run_all(const Shape& shape, Op op, const std::vector<Place>& places) {
  const PolicyFile policy(policy_text());
  GroupOptions options;
  options.environment = policy.environment();
  options.deadline = std::chrono::seconds(110);
  const std::vector<Case> cases = cases_of(op, places, shape.ranks);
  ASSERT_FALSE(cases.empty());
  const auto body = [&](Rank& rank) {
    Runner runner(rank, kLargest);
    uint32_t turn = 0;
    for_each_algorithm(rank, policy, op, algorithms_of(op),
                       [&](HcclComm comm, const Algorithm& algorithm) {
                         for (Case c : cases) {
                           place(c, turn++, rank.rank());
                           c.root = turn % rank.ranks();
                           c.null = turn % 2 == 1;
                           runner.run(comm, c, algorithm.name);
                         }
                       });
  };
  run_ranks(shape.ranks, shape.layout, body, options);
}

}  // namespace weft::test
