// SPDX-License-Identifier: Apache-2.0
#include "comm/schedule_cache.hpp"

#include <gtest/gtest.h>

#include "weft/sdk.hpp"

namespace weft::comm {
namespace {

int emits = 0;  // calls of the algorithm

/// Signals as many times as its parameter says.
int32_t emit(const weft_problem* problem, const weft_builder* builder) {
  ++emits;
  const Problem p(*problem);
  Schedule s(*builder);
  for (int64_t i = 0; i < p.param(0); ++i) s.signal(p.ring(1));
  return s.status();
}

plugin::Algorithm algorithm() {
  plugin::Algorithm made;
  made.name = "test.signals";
  made.table.head = WEFT_HEAD(weft_algorithm);
  made.table.op = WEFT_OP_BROADCAST;
  made.table.min_ranks = 1;
  made.table.param_count = 1;
  made.table.emit = &emit;
  return made;
}

size_t steps(ScheduleCache& cache, const plugin::Algorithm& of, uint32_t root, int64_t param) {
  const schedule::Shape shape{WEFT_OP_BROADCAST, 64, 0, root};
  const schedule::Schedule& found = cache.get(of, shape, std::span(&param, 1));
  EXPECT_EQ(found.shape.root, root);
  return found.steps.size();
}

TEST(ScheduleCache, AsksTheAlgorithmOnceForEachRootAndParameters) {
  const plugin::Algorithm one = algorithm();
  const plugin::Algorithm other = algorithm();
  ScheduleCache cache;
  emits = 0;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(steps(cache, one, 0, 2), 2u);
    EXPECT_EQ(steps(cache, one, 0, 3), 3u);
    EXPECT_EQ(steps(cache, one, 5, 3), 3u);
    EXPECT_EQ(steps(cache, other, 5, 3), 3u);
  }
  EXPECT_EQ(emits, 4);
}

TEST(ScheduleCache, IsBoundedAndKeepsWhatIsUsed) {
  const plugin::Algorithm one = algorithm();
  ScheduleCache cache;
  emits = 0;
  for (uint32_t root = 1; root < 60; ++root) {
    EXPECT_EQ(steps(cache, one, 0, 7), 7u);
    EXPECT_EQ(steps(cache, one, root, 1), 1u);
  }
  EXPECT_EQ(emits, 60);
  EXPECT_EQ(steps(cache, one, 1, 1), 1u);
  EXPECT_EQ(emits, 61) << "it was not evicted";
}

}  // namespace
}  // namespace weft::comm
