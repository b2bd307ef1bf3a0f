// SPDX-License-Identifier: Apache-2.0
// Right algorithms with one mistake about signals: each is found with the fewest ranks that show
// it, and shown.
#include <gtest/gtest.h>

#include "support.hpp"

namespace weft::schedule {
namespace {

enum class Slip {
  kNone,
  kDropsAWait,
  kDropsASignal,
  kSignalsTheWrongNeighbour,
  kWaitsForTheWrongNeighbour,
  kWaitsFirst,
  kLeavesTooEarly,
  kSignalsBeforeTheData,
  kReadsBeforeTheWait,
  kNoPriming,
  kPrimesTooEarly,
  kRunsAhead
};

/// Rank r sums piece r into all outputs.
template <Slip kSlip>
void two_shot(const Problem& p, weft::Schedule& s) {
  if (kSlip == Slip::kWaitsFirst) s.wait(p.peers());
  s.signal(p.peers());
  if (kSlip != Slip::kWaitsFirst) s.wait(p.peers());
  s.reduce(p.everyone(p.out()[p.rank()]), p.everyone(p.in()[p.rank()]));
  if (kSlip == Slip::kLeavesTooEarly) return;
  s.signal(p.peers());
  if (kSlip == Slip::kDropsAWait && p.rank() == 0) return;
  s.wait(p.peers());
}

TEST(SeededSignals, TwoShotIsRightWithoutAMistake) {
  EXPECT_TRUE(is_proved(seeded<two_shot<Slip::kNone>>(WEFT_OP_ALL_REDUCE)));
}

TEST(SeededSignals, DroppedWait) {
  EXPECT_TRUE(is_refuted(seeded<two_shot<Slip::kDropsAWait>>(WEFT_OP_ALL_REDUCE), Fault::kSignals,
                         2,
                         {"rank 1 signals rank 0 2 times, but rank 0 waits for rank 1 1 times",
                          " !   3 signal 0", "->?", "let rank 0 wait(1) once more"}));
}

TEST(SeededSignals, EverybodyWaitsFirst) {
  EXPECT_TRUE(is_refuted(seeded<two_shot<Slip::kWaitsFirst>>(WEFT_OP_ALL_REDUCE), Fault::kDeadlock,
                         2, {" !   0 wait 1", " !   0 wait 0", "?->", "signal before it waits"}));
}

TEST(SeededSignals, LeavesWhilePeersStillUseItsMemory) {
  EXPECT_TRUE(is_refuted(
      seeded<two_shot<Slip::kLeavesTooEarly>>(WEFT_OP_ALL_REDUCE), Fault::kRace, 2,
      {" ! ", "-- call 1 ends --", "the caller of rank", "can end its call while rank"}));
}

/// Every block travels right; a rank pulls from its left neighbour.
template <Slip kSlip>
void ring(const Problem& p, weft::Schedule& s) {
  const uint32_t left = p.ring(kSlip == Slip::kWaitsForTheWrongNeighbour ? 1 : -1);
  const uint32_t right = p.ring(kSlip == Slip::kSignalsTheWrongNeighbour ? -1 : 1);
  const int r = static_cast<int>(p.rank());
  const int n = static_cast<int>(p.ranks());
  s.signal(right);
  s.copy(p.out()[r], p.in().all());
  for (int k = 0; k < n - 1; ++k) {
    const int c = r - 1 - k;
    const Chunk theirs = k == 0 ? p.in().all().at(p.ring(-1)) : p.out()[c].at(p.ring(-1));
    if (kSlip != Slip::kReadsBeforeTheWait) s.wait(left);
    if (kSlip == Slip::kSignalsBeforeTheData && k < n - 2) s.signal(right);
    s.copy(p.out()[c], theirs);
    if (kSlip == Slip::kReadsBeforeTheWait) s.wait(left);
    if (kSlip != Slip::kSignalsBeforeTheData && k < n - 2) s.signal(right);
  }
  if (kSlip == Slip::kDropsASignal && r == 0) return s.wait(right);
  s.signal(left);
  s.wait(right);
}

TEST(SeededSignals, RingIsRightWithoutAMistake) {
  EXPECT_TRUE(is_proved(seeded<ring<Slip::kNone>>(WEFT_OP_ALL_GATHER)));
}

TEST(SeededSignals, DroppedSignal) {
  EXPECT_TRUE(is_refuted(seeded<ring<Slip::kDropsASignal>>(WEFT_OP_ALL_GATHER), Fault::kSignals, 2,
                         {"rank 0 signals rank 1 1 times, but rank 1 waits for rank 0 2 times",
                          "wait 0", "?->", "let rank 0 signal(1) once more"}));
}

TEST(SeededSignals, SignalToTheWrongNeighbour) {
  EXPECT_TRUE(is_refuted(seeded<ring<Slip::kSignalsTheWrongNeighbour>>(WEFT_OP_ALL_GATHER),
                         Fault::kSignals, 3,
                         {" !   2 wait 0", "->?", "or is it another rank that is meant?"}));
}

TEST(SeededSignals, WaitForTheWrongNeighbour) {
  EXPECT_TRUE(is_refuted(seeded<ring<Slip::kWaitsForTheWrongNeighbour>>(WEFT_OP_ALL_GATHER),
                         Fault::kSignals, 3,
                         {" !   0 signal 1", "or is it another rank that is meant?"}));
}

TEST(SeededSignals, SignalBeforeTheDataIsThere) {
  EXPECT_TRUE(is_refuted(seeded<ring<Slip::kSignalsBeforeTheData>>(WEFT_OP_ALL_GATHER),
                         Fault::kRace, 3,
                         {"and no signal orders them", " ! ", "let it be followed"}));
}

TEST(SeededSignals, ReadBeforeTheWait) {
  EXPECT_TRUE(is_refuted(seeded<ring<Slip::kReadsBeforeTheWait>>(WEFT_OP_ALL_GATHER),
                         Fault::kAddress, 2,
                         {"before it has waited for rank 1", " !   2 copy out[1]@0 <- in@1",
                          "put wait(1) before this step"}));
}

/// The ring that pushes: out is primed with my input, then partial sums go right.
template <Slip kSlip>
void priming_ring(const Problem& p, weft::Schedule& s) {
  const int r = static_cast<int>(p.rank());
  const int n = static_cast<int>(p.ranks());
  const uint32_t left = p.ring(-1);
  const uint32_t right = p.ring(1);
  const Chunks out = p.out();
  if (kSlip == Slip::kPrimesTooEarly) s.signal(left);
  s.copy(out, p.in());
  if (kSlip == Slip::kNone) s.signal(left);
  if (kSlip != Slip::kNoPriming) s.wait(right);
  for (int k = 0; k < n - 1; ++k) {
    s.reduce(out[r - k].at(right), out[r - k]);
    s.signal(right);
    s.wait(left);
  }
  for (int k = 0; k < n - 1; ++k) {
    s.copy(out[r + 1 - k].at(right), out[r + 1 - k]);
    s.signal(right);
    s.wait(left);
  }
}

TEST(SeededSignals, PushRingIsRightWithItsPriming) {
  EXPECT_TRUE(is_proved(seeded<priming_ring<Slip::kNone>>(WEFT_OP_ALL_REDUCE)));
}

TEST(SeededSignals, MissingPriming) {
  EXPECT_TRUE(is_refuted(seeded<priming_ring<Slip::kNoPriming>>(WEFT_OP_ALL_REDUCE),
                         Fault::kAddress, 2,
                         {" !   1 reduce out[0/2]@1", "put wait(1) before this step"}));
}

TEST(SeededSignals, PrimingTooEarly) {
  EXPECT_TRUE(is_refuted(seeded<priming_ring<Slip::kPrimesTooEarly>>(WEFT_OP_ALL_REDUCE),
                         Fault::kRace, 2, {"a->", "->a", " !   1 copy out@"}));
}

/// A barrier in which every rank says six things before it listens.
template <Slip kSlip>
void talkative(const Problem& p, weft::Schedule& s) {
  for (int i = 0; i < 6; ++i) {
    s.signal(p.peers());
    if (kSlip != Slip::kRunsAhead) s.wait(p.peers());
  }
  for (int i = 0; i < 6 && kSlip == Slip::kRunsAhead; ++i) s.wait(p.peers());
}

TEST(SeededSignals, MoreSignalsAheadThanTheTasksEngineHolds) {
  EXPECT_TRUE(is_proved(seeded<talkative<Slip::kNone>>(WEFT_OP_BARRIER)));
  EXPECT_TRUE(is_refuted(seeded<talkative<Slip::kRunsAhead>>(WEFT_OP_BARRIER), Fault::kAhead, 2,
                         {"with 4 signals of one rank to another on their way",
                          "rank 0 cannot signal 1 in step", " ! ", "before the fifth signal"}));
}

void relays(const Problem& p, weft::Schedule& s) {
  if (p.rank() > 0) s.wait(p.rank() - 1);
  if (p.rank() + 1 < p.ranks()) s.signal(p.rank() + 1);
}

TEST(SeededSignals, BarrierThatDoesNotWaitForAll) {
  EXPECT_TRUE(is_refuted(seeded<relays>(WEFT_OP_BARRIER), Fault::kUnsynchronised, 2,
                         {"rank 0 can end call 1 before rank 1 has begun it", "-- call 1 --",
                          "from every rank to every other"}));
}

// The root's neighbour shows the next rank what the root put into its Scratch; fine for long
// vectors, but a short one travels inside the signal to the neighbour.
void shows_what_a_signal_carries(const Problem& p, weft::Schedule& s) {
  const uint32_t distance = (p.rank() + p.ranks() - p.root()) % p.ranks();
  const Chunk slot = p.scratch(0).at((p.root() + 1) % p.ranks());
  if (distance == 0) {
    s.copy(slot, p.in().all());
    s.signal(p.peers());
    return s.wait(p.peers());
  }
  s.wait(p.root());
  s.copy(p.out().all(), distance <= 2 ? slot : p.in().all().at(p.root()));
  s.signal(p.root());
  s.reserve(1);
}

TEST(SeededSignals, ThirdRankReadsWhatASignalMayCarry) {
  EXPECT_TRUE(is_refuted(seeded<shows_what_a_signal_carries>(WEFT_OP_BROADCAST), Fault::kRace, 3,
                         {"3 ranks, root 0", "rank 2", "travels inside the signal"}));
}

}  // namespace
}  // namespace weft::schedule
