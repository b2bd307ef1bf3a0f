// SPDX-License-Identifier: Apache-2.0
// The root's decisions without any connection: the roll call and the exchange.
#include "control/roll_call.hpp"

#include <gtest/gtest.h>

#include "control/exchange.hpp"
#include "support.hpp"

namespace weft::control {
namespace {

HelloMessage message_of(Hello hello) { return {std::move(hello), 1000, false}; }

RollCall roll_of(const std::vector<Hello>& hellos) {
  RollCall roll;
  for (const Hello& hello : hellos) EXPECT_FALSE(roll.add(message_of(hello)));
  return roll;
}

TEST(RankList, JoinsNeighboursToRanges) {
  EXPECT_EQ(list_ranks({7}), "rank 7");
  EXPECT_EQ(list_ranks({0, 1, 2, 5, 8, 9}), "ranks 0-2, 5, 8-9");
}

TEST(RollCall, IsCompleteWithItsLastRankInAnyOrder) {
  RollCall roll;
  for (const std::uint32_t rank : {2u, 0u, 3u}) {
    EXPECT_FALSE(roll.add(message_of(hello_of(4, rank))));
    EXPECT_FALSE(roll.complete());
  }
  EXPECT_FALSE(roll.add(message_of(hello_of(4, 1))));
  EXPECT_TRUE(roll.complete());
  EXPECT_FALSE(roll.differences());
  const WelcomeMessage welcome = roll.take_welcome();
  for (std::uint32_t rank = 0; rank < 4; ++rank) EXPECT_EQ(welcome.peers[rank].blob, blob_of(rank));
}

TEST(RollCall, NamesBothClaimantsOfARank) {
  RollCall roll = roll_of({hello_of(3, 1)});
  Hello second = hello_of(3, 1);
  second.host = "elsewhere";
  second.pid = 77;
  const auto failure = roll.add(message_of(second));
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, HCCL_E_PARA);
  EXPECT_TRUE(contains(failure->text, "rank 1 (process 1001 on host host1)"));
  EXPECT_TRUE(contains(failure->text, "rank 1 (process 77 on host elsewhere)"));
}

TEST(RollCall, NamesBothNumbersOfRanks) {
  RollCall roll = roll_of({hello_of(3, 2)});
  const auto failure = roll.add(message_of(hello_of(4, 0)));
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, HCCL_E_PARA);
  EXPECT_TRUE(contains(failure->text, "3 on rank 2 (process 1002 on host host2)"));
  EXPECT_TRUE(contains(failure->text, "4 on rank 0 (process 1000 on host host0)"));
}

TEST(RollCall, SaysWhichRanksDifferInWhat) {
  std::vector<Hello> hellos;
  for (std::uint32_t rank = 0; rank < 5; ++rank) hellos.push_back(hello_of(5, rank));
  hellos[3].facts[0].value = "xyz";
  hellos[4].facts.pop_back();
  const auto failure = roll_of(hellos).differences();
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, HCCL_E_PARA);
  EXPECT_TRUE(contains(failure->text,
                       "the policy digest is 'abc' on ranks 0-2, 4 (the first is "
                       "rank 0 (process 1000 on host host0))"));
  EXPECT_TRUE(contains(failure->text, "and 'xyz' on rank 3 (process 1003 on host host3)"));
  EXPECT_TRUE(contains(failure->text, "nothing on rank 4 (process 1004 on host host4)"));
}

TEST(RollCall, NamesTheMissingRanks) {
  const Failure failure = roll_of({hello_of(6, 1), hello_of(6, 4)}).missing(milliseconds(120));
  EXPECT_EQ(failure.code, HCCL_E_TIMEOUT);
  EXPECT_TRUE(contains(failure.text, "ranks 0, 2-3, 5 of 6"));
}

GatherMessage part_of(std::uint32_t rank, std::uint32_t sequence) {
  return {sequence, 1000, blob_of(rank)};
}

TEST(Exchange, CompletesARoundAndBeginsTheNext) {
  Exchange exchange;
  exchange.begin(2);
  for (std::uint32_t round = 0; round < 3; ++round) {
    EXPECT_FALSE(exchange.add(1, part_of(1, round)).gathered);
    EXPECT_TRUE(exchange.deadline());
    const auto outcome = exchange.add(0, part_of(0, round));
    ASSERT_TRUE(outcome.gathered);
    EXPECT_EQ(outcome.gathered->sequence, round);
    EXPECT_EQ(outcome.gathered->parts[1], blob_of(1));
    EXPECT_FALSE(exchange.deadline());
  }
}

TEST(Exchange, TellsALateRankThatItsRoundFailedAndGoesOn) {
  Exchange exchange;
  exchange.begin(3);
  exchange.add(0, part_of(0, 0));
  const GatherFailedMessage failed = exchange.expire();
  EXPECT_EQ(failed.failure.code, HCCL_E_TIMEOUT);
  EXPECT_TRUE(contains(failed.failure.text, "ranks 1-2"));
  const auto late = exchange.add(2, part_of(2, 0));
  ASSERT_TRUE(late.late);
  EXPECT_EQ(late.late->failure.text, failed.failure.text);
  exchange.add(0, part_of(0, 1));
  exchange.add(1, part_of(1, 1));
  EXPECT_TRUE(exchange.add(2, part_of(2, 1)).gathered);
}

TEST(Exchange, FailsEveryRoundOnceARankIsGone) {
  Exchange exchange;
  exchange.begin(2);
  EXPECT_FALSE(exchange.abandon({HCCL_E_REMOTE, "rank 1 is gone"}));
  const auto outcome = exchange.add(0, part_of(0, 0));
  ASSERT_TRUE(outcome.failed);
  EXPECT_EQ(outcome.failed->failure.code, HCCL_E_REMOTE);
}

TEST(Exchange, RejectsAPartOutOfOrder) {
  Exchange exchange;
  exchange.begin(2);
  EXPECT_TRUE(exchange.add(0, part_of(0, 1)).malformed);
  EXPECT_FALSE(exchange.add(0, part_of(0, 0)).malformed);
  EXPECT_TRUE(exchange.add(0, part_of(0, 0)).malformed);
}

}  // namespace
}  // namespace weft::control
