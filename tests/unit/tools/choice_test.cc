// SPDX-License-Identifier: Apache-2.0
#include "tune/choice.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "findings.hpp"

namespace weft::tools {
namespace {

constexpr uint64_t kAll = std::numeric_limits<uint64_t>::max();

/// "a..512 b..", with - for what the policy chose before.
std::string text_of(const std::vector<Stretch>& stretches) {
  std::string text;
  for (const Stretch& each : stretches) {
    text += text.empty() ? "" : " ";
    text += each.candidate ? char('a' + *each.candidate) : '-';
    text += ".." + (each.bytes.last == kAll ? "" : std::to_string(each.bytes.last));
  }
  return text;
}

/// Neighbours meet and all is covered, whatever the numbers are.
void expect_whole(const Findings& findings, const std::vector<Stretch>& stretches) {
  ASSERT_FALSE(stretches.empty());
  EXPECT_EQ(stretches.front().bytes.first, 0U);
  EXPECT_EQ(stretches.back().bytes.last, kAll);
  EXPECT_EQ(stretches.back().last, findings.sizes.size() - 1);
  for (size_t i = 0; i + 1 < stretches.size(); ++i) {
    const Stretch& low = stretches[i];
    const Stretch& high = stretches[i + 1];
    EXPECT_EQ(low.bytes.last + 1, high.bytes.first);
    EXPECT_EQ(low.last + 1, high.first);
    EXPECT_NE(low.candidate, high.candidate);
    EXPECT_GE(low.bytes.last, findings.sizes[low.last].bytes);
    EXPECT_LT(low.bytes.last, findings.sizes[high.first].bytes);
  }
}

TEST(TuneChoice, NothingClearlyFasterLeavesAllAsItWas) {
  const Findings findings =
      make_up({{8, {1.0, 0.99}, {}, 0}, {32, {1.1, 1.0}, {}, 0}, {128, {2.0, 2.1}, {}, 1}});
  EXPECT_EQ(text_of(choose(findings)), "-..");
  expect_whole(findings, choose(findings));
}

TEST(TuneChoice, AClearWinnerGetsOneRule) {
  const Findings findings =
      make_up({{8, {1.0, 0.5}, {0}, 0}, {32, {1.1, 0.6}, {0}, 0}, {128, {2.0, 1.0}, {0}, 0}});
  EXPECT_EQ(text_of(choose(findings)), "b..");
}

TEST(TuneChoice, WhatChangesTheBitsMustBeClearlyFaster) {
  // c is what was chosen before, and slow; b seems a little faster than a, but that is not known.
  Findings findings = make_up({{8, {1.0, 0.95, 3.0}, {2}, 2}, {32, {1.0, 0.95, 3.0}, {2}, 2}});
  EXPECT_EQ(text_of(choose(findings)), "b..");
  findings.candidates[1].reorders = true;
  EXPECT_EQ(text_of(choose(findings)), "a..");
  for (SizeFindings& size : findings.sizes) size.timings[0].slower = true;
  EXPECT_EQ(text_of(choose(findings)), "b..");
}

TEST(TuneChoice, LinesThatCrossAreCutWhereTheyMeet) {
  // a = 1, b grows with the square root: on logarithmic axes they meet in the middle.
  const Findings findings = make_up({{1024, {1.0, 0.5, 9.0}, {0, 2}, 2},
                                     {4096, {1.0, 0.71, 9.0}, {0, 2}, 2},
                                     {16384, {1.0, 1.41, 9.0}, {1, 2}, 2},
                                     {65536, {1.0, 2.0, 9.0}, {1, 2}, 2}});
  const std::vector<Stretch> found = choose(findings);
  EXPECT_EQ(text_of(found), "b..8192 a..");
  expect_whole(findings, found);
  EXPECT_EQ(found[0].first, 0U);
  EXPECT_EQ(found[0].last, 1U);
}

TEST(TuneChoice, AnUnclearSizeGoesWithItsNeighbour) {
  // At 512 b looks faster, but that is not known; a rule of its own would be one too many.
  const Findings findings = make_up({{32, {0.5, 1.0}, {1}, 1},
                                     {128, {0.6, 1.0}, {1}, 1},
                                     {512, {1.0, 0.97}, {}, 1},
                                     {2048, {1.0, 2.0}, {1}, 1}});
  EXPECT_EQ(text_of(choose(findings)), "a..");
}

TEST(TuneChoice, ARuleDoesNotReachToWhereItIsNotNeeded) {
  // At 128 a seems a little faster than what the policy chose, b; that is not known.
  const Findings findings = make_up({{32, {1.1, 1.0}, {}, 1},
                                     {128, {0.97, 1.0}, {}, 1},
                                     {512, {0.5, 1.0}, {1}, 1},
                                     {2048, {0.5, 1.0}, {1}, 1}});
  const std::vector<Stretch> found = choose(findings);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_FALSE(found[0].candidate.has_value());
  EXPECT_EQ(found[0].last, 1U);
}

TEST(TuneChoice, ARuleDoesNotReachOverWhatSeemsMuchSlower) {
  // At 512 few blocks could be timed: a is not known to be slower than b, but seems to be.
  const Findings findings = make_up({{32, {0.5, 1.0}, {1}, 1},
                                     {128, {0.6, 1.0}, {1}, 1},
                                     {512, {1.5, 1.0}, {}, 1},
                                     {2048, {1.0, 2.0}, {1}, 1}});
  EXPECT_EQ(text_of(choose(findings)).substr(0, 1), "a");
  ASSERT_EQ(choose(findings).size(), 3U);
  EXPECT_FALSE(choose(findings)[1].candidate.has_value());
}

TEST(TuneChoice, TheSlowerOneIsNeverChosenToSaveARule) {
  const Findings findings = make_up({{32, {0.5, 1.0, 2.0}, {1, 2}, 2},
                                     {128, {1.0, 0.5, 2.0}, {0, 2}, 2},
                                     {512, {0.5, 1.0, 2.0}, {1, 2}, 2}});
  const std::vector<Stretch> found = choose(findings);
  EXPECT_EQ(text_of(found).substr(0, 1), "a");
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[1].candidate, 1U);
  expect_whole(findings, found);
}

TEST(TuneChoice, WhatThePolicyDoesWellNeedsNoRule) {
  // The policy changes from a to b too early: one rule for a, over all sizes at which it is good.
  const Findings findings = make_up({{32, {0.5, 1.0}, {1}, 0},
                                     {128, {0.6, 1.0}, {1}, 1},
                                     {512, {1.0, 0.5}, {0}, 1},
                                     {2048, {2.0, 0.6}, {0}, 1}});
  const std::vector<Stretch> found = choose(findings);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].candidate, 0U);
  EXPECT_EQ(found[0].bytes.first, 0U);
  EXPECT_FALSE(found[1].candidate.has_value());
  expect_whole(findings, found);
}

