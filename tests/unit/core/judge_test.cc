// SPDX-License-Identifier: Apache-2.0
// Which arm of an experiment is the fastest.
#include "stats/judge.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace weft::stats {
namespace {

/// Blocks of arms that take `us`, on a machine that slows down for a while now and then, in an
/// order drawn for each round.
std::vector<Block> blocks_of(const std::vector<double>& us, uint32_t rounds, uint32_t seed) {
  std::mt19937 random(seed);
  std::lognormal_distribution<double> noise(0, 0.15);
  std::vector<Block> blocks;
  double slow = 1;
  for (uint32_t round = 1; round <= rounds; ++round) {
    std::vector<uint32_t> order(us.size());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    if (random() % 20 == 0) slow = slow == 1 ? 3 : 1;
    for (const uint32_t arm : order) {
      const double hit = random() % 50 == 0 ? 40 : 1;
      blocks.push_back({0, round, arm, 1, us[arm] * slow * noise(random) * hit});
    }
  }
  return blocks;
}

TEST(Judge, NamesNoneOfArmsThatAreEquallyFast) {
  for (const uint32_t arms : {2u, 3u}) {
    uint32_t named = 0;
    for (uint32_t seed = 0; seed < 200; ++seed) {
      named += judge(arms, blocks_of(std::vector<double>(arms, 10), 150, seed)).faster ? 1 : 0;
    }
    EXPECT_LE(named, 10u) << arms << " arms";
  }
}

TEST(Judge, NamesTheFastestOfArmsThatDiffer) {
  uint32_t right = 0;
  for (uint32_t seed = 0; seed < 100; ++seed) {
    const Judgement found = judge(3, blocks_of({12, 10, 11}, 400, seed));
    EXPECT_EQ(found.faster.value_or(1), 1u);
    right += found.faster ? 1 : 0;
  }
  EXPECT_GE(right, 90u);
}

TEST(Judge, TellsTimesAndRatios) {
  const Judgement found = judge(2, blocks_of({10, 15}, 300, 1));
  EXPECT_EQ(found.rounds, 300u);
  EXPECT_EQ(found.arms[0].blocks, 300u);
  EXPECT_EQ(found.arms[1].blocks, 300u);
  EXPECT_EQ(found.arms[0].ratio.median, 1);
  EXPECT_NEAR(found.arms[1].ratio.median, 1.5, 0.06);
  EXPECT_LT(found.arms[1].ratio.low, found.arms[1].ratio.median);
  EXPECT_GT(found.arms[1].ratio.high, found.arms[1].ratio.median);
  EXPECT_LT(found.arms[0].median_us, found.arms[1].median_us);
  EXPECT_EQ(found.faster, 0u);
}

TEST(Judge, ComparesBlocksOfOneRoundAndSeriesOnly) {
  // The second arm is slow because its calls are large ones.
  std::vector<Block> blocks;
  for (uint32_t round = 1; round < 100; ++round) {
    blocks.push_back({0, round, 0, 1, 10});
    blocks.push_back({1, round, 1, 1, 1000});
    blocks.push_back({2, round, 0, 0, 10});
    blocks.push_back({2, round, 1, 1, 1000});
  }
  const Judgement found = judge(2, blocks);
  EXPECT_EQ(found.rounds, 0u);
  EXPECT_FALSE(found.faster);
}

TEST(Judge, NamesNoneThatLooksSlowerForSomeKindOfCall) {
  std::vector<Block> blocks = blocks_of({10, 20}, 300, 1);
  EXPECT_EQ(judge(2, blocks).faster, 0u);
  const auto add_round = [&](uint32_t round) {
    blocks.push_back({1, round, 0, 1, 100});
    blocks.push_back({1, round, 1, 1, round % 3 == 0 ? 130.0 : 70.0});  // no verdict by itself
  };
  for (uint32_t round = 1; round < 8; ++round) add_round(round);
  EXPECT_EQ(judge(2, blocks).faster, 0u) << "too few to look like anything";
  for (uint32_t round = 8; round < 12; ++round) add_round(round);
  EXPECT_FALSE(judge(2, blocks).faster);
  EXPECT_TRUE(judge(2, blocks).depends);
}

TEST(Judge, AnArmWithoutBlocksTakesNoPart) {
  std::vector<Block> blocks;
  for (uint32_t round = 1; round < 100; ++round) {
    blocks.push_back({0, round, 0, 1, 10});
    blocks.push_back({0, round, 2, 1, 20.0 + round});
  }
  EXPECT_EQ(judge(3, blocks).faster, 0u);
  EXPECT_FALSE(judge(3, std::vector<Block>{{0, 1, 1, 1, 10}}).faster) << "alone";
  EXPECT_FALSE(judge(2, {}).faster);
}

TEST(Judge, TakesTheSlowestRankOfEachBlock) {
  const std::vector<Block> first = {
      {0, 1, 0, 1, 5}, {0, 1, 1, 1, 6}, {0, 1, 0, 0, 7}, {0, 1, 0, 0, 8}, {0, 2, 0, 1, 9}};
  const std::vector<Block> second = {
      {0, 1, 1, 1, 60}, {0, 1, 0, 1, 4}, {0, 1, 0, 0, 1}, {0, 1, 0, 0, 80}};
  const std::vector<Block> all = slowest(std::vector{first, second});
  ASSERT_EQ(all.size(), 4u) << "one is not there on both";
  EXPECT_EQ(all[0].us, 5);
  EXPECT_EQ(all[1].us, 60);
  EXPECT_EQ(all[2].us, 7);
  EXPECT_EQ(all[3].us, 80);
  EXPECT_TRUE(slowest({}).empty());
}

}  // namespace
}  // namespace weft::stats
