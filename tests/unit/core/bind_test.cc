// SPDX-License-Identifier: Apache-2.0
// Binding: chunks become byte ranges, calls are cut where Scratch is small, small copies travel in
// signals.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.hpp"
#include "schedule/plan.hpp"

namespace weft::schedule {
namespace {

Schedule one_step(uint32_t op, uint32_t ranks, weft_chunk dst, weft_chunk src) {
  Schedule s;
  s.shape = {op, ranks, 0, 0};
  s.operands = {dst, src};
  s.steps = {{WEFT_VERB_COPY, 0, 0, 1, 1}};
  return s;
}

TEST(Bind, PartsCoverABlockOnceAndBeginAtCacheLines) {
  for (const uint64_t count : {1, 15, 16, 17, 100, 1000, 4099}) {
    for (const uint32_t parts : {1, 2, 3, 7, 16}) {
      uint64_t next = 0;
      for (uint32_t i = 0; i < parts; ++i) {
        const weft_chunk chunk{WEFT_SPACE_IN, 0, 0, i, parts};
        weft_chunk out = chunk;
        out.space = WEFT_SPACE_OUT;
        const Plan plan = bind(one_step(WEFT_OP_ALL_REDUCE, 16, out, chunk), {count, 4, 0});
        if (plan.last.steps.empty()) continue;  // an empty part moves nothing
        const uint64_t offset = plan.last.operands[1].offset;
        EXPECT_EQ(offset, next) << count << " elements, part " << i << " of " << parts;
        EXPECT_EQ(offset % 64, 0u);
        next = offset + plan.last.steps[0].length;
      }
      EXPECT_EQ(next, count * 4);
    }
  }
}

TEST(Bind, BlocksOfInAndOutAreCountElementsApart) {
  const weft_chunk out{WEFT_SPACE_OUT, 0, 2, 0, 1};
  const weft_chunk in{WEFT_SPACE_IN, 1, 0, 0, 1};
  const Plan plan = bind(one_step(WEFT_OP_ALL_GATHER, 3, out, in), {5, 2, 0});
  EXPECT_EQ(plan.last.operands[0].base, WEFT_SPACE_OUT * 3u + 0);
  EXPECT_EQ(plan.last.operands[0].offset, 2u * 5 * 2);
  EXPECT_EQ(plan.last.operands[1].base, WEFT_SPACE_IN * 3u + 1);
  EXPECT_EQ(plan.in_bytes, 10u);
  EXPECT_EQ(plan.out_bytes, 30u);
}

TEST(Bind, ACallIsCutIntoPiecesThatFitIntoScratch) {
  Schedule s = one_step(WEFT_OP_ALL_REDUCE, 2, {WEFT_SPACE_SCRATCH, 1, 1, 0, 1},
                        {WEFT_SPACE_IN, 0, 0, 0, 1});
  s.scratch_blocks = 2;
  const Plan plan = bind(s, {100, 4, 2 * 128});
  EXPECT_EQ(plan.pieces, 4u);  // 32 elements each, 4 in the last
  EXPECT_EQ(plan.piece_bytes, 128u);
  EXPECT_EQ(plan.full.steps[0].length, 128u);
  EXPECT_EQ(plan.full.operands[0].offset, 128u);
  EXPECT_EQ(plan.last.steps[0].length, 16u);
  EXPECT_EQ(plan.last.operands[0].offset, 64u);
}

TEST(Bind, ScratchThatHoldsNoCacheLineIsAnError) {
  Schedule s = one_step(WEFT_OP_ALL_REDUCE, 2, {WEFT_SPACE_SCRATCH, 1, 2, 0, 1},
                        {WEFT_SPACE_IN, 0, 0, 0, 1});
  s.scratch_blocks = 3;
  EXPECT_THROW((void)bind(s, {100, 4, 128}), Error);
}

/// copy In -> Scratch of rank 1, then signal it.
Schedule copy_and_signal() {
  Schedule s = one_step(WEFT_OP_ALL_REDUCE, 2, {WEFT_SPACE_SCRATCH, 1, 0, 0, 1},
                        {WEFT_SPACE_IN, 0, 0, 0, 1});
  s.scratch_blocks = 1;
  s.steps.push_back({WEFT_VERB_SIGNAL, 1, 0, 0, 0});
  s.steps.push_back({WEFT_VERB_WAIT, 1, 0, 0, 0});
  return s;
}

TEST(Bind, ASmallCopyTravelsInTheSignal) {
  const Plan plan = bind(copy_and_signal(), {kCarryBytes / 4, 4, 4096});
  ASSERT_EQ(plan.last.steps.size(), 2u);
  EXPECT_EQ(plan.last.steps[0].opcode, Opcode::kSignalCarry);
  EXPECT_EQ(plan.last.steps[0].length, kCarryBytes);
  EXPECT_EQ(plan.last.operands[plan.last.steps[0].first].base, WEFT_SPACE_IN * 2u);
}

TEST(Bind, ALargerCopyDoesNot) {
  const Plan plan = bind(copy_and_signal(), {kCarryBytes / 4 + 1, 4, 4096});
  ASSERT_EQ(plan.last.steps.size(), 3u);
  EXPECT_EQ(plan.last.steps[0].opcode, Opcode::kCopy);
  EXPECT_EQ(plan.last.steps[1].opcode, Opcode::kSignal);
}

TEST(Bind, ACopyBeforeALaterSignalDoesNot) {
  Schedule s = copy_and_signal();
  s.steps.insert(s.steps.begin(), {WEFT_VERB_SIGNAL, 1, 0, 0, 0});
  const Plan plan = bind(s, {1, 4, 4096});
  EXPECT_EQ(plan.last.steps[1].opcode, Opcode::kCopy);
  EXPECT_EQ(plan.last.steps[2].opcode, Opcode::kSignal);
  EXPECT_EQ(plan.last.steps[2].ordinal, 2u);
}

}  // namespace
}  // namespace weft::schedule