Findings one_winner(bool by_bytes) {
  return make_up({{8, {1.0, 0.5}, {0}, 0},
                  {32, {1.0, 0.5}, {0}, 0},
                  {128, {1.0, 0.5}, {0}, 0},
                  {512, {1.0, 0.5}, {0}, 0}},
                 by_bytes ? WEFT_OP_ALL_REDUCE : WEFT_OP_ALL_TO_ALL_V, by_bytes);
}

/// What is chosen after these rematches of sizes; the rest was not measured again.
std::string settled(Findings findings, const std::vector<Rematch>& rematches) {
  settle(findings, choose(findings), rematches);
  const std::vector<Stretch> found = choose(findings);
  expect_whole(findings, found);
  return text_of(found);
}

constexpr Rematch faster(size_t size) { return {size, true, false, 0.5}; }
constexpr Rematch alike(size_t size) { return {size, false, false, 1.0}; }
constexpr Rematch slower(size_t size) { return {size, false, true, 1.5}; }

TEST(TuneChoice, WhatDoesNotWinAgainGetsNoRule) {
  const Findings all = one_winner(true);
  EXPECT_EQ(text_of(choose(all)), "b..");
  EXPECT_EQ(settled(all, {faster(0), faster(1), faster(2), faster(3)}), "b..");
  EXPECT_EQ(settled(all, {alike(0), alike(1), alike(2), alike(3)}), "-..");
  EXPECT_EQ(settled(all, {slower(0), alike(1), slower(2), alike(3)}), "-..");
  EXPECT_EQ(settled(all, {faster(0), slower(1), slower(2), slower(3)}).substr(0, 3), "b..");
  EXPECT_EQ(settled(all, {faster(0), alike(1), alike(2), faster(3)}), "b..")
      << "one rule is better than two";
}

TEST(TuneChoice, WhatIsSlowerOnceMoreEndsARule) {
  const std::string text = settled(one_winner(true), {faster(0), faster(1), slower(2), faster(3)});
  EXPECT_EQ(text.substr(0, 3), "b..");
  EXPECT_NE(text.find(" -.."), std::string::npos) << text;
  EXPECT_NE(text.find(" b..", 4), std::string::npos) << text;
}

