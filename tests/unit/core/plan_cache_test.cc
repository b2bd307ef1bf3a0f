// SPDX-License-Identifier: Apache-2.0
#include "comm/plan_cache.hpp"

#include <gtest/gtest.h>

namespace weft::comm {
namespace {

std::unique_ptr<exec::ExecPlan> plan(uint64_t count, uint64_t last_call = 0) {
  auto made = std::make_unique<exec::ExecPlan>();
  made->key.count = count;
  made->last_call = last_call;
  return made;
}

CallKey key(uint64_t count) {
  CallKey k;
  k.count = count;
  return k;
}

TEST(PlanCache, FindsWhatWasInsertedAndNothingElse) {
  PlanCache cache;
  exec::ExecPlan* kept = cache.insert(plan(3), 0);
  EXPECT_EQ(cache.find(key(3)), kept);
  EXPECT_EQ(cache.find(key(4)), nullptr);
  CallKey other = key(3);
  other.root = 1;
  EXPECT_EQ(cache.find(other), nullptr);
}

TEST(PlanCache, IsBounded) {
  PlanCache cache;
  constexpr uint64_t kMany = 20000;
  for (uint64_t i = 1; i <= kMany; ++i) cache.insert(plan(i), 0);
  uint64_t found = 0;
  for (uint64_t i = 1; i <= kMany; ++i) found += cache.find(key(i)) != nullptr;
  EXPECT_LE(found, PlanCache::kSets * PlanCache::kWays);
  EXPECT_EQ(cache.made(), kMany);
  EXPECT_EQ(cache.evicted(), kMany - found);
  EXPECT_GT(found, PlanCache::kSets * PlanCache::kWays / 2) << "the hash spreads badly";
  EXPECT_NE(cache.find(key(kMany)), nullptr) << "the newest must not make room";
}

TEST(PlanCache, KeepsTheRecentlyUsed) {
  PlanCache cache;
  cache.insert(plan(7), 0);
  for (uint64_t i = 100; i < 5000; ++i) {
    ASSERT_NE(cache.find(key(7)), nullptr) << "evicted at " << i;
    cache.insert(plan(i), 0);
  }
}

TEST(PlanCache, DoesNotFreeAPlanThatATaskUses) {
  PlanCache cache;
  exec::ExecPlan* busy = cache.insert(plan(1, 42), 0);
  for (uint64_t i = 2; i < 5000; ++i) cache.insert(plan(i), 0);
  EXPECT_EQ(busy->last_call, 42u);  // a freed one is found by the address sanitizer
  for (uint64_t i = 5000; i < 6000; ++i) cache.insert(plan(i), 42);
}

TEST(PlanCache, ForgetsAllPlansButFreesNoneThatATaskUses) {
  PlanCache cache;
  exec::ExecPlan* busy = cache.insert(plan(1, 42), 0);
  cache.insert(plan(2), 0);
  cache.forget(0);
  for (const uint64_t count : {1, 2}) EXPECT_EQ(cache.find(key(count)), nullptr);
  EXPECT_EQ(busy->last_call, 42u);  // a freed one is found by the address sanitizer
  EXPECT_NE(cache.insert(plan(1), 0), busy);
  EXPECT_NE(cache.find(key(1)), nullptr);
}

}  // namespace
}  // namespace weft::comm
