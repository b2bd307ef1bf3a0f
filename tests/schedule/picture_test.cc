// SPDX-License-Identifier: Apache-2.0
// What a counter-example looks like.
#include "proof/picture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "proof/timeline.hpp"
#include "support.hpp"

namespace weft::schedule {
namespace {

proof::CounterExample refuted(const plugin::Algorithm& algorithm, uint32_t ranks) {
  auto found = proof::refute(algorithm, {ranks, 0, {}});
  if (!found) throw std::logic_error("it is right");
  return std::move(*found);
}

void sums_itself_twice(const Problem& p, weft::Schedule& s) {
  s.copy(p.scratch(0), p.in().all());
  s.signal(p.peers());
  s.wait(p.peers());
  s.reduce({p.out().all()}, {p.scratch(0), p.scratch(0)});
}

TEST(Picture, IsThisForASumThatIsWrong) {
  const plugin::Algorithm wrong = seeded<sums_itself_twice>(WEFT_OP_ALL_REDUCE, 0);
  EXPECT_EQ(proof::picture(wrong, refuted(wrong, 2)),
            R"(seeded.it, all_reduce, 2 ranks, not in place
  wrong result (not in place): after call 1, out@1 = in@1 + in@1; in@0 is missing; in@1 counts 2 times
  out@1 should be: in@0 + in@1
               is: in@1 + in@1

        rank 0                                           |       rank 1
        -- call 1 --                                     |       -- call 1 --
      0 copy scratch[0]@0 <- in@0                        |     0 copy scratch[0]@1 <- in@1
      1 signal 1                                    a->  |     1 signal 0                                    b->
      2 wait 1                                      ->b  |     2 wait 0                                      ->a
      3 reduce out@0 <- scratch[0]@0 + scratch[0]@0      | !   3 reduce out@1 <- scratch[0]@1 + scratch[0]@1
        -- call 1 ends --                                |       -- call 1 ends --

  !: the fault; a-> and ->a: a signal and the wait that takes it; ?: there is none.
  What to do: the step marked with ! wrote it last: look at its sources, and at what they held then.
)");
}

TEST(Picture, ShowsOnlyTheRanksThatTakePart) {
  const plugin::Algorithm wrong = seeded<sums_itself_twice>(WEFT_OP_ALL_REDUCE, 0);
  const proof::CounterExample found = refuted(wrong, 9);
  const std::vector<uint32_t> shown = proof::shown_ranks(found, 4);
  EXPECT_EQ(shown.size(), 4u);
  EXPECT_TRUE(std::is_sorted(shown.begin(), shown.end()));
  EXPECT_TRUE(std::count(shown.begin(), shown.end(), found.report.evidence.chunk->rank));
  EXPECT_EQ(proof::shown_ranks(found, 9).size(), 9u);
  std::istringstream lines(proof::draw(found));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 142u) << line;
}

void waits_at_the_end(const Problem& p, weft::Schedule& s) {
  for (int64_t i = 0; i < 1000; ++i) s.copy(p.scratch(0), p.in().all());
  s.wait(p.peers());
  s.signal(p.peers());
}

TEST(Picture, LeavesOutWhatIsFarFromTheFault) {
  const plugin::Algorithm wrong = seeded<waits_at_the_end>(WEFT_OP_ALL_REDUCE, 0);
  const std::string drawn = proof::draw(refuted(wrong, 2));
  EXPECT_LT(std::count(drawn.begin(), drawn.end(), '\n'), 20) << drawn;
  EXPECT_NE(drawn.find("...\n"), std::string::npos) << drawn;
  EXPECT_NE(drawn.find("! 1000 wait 1"), std::string::npos) << drawn;
}

TEST(Timeline, PutsEveryWaitBelowItsSignal) {
  const std::vector<Schedule> schedules = emit_all("ring.all_reduce", 5);
  const proof::Timeline time = proof::timeline(schedules, 2);
  EXPECT_EQ(time.rounds, 2u * 4 + 1);
  std::vector<uint32_t> signal_rows;
  std::vector<uint32_t> wait_rows;
  for (uint32_t r = 0; r < 5; ++r) {
    uint32_t row = 0;
    // Two calls, the begin of each, and of a third one.
    ASSERT_EQ(time.ranks[r].size(), 2 * schedules[r].steps.size() + 3);
    for (const proof::Mark& mark : time.ranks[r]) {
      EXPECT_TRUE(mark.reached);
      EXPECT_GE(mark.row, row);
      row = mark.row + 1;
      EXPECT_LT(mark.row, time.rows);
      if (mark.meeting == 0) continue;
      const uint32_t verb = schedules[r].steps[mark.step].verb;
      auto& rows = verb == WEFT_VERB_SIGNAL ? signal_rows : wait_rows;
      rows.resize(std::max<size_t>(rows.size(), mark.meeting + 1), UINT32_MAX);
      rows[mark.meeting] = mark.row;
    }
  }
  ASSERT_EQ(signal_rows.size(), wait_rows.size());
  for (size_t i = 1; i < signal_rows.size(); ++i) EXPECT_LT(signal_rows[i], wait_rows[i]);
}

}  // namespace
}  // namespace weft::schedule
