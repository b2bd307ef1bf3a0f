// SPDX-License-Identifier: Apache-2.0
// Algorithms with the mistakes that authors make, written as they would write them.
#include <gtest/gtest.h>

#include "support.hpp"
#include "weft/sdk.hpp"

namespace weft::schedule {
namespace {

template <void (*Fn)(const Problem&, weft::Schedule&)>
Report check_all_reduce(uint32_t flags = WEFT_ALGORITHM_REMOTE_WRITE, const Options& options = {}) {
  const weft_algorithm table = weft::detail::declare<Fn>(
      {.name = "broken", .summary = "", .op = WEFT_OP_ALL_REDUCE, .flags = flags});
  return check(table, "test.broken", {WEFT_OP_ALL_REDUCE, 4, 0, 0}, {}, options);
}

Options only(Placement placement) {
  Options options;
  options.placements = {placement};
  return options;
}

/// The ring that pushes: out is primed with my input, then partial sums go right.
template <int kPriming>
void push_ring(const Problem& p, weft::Schedule& s) {
  const int r = static_cast<int>(p.rank());
  const int n = static_cast<int>(p.ranks());
  const uint32_t left = p.ring(-1);
  const uint32_t right = p.ring(1);
  const Chunks out = p.out();
  if (kPriming == 2) s.signal(left);  // too early: out is not primed yet
  s.copy(out, p.in());
  if (kPriming == 1) s.signal(left);
  if (kPriming != 0) s.wait(right);
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

TEST(BrokenByDesign, PushRingIsRightWithItsPriming) {
  const Report report = check_all_reduce<push_ring<1>>();
  EXPECT_TRUE(report.ok()) << report.text;
}

TEST(BrokenByDesign, PushRingWithoutPriming) {
  EXPECT_TRUE(is_rejected(check_all_reduce<push_ring<0>>(), Fault::kAddress,
                          "before it has waited for rank 1"));
}

TEST(BrokenByDesign, PushRingThatPrimesTooEarly) {
  EXPECT_TRUE(is_rejected(check_all_reduce<push_ring<2>>(), Fault::kRace, "(copy out@"));
}

void everybody_waits_first(const Problem& p, weft::Schedule& s) {
  s.copy(p.scratch(0), p.in().all());
  s.wait(p.peers());
  s.signal(p.peers());
  s.reduce(p.out().all(), p.everyone(p.scratch(0)));
}

TEST(BrokenByDesign, EverybodyWaitsFirst) {
  EXPECT_TRUE(is_rejected(check_all_reduce<everybody_waits_first>(), Fault::kDeadlock,
                          "rank 0, call 1, step 1 (wait 1) is never reached by a signal"));
}

void ring_that_waits_first(const Problem& p, weft::Schedule& s) {
  s.wait(p.ring(-1));
  s.signal(p.ring(1));
}

TEST(BrokenByDesign, DeadlockIsShownAsACycle) {
  const Report report = check_all_reduce<ring_that_waits_first>();
  EXPECT_TRUE(is_rejected(report, Fault::kDeadlock, "rank 3, call 1, step 0 (wait 2)"));
  for (const char* part : {"rank 0,", "rank 1,", "rank 2,"}) {
    EXPECT_NE(report.text.find(part), std::string::npos) << report.text;
  }
}

void reads_inputs_directly(const Problem& p, weft::Schedule& s) {
  s.signal(p.peers());
  s.wait(p.peers());
  s.reduce(p.out().all(), p.everyone(p.in().all()));
  s.signal(p.peers());
  s.wait(p.peers());
}

TEST(BrokenByDesign, OverwritesInPlaceWhatPeersStillRead) {
  const auto separate = check_all_reduce<reads_inputs_directly>(0, only(Placement::kSeparate));
  EXPECT_TRUE(separate.ok()) << separate.text;
  const auto in_place = check_all_reduce<reads_inputs_directly>(0, only(Placement::kInPlace));
  EXPECT_TRUE(is_rejected(in_place, Fault::kRace, "(in place)"));
  const auto mixed = check_all_reduce<reads_inputs_directly>(0, only(Placement::kMixed));
  EXPECT_TRUE(is_rejected(mixed, Fault::kRace, "(even ranks in place)"));
}

void leaves_while_read(const Problem& p, weft::Schedule& s) {
  s.signal(p.peers());
  s.wait(p.peers());
  s.reduce(p.out().all(), p.everyone(p.in().all()));
}

TEST(BrokenByDesign, GivesItsBuffersBackWhilePeersStillRead) {
  EXPECT_TRUE(is_rejected(check_all_reduce<leaves_while_read>(0, only(Placement::kSeparate)),
                          Fault::kRace, "by the caller of rank 3 after its call 1"));
}

void starts_with_its_own(const Problem& p, weft::Schedule& s) {
  s.copy(p.scratch(0), p.in().all());
  s.signal(p.peers());
  s.wait(p.peers());
  s.copy(p.out().all(), p.in().all());
  for (const uint32_t peer : p.peers()) s.reduce(p.out().all(), p.scratch(0).at(peer));
}

TEST(BrokenByDesign, EveryRankSumsInAnotherOrder) {
  EXPECT_TRUE(is_rejected(check_all_reduce<starts_with_its_own>(), Fault::kDiffers,
                          "but another rank has ((in@"));
  EXPECT_TRUE(is_rejected(check_all_reduce<starts_with_its_own>(WEFT_ALGORITHM_RANK_ORDER),
                          Fault::kRankOrder, "as declared"));
}

void sums_pairs_first(const Problem& p, weft::Schedule& s) {
  s.copy(p.scratch(0), p.in().all());
  s.signal(p.peers());
  s.wait(p.peers());
  const Chunk shared = p.scratch(0);
  s.reduce({p.scratch(1)}, {shared.at(2), shared.at(3)});
  s.reduce({p.out().all()}, {shared.at(0), shared.at(1), p.scratch(1)});
}

TEST(BrokenByDesign, BracketsAreNotRankOrder) {
  EXPECT_TRUE(check_all_reduce<sums_pairs_first>(0).ok());
  EXPECT_TRUE(is_rejected(check_all_reduce<sums_pairs_first>(WEFT_ALGORITHM_RANK_ORDER),
                          Fault::kRankOrder, "in@0 + in@1 + (in@2 + in@3)"));
}

void sums_what_the_call_before_left(const Problem& p, weft::Schedule& s) {
  // Right on the first two calls if Scratch happened to hold what is expected: never on the third.
  s.signal(p.peers());
  s.wait(p.peers());
  s.reduce(p.out().all(), p.everyone(p.scratch(0)));
  s.signal(p.peers());
  s.wait(p.peers());
  s.copy(p.scratch(0), p.in().all());
}

TEST(BrokenByDesign, ReadsScratchBeforeItIsWritten) {
  EXPECT_TRUE(is_rejected(check_all_reduce<sums_what_the_call_before_left>(), Fault::kWrongResult,
                          "in@0 is missing"));
}

void accumulates_in_out(const Problem& p, weft::Schedule& s) {
  s.copy(p.scratch(0), p.in().all());
  s.signal(p.peers());
  s.wait(p.peers());
  for (uint32_t q = 0; q < p.ranks(); ++q) s.reduce(p.out().all(), p.scratch(0).at(q));
}

TEST(BrokenByDesign, AddsToWhatWasInTheOutput) {
  EXPECT_TRUE(is_rejected(check_all_reduce<accumulates_in_out>(), Fault::kWrongResult,
                          "what was there before"));
}

void doubles(const Problem& p, weft::Schedule& s) {
  for (int i = 0; i < 64; ++i) s.reduce({p.scratch(0)}, {p.scratch(0), p.scratch(0)});
  s.copy(p.scratch(0), p.in().all());
  for (int i = 0; i < 64; ++i) s.reduce({p.scratch(0)}, {p.scratch(0), p.scratch(0)});
  s.copy(p.out().all(), p.scratch(0));
}

TEST(BrokenByDesign, ExpressionsOfAnySizeAreShortened) {
  const Report report = check_all_reduce<doubles>();
  EXPECT_TRUE(is_rejected(report, Fault::kWrongResult, "in@1 is missing"));
  EXPECT_LT(report.text.size(), 4000u);
}

void ends_while_the_input_is_read(const Problem& p, weft::Schedule& s) {
  if (p.rank() == p.root()) {
    s.signal(p.peers());
  } else {
    s.wait(p.root());
    s.copy(p.out().all(), p.in().all().at(p.root()));
  }
}

TEST(BrokenByDesign, EndsWhileItsInputIsRead) {
  const weft_algorithm table = weft::detail::declare<ends_while_the_input_is_read>(
      {.name = "broken", .summary = "", .op = WEFT_OP_BROADCAST});
  EXPECT_TRUE(is_rejected(check(table, "test.broken", {WEFT_OP_BROADCAST, 3, 0, 0}, {}),
                          Fault::kRace, "the caller of rank 0"));
}

void a_chain_is_no_barrier(const Problem& p, weft::Schedule& s) {
  if (p.rank() > 0) s.wait(p.rank() - 1);
  if (p.rank() + 1 < p.ranks()) s.signal(p.rank() + 1);
}

TEST(BrokenByDesign, BarrierThatLetsTheFirstGo) {
  const weft_algorithm table = weft::detail::declare<a_chain_is_no_barrier>(
      {.name = "broken", .summary = "", .op = WEFT_OP_BARRIER});
  EXPECT_TRUE(is_rejected(check(table, "test.broken", {WEFT_OP_BARRIER, 3, 0, 0}, {}),
                          Fault::kUnsynchronised, "rank 0 can end call 1 before rank 1"));
}

// Rank 1 shows rank 2 what rank 0 put into rank 1's Scratch; fine for long vectors, but a short one
// travels inside the signal to rank 1.
void third_rank_reads_scratch(const Problem& p, weft::Schedule& s) {
  const Chunk slot = p.scratch(0).at(1);
  if (p.rank() == 0) {
    s.copy(slot, p.in().all());
    s.signal(1);
    s.signal(2);
    s.wait(p.peers());
  } else {
    if (p.rank() == 2) s.wait(0);
    if (p.rank() == 2) s.copy(p.out().all(), slot);
    if (p.rank() == 1) s.wait(0);
    if (p.rank() == 1) s.copy(p.out().all(), p.scratch(0));
    s.signal(0);
  }
}

TEST(BrokenByDesign, ThirdRankReadsWhatASignalMayCarry) {
  const weft_algorithm table =
      weft::detail::declare<third_rank_reads_scratch>({.name = "broken",
                                                       .summary = "",
                                                       .op = WEFT_OP_BROADCAST,
                                                       .flags = WEFT_ALGORITHM_REMOTE_WRITE});
  EXPECT_TRUE(is_rejected(check(table, "test.broken", {WEFT_OP_BROADCAST, 3, 0, 0}, {}),
                          Fault::kRace, "rank 2"));
}

void names_a_rank_too_many(const Problem& p, weft::Schedule& s) { s.signal(p.ranks()); }

TEST(BrokenByDesign, MalformedStepIsReportedWithTheBuildersText) {
  EXPECT_TRUE(
      is_rejected(check_all_reduce<names_a_rank_too_many>(), Fault::kMalformed,
                  "algorithm test.broken, all_reduce on 4 ranks, rank 0: step 0 is refused"));
}

TEST(BrokenByDesign, SingleRankIsNotForAlgorithms) {
  weft_algorithm table = algorithm("mesh.barrier").table;
  table.min_ranks = 1;
  EXPECT_TRUE(is_rejected(check(table, "test.broken", {WEFT_OP_BARRIER, 2, 0, 0}, {}),
                          Fault::kMalformed, "min_ranks < 2"));
}

}  // namespace
}  // namespace weft::schedule
