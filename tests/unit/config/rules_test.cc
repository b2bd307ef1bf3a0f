// SPDX-License-Identifier: Apache-2.0
#include "config/rules.hpp"

#include <gtest/gtest.h>

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
