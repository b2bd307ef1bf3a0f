// SPDX-License-Identifier: Apache-2.0
// The test that tells which of two things is faster, on times that are made up: as noisy as those
// of a machine that others use too.
#include "stats/paired_test.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace weft::stats {
namespace {

using Verdict = PairedTest::Verdict;

/// Times of a block: a level that drifts, noise of some 10 %, and now and then many times as long.
class Noise {
 public:
  explicit Noise(uint64_t seed) : random_(seed) {}
  double next() {
    level_ *= std::exp(0.02 * normal_(random_));
    const double spike = uniform_(random_) < 0.05 ? 1 + 20 * uniform_(random_) : 1;
    return level_ * std::exp(0.1 * normal_(random_)) * spike;
  }

 private:
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_{0, 1};
  double level_ = 1;
};

/// After so many pairs, the second `factor` times as long, or earlier with a verdict.
PairedTest run(uint64_t seed, double factor, uint64_t pairs) {
  Noise noise(seed);
  std::mt19937_64 order(1);
  PairedTest test;
  while (test.pairs() < pairs && test.verdict() == Verdict::kOpen) {
    double times[2] = {noise.next(), noise.next()};
    const size_t first = order() >> 63;
    test.add(times[first], times[1 - first] * factor);
  }
  return test;
}

TEST(PairedTest, SeldomTellsTwoEqualThingsApart) {
  int verdicts = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    if (run(seed, 1, 2000).verdict() != Verdict::kOpen) ++verdicts;
  }
  EXPECT_LE(verdicts, 10);  // 5 %
}

TEST(PairedTest, FindsTenPercentInTwoThousandCalls) {
  constexpr uint64_t kPairs = 100;  // of blocks of ten calls of each
  int right = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const bool second_is_slower = seed % 2 == 0;
    const Verdict verdict = run(seed, second_is_slower ? 1.1 : 1 / 1.1, kPairs).verdict();
    EXPECT_NE(verdict, second_is_slower ? Verdict::kSecond : Verdict::kFirst) << seed;
    if (verdict != Verdict::kOpen) ++right;
  }
  EXPECT_GE(right, 180);
}

TEST(PairedTest, AVerdictStays) {
  PairedTest test;
  EXPECT_EQ(test.verdict(), Verdict::kOpen);
  int pairs = 0;
  for (; test.verdict() == Verdict::kOpen && pairs < 100; ++pairs) test.add(1, 2);
  EXPECT_EQ(test.verdict(), Verdict::kFirst);
  EXPECT_LT(pairs, 14);
  EXPECT_GT(pairs, 6);  // of a fair coin, so many heads in a row are no surprise
  for (int i = 0; i < 1000; ++i) test.add(2, 1);
  EXPECT_EQ(test.verdict(), Verdict::kFirst);
  EXPECT_EQ(test.first_wins(), static_cast<uint64_t>(pairs));
  EXPECT_EQ(test.second_wins(), 1000u);
}

TEST(PairedTest, EqualTimesTellNothing) {
  PairedTest test;
  for (int i = 0; i < 1000; ++i) test.add(3, 3);
  EXPECT_EQ(test.verdict(), Verdict::kOpen);
  EXPECT_EQ(test.pairs(), 1000u);
  EXPECT_EQ(test.first_wins() + test.second_wins(), 0u);
  EXPECT_EQ(test.ratio().median, 1);
}

TEST(PairedTest, TheRatioIsTheMiddleOfThoseOfThePairs) {
  PairedTest test;
  EXPECT_EQ(test.ratio().median, 1);
  for (int i = 1; i <= 100; ++i) test.add(10, 10 * i);
  const PairedTest::Ratio ratio = test.ratio();
  EXPECT_EQ(ratio.median, 50.5);
  EXPECT_EQ(ratio.low, 41);  // sorted[50 - 9.8]
  EXPECT_EQ(ratio.high, 61);
}

TEST(Median, IsTheMiddleOrBetweenTheTwo) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({7}), 7);
  EXPECT_EQ(median({9, 1, 5}), 5);
  EXPECT_EQ(median({4, 1, 9, 2}), 3);
}

TEST(Mean, HasAnInterval) {
  EXPECT_EQ(mean({}).value, 0);
  EXPECT_EQ(mean({3}).half_width, 0);
  const Mean found = mean({1, 2, 3, 4, 5});
  EXPECT_EQ(found.value, 3);
  EXPECT_NEAR(found.half_width, 1.959964 * std::sqrt(2.5 / 5), 1e-9);
}

}  // namespace
}  // namespace weft::stats
