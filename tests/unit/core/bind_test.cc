// SPDX-License-Identifier: Apache-2.0
// Binding: chunks become byte ranges, calls are cut where Scratch is small, small copies travel in
// signals.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

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

/// Indices of the length and of the two offsets that a copy on rank 1 of 3 uses; 0 of an offset
/// stands for none.
struct Indices {
  uint32_t length;
  uint32_t to;
  uint32_t from;
  friend bool operator==(const Indices&, const Indices&) = default;
};

std::ostream& operator<<(std::ostream& out, const Indices& i) {
  return out << "length " << i.length << ", to " << i.to << ", from " << i.from;
}

weft_chunk whole(uint32_t space, uint32_t rank, uint32_t block) {
  return {space, rank, block, 0, 1};
}

Indices indices(uint32_t op, weft_chunk dst, weft_chunk src) {
  Schedule s = one_step(op, 3, dst, src);
  s.shape.rank = 1;
  s.scratch_blocks = 4;
  const Plan plan = bind_blocks(s, {0, 4, 4096});
  EXPECT_EQ(plan.last.steps.size(), 1u);
  EXPECT_EQ(plan.last.steps[0].opcode, Opcode::kCopyBlock);
  EXPECT_EQ(plan.last.operands[0].base, dst.space * 3 + dst.rank);
  EXPECT_EQ(plan.last.operands[1].base, src.space * 3 + src.rank);
  return {plan.last.steps[0].peer, plan.last.operands[0].block, plan.last.operands[1].block};
}

constexpr uint32_t kIn = WEFT_SPACE_IN, kOut = WEFT_SPACE_OUT, kRoom = WEFT_SPACE_SCRATCH;

TEST(BindBlocks, AGatherFindsLengthsAndPlacesInOut) {
  constexpr uint32_t kOp = WEFT_OP_ALL_GATHER_V;
  // Lengths and offsets 3..5 are those of Out; an offset is written as 1 + its index.
  EXPECT_EQ(indices(kOp, whole(kOut, 1, 2), whole(kIn, 2, 0)), (Indices{5, 1 + 5, 0}));
  EXPECT_EQ(indices(kOp, whole(kOut, 0, 1), whole(kIn, 1, 0)), (Indices{4, 1 + 4, 0}));
  EXPECT_EQ(indices(kOp, whole(kOut, 1, 0), whole(kOut, 2, 0)), (Indices{3, 1 + 3, 1 + 3}));
  EXPECT_EQ(indices(kOp, whole(kRoom, 0, 2), whole(kIn, 1, 0)), (Indices{4, 0, 0}));
  EXPECT_EQ(indices(kOp, whole(kOut, 1, 0), whole(kRoom, 1, 2)), (Indices{3, 1 + 3, 0}));
}

TEST(BindBlocks, AReduceScatterFindsLengthsAndPlacesInIn) {
  constexpr uint32_t kOp = WEFT_OP_REDUCE_SCATTER_V;
  EXPECT_EQ(indices(kOp, whole(kOut, 1, 0), whole(kIn, 2, 1)), (Indices{1, 0, 1 + 1}));
  EXPECT_EQ(indices(kOp, whole(kOut, 2, 0), whole(kIn, 1, 2)), (Indices{2, 0, 1 + 2}));
  EXPECT_EQ(indices(kOp, whole(kRoom, 2, 0), whole(kIn, 1, 0)), (Indices{0, 0, 1 + 0}));
  EXPECT_EQ(indices(kOp, whole(kOut, 1, 0), whole(kRoom, 0, 3)), (Indices{1, 0, 0}));
}

TEST(BindBlocks, AnExchangeTakesThePlacesOfAPeerFromItsSignal) {
  constexpr uint32_t kOp = WEFT_OP_ALL_TO_ALL_V;
  EXPECT_EQ(indices(kOp, whole(kOut, 1, 1), whole(kIn, 1, 1)), (Indices{1, 1 + 4, 1 + 1}));
  EXPECT_EQ(indices(kOp, whole(kOut, 1, 2), whole(kIn, 2, 1)), (Indices{5, 1 + 5, 0}));
  EXPECT_EQ(indices(kOp, whole(kOut, 0, 1), whole(kIn, 1, 0)), (Indices{0, 0, 1 + 0}));
}

