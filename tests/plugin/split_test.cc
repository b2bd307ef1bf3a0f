// SPDX-License-Identifier: Apache-2.0
// What the tasks engine of transport-hccs-sdma cuts: no task of the SDMA engine is longer than 4
// GiB.
#include "split.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace weft::hccs {
namespace {

using Parts = std::vector<std::pair<uint64_t, uint64_t>>;

Parts parts_of(uint64_t bytes) {
  Parts parts;
  const int32_t code = for_each_part(bytes, [&](uint64_t at, uint64_t part) {
    parts.emplace_back(at, part);
    return 0;
  });
  EXPECT_EQ(code, 0);
  return parts;
}

constexpr uint64_t kGiB = uint64_t{1} << 30;

TEST(Split, LeavesWhatFitsIntoOneTaskWhole) {
  EXPECT_EQ(parts_of(0), Parts{});
  EXPECT_EQ(parts_of(1), (Parts{{0, 1}}));
  EXPECT_EQ(parts_of(4 * kGiB), (Parts{{0, 4 * kGiB}}));
}

TEST(Split, CutsLongerOnesIntoConsecutiveTasks) {
  EXPECT_EQ(parts_of(4 * kGiB + 4), (Parts{{0, 4 * kGiB}, {4 * kGiB, 4}}));
  EXPECT_EQ(parts_of(10 * kGiB),
            (Parts{{0, 4 * kGiB}, {4 * kGiB, 4 * kGiB}, {8 * kGiB, 2 * kGiB}}));
}

TEST(Split, EndsAtTheFirstTaskThatIsRefused) {
  uint32_t calls = 0;
  const int32_t code =
      for_each_part(12 * kGiB, [&](uint64_t, uint64_t) { return ++calls == 2 ? 15 : 0; });
  EXPECT_EQ(code, 15);
  EXPECT_EQ(calls, 2u);
}

}  // namespace
}  // namespace weft::hccs