TEST(TuneChoice, ARuleForAllSizesMayBeSlowerAtNone) {
  const Findings all = one_winner(false);
  EXPECT_EQ(settled(all, {faster(0), alike(1), alike(2), alike(3)}), "b..");
  EXPECT_EQ(settled(all, {faster(0), faster(1), faster(2), slower(3)}), "-..");
  EXPECT_EQ(settled(all, {alike(0), alike(1), alike(2), alike(3)}), "-..");
}

TEST(TuneChoice, WhatWonTheFirstTimeOnlyMayBeBase) {
  // Clearly slower the first time, alike once more: it may stay.
  Findings findings = make_up({{8, {1.0, 0.5}, {0}, 0}});
  EXPECT_EQ(settled(findings, {alike(0)}), "-..");
  EXPECT_EQ(settled(findings, {faster(0)}), "b..");
}

TEST(TuneChoice, WrongResultsRuleAnAlgorithmOut) {
  Findings findings = make_up({{8, {1.0, 0.1}, {0}, 0}, {32, {1.0, 0.1}, {0}, 0}});
  findings.sizes[1].timings[1] = {0, 0, 3, false};
  EXPECT_EQ(text_of(choose(findings)), "-..");
  findings.sizes[0].timings[0].wrong = 1;  // nothing is left
  EXPECT_EQ(text_of(choose(findings)), "-..");
}

TEST(TuneChoice, WithoutBytesThereIsOneAnswerForAll) {
  const std::vector<MadeUp> sizes = {{32, {0.5, 1.0, 0.6}, {1, 2}, 1},
                                     {128, {1.0, 2.0, 0.5}, {0, 1}, 1},
                                     {512, {1.0, 2.0, 0.5}, {0, 1}, 1}};
  EXPECT_EQ(text_of(choose(make_up(sizes, WEFT_OP_ALL_TO_ALL_V, false))), "c..");
  EXPECT_EQ(text_of(choose(make_up(sizes))), "a..44 c..");
}

TEST(TuneChoice, NoSizesNoRules) {
  Findings findings;
  EXPECT_EQ(text_of(choose(findings)), "-..");
  EXPECT_TRUE(middles(findings, choose(findings)).empty());
}

TEST(TuneChoice, AsksForMiddlesWhereItChanges) {
  const Findings findings = make_up({{1024, {1.0, 0.5}, {0}, 0},
                                     {4096, {1.0, 0.5}, {0}, 0},
                                     {16384, {1.0, 2.0}, {1}, 0},
                                     {65536, {1.0, 2.0}, {1}, 0}});
  EXPECT_EQ(middles(findings, choose(findings)), std::vector<uint64_t>{8192});
  const Findings close = make_up({{1024, {1.0, 0.5}, {0}, 0}, {1500, {1.0, 2.0}, {1}, 0}});
  EXPECT_TRUE(middles(close, choose(close)).empty());
}

// Two algorithms that cross once, measured with noise: what is known to be slower is known by a
// test that errs seldom, but medians jump.
TEST(TuneChoice, NoiseDoesNotMakeRules) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal(0, 0.08);
  for (int table = 0; table < 200; ++table) {
    std::vector<MadeUp> sizes;
    const double crossing = std::exp2(6 + table % 12);
    for (int power = 3; power <= 24; power += 2) {
      const double bytes = std::exp2(power);
      const double a = 1 + bytes / crossing;
      const double b = 1.5 + bytes / crossing / 2;  // they meet at `crossing`
      MadeUp size{uint64_t(bytes), {a, b, 1.2 * std::max(a, b)}, {2}, 2};
      if (a > 1.1 * b) size.slower.push_back(0);
      if (b > 1.1 * a) size.slower.push_back(1);
      for (double& time : size.times) time *= std::exp(normal(random));
      sizes.push_back(size);
    }
    const Findings findings = make_up(sizes);
    const std::vector<Stretch> found = choose(findings);
    expect_whole(findings, found);
    ASSERT_EQ(found.size(), 2U) << text_of(found) << " for " << crossing;
    EXPECT_EQ(found[0].candidate, 0U);
    EXPECT_EQ(found[1].candidate, 1U);
    EXPECT_LT(double(found[0].bytes.last), 8 * crossing);
    EXPECT_GT(double(found[0].bytes.last), crossing / 8);
  }
}

}  // namespace
}  // namespace weft::tools
