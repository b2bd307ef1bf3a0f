// SPDX-License-Identifier: Apache-2.0
// Every algorithm of this tree is right: for all numbers of ranks, roots, placements and
// parameters.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/op_names.hpp"
#include "proof/picture.hpp"
#include "proof/prove.hpp"
#include "schedule/builder.hpp"
#include "schedule/partners.hpp"
#include "support.hpp"

namespace weft::schedule {
namespace {

const char* const kNames[] = {
    "mesh.one_shot",
    "mesh.two_shot",
    "mesh.reduce",
    "mesh.reduce_flat",
    "mesh.reduce_pull",
    "mesh.reduce_scatter",
    "mesh.reduce_scatter_push",
    "mesh.reduce_scatter_v",
    "mesh.all_gather",
    "mesh.all_gather_push",
    "mesh.all_gather_v",
    "mesh.all_to_all",
    "mesh.all_to_all_push",
    "mesh.all_to_all_v",
    "mesh.pairwise",
    "mesh.pairwise_v",
    "mesh.broadcast",
    "mesh.broadcast_flat",
    "mesh.broadcast_pull",
    "mesh.broadcast_push",
    "mesh.scatter",
    "mesh.scatter_push",
    "mesh.barrier",
    "ring.all_reduce",
    "ring.reduce_scatter",
    "ring.reduce_scatter_v",
    "ring.all_gather",
    "ring.all_gather_v",
    "ring.broadcast",
    "tree.hd_all_reduce",
    "tree.hd_reduce_scatter",
    "tree.hd_all_gather",
    "tree.hd_broadcast",
    "tree.hd_reduce",
    "tree.nhr_all_reduce",
    "tree.nhr_reduce_scatter",
    "tree.nhr_reduce_scatter_v",
    "tree.nhr_all_gather",
    "tree.nhr_all_gather_v",
    "tree.nhr_broadcast",
    "tree.nhr_scatter",
    "tree.nhr_reduce",
    "tree.doubling_all_reduce",
    "tree.gather_all_reduce",
    "tree.barrier",
    "tree.star_all_reduce",
    "tree.star_barrier",
    "null.all_reduce",
};

class Algorithms : public testing::TestWithParam<const char*> {};

TEST_P(Algorithms, AreProvedForEveryShape) {
  const plugin::Algorithm& under_test = algorithm(GetParam());
  std::vector<uint32_t> sizes = {32, 33, 64};
  for (uint32_t n = 2; n <= 17; ++n) sizes.push_back(n);
  for (const uint32_t n : sizes) {
    const proof::Verdict verdict = proof::prove(under_test, n);
    ASSERT_FALSE(verdict.wrong) << proof::picture(under_test, *verdict.wrong);
    EXPECT_TRUE(verdict.complete);
    EXPECT_GE(verdict.cases, has_root(under_test.table.op) && n <= 17 ? n : 1u);
  }
}

/// Takes step `at` of rank r away and tells whether that is noticed.
bool notices_loss(std::vector<Schedule> schedules, uint32_t flags, uint32_t r, size_t at) {
  std::vector<Step>& steps = schedules[r].steps;
  steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(at));
  return !check(schedules, flags).ok();
}

TEST_P(Algorithms, HaveNoStepThatCouldBeLeftOut) {
  const weft_algorithm& table = algorithm(GetParam()).table;
  for (const uint32_t n : {2u, 5u}) {
    const std::vector<Schedule> good = emit_all(table, n, n - 1);
    for (uint32_t r = 0; r < n; ++r) {
      for (size_t i = 0; i < good[r].steps.size(); ++i) {
        EXPECT_TRUE(notices_loss(good, table.flags, r, i)) << "n=" << n << " r=" << r << " i=" << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Plugins, Algorithms, testing::ValuesIn(kNames), [](const auto& test) {
  std::string name = test.param;
  name[name.find('.')] = '_';
  return name;
});

TEST(AlgorithmList, NamesAllThatThePluginsOffer) {
  const std::set<std::string> tested(std::begin(kNames), std::end(kNames));
  std::set<std::string> offered;
  for (const plugin::Algorithm& a : plugins().algorithms()) offered.insert(a.name);
  EXPECT_EQ(tested, offered);
}

TEST(AlgorithmList, DeclaresRankOrderForEveryReductionOfTheMesh) {
  for (const char* name :
       {"mesh.one_shot", "mesh.two_shot", "mesh.reduce", "mesh.reduce_flat", "mesh.reduce_pull",
        "mesh.reduce_scatter", "mesh.reduce_scatter_push", "mesh.reduce_scatter_v"}) {
    EXPECT_NE(algorithm(name).table.flags & WEFT_ALGORITHM_RANK_ORDER, 0u) << name;
  }
}

/// Of a rank's In and Out in an algorithm with root 1 of 4: which of them others touch.
std::string exposed(const char* name, uint32_t rank) {
  const plugin::Algorithm& a = algorithm(name);
  const Exposure seen = exposure({a.table.op, 4, rank, 1}, [&](const Shape& shape) {
    return emit(a.table, a.name.c_str(), shape, {});
  });
  return std::string(seen.in ? "in " : "") + (seen.out ? "out" : "");
}

TEST(AlgorithmList, ShowsOtherRanksOnlyTheBuffersThatTheyUse) {
  for (const uint32_t rank : {0u, 1u, 2u}) {
    EXPECT_EQ(exposed("mesh.one_shot", rank), "");
    EXPECT_EQ(exposed("mesh.two_shot", rank), "in out");
    EXPECT_EQ(exposed("mesh.all_gather", rank), "in ");
    EXPECT_EQ(exposed("mesh.reduce", rank), rank == 1 ? "in out" : "in ");
    EXPECT_EQ(exposed("mesh.broadcast", rank), rank == 1 ? "in " : "");
    EXPECT_EQ(exposed("mesh.broadcast_push", rank), rank == 1 ? "" : "out");
    EXPECT_EQ(exposed("mesh.broadcast_pull", rank), "");
  }
}

TEST(AlgorithmList, NeedsAConstantNumberOfScratchBlocksOnTheRing) {
  for (const uint32_t n : {3u, 8u, 17u}) {
    EXPECT_EQ(emit_all("ring.all_reduce", n)[0].scratch_blocks, 0u);
    EXPECT_LE(emit_all("ring.reduce_scatter", n)[0].scratch_blocks, 2u);
  }
}

TEST(AlgorithmList, SignalsTwiceForEachRankInAStar) {
  constexpr uint32_t kRanks = 64;
  for (const char* name : {"tree.star_all_reduce", "tree.star_barrier"}) {
    size_t signals = 0;
    for (const Schedule& schedule : emit_all(name, kRanks)) {
      signals += static_cast<size_t>(
          std::count_if(schedule.steps.begin(), schedule.steps.end(),
                        [](const Step& step) { return step.verb == WEFT_VERB_SIGNAL; }));
    }
    EXPECT_EQ(signals, 2 * (kRanks - 1)) << name;
  }
}

TEST(AlgorithmList, TalksToFewRanksInTheTree) {
  constexpr uint32_t kRanks = 64;  // 6 rounds
  for (const plugin::Algorithm& a : plugins().algorithms()) {
    if (a.name.rfind("tree.", 0) != 0 || a.name.rfind("tree.star", 0) == 0) continue;
    for (const Schedule& schedule : emit_all(a.name, kRanks, 5)) {
      std::set<uint32_t> peers;
      for (const Step& step : schedule.steps) {
        if (step.verb == WEFT_VERB_SIGNAL) peers.insert(step.peer);
      }
      EXPECT_LE(peers.size(), 2u * 6) << a.name << " rank " << schedule.shape.rank;
    }
  }
}

}  // namespace
}  // namespace weft::schedule
