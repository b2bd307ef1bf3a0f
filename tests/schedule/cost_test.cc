// SPDX-License-Identifier: Apache-2.0
// Rounds and bytes of the algorithms of this tree, as their READMEs tell them.
#include "schedule/cost.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "support.hpp"

namespace weft::schedule {
namespace {

constexpr uint32_t kElement = 4;

Cost cost(const std::string& name, uint32_t ranks, uint64_t count,
          uint64_t scratch = uint64_t{1} << 30) {
  const std::vector<Schedule> schedules = emit_all(name, ranks);
  Geometry geometry;
  geometry.count = count;
  geometry.element_bytes = kElement;
  geometry.scratch_bytes = scratch;
  return cost_of(ranks, geometry, [&](uint32_t rank) { return schedules[rank]; });
}

TEST(Cost, CountsRoundsInTheLongestChainOfSignals) {
  EXPECT_EQ(cost("mesh.one_shot", 8, 1024).rounds, 1U);
  EXPECT_EQ(cost("mesh.two_shot", 8, 1024).rounds, 2U);
  EXPECT_EQ(cost("mesh.barrier", 8, 0).rounds, 1U);
  EXPECT_EQ(cost("tree.barrier", 8, 0).rounds, 3U);
  EXPECT_EQ(cost("tree.star_barrier", 8, 0).rounds, 2U);
  EXPECT_EQ(cost("tree.gather_all_reduce", 9, 16).rounds, 4U);
  // 2(n - 1) steps, and a last signal that the left neighbour's output has been read.
  EXPECT_EQ(cost("ring.all_reduce", 6, 6000).rounds, 11U);
}

TEST(Cost, CountsWhatIsReadAndWrittenOfOthers) {
  constexpr uint64_t kCount = 4096;  // 16 cache lines of each rank's slice
  const Cost two_shot = cost("mesh.two_shot", 4, kCount);
  const uint64_t slice = kCount / 4 * kElement;
  for (const RankCost& each : two_shot.ranks) {
    EXPECT_EQ(each.read, 3 * slice);
    EXPECT_EQ(each.written, 3 * slice);
  }
  const Cost broadcast = cost("mesh.broadcast_push", 3, kCount);
  EXPECT_EQ(broadcast.ranks[0].written, 2 * kCount * kElement);
  EXPECT_EQ(broadcast.ranks[1].written + broadcast.ranks[1].read, 0U);
}

TEST(Cost, CountsWhatASignalCarries) {
  const Cost carried = cost("mesh.one_shot", 3, 2);
  for (const RankCost& each : carried.ranks) EXPECT_EQ(each.written, 2 * 2 * kElement);
}

TEST(Cost, PiecesMoveTheSameBytes) {
  const Cost whole = cost("mesh.one_shot", 3, 10000);
  const Cost cut = cost("mesh.one_shot", 3, 10000, 3 * 4096);
  EXPECT_EQ(whole.pieces, 1U);
  EXPECT_GT(cut.pieces, 1U);
  EXPECT_EQ(cut.scratch_blocks, 3U);
  for (uint32_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(cut.ranks[rank].read, whole.ranks[rank].read);
    EXPECT_EQ(cut.ranks[rank].written, whole.ranks[rank].written);
    EXPECT_EQ(cut.ranks[rank].steps, whole.ranks[rank].steps);
  }
}

TEST(Cost, ASignalThatNeverComesIsAnError) {
  std::vector<Schedule> schedules = emit_all("mesh.barrier", 3);
  auto& steps = schedules[1].steps;
  steps.erase(std::find_if(steps.begin(), steps.end(), [](const Step& step) {
    return step.verb == WEFT_VERB_SIGNAL && step.peer == 2;
  }));
  try {
    (void)cost_of(3, {}, [&](uint32_t rank) { return schedules[rank]; });
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("rank 2 waits for a signal of rank 1"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace weft::schedule
