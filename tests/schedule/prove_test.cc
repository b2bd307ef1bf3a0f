// SPDX-License-Identifier: Apache-2.0
// Which cases are tried, in which order, and what a case costs.
#include "proof/prove.hpp"

#include <gtest/gtest.h>

#include "proof/cost.hpp"
#include "support.hpp"

namespace weft::schedule {
namespace {

constexpr weft_param kTwoParams[] = {param("pieces", "", 2, 1, 8), param("skew", "", 0, -1, 0)};

void says_nothing(const Problem&, weft::Schedule&) {}

plugin::Algorithm with_two_params(uint32_t op) { return seeded<says_nothing>(op, 0, kTwoParams); }

TEST(ProofCases, VaryOneParameterAtATimeFromTheDefaults) {
  std::vector<std::vector<int64_t>> params;
  for (const proof::Case& each : proof::cases(with_two_params(WEFT_OP_ALL_REDUCE), 2)) {
    EXPECT_EQ(each.ranks, 2u);
    EXPECT_EQ(each.root, 0u);
    params.push_back(each.params);
  }
  EXPECT_EQ(params, (std::vector<std::vector<int64_t>>{{2, 0}, {1, 0}, {4, 0}, {8, 0}, {2, -1}}));
}

TEST(ProofCases, KeepWhatIsFixed) {
  std::vector<std::vector<int64_t>> params;
  const proof::Fixed fixed = {7, std::nullopt};
  for (const proof::Case& each : proof::cases(with_two_params(WEFT_OP_ALL_REDUCE), 2, fixed)) {
    params.push_back(each.params);
  }
  EXPECT_EQ(params, (std::vector<std::vector<int64_t>>{{7, 0}, {7, -1}}));
}

TEST(ProofCases, HaveEveryRootOfFewRanks) {
  const plugin::Algorithm& chain = algorithm("ring.broadcast");
  const auto roots = [&](uint32_t ranks) {
    std::vector<uint32_t> all;
    for (const proof::Case& each : proof::cases(chain, ranks, {8})) all.push_back(each.root);
    return all;
  };
  EXPECT_EQ(roots(3), (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_EQ(roots(17).size(), 17u);
  EXPECT_EQ(roots(18), (std::vector<uint32_t>{0, 9, 17}));
  EXPECT_EQ(roots(64), (std::vector<uint32_t>{63}));
  EXPECT_EQ(proof::cases(chain, 64).size(), 1u);
}

TEST(Proof, StopsWhenItIsTold) {
  int asked = 0;
  const auto stop = [&] { return ++asked > 2; };
  const proof::Verdict verdict = proof::prove(algorithm("ring.broadcast"), 4, {}, stop);
  EXPECT_FALSE(verdict.complete);
  EXPECT_FALSE(verdict.wrong);
  EXPECT_EQ(verdict.cases, 2u);
}

TEST(Proof, LooksOnlyAtNumbersOfRanksThatAreServed) {
  plugin::Algorithm pairs = seeded<says_nothing>(WEFT_OP_ALL_REDUCE, 0);
  pairs.table.min_ranks = 4;
  pairs.table.max_ranks = 5;
  const std::vector<uint32_t> ranks = {2, 3, 4, 5, 6};
  const auto found = proof::smallest(pairs, ranks);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->of.ranks, 4u);
  const std::vector<uint32_t> others = {2, 3, 6};
  EXPECT_FALSE(proof::smallest(pairs, others));
}

void sums_nothing(const Problem& p, weft::Schedule& s) {
  s.copy(p.out().all(), p.in().all());
  s.signal(p.peers());
  s.wait(p.peers());
}

TEST(Proof, CounterExamplesHaveAsFewCallsAsShowIt) {
  const plugin::Algorithm wrong = seeded<sums_nothing>(WEFT_OP_ALL_REDUCE, 0);
  const auto found = proof::refute(wrong, {3, 0, {}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->calls, 1u);
  EXPECT_EQ(found->schedules.size(), 3u);
  const Evidence& evidence = found->report.evidence;
  EXPECT_EQ(evidence.expected, "in@0 + in@1 + in@2");
  EXPECT_EQ(evidence.ranks.size(), 2u);
  ASSERT_EQ(evidence.events.size(), 1u);
  EXPECT_EQ(evidence.events[0].step, 0u);
  EXPECT_EQ(evidence.placement, Placement::kSeparate);
  EXPECT_FALSE(evidence.carried);
}

struct Price {
  const char* name;
  uint32_t rounds;
  double sent;
  uint32_t scratch;
};

TEST(ProofCost, IsThatOfThePapers) {
  constexpr uint32_t kRanks = 8;
  for (const Price& price :
       {Price{"mesh.two_shot", 2, 2 * 7.0 / 8, 0}, Price{"mesh.one_shot", 1, 7, 8},
        Price{"mesh.barrier", 1, 0, 0}, Price{"ring.all_reduce", 2 * 7 + 1, 2 * 7.0 / 8, 0},
        Price{"mesh.all_gather", 2, 7, 0}}) {
    const proof::Cost cost = proof::cost(emit_all(price.name, kRanks));
    EXPECT_EQ(cost.rounds, price.rounds) << price.name;
    EXPECT_DOUBLE_EQ(cost.sent, price.sent) << price.name;
    EXPECT_EQ(cost.scratch_blocks, price.scratch) << price.name;
    const bool declared = (algorithm(price.name).table.flags & WEFT_ALGORITHM_REMOTE_WRITE) != 0;
    EXPECT_EQ(cost.writes_to_peers, declared) << price.name;
  }
}

}  // namespace
}  // namespace weft::schedule
