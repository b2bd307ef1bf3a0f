// SPDX-License-Identifier: Apache-2.0
// Right algorithms with one mistake about data: each is found with the fewest ranks that show it,
// and shown.
#include <gtest/gtest.h>

#include "support.hpp"

namespace weft::schedule {
namespace {

enum class Mix {
  kNone,
  kOneSlot,
  kPieceOffByOne,
  kWrongNeighbour,
  kBlockOffByOne,
  kOwnTwice,
  kForgetsTheLast,
  kForgetsItself,
  kSumsIntoTheInput,
  kSumsIntoOldData,
  kReadsEmptyScratch,
  kOverwritesSlots,
  kRootIsZero,
  kLosesAPiece
};

/// Partial sums travel around a ring, through two blocks of Scratch in turn.
template <Mix kMix>
void reduce_scatter(const Problem& p, weft::Schedule& s) {
  const int r = static_cast<int>(p.rank());
  const int n = static_cast<int>(p.ranks());
  const uint32_t left = p.ring(-1);
  const uint32_t right = p.ring(+1);
  const auto slot = [&](int k) { return p.scratch(kMix == Mix::kOneSlot ? 0u : uint32_t(k % 2)); };
  s.signal(right);
  for (int k = 0; k < n - 1; ++k) {
    const int c = r - 2 - k;
    const Chunk partial = k == 0 ? p.in()[c] : slot(k - 1);
    const Chunk sum = k == n - 2 ? p.out().all() : slot(k);
    s.wait(left);
    if (k > 0) s.wait(right);
    s.reduce({sum}, {partial.at(kMix == Mix::kWrongNeighbour ? right : left), p.in()[c]});
    s.signal(left);
    if (k < n - 2) s.signal(right);
  }
  s.wait(right);
}

TEST(SeededData, RingIsRightWithoutAMistake) {
  EXPECT_TRUE(is_proved(seeded<reduce_scatter<Mix::kNone>>(WEFT_OP_REDUCE_SCATTER, 0)));
}

TEST(SeededData, OneSlotOfScratchInsteadOfTwo) {
  EXPECT_TRUE(is_refuted(seeded<reduce_scatter<Mix::kOneSlot>>(WEFT_OP_REDUCE_SCATTER, 0),
                         Fault::kRace, 4, {"4 ranks", "scratch[0]@", " ! "}));
}

TEST(SeededData, DataOfTheWrongNeighbour) {
  EXPECT_TRUE(is_refuted(seeded<reduce_scatter<Mix::kWrongNeighbour>>(WEFT_OP_REDUCE_SCATTER, 0),
                         Fault::kAddress, 3, {"before it has waited for rank", " !   2 reduce"}));
}

/// A ring that pulls pieces.
template <Mix kMix>
void all_reduce_ring(const Problem& p, weft::Schedule& s) {
  const int r = static_cast<int>(p.rank());
  const int n = static_cast<int>(p.ranks());
  const uint32_t left = p.ring(-1);
  const uint32_t right = p.ring(+1);
  s.signal(right);
  for (int k = 0; k < n - 1; ++k) {
    const int c = kMix == Mix::kPieceOffByOne ? r - k : r - 1 - k;
    const Chunks partial = k == 0 ? p.in() : p.out();
    s.wait(left);
    s.reduce({p.out()[c]}, {partial[c].at(left), p.in()[c]});
    s.signal(right);
  }
  for (int k = 0; k < n - 1; ++k) {
    s.wait(left);
    s.copy(p.out()[r - k], p.out()[r - k].at(left));
    if (k < n - 2) s.signal(right);
  }
  s.signal(left);
  s.wait(right);
}

TEST(SeededData, PieceOffByOne) {
  EXPECT_TRUE(is_proved(seeded<all_reduce_ring<Mix::kNone>>(WEFT_OP_ALL_REDUCE, 0)));
  EXPECT_TRUE(is_refuted(seeded<all_reduce_ring<Mix::kPieceOffByOne>>(WEFT_OP_ALL_REDUCE, 0),
                         Fault::kWrongResult, 2, {"out[0/2]@", " ! "}));
}

template <Mix kMix>
void all_to_all(const Problem& p, weft::Schedule& s) {
  const uint32_t off = kMix == Mix::kBlockOffByOne ? 1 : 0;
  s.signal(p.peers());
  s.copy(p.out()[p.rank()], p.in()[p.rank()]);
  s.wait(p.peers());
  for (const uint32_t q : p.peers()) s.copy(p.out()[q], p.in()[p.rank() + off].at(q));
  s.signal(p.peers());
  s.wait(p.peers());
}

TEST(SeededData, BlockOffByOne) {
  EXPECT_TRUE(is_proved(seeded<all_to_all<Mix::kNone>>(WEFT_OP_ALL_TO_ALL, 0)));
  EXPECT_TRUE(is_refuted(seeded<all_to_all<Mix::kBlockOffByOne>>(WEFT_OP_ALL_TO_ALL, 0),
                         Fault::kWrongResult, 2,
                         {"out[1]@0 should be: in[0]@1", "is: in[1]@1", "in[0]@1 is missing",
                          " !   3 copy out[1]@0 <- in[1]@1"}));
}

/// Everybody copies, and sums all copies.
template <Mix kMix>
void shared(const Problem& p, weft::Schedule& s) {
  if (kMix != Mix::kReadsEmptyScratch) s.copy(p.scratch(0), p.in().all());
  s.signal(p.peers());
  s.wait(p.peers());
  std::vector<Chunk> all = p.everyone(p.scratch(0));
  if (kMix == Mix::kOwnTwice) all[p.ranks() - 1] = p.scratch(0);
  if (kMix == Mix::kForgetsTheLast) all.pop_back();
  if (kMix == Mix::kForgetsItself) std::erase_if(all, [&](auto& c) { return c.rank == p.rank(); });
  Chunk sum = p.out().all();
  if (kMix == Mix::kSumsIntoTheInput) sum = p.in().all();
  if (kMix == Mix::kSumsIntoOldData) {
    for (const Chunk& each : all) s.reduce(sum, each);
  } else {
    s.reduce(sum, all);
  }
  if (kMix != Mix::kReadsEmptyScratch) return;
  s.signal(p.peers());
  s.wait(p.peers());
  s.copy(p.scratch(0), p.in().all());
}

TEST(SeededData, SharedCopiesAreRightWithoutAMistake) {
  EXPECT_TRUE(is_proved(seeded<shared<Mix::kNone>>(WEFT_OP_ALL_REDUCE, 0)));
}

TEST(SeededData, SummedTwice) {
  EXPECT_TRUE(is_refuted(seeded<shared<Mix::kOwnTwice>>(WEFT_OP_ALL_REDUCE, 0), Fault::kWrongResult,
                         2,
                         {"in@0 counts 2 times; in@1 is missing", "out@0 should be: in@0 + in@1",
                          "is: in@0 + in@0", " !   3 reduce out@0"}));
}

TEST(SeededData, MissingContribution) {
  EXPECT_TRUE(is_refuted(seeded<shared<Mix::kForgetsTheLast>>(WEFT_OP_ALL_REDUCE, 0),
                         Fault::kWrongResult, 2, {"in@1 is missing", " !   3 reduce out@"}));
}

TEST(SeededData, OwnContributionForgotten) {
  EXPECT_TRUE(is_refuted(seeded<shared<Mix::kForgetsItself>>(WEFT_OP_ALL_REDUCE, 0),
                         Fault::kWrongResult, 2, {"out@1 = in@0; in@1 is missing"}));
}

TEST(SeededData, InputOverwritten) {
  EXPECT_TRUE(is_refuted(seeded<shared<Mix::kSumsIntoTheInput>>(WEFT_OP_ALL_REDUCE, 0),
                         Fault::kInputOverwritten, 2,
                         {"not in place", " !   3 reduce in@", "In belongs to the caller"}));
}

TEST(SeededData, AddsToWhatWasInTheOutput) {
  EXPECT_TRUE(is_refuted(seeded<shared<Mix::kSumsIntoOldData>>(WEFT_OP_ALL_REDUCE, 0),
                         Fault::kWrongResult, 2,
                         {"what was there before", "must not count what was there"}));
}

TEST(SeededData, ReadsScratchBeforeItIsWritten) {
  EXPECT_TRUE(is_refuted(seeded<shared<Mix::kReadsEmptyScratch>>(WEFT_OP_ALL_REDUCE, 0),
                         Fault::kWrongResult, 2, {"in@0 is missing", "2 ranks"}));
}

/// Everybody gives its input to everybody, into a slot for each sender.
template <Mix kMix>
void one_shot(const Problem& p, weft::Schedule& s) {
  const uint32_t slots = kMix == Mix::kOverwritesSlots ? 2 : p.ranks();
  for (const uint32_t peer : p.peers()) {
    s.copy(p.scratch(p.rank() % slots).at(peer), p.in().all());
    s.signal(peer);
  }
  s.wait(p.peers());
  std::vector<Chunk> all;
  for (uint32_t q = 0; q < p.ranks(); ++q) {
    all.push_back(q == p.rank() ? p.in().all() : p.scratch(q % slots));
  }
  s.reserve(slots);
  s.reduce(p.out().all(), all);
}

TEST(SeededData, TwoSendersWriteToOneSlot) {
  EXPECT_TRUE(is_proved(seeded<one_shot<Mix::kNone>>(WEFT_OP_ALL_REDUCE)));
  EXPECT_TRUE(is_refuted(seeded<one_shot<Mix::kOverwritesSlots>>(WEFT_OP_ALL_REDUCE), Fault::kRace,
                         3, {"scratch[0]@1 is written by", "and written by", " ! "}));
}

constexpr weft_param kPieces[] = {param("pieces", "number of pieces", 2, 1, 8)};

/// The root writes into everybody, piece by piece.
template <Mix kMix>
void broadcast(const Problem& p, weft::Schedule& s) {
  const uint32_t root = kMix == Mix::kRootIsZero ? 0 : p.root();
  const auto pieces = static_cast<uint32_t>(p.param(0));
  const uint32_t last = kMix == Mix::kLosesAPiece && pieces > 5 ? pieces - 1 : pieces;
  if (p.rank() != root) {
    s.signal(root);
    return s.wait(root);
  }
  s.wait(p.peers());
  for (const uint32_t peer : p.peers()) {
    for (uint32_t i = 0; i < last; ++i) {
      const Chunk piece = p.out().all().part_of(i, pieces);
      s.copy(piece.at(peer), piece);
    }
    s.signal(peer);
  }
}

TEST(SeededData, RootThatIsTakenForZero) {
  constexpr uint32_t kFlags = WEFT_ALGORITHM_REMOTE_WRITE;
  EXPECT_TRUE(is_proved(seeded<broadcast<Mix::kNone>>(WEFT_OP_BROADCAST, kFlags, kPieces)));
  EXPECT_TRUE(is_refuted(seeded<broadcast<Mix::kRootIsZero>>(WEFT_OP_BROADCAST, kFlags, kPieces),
                         Fault::kWrongResult, 2,
                         {"2 ranks, root 1, pieces = 2", "should be: in@1", " ! "}));
}

TEST(SeededData, PieceThatIsLostForSomeValuesOfAParameter) {
  constexpr uint32_t kFlags = WEFT_ALGORITHM_REMOTE_WRITE;
  EXPECT_TRUE(is_refuted(
      seeded<broadcast<Mix::kLosesAPiece>>(WEFT_OP_BROADCAST, kFlags, kPieces), Fault::kWrongResult,
      2, {"root 0, pieces = 8", "out[7/8]@1", "what was there before", "no step writes it"}));
}

}  // namespace
}  // namespace weft::schedule
