// SPDX-License-Identifier: Apache-2.0
// Whose turn it is among the arms of an experiment.
#include "comm/turns.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace weft::comm {
namespace {

TurnOrder order_of(std::vector<uint32_t> weights, uint32_t block, uint64_t seed) {
  TurnOrder order;
  order.block = block;
  order.seed = seed;
  for (uint32_t arm = 0; arm < weights.size(); ++arm) {
    for (uint32_t i = 0; i < weights[arm]; ++i) {
      order.turns.push_back({static_cast<uint8_t>(arm), static_cast<uint8_t>(i == 0)});
    }
  }
  return order;
}

TEST(Turns, EveryRoundHasTheBlocksOfEveryArm) {
  const TurnOrder order = order_of({3, 1, 2}, 5, 7);
  Turns turns(order);
  for (uint32_t round = 0; round < 50; ++round) {
    std::map<uint32_t, uint32_t> blocks;
    std::map<uint32_t, uint32_t> paired;
    for (uint32_t block = 0; block < 6; ++block) {
      const uint32_t arm = turns.arm();
      const bool compared = turns.paired();
      ++blocks[arm];
      if (compared) ++paired[arm];
      for (uint32_t call = 0; call < 5; ++call) {
        EXPECT_EQ(turns.round(), round);
        EXPECT_EQ(turns.arm(), arm) << "within a block";
        EXPECT_EQ(turns.paired(), compared);
        EXPECT_EQ(turns.block_begins(), call == 0);
        EXPECT_EQ(turns.block_ends(), call == 4);
        turns.advance();
      }
    }
    EXPECT_EQ(blocks, (std::map<uint32_t, uint32_t>{{0, 3}, {1, 1}, {2, 2}}));
    EXPECT_EQ(paired, (std::map<uint32_t, uint32_t>{{0, 1}, {1, 1}, {2, 1}}));
  }
}

TEST(Turns, FollowFromTheSeedAlone) {
  const TurnOrder order = order_of({2, 2}, 1, 11);
  const TurnOrder same = order_of({2, 2}, 1, 11);
  const TurnOrder other = order_of({2, 2}, 1, 12);
  Turns a(order), b(same), c(other);
  uint32_t differ = 0;
  for (uint32_t call = 0; call < 1000; ++call) {
    EXPECT_EQ(a.arm(), b.arm()) << call;
    differ += a.arm() != c.arm();
    a.advance();
    b.advance();
    c.advance();
  }
  EXPECT_GT(differ, 300u);
}

// What is compared must be first as often as last, or an arm would look slower where a program
// does.
TEST(Turns, EveryOrderIsAsLikelyWhateverTheWeights) {
  constexpr uint32_t kRounds = 20'000;
  const TurnOrder order = order_of({5, 1, 1}, 1, 3);
  Turns turns(order);
  std::map<std::vector<uint32_t>, uint32_t> orders;  // of the compared blocks
  uint32_t places[7] = {};                           // of the compared block of arm 1
  for (uint32_t round = 0; round < kRounds; ++round) {
    std::vector<uint32_t> found;
    for (uint32_t place = 0; place < 7; ++place, turns.advance()) {
      if (turns.paired()) found.push_back(turns.arm());
      if (turns.paired() && turns.arm() == 1) ++places[place];
    }
    ++orders[found];
  }
  EXPECT_EQ(orders.size(), 6u);
  for (const auto& [found, times] : orders) EXPECT_NEAR(times, kRounds / 6.0, 300) << found[0];
  for (const uint32_t times : places) EXPECT_NEAR(times, kRounds / 7.0, 300);
}

}  // namespace
}  // namespace weft::comm
