// SPDX-License-Identifier: Apache-2.0
// The bits of floating point results: those of a reduction in rank order wherever an algorithm
// declares that, and the same on all ranks with every algorithm.
#include <algorithm>
#include <iterator>

#include "operators.hpp"

namespace weft::test {
namespace {

class Bits : public testing::TestWithParam<Layout> {};
std::string name_of_layout(const testing::TestParamInfo<Layout>& given) {
  return layout_name(given.param);
}
INSTANTIATE_TEST_SUITE_P(Groups, Bits,
                         testing::Values(Layout::kThreads, Layout::kProcesses, Layout::kPairs),
                         name_of_layout);

constexpr uint64_t kCounts[] = {1, 7, 333, 20011};

using Types = std::vector<HcclDataType>;
const Types kFloats = {HCCL_DATA_TYPE_FP16, HCCL_DATA_TYPE_BFP16, HCCL_DATA_TYPE_FP32,
                       HCCL_DATA_TYPE_FP64};

/// Floats of every type that need rounding. `run` does one case.
void for_each_rough(const Rank& rank, Op op, const Types& types,
                    const std::function<void(const Case&)>& run) {
  uint32_t turn = 0;
  const std::vector<HcclReduceOp> known = reduce_ops();
  for (const HcclDataType type : types) {
    for (const HcclReduceOp reduce : {HCCL_REDUCE_SUM, HCCL_REDUCE_PROD}) {
      if (std::find(known.begin(), known.end(), reduce) == known.end()) continue;
      for (const uint64_t count : kCounts) {
        Case c{op, type, reduce, count};
        c.rough = true;
        c.root = turn++ % rank.ranks();
        c.send = static_cast<Memory>((count + rank.rank()) % kMemoryKinds);
        run(c);
      }
    }
  }
}

size_t largest(Op op, uint32_t ranks) {
  Case c{op};
  c.count = *std::prev(std::end(kCounts));
  return most_elements(c, ranks) * sizeof(double);
}

TEST_P(Bits, AreThoseOfTheRankOrderWithEveryAlgorithmThatDeclaresIt) {
  // The tasks engine rounds halves after each rank.
  const Types types = runs_as_tasks() ? Types{HCCL_DATA_TYPE_FP32} : kFloats;
  for (const uint32_t ranks : {2u, 5u, 8u}) {
    const PolicyFile policy(policy_text());
    GroupOptions options;
    options.environment = policy.environment();
    options.environment["HCCL_DETERMINISTIC"] = "true";
    const auto body = [&](Rank& rank) {
      for (const Op op : {Op::kAllReduce, Op::kReduce, Op::kReduceScatter, Op::kReduceScatterV}) {
        std::vector<Algorithm> algorithms = algorithms_of(op);
        std::erase_if(algorithms, [](const Algorithm& a) { return !a.rank_order; });
        Runner runner(rank, largest(op, ranks));
        for_each_algorithm(
            rank, policy, op, algorithms, [&](HcclComm comm, const Algorithm& algorithm) {
              for_each_rough(rank, op, types,
                             [&](const Case& c) { runner.run(comm, c, algorithm.name); });
            });
      }
    };
    run_ranks(ranks, GetParam(), body, options);
  }
}

TEST_P(Bits, AreTheSameOnAllRanksWithEveryAllReduce) {
  const Types types = runs_as_tasks() ? Types(kFloats.begin(), kFloats.end() - 1) : kFloats;
  for (const uint32_t ranks : {3u, 8u}) {
    const PolicyFile policy(policy_text());
    GroupOptions options;
    options.environment = policy.environment();
    const auto body = [&](Rank& rank) {
      Runner runner(rank, largest(Op::kAllReduce, ranks));
      for_each_algorithm(rank, policy, Op::kAllReduce, algorithms_of(Op::kAllReduce),
                         [&](HcclComm comm, const Algorithm& algorithm) {
                           for_each_rough(rank, Op::kAllReduce, types, [&](const Case& c) {
                             runner.run_and_compare(comm, c, algorithm.name);
                           });
                         });
    };
    run_ranks(ranks, GetParam(), body, options);
  }
}

}  // namespace
}  // namespace weft::test
