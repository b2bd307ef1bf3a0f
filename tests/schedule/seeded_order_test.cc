// SPDX-License-Identifier: Apache-2.0
// Right algorithms with one mistake about order, numbers of ranks, or what they declare: each is
// found with the fewest ranks that show it, and shown.
#include <gtest/gtest.h>

#include <algorithm>
#include <new>

#include "support.hpp"

namespace weft::schedule {
namespace {

enum class Turn { kNone, kOwnFirst, kBackwards, kPairs, kUndeclared, kMoreScratch, kMixedParts };

/// Everybody copies, and sums all copies.
template <Turn kTurn>
void copies(const Problem& p, weft::Schedule& s) {
  s.copy(p.scratch(0), p.in().all());
  s.signal(p.peers());
  s.wait(p.peers());
  std::vector<Chunk> all = p.everyone(p.scratch(0));
  if (kTurn == Turn::kOwnFirst) std::swap(all[0], all[p.rank()]);
  if (kTurn == Turn::kBackwards) std::reverse(all.begin(), all.end());
  if (kTurn == Turn::kPairs && p.ranks() > 2) {
    const size_t last = all.size() - 1;
    s.reduce({p.scratch(1)}, {all[last - 1], all[last]});
    all.resize(last - 1);
    all.push_back(p.scratch(1));
  }
  if (kTurn == Turn::kMoreScratch && p.rank() == 0) s.copy(p.scratch(2), p.in().all());
  if (kTurn == Turn::kMixedParts) {
    const Chunk third = p.in().all().part_of(0, 3);
    s.copy(p.scratch(1).part_of(0, 3), third);
    s.copy(p.scratch(1).part_of(0, 2), p.in().all().part_of(0, 2));
  }
  s.reduce(p.out().all(), all);
}

TEST(SeededOrder, DifferentOnEveryRank) {
  EXPECT_TRUE(is_refuted(
      seeded<copies<Turn::kOwnFirst>>(WEFT_OP_ALL_REDUCE, 0), Fault::kDiffers, 2,
      {"out@0 = in@0 + in@1, but another rank has in@1 + in@0",
       "should be: in@1 + in@0, as on another rank", "p.everyone(piece) is in rank order"}));
}

TEST(SeededOrder, NotTheOneThatIsDeclared) {
  EXPECT_TRUE(
      is_proved(seeded<copies<Turn::kNone>>(WEFT_OP_ALL_REDUCE, WEFT_ALGORITHM_RANK_ORDER)));
  EXPECT_TRUE(is_proved(seeded<copies<Turn::kBackwards>>(WEFT_OP_ALL_REDUCE, 0)));
  EXPECT_TRUE(is_refuted(
      seeded<copies<Turn::kBackwards>>(WEFT_OP_ALL_REDUCE, WEFT_ALGORITHM_RANK_ORDER),
      Fault::kRankOrder, 2, {"is: in@1 + in@0", "do not declare WEFT_ALGORITHM_RANK_ORDER"}));
}

TEST(SeededOrder, BracketsWhereRankOrderIsDeclared) {
  EXPECT_TRUE(is_proved(seeded<copies<Turn::kPairs>>(WEFT_OP_ALL_REDUCE, 0)));
  EXPECT_TRUE(
      is_refuted(seeded<copies<Turn::kPairs>>(WEFT_OP_ALL_REDUCE, WEFT_ALGORITHM_RANK_ORDER),
                 Fault::kRankOrder, 3, {"is: in@0 + (in@1 + in@2)", "without brackets"}));
}

TEST(SeededOrder, RanksThatDisagreeAboutScratch) {
  EXPECT_TRUE(is_refuted(seeded<copies<Turn::kMoreScratch>>(WEFT_OP_ALL_REDUCE, 0), Fault::kScratch,
                         2, {"rank 0 names 3 blocks", "s.reserve(3)"}));
}

TEST(SeededOrder, PartsThatDoNotNest) {
  EXPECT_TRUE(is_refuted(seeded<copies<Turn::kMixedParts>>(WEFT_OP_ALL_REDUCE, 0),
                         Fault::kMalformed, 2, {"also cuts blocks into 3 parts"}));
}

void pushes(const Problem& p, weft::Schedule& s) {
  s.signal(p.peers());
  s.wait(p.peers());
  for (const uint32_t peer : p.peers()) s.copy(p.out()[p.rank()].at(peer), p.in().all());
  s.copy(p.out()[p.rank()], p.in().all());
  s.signal(p.peers());
  s.wait(p.peers());
}

TEST(SeededOrder, RemoteWriteThatIsNotDeclared) {
  EXPECT_TRUE(is_proved(seeded<pushes>(WEFT_OP_ALL_GATHER)));
  EXPECT_TRUE(is_refuted(
      seeded<pushes>(WEFT_OP_ALL_GATHER, 0), Fault::kRemoteWrite, 2,
      {"rank 0, step 2", " !   2 copy out[0]@1 <- in@0", ".flags = WEFT_ALGORITHM_REMOTE_WRITE"}));
}

/// Right out of place: peers read In itself, which is Out in place.
void reads_inputs(const Problem& p, weft::Schedule& s) {
  s.signal(p.peers());
  s.wait(p.peers());
  s.reduce(p.out().all(), p.everyone(p.in().all()));
  s.signal(p.peers());
  s.wait(p.peers());
}

TEST(SeededOrder, RightOnlyOutOfPlace) {
  EXPECT_TRUE(
      is_refuted(seeded<reads_inputs>(WEFT_OP_ALL_REDUCE, 0), Fault::kRace, 2,
                 {"2 ranks, in place\n", " !   2 reduce", "With separate buffers it is right"}));
}

/// Recursive doubling that has no place for what a power of two leaves over.
void doubling(const Problem& p, weft::Schedule& s) {
  uint32_t block = 0;
  s.copy(p.scratch(0), p.in().all());
  for (uint32_t hop = 1; hop < p.ranks(); hop *= 2, ++block) {
    const uint32_t peer = p.rank() ^ hop;
    Chunk low = p.scratch(block);
    Chunk high = p.scratch(block);
    if (peer < p.ranks()) {
      s.signal(peer);
      s.wait(peer);
      (peer < p.rank() ? low : high).rank = peer;
      s.reduce({p.scratch(block + 1)}, {low, high});
    } else {
      s.copy(p.scratch(block + 1), p.scratch(block));
    }
  }
  s.copy(p.out().all(), p.scratch(block));
}

TEST(SeededOrder, NumberOfRanksThatIsNoPowerOfTwo) {
  plugin::Algorithm algorithm = seeded<doubling>(WEFT_OP_ALL_REDUCE, 0);
  EXPECT_TRUE(
      is_refuted(algorithm, Fault::kWrongResult, 3,
                 {"3 ranks", "is missing", "it is right for 2 and 4 ranks", "power of two"}));
  algorithm.table.max_ranks = 2;
  EXPECT_TRUE(is_proved(algorithm));
}

void talks_to_a_rank_too_many(const Problem& p, weft::Schedule& s) {
  for (uint32_t q = 1; q <= p.ranks(); ++q) s.signal(q);
}

TEST(SeededOrder, RankThatIsNotThere) {
  EXPECT_TRUE(is_refuted(seeded<talks_to_a_rank_too_many>(WEFT_OP_BARRIER), Fault::kMalformed, 2,
                         {"step 1 is refused", "no rank 2 to talk to"}));
}

void counts_its_calls(const Problem& p, weft::Schedule& s) {
  static int calls = 0;
  s.copy(p.scratch(0), p.in().all());
  if (++calls % 2 == 0) s.copy(p.scratch(0), p.in().all());
  s.signal(p.peers());
  s.wait(p.peers());
  s.reduce(p.out().all(), p.everyone(p.scratch(0)));
}

TEST(SeededOrder, AnotherScheduleWhenAskedAgain) {
  EXPECT_TRUE(is_refuted(seeded<counts_its_calls>(WEFT_OP_ALL_REDUCE, 0), Fault::kImpure, 3,
                         {"another schedule when it is asked again", "no statics"}));
}

void throws(const Problem&, weft::Schedule&) { throw std::bad_alloc(); }

TEST(SeededOrder, EmitThatFails) {
  EXPECT_TRUE(is_refuted(seeded<throws>(WEFT_OP_ALL_REDUCE), Fault::kMalformed, 2,
                         {"emit failed with code", "declare .min_ranks and .max_ranks"}));
}

}  // namespace
}  // namespace weft::schedule
