// SPDX-License-Identifier: Apache-2.0
// The memory that calls on their way use.
#include "exec/used_memory.hpp"

#include <gtest/gtest.h>

namespace weft::exec {
namespace {

const void* at(uint64_t address) { return reinterpret_cast<const void*>(address); }

TEST(UsedMemory, OverlapsWhatSharesAByteWithIt) {
  UsedMemory used;
  EXPECT_FALSE(used.overlaps(0, UINT64_MAX)) << "nothing so far";
  used.set(at(100), 50);
  EXPECT_TRUE(used.overlaps(149, 1000));
  EXPECT_TRUE(used.overlaps(0, 101));
  EXPECT_TRUE(used.overlaps(120, 121));
  EXPECT_FALSE(used.overlaps(150, 1000));
  EXPECT_FALSE(used.overlaps(0, 100));
  used.set(at(100), 0);
  EXPECT_FALSE(used.overlaps(0, 1000)) << "a buffer of no bytes";
}

TEST(UsedMemory, GrowsToWhatIsIncluded) {
  UsedMemory used;
  used.include(at(500), 10);
  EXPECT_FALSE(used.overlaps(0, 500)) << "nothing was there before";
  used.include(at(300), 10);
  used.include(at(400), 10);
  EXPECT_TRUE(used.overlaps(300, 301));
  EXPECT_TRUE(used.overlaps(509, 510));
  EXPECT_FALSE(used.overlaps(0, 300));
  EXPECT_FALSE(used.overlaps(510, 600));
  used.clear();
  EXPECT_FALSE(used.overlaps(0, UINT64_MAX));
}

}  // namespace
}  // namespace weft::exec
