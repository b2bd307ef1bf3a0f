// SPDX-License-Identifier: Apache-2.0
#include "bench/pace.hpp"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "progress.hpp"

namespace weft::tools {
namespace {

TEST(Pace, EveryPartGetsItsLeastAndAnEqualShareOfTheRest) {
  const std::vector<double> least = {1, 1, 4, 2};
  EXPECT_DOUBLE_EQ(share(8, least, 1), 1);
  EXPECT_DOUBLE_EQ(share(16, least, 1), 3);
  EXPECT_DOUBLE_EQ(share(16, least, 3), 6 + 6);
  EXPECT_DOUBLE_EQ(share(16, least, 4), 16);
}

TEST(Pace, WhoeverComesLateStillGivesTheLeast) {
  const std::vector<double> least = {1, 4};
  EXPECT_DOUBLE_EQ(share(0, least, 1), 1);
  EXPECT_DOUBLE_EQ(share(-5, least, 2), 5);
  EXPECT_DOUBLE_EQ(share(5, {}, 0), 0);
}

TEST(Pace, WhatOneLeavesGoesToTheOthers) {
  const std::vector<double> least = {1, 1, 1};
  double left = 30;
  const double first = share(left, least, 1);
  EXPECT_DOUBLE_EQ(first, 10);
  left -= 2;  // it was quick
  EXPECT_DOUBLE_EQ(share(left, std::span(least).subspan(1), 1), 14);
}

TEST(Pace, MoreArmsRanksAndBytesTakeLonger) {
  Spec spec;
  spec.ranks = 2;
  spec.arms = {"a", "b"};
  const double base = least_time(spec, {1024, 4096});
  EXPECT_GT(base, 0);
  EXPECT_GT(least_time(spec, {1 << 22, 1 << 24}), 2 * base);
  spec.arms.push_back("c");
  EXPECT_DOUBLE_EQ(least_time(spec, {1024, 4096}), 1.5 * base);
  const double starting = starting_time(spec);
  spec.ranks = 64;
  EXPECT_GT(least_time(spec, {1024, 4096}), 1.5 * base);
  EXPECT_GT(starting_time(spec), starting);
}

TEST(Pace, TheBarIsAlwaysAsLong) {
  EXPECT_EQ(bar_text(0), "[" + std::string(30, '-') + "]   0 %");
  EXPECT_EQ(bar_text(0.5), "[" + std::string(15, '#') + std::string(15, '-') + "]  50 %");
  EXPECT_EQ(bar_text(7), "[" + std::string(30, '#') + "] 100 %");
  EXPECT_EQ(bar_text(-1), bar_text(0));
}

}  // namespace
}  // namespace weft::tools