TEST(BindBlocks, BlocksOfScratchAreAsLargeAsAPiece) {
  Schedule s = one_step(WEFT_OP_REDUCE_SCATTER_V, 3, whole(kRoom, 1, 2), whole(kIn, 0, 1));
  s.scratch_blocks = 3;
  const Plan plan = bind_blocks(s, {0, 4, 1000});
  EXPECT_EQ(plan.piece_bytes, 320u) << "a third, rounded down to cache lines";
  EXPECT_EQ(plan.last.operands[0].offset, 2u * 320);
  EXPECT_TRUE(plan.uses_scratch);
  EXPECT_TRUE(plan.full.steps.empty());
  EXPECT_THROW((void)bind_blocks(s, {0, 4, 3 * 64 - 1}), Error);
}

TEST(BindBlocks, WithoutScratchPiecesHaveNoLimit) {
  const Plan plan = bind_blocks(
      one_step(WEFT_OP_ALL_GATHER_V, 3, whole(kOut, 0, 0), whole(kIn, 0, 0)), {0, 4, 0});
  EXPECT_EQ(plan.piece_bytes, UINT64_MAX);
  EXPECT_EQ(plan.pieces, 1u);
  EXPECT_TRUE(plan.has_lengths);
  EXPECT_FALSE(plan.own_blocks);
}

TEST(BindBlocks, OnlyInAnExchangeRanksDoNotKnowEachOthersBlocks) {
  EXPECT_TRUE(
      bind_blocks(one_step(WEFT_OP_ALL_TO_ALL_V, 3, whole(kOut, 0, 0), whole(kIn, 0, 0)), {0, 4, 0})
          .own_blocks);
}

TEST(BindBlocks, SignalsCarryNothingAndAreCountedByPeer) {
  Schedule s = one_step(WEFT_OP_REDUCE_SCATTER_V, 3, whole(kRoom, 1, 0), whole(kIn, 0, 1));
  s.scratch_blocks = 1;
  s.steps.push_back({WEFT_VERB_SIGNAL, 1, 0, 0, 0});
  s.steps.push_back({WEFT_VERB_SIGNAL, 2, 0, 0, 0});
  s.steps.push_back({WEFT_VERB_SIGNAL, 1, 0, 0, 0});
  s.steps.push_back({WEFT_VERB_WAIT, 1, 0, 0, 0});
  const std::vector<PlanStep> steps = bind_blocks(s, {0, 1, 64}).last.steps;
  ASSERT_EQ(steps.size(), 5u);
  EXPECT_EQ(steps[0].opcode, Opcode::kCopyBlock);
  EXPECT_EQ(steps[1].opcode, Opcode::kSignal);
  EXPECT_EQ(steps[1].ordinal, 1);
  EXPECT_EQ(steps[2].ordinal, 1);
  EXPECT_EQ(steps[3].ordinal, 2);
  EXPECT_EQ(steps[4].opcode, Opcode::kWait);
  EXPECT_EQ(steps[4].ordinal, 1);
}

TEST(BindBlocks, AReduceKeepsItsOperandsInOrder) {
  Schedule s;
  s.shape = {WEFT_OP_REDUCE_SCATTER_V, 2, 1, 0};
  s.operands = {whole(kOut, 1, 0), whole(kIn, 0, 1), whole(kIn, 1, 1)};
  s.steps = {{WEFT_VERB_REDUCE, 0, 0, 1, 2}};
  const Plan plan = bind_blocks(s, {0, 8, 0});
  EXPECT_EQ(plan.last.steps[0].opcode, Opcode::kReduceBlock);
  EXPECT_EQ(plan.last.steps[0].peer, 1u) << "the length of this rank's block";
  EXPECT_EQ(plan.last.operands[1].base, kIn * 2 + 0);
  EXPECT_EQ(plan.last.operands[2].base, kIn * 2 + 1);
  EXPECT_EQ(plan.element_bytes, 8u);
}

}  // namespace
}  // namespace weft::schedule
