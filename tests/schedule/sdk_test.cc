// SPDX-License-Identifier: Apache-2.0
#include "weft/sdk.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

weft_problem problem(uint32_t op, uint32_t ranks, uint32_t rank) {
  return {WEFT_HEAD(weft_problem), op, ranks, rank, 0, 0, 0, nullptr};
}

TEST(SdkIndex, WrapsInBothDirections) {
  const Chunks parts(WEFT_SPACE_OUT, 0, 5, true);
  EXPECT_EQ(parts[0].part, 0u);
  EXPECT_EQ(parts[7].part, 2u);
  EXPECT_EQ(parts[-1].part, 4u);
  EXPECT_EQ(parts[-11].part, 4u);
}

TEST(SdkIndex, TakesADifferenceOfUnsignedNumbersAsNegative) {
  const Chunks parts(WEFT_SPACE_OUT, 0, 5, true);
  const uint32_t rank = 1;
  EXPECT_EQ(parts[rank - 3u].part, 3u);
  EXPECT_EQ(parts[uint64_t{rank} - 3u].part, 3u);
}

TEST(SdkIndex, FindsNeighboursOnTheRing) {
  const weft_problem raw = problem(WEFT_OP_ALL_REDUCE, 6, 5);
  const Problem p(raw);
  EXPECT_EQ(p.ring(+1), 0u);
  EXPECT_EQ(p.ring(-1), 4u);
  EXPECT_EQ(p.ring(-13), 4u);
  EXPECT_EQ(p.ring(0u - 2u), 3u);
}

TEST(SdkProblem, VisitsPeersFromTheRightNeighbourOn) {
  const weft_problem raw = problem(WEFT_OP_ALL_REDUCE, 4, 2);
  EXPECT_EQ(Problem(raw).peers(), (std::vector<uint32_t>{3, 0, 1}));
}

TEST(SdkProblem, NamesAPieceOnEveryRankInRankOrder) {
  const weft_problem raw = problem(WEFT_OP_ALL_REDUCE, 3, 1);
  const Problem p(raw);
  const std::vector<Chunk> all = p.everyone(p.in()[2]);
  ASSERT_EQ(all.size(), 3u);
  for (uint32_t q = 0; q < 3; ++q) {
    EXPECT_EQ(all[q].rank, q);
    EXPECT_EQ(all[q].part, 2u);
    EXPECT_EQ(all[q].parts, 3u);
  }
}

TEST(SdkProblem, SplitsTheOneBlockWhereThereIsOnlyOne) {
  struct Case {
    uint32_t op;
    bool in_is_split;
    bool out_is_split;
  };
  for (const Case c :
       {Case{WEFT_OP_ALL_REDUCE, true, true}, Case{WEFT_OP_BROADCAST, true, true},
        Case{WEFT_OP_ALL_GATHER, true, false}, Case{WEFT_OP_REDUCE_SCATTER, false, true},
        Case{WEFT_OP_ALL_TO_ALL, false, false}}) {
    const weft_problem raw = problem(c.op, 4, 1);
    EXPECT_EQ(Problem(raw).in().is_split(), c.in_is_split) << c.op;
    EXPECT_EQ(Problem(raw).out().is_split(), c.out_is_split) << c.op;
  }
}

TEST(SdkChunk, KeepsItsPlaceOnAnotherRank) {
  const Chunk piece = Chunks(WEFT_SPACE_IN, 0, 4, false)[3].at(2);
  EXPECT_EQ(piece.rank, 2u);
  EXPECT_EQ(piece.block, 3u);
  EXPECT_EQ(piece.parts, 1u);
  const Chunk half = piece.part_of(1, 2);
  EXPECT_EQ(half.block, 3u);
  EXPECT_EQ(half.part, 1u);
  EXPECT_EQ(half.parts, 2u);
}

/// Counts steps and refuses the one with number `refused`.
struct Counter {
  uint32_t seen = 0;
  uint32_t refused = UINT32_MAX;
  uint32_t reserved = 0;

  static int32_t append(void* self, const weft_step*) {
    auto& counter = *static_cast<Counter*>(self);
    return counter.seen++ == counter.refused ? WEFT_E_PARA : WEFT_OK;
  }
  static int32_t reserve(void* self, uint32_t blocks) {
    static_cast<Counter*>(self)->reserved = blocks;
    return WEFT_E_PARA;
  }
};

TEST(SdkSchedule, StopsAtARefusedStepAndKeepsTheCode) {
  Counter counter{0, 1};
  const weft_builder builder{WEFT_HEAD(weft_builder), &counter, &Counter::append,
                             &Counter::reserve};
  Schedule s(builder);
  s.signal(1);
  s.signal(2);
  s.signal(3);
  EXPECT_EQ(counter.seen, 2u);
  EXPECT_EQ(s.status(), WEFT_E_PARA);
}

TEST(SdkSchedule, StopsAtARefusedReservation) {
  Counter counter;
  const weft_builder builder{WEFT_HEAD(weft_builder), &counter, &Counter::append,
                             &Counter::reserve};
  Schedule s(builder);
  s.reserve(7);
  s.signal(1);
  EXPECT_EQ(counter.reserved, 7u);
  EXPECT_EQ(counter.seen, 0u);
  EXPECT_EQ(s.status(), WEFT_E_PARA);
}

TEST(SdkSchedule, CopiesAllPiecesInOneStepWhereTheyAreOneBlock) {
  Counter counter;
  const weft_builder builder{WEFT_HEAD(weft_builder), &counter, &Counter::append,
                             &Counter::reserve};
  Schedule s(builder);
  s.copy(Chunks(WEFT_SPACE_OUT, 0, 4, true), Chunks(WEFT_SPACE_IN, 0, 4, true));
  EXPECT_EQ(counter.seen, 1u);
  s.copy(Chunks(WEFT_SPACE_OUT, 0, 4, false), Chunks(WEFT_SPACE_IN, 0, 4, false));
  EXPECT_EQ(counter.seen, 5u);
}

}  // namespace
}  // namespace weft
