// SPDX-License-Identifier: Apache-2.0
#include "config/rules.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "weft/abi.h"

namespace weft::config {
namespace {

Rule any(uint32_t op = WEFT_OP_ALL_REDUCE) {
  Rule rule;
  rule.op = op;
  return rule;
}

Query query() {
  Query asked;
  asked.op = WEFT_OP_ALL_REDUCE;
  asked.bytes = 1024;
  asked.ranks = 4;
  asked.type = HCCL_DATA_TYPE_FP32;
  asked.reduce_op = HCCL_REDUCE_SUM;
  return asked;
}

TEST(Rules, ARuleWithoutConditionsMatchesItsOperationOnly) {
  EXPECT_TRUE(matches(any(), query()));
  EXPECT_FALSE(matches(any(WEFT_OP_BROADCAST), query()));
  Query barrier;
  barrier.op = WEFT_OP_BARRIER;
  barrier.ranks = 2;
  EXPECT_TRUE(matches(any(WEFT_OP_BARRIER), barrier));
}

TEST(Rules, EveryConditionMustHold) {
  Rule rule = any();
  rule.bytes = {1024, 2048};
  rule.ranks = {4, 4};
  rule.types = 1U << HCCL_DATA_TYPE_FP32;
  rule.reduce_ops = 1U << HCCL_REDUCE_SUM;
  rule.deterministic = 1;
  EXPECT_TRUE(matches(rule, query()));

  Query other = query();
  other.bytes = 1023;
  EXPECT_FALSE(matches(rule, other));
  other.bytes = 2049;
  EXPECT_FALSE(matches(rule, other));
  other = query();
  other.ranks = 5;
  EXPECT_FALSE(matches(rule, other));
  other = query();
  other.type = HCCL_DATA_TYPE_FP16;
  EXPECT_FALSE(matches(rule, other));
  other = query();
  other.reduce_op = HCCL_REDUCE_MAX;
  EXPECT_FALSE(matches(rule, other));
  other = query();
  other.deterministic = true;
  EXPECT_FALSE(matches(rule, other));
}

TEST(Rules, UnknownTypesMatchOnlyRulesWithoutTypes) {
  Rule rule = any();
  Query odd = query();
  odd.type = 200;
  odd.reduce_op = -1;
  EXPECT_TRUE(matches(rule, odd));
  rule.types = 1U << HCCL_DATA_TYPE_INT8;
  EXPECT_FALSE(matches(rule, odd));
}

TEST(Rules, CoveringNeedsEveryConditionToBeAsWide) {
  Rule narrow = any();
  narrow.bytes = {10, 20};
  narrow.ranks = {2, 8};
  narrow.types = 3;
  EXPECT_TRUE(covers(any(), narrow));
  EXPECT_FALSE(covers(narrow, any()));
  EXPECT_TRUE(covers(narrow, narrow));

  Rule wide = narrow;
  wide.bytes = {10, 19};
  EXPECT_FALSE(covers(wide, narrow));
  wide = narrow;
  wide.types = 1;
  EXPECT_FALSE(covers(wide, narrow));
  wide = narrow;
  wide.op = WEFT_OP_BARRIER;
  EXPECT_FALSE(covers(wide, narrow));
}

TEST(Rules, TheCommunicatorIsAFactOfTheCall) {
  Rule rule = any();
  rule.hosts = {2, 4};
  Query asked = query();
  EXPECT_FALSE(matches(rule, asked));
  EXPECT_EQ(why_unmatched(rule, asked), "1 hosts are not in 2..4");
  asked.hosts = 4;
  EXPECT_TRUE(matches(rule, asked));
  EXPECT_EQ(why_unmatched(rule, asked), "");

  rule = any();
  rule.ranks_per_host = {1, kAnyPerHost.last};
  asked.ranks_per_host = 0;  // they differ
  EXPECT_FALSE(matches(rule, asked));
  EXPECT_EQ(why_unmatched(rule, asked), "hosts have different numbers of ranks");
  asked.ranks_per_host = 8;
  EXPECT_TRUE(matches(rule, asked));
  rule.ranks_per_host = {9, 9};
  EXPECT_EQ(why_unmatched(rule, asked), "8 ranks per host are not in 9");
}

TEST(Rules, NamesFitExactlyOrByTheirBeginning) {
  EXPECT_TRUE(fits("tp0", "tp0"));
  EXPECT_FALSE(fits("tp0", "tp01"));
  EXPECT_FALSE(fits("tp0", "tp"));
  EXPECT_TRUE(fits("tp*", "tp"));
  EXPECT_TRUE(fits("tp*", "tp01"));
  EXPECT_FALSE(fits("tp*", "dp0"));
  EXPECT_TRUE(fits("*", ""));
  EXPECT_TRUE(fits("tp*", "tp1*"));

  Rule rule = any();
  rule.communicators = {"world", "tp*"};
  Query asked = query();
  EXPECT_FALSE(matches(rule, asked));
  EXPECT_EQ(why_unmatched(rule, asked), "the communicator is not \"world\" \"tp*\"");
  asked.communicator = "tp7";
  EXPECT_TRUE(matches(rule, asked));
  asked.communicator = "world";
  EXPECT_TRUE(matches(rule, asked));
}

TEST(Rules, EveryConditionThatDoesNotHoldIsNamed) {
  const Query asked = query();
  Rule rule = any();
  rule.bytes = {4096, Range().last};
  EXPECT_EQ(why_unmatched(rule, asked), "1KiB bytes are not in 4KiB..");
  rule = any();
  rule.ranks = {2, 3};
  EXPECT_EQ(why_unmatched(rule, asked), "4 ranks are not in ..3");
  rule = any();
  rule.types = 1U << HCCL_DATA_TYPE_FP16 | 1U << HCCL_DATA_TYPE_BFP16;
  EXPECT_EQ(why_unmatched(rule, asked), "the type is not fp16 bfp16");
  rule = any();
  rule.reduce_ops = 1U << HCCL_REDUCE_MAX;
  EXPECT_EQ(why_unmatched(rule, asked), "the reduction is not max");
  rule = any();
  rule.deterministic = 2;
  EXPECT_EQ(why_unmatched(rule, asked), "no deterministic result is asked for");
  Query deterministic = asked;
  deterministic.deterministic = true;
  rule.deterministic = 1;
  EXPECT_EQ(why_unmatched(rule, deterministic), "a deterministic result is asked for");
}

TEST(Rules, ConditionsReadAsTheyAreWritten) {
  EXPECT_EQ(text_of(any()), "every call");
  Rule rule = any();
  rule.bytes = {0, 32768};
  rule.ranks = {2, 16};
  rule.hosts = {2, kAnyHosts.last};
  rule.ranks_per_host = {8, 8};
  rule.types = 1U << HCCL_DATA_TYPE_FP32;
  rule.reduce_ops = 1U << HCCL_REDUCE_SUM | 1U << HCCL_REDUCE_MIN;
  rule.deterministic = 2;
  rule.communicators = {"tp*"};
  EXPECT_EQ(text_of(rule),
            "bytes ..32KiB, ranks ..16, hosts 2.., ranks_per_host 8, type fp32, reduce sum min, "
            "deterministic true, communicator \"tp*\"");
}

TEST(Rules, CoveringLooksAtTheCommunicatorToo) {
  Rule wide = any();
  wide.communicators = {"tp*", "world"};
  Rule narrow = any();
  narrow.communicators = {"tp1*", "world"};
  EXPECT_TRUE(covers(any(), wide));
  EXPECT_FALSE(covers(wide, any()));
  EXPECT_TRUE(covers(wide, narrow));
  EXPECT_FALSE(covers(narrow, wide));
  narrow = any();
  narrow.hosts = {2, 3};
  wide = any();
  wide.hosts = {1, 3};
  EXPECT_TRUE(covers(wide, narrow));
  EXPECT_FALSE(covers(narrow, wide));
  EXPECT_FALSE(is_catch_all(wide));
  wide = any();
  wide.communicators = {"tp*", "*"};
  EXPECT_TRUE(is_catch_all(wide));
}

TEST(Rules, WhatTwoRulesHaveInCommonIsWhatMatchesBoth) {
  Rule a = any();
  a.bytes = {0, 512};
  a.communicators = {"tp*"};
  Rule b = any();
  b.bytes = {100, 4096};
  b.ranks = {3, 4};
  b.communicators = {"tp1", "dp"};
  const std::optional<Conditions> both = common(a, b);
  ASSERT_TRUE(both);
  EXPECT_EQ(text_of(*both), "bytes 100..512, ranks 3..4, communicator \"tp1\"");
  b.communicators = {"dp"};
  EXPECT_FALSE(common(a, b));
  b.communicators = {};
  EXPECT_TRUE(common(a, b));
  b.bytes = {513, 4096};
  EXPECT_FALSE(common(a, b));
  b = a;
  b.types = 1;
  a.types = 2;
  EXPECT_FALSE(common(a, b));
  EXPECT_FALSE(common(any(), any(WEFT_OP_BARRIER)));
}

TEST(Rules, ACatchAllHasNoConditionThatExcludesACall) {
  EXPECT_TRUE(is_catch_all(any()));
  Rule rule = any();
  rule.bytes = {1, std::numeric_limits<uint64_t>::max()};
  EXPECT_FALSE(is_catch_all(rule));
  rule = any();
  rule.deterministic = 2;
  EXPECT_FALSE(is_catch_all(rule));
}

}  // namespace
}  // namespace weft::config
