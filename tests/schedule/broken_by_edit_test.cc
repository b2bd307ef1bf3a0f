// SPDX-License-Identifier: Apache-2.0
// Good schedules with one thing spoilt: the checker must find it and say what it is.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "support.hpp"

namespace weft::schedule {
namespace {

/// Index of the k-th step of a verb.
size_t find(const Schedule& s, uint32_t verb, size_t k = 0) {
  for (size_t i = 0; i < s.steps.size(); ++i) {
    if (s.steps[i].verb == verb && k-- == 0) return i;
  }
  throw std::out_of_range("no such step");
}

void erase(Schedule& s, size_t at) { s.steps.erase(s.steps.begin() + static_cast<int>(at)); }

weft_chunk& first_dst(Schedule& s, uint32_t verb) {
  return s.operands[s.steps[find(s, verb)].first];
}

weft_chunk& src(Schedule& s, uint32_t verb, uint32_t index) {
  const Step& step = s.steps[find(s, verb)];
  return s.operands[step.first + step.dst_count + index];
}

/// Spoils the schedules of 4 ranks of an algorithm and checks them.
Report spoilt(const std::string& name, const std::function<void(std::vector<Schedule>&)>& spoil,
              const Options& options = {}) {
  std::vector<Schedule> schedules = emit_all(name, 4, 1);
  spoil(schedules);
  return check(schedules, algorithm(name).table.flags, options);
}

TEST(BrokenByEdit, DroppedWait) {
  const Report report =
      spoilt("mesh.two_shot", [](auto& all) { erase(all[2], find(all[2], WEFT_VERB_WAIT)); });
  EXPECT_TRUE(is_rejected(report, Fault::kSignals,
                          "rank 3 signals rank 2 2 times, but rank 2 waits for rank 3 1 times"));
}

TEST(BrokenByEdit, DroppedSignal) {
  const Report report = spoilt("ring.all_reduce",
                               [](auto& all) { erase(all[0], find(all[0], WEFT_VERB_SIGNAL, 2)); });
  EXPECT_TRUE(is_rejected(report, Fault::kSignals, "rank 0 signals rank 1 5 times"));
}

TEST(BrokenByEdit, ExtraSignal) {
  const Report report = spoilt("mesh.barrier", [](auto& all) {
    all[3].steps.push_back({WEFT_VERB_SIGNAL, 0, 0, 0, 0});
  });
  EXPECT_TRUE(is_rejected(report, Fault::kSignals, "rank 3 signals rank 0 2 times"));
}

TEST(BrokenByEdit, SignalToTheWrongNeighbour) {
  const Report report = spoilt(
      "ring.all_gather", [](auto& all) { all[1].steps[find(all[1], WEFT_VERB_SIGNAL)].peer = 0; });
  EXPECT_TRUE(is_rejected(report, Fault::kSignals));
}

TEST(BrokenByEdit, DataOfTheWrongNeighbour) {
  const Report report = spoilt("ring.all_gather", [](auto& all) {
    Schedule& s = all[1];
    s.operands[s.steps[find(s, WEFT_VERB_COPY, 1)].first + 1].rank = 2;
  });
  EXPECT_TRUE(
      is_rejected(report, Fault::kAddress,
                  "rank 1, call 1, step 3 (copy out[0]@1 <- in@2) touches in@2 before it has "
                  "waited for rank 2"));
}

TEST(BrokenByEdit, SourceOffByOne) {
  const Report report =
      spoilt("mesh.reduce_scatter", [](auto& all) { src(all[2], WEFT_VERB_REDUCE, 3).block = 3; });
  EXPECT_TRUE(
      is_rejected(report, Fault::kWrongResult,
                  "out@2 = in[2]@0 + in[2]@1 + in[2]@2 + in[3]@3; in[2]@3 is missing; in[3]@3 "
                  "does not belong there"));
}

TEST(BrokenByEdit, DestinationOffByOne) {
  const Report report =
      spoilt("mesh.all_to_all", [](auto& all) { first_dst(all[0], WEFT_VERB_COPY).block = 1; });
  EXPECT_TRUE(is_rejected(report, Fault::kWrongResult, "out[0]@0 = what was there before"));
}

TEST(BrokenByEdit, PieceOfTheRingOffByOne) {
  const Report report = spoilt("ring.all_reduce", [](auto& all) {
    Schedule& s = all[3];
    const Step& step = s.steps[find(s, WEFT_VERB_COPY)];
    for (uint32_t i = 0; i < 2; ++i) {
      weft_chunk& chunk = s.operands[step.first + i];
      chunk.part = (chunk.part + 1) % chunk.parts;
    }
  });
  EXPECT_FALSE(report.ok());
  EXPECT_TRUE(report.fault == Fault::kRace || report.fault == Fault::kWrongResult) << report.text;
}

TEST(BrokenByEdit, SummedTwice) {
  const Report report =
      spoilt("mesh.two_shot", [](auto& all) { src(all[1], WEFT_VERB_REDUCE, 3).rank = 2; });
  EXPECT_TRUE(is_rejected(report, Fault::kWrongResult, "in@2 counts 2 times; in@3 is missing"));
}

TEST(BrokenByEdit, MissingContribution) {
  const Report report = spoilt("mesh.one_shot", [](auto& all) {
    --all[2].steps[find(all[2], WEFT_VERB_REDUCE)].src_count;  // the last one: rank 3
  });
  EXPECT_TRUE(
      is_rejected(report, Fault::kWrongResult, "out@2 = in@0 + in@1 + in@2; in@3 is missing"));
}

TEST(BrokenByEdit, MissingDestination) {
  const Report report = spoilt("mesh.two_shot", [](auto& all) {
    Schedule& s = all[0];
    Step& step = s.steps[find(s, WEFT_VERB_REDUCE)];
    step.first += 1;  // rank 0 itself is forgotten
    step.dst_count -= 1;
  });
  EXPECT_TRUE(is_rejected(report, Fault::kWrongResult, "out[0/4]@0 = what was there before"));
}

TEST(BrokenByEdit, OrderThatIsNotTheDeclaredOne) {
  const Report report = spoilt("mesh.reduce_scatter", [](auto& all) {
    std::swap(src(all[3], WEFT_VERB_REDUCE, 0), src(all[3], WEFT_VERB_REDUCE, 1));
  });
  EXPECT_TRUE(is_rejected(report, Fault::kRankOrder, "in[3]@1 + in[3]@0 + in[3]@2"));
}

TEST(BrokenByEdit, OrderThatDiffersBetweenRanks) {
  std::vector<Schedule> all = emit_all("mesh.one_shot", 4);
  std::swap(src(all[3], WEFT_VERB_REDUCE, 0), src(all[3], WEFT_VERB_REDUCE, 3));
  const Report report = check(all, WEFT_ALGORITHM_REMOTE_WRITE);
  EXPECT_TRUE(
      is_rejected(report, Fault::kDiffers, "but another rank has in@3 + in@1 + in@2 + in@0"));
}

TEST(BrokenByEdit, InputOverwritten) {
  const auto spoil = [](auto& all) { first_dst(all[0], WEFT_VERB_REDUCE).space = WEFT_SPACE_IN; };
  EXPECT_TRUE(is_rejected(spoilt("mesh.reduce_scatter", spoil), Fault::kInputOverwritten,
                          "(not in place): rank 0, call 1, step 6 (reduce in[0]@0 <-"));
}

TEST(BrokenByEdit, WriteAfterTheLastSignal) {
  const Report report = spoilt("mesh.two_shot", [](auto& all) {
    std::vector<Step>& steps = all[1].steps;
    const auto reduce = steps.begin() + static_cast<int>(find(all[1], WEFT_VERB_REDUCE));
    std::rotate(reduce, reduce + 1, steps.end());
  });
  EXPECT_TRUE(is_rejected(report, Fault::kRace, "rank 1, call 1, step 12 (reduce out[1/4]@0"));
}

TEST(BrokenByEdit, SignalBeforeTheDataIsThere) {
  const Report report = spoilt("ring.all_reduce", [](auto& all) {
    std::vector<Step>& steps = all[2].steps;
    const size_t reduce = find(all[2], WEFT_VERB_REDUCE);
    ASSERT_EQ(steps[reduce + 1].verb, static_cast<uint32_t>(WEFT_VERB_SIGNAL));
    std::swap(steps[reduce], steps[reduce + 1]);
  });
  EXPECT_TRUE(is_rejected(report, Fault::kRace, "rank 2, call 1, step 3"));
}

TEST(BrokenByEdit, ReadBeforeTheWait) {
  const Report report = spoilt("mesh.all_gather", [](auto& all) {
    std::vector<Step>& steps = all[0].steps;
    const size_t wait = find(all[0], WEFT_VERB_WAIT);
    std::swap(steps[wait], steps[wait + 1]);
  });
  EXPECT_TRUE(is_rejected(report, Fault::kAddress, "touches in@1 before it has waited for rank 1"));
}

TEST(BrokenByEdit, OverwritesAPartialSumThatIsStillRead) {
  // The block of Scratch that the right neighbour reads in this step, instead of the other one.
  const Report report = spoilt("ring.reduce_scatter", [](auto& all) {
    Schedule& s = all[0];
    s.operands[s.steps[find(s, WEFT_VERB_REDUCE, 1)].first].block = 0;
  });
  EXPECT_TRUE(is_rejected(report, Fault::kRace, "scratch[0]@0"));
}

TEST(BrokenByEdit, OneAreaOfScratch) {
  Options options;
  options.scratch_areas = 1;
  options.calls = 1;
  EXPECT_TRUE(spoilt(
                  "mesh.one_shot", [](auto&) {}, options)
                  .ok());
  options.calls = 3;
  EXPECT_TRUE(is_rejected(spoilt(
                              "mesh.one_shot", [](auto&) {}, options),
                          Fault::kRace, "call 2"));
}

TEST(BrokenByEdit, UndeclaredRemoteWrite) {
  const Report report = check(emit_all("mesh.two_shot", 3), WEFT_ALGORITHM_RANK_ORDER);
  EXPECT_TRUE(is_rejected(report, Fault::kRemoteWrite, "writes to rank 1"));
}

TEST(BrokenByEdit, RanksThatDisagreeAboutScratch) {
  const Report report = spoilt("null.all_reduce", [](auto& all) { all[3].scratch_blocks = 2; });
  EXPECT_TRUE(is_rejected(report, Fault::kScratch, "rank 3 names 2"));
}

TEST(BrokenByEdit, RanksThatCutDifferently) {
  const Report report = spoilt("mesh.two_shot", [](auto& all) {
    for (weft_chunk& chunk : all[2].operands) chunk.parts = 5;
  });
  EXPECT_TRUE(is_rejected(report, Fault::kMalformed, "do not nest"));
}

TEST(BrokenByEdit, ScheduleOfAnotherRank) {
  const Report report = spoilt("mesh.barrier", [](auto& all) { all[2] = all[1]; });
  EXPECT_TRUE(is_rejected(report, Fault::kMalformed, "schedule 2 is not that of rank 2"));
}

/// Takes the k-th signal from one rank to another away, together with the wait that takes it.
bool erase_pair(std::vector<Schedule>& all, uint32_t from, uint32_t to, size_t k) {
  const auto drop = [k](Schedule& s, uint32_t verb, uint32_t peer) {
    size_t left = k;
    for (size_t i = 0; i < s.steps.size(); ++i) {
      if (s.steps[i].verb != verb || s.steps[i].peer != peer || left-- > 0) continue;
      erase(s, i);
      return true;
    }
    return false;
  };
  return drop(all[from], WEFT_VERB_SIGNAL, to) && drop(all[to], WEFT_VERB_WAIT, from);
}

/// Handshakes, of 4 ranks, that an algorithm would be right without.
int needless_pairs(const std::string& name) {
  int count = 0;
  for (uint32_t from = 0; from < 4; ++from) {
    for (uint32_t to = 0; to < 4; ++to) {
      for (size_t k = 0;; ++k) {
        std::vector<Schedule> all = emit_all(name, 4, 1);
        if (!erase_pair(all, from, to, k)) break;
        if (check(all, algorithm(name).table.flags).ok()) ++count;
      }
    }
  }
  return count;
}

TEST(BrokenByEdit, HandshakesThatAreNeeded) {
  for (const char* name :
       {"mesh.one_shot", "mesh.two_shot", "mesh.reduce_scatter", "mesh.all_gather",
        "mesh.all_to_all", "mesh.broadcast_push", "ring.all_reduce", "ring.all_gather"}) {
    EXPECT_EQ(needless_pairs(name), 0) << name;
  }
}

}  // namespace
}  // namespace weft::schedule
