// SPDX-License-Identifier: Apache-2.0
// Places in the memory of peers: ranges that are shown, merged, hidden in part and looked up, also
// while they change.
#include "exec/address_map.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace weft::exec {
namespace {

constexpr uint64_t kSpaceOne = uint64_t{1} << kTokenBits;

uint64_t number(const void* address) { return reinterpret_cast<uint64_t>(address); }

TEST(RangeTable, FindsWhatLiesInOneRangeAndNothingElse) {
  RangeTable table;
  ASSERT_TRUE(table.add(1000, 100, 5000));
  uint64_t shift = 0;
  EXPECT_TRUE(table.find(1000, 100, &shift));
  EXPECT_EQ(1000 + shift, 5000u);
  EXPECT_TRUE(table.find(1099, 1, &shift));
  EXPECT_FALSE(table.find(999, 2, &shift));
  EXPECT_FALSE(table.find(1099, 2, &shift));
  EXPECT_FALSE(table.find(1100, 0, &shift));
  EXPECT_FALSE(table.find(1050, UINT64_MAX, &shift)) << "a length that wraps around";
}

TEST(RangeTable, RefusesOverlapsAndKeepsWhatItHas) {
  RangeTable table;
  ASSERT_TRUE(table.add(1000, 100, 5000));
  EXPECT_FALSE(table.add(1000, 100, 5000));
  EXPECT_FALSE(table.add(999, 2, 0));
  EXPECT_FALSE(table.add(1099, 1, 0));
  EXPECT_FALSE(table.add(900, 1000, 0));
  EXPECT_FALSE(table.add(2000, 0, 0));
  EXPECT_FALSE(table.add(UINT64_MAX, 2, 0));
  uint64_t shift = 0;
  EXPECT_TRUE(table.find(1000, 100, &shift));
}

TEST(RangeTable, NeighboursThatGoOnAreOneRange) {
  RangeTable table;
  ASSERT_TRUE(table.add(300, 100, 1300));
  ASSERT_TRUE(table.add(100, 100, 1100));
  uint64_t shift = 0;
  EXPECT_FALSE(table.find(150, 200, &shift)) << "the middle is missing";
  ASSERT_TRUE(table.add(200, 100, 1200));
  EXPECT_TRUE(table.find(100, 300, &shift));
  EXPECT_EQ(shift, 1000u);
  ASSERT_TRUE(table.add(400, 100, 9999)) << "a neighbour that goes elsewhere";
  EXPECT_FALSE(table.find(350, 100, &shift));
}

TEST(RangeTable, TakesOutParts) {
  RangeTable table;
  ASSERT_TRUE(table.add(100, 300, 1100));
  table.remove(200, 100);
  uint64_t shift = 0;
  EXPECT_TRUE(table.find(100, 100, &shift));
  EXPECT_FALSE(table.find(199, 2, &shift));
  EXPECT_TRUE(table.find(300, 100, &shift));
  table.remove(100, 100);
  table.remove(300, 100);
  EXPECT_TRUE(table.empty());
}

TEST(RangeTable, ManyRangesInAnyOrder) {
  RangeTable table;
  constexpr uint64_t kCount = 1009;
  for (uint64_t i = 0; i < kCount; ++i) {
    const uint64_t at = i * 577 % kCount;
    ASSERT_TRUE(table.add(at * 100, 50, at * 7));
  }
  for (uint64_t i = 0; i < kCount; ++i) {
    uint64_t shift = 0;
    ASSERT_TRUE(table.find(i * 100 + 7, 43, &shift));
    ASSERT_EQ(i * 100 + shift, i * 7);
    ASSERT_FALSE(table.find(i * 100 + 50, 1, &shift));
  }
}

TEST(RangeTable, ReadersSeeAllOfAChangeOrNothing) {
  RangeTable table;
  ASSERT_TRUE(table.add(500, 100, 10500));
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (uint64_t i = 0; i < 2000; ++i) {
      for (uint64_t k = 0; k < 5; ++k) table.add(k * 100, 100, k * 100 + (i % 2 == 0 ? 0 : 7));
      for (uint64_t k = 0; k < 5; ++k) table.remove(k * 100, 100);
    }
    stop.store(true);
  });
  uint64_t wrong = 0;
  while (!stop.load()) {
    uint64_t shift = 0;
    wrong += !table.find(550, 50, &shift) || shift != 10000;
    if (table.find(150, 10, &shift)) wrong += shift != 0 && shift != 7;
  }
  writer.join();
  EXPECT_EQ(wrong, 0u);
}

TEST(AddressMap, TheTransportsSpaceAddsTheDeltaOfThePeer) {
  AddressMap map({0, 4096}, 1);
  EXPECT_EQ(number(map.find(1, 1000, 1, 0)), 5096u);
  EXPECT_EQ(map.find(1, kSpaceOne | 1000, 1, 0), nullptr) << "there is no such space";
}

TEST(AddressMap, TokensOfASpaceAreThoseOfOnePeer) {
  AddressMap map({0, 0, 0}, 3);
  ASSERT_TRUE(map.show_peer(1, 2, 100, 50, 7000));
  EXPECT_EQ(number(map.find(2, kSpaceOne | 120, 1, 0)), 7020u);
  EXPECT_EQ(map.find(1, kSpaceOne | 120, 1, 0), nullptr);
  EXPECT_EQ(map.find(2, 2 * kSpaceOne | 120, 1, 0), nullptr);
  map.hide_peer(1, 2, 100, 50);
  EXPECT_EQ(map.find(2, kSpaceOne | 120, 1, 0), nullptr);
}

TEST(AddressMap, OwnBuffersBecomeWords) {
  AddressMap map({0, 0}, 2);
  EXPECT_FALSE(map.shows_any(1));
  ASSERT_TRUE(map.show_own(1, 9000, 100, 300));
  EXPECT_TRUE(map.shows_any(1));
  uint64_t shift = 0;
  ASSERT_TRUE(map.find_own(1, 9010, 90, &shift));
  EXPECT_EQ(9010 + shift, kSpaceOne | 310);
  EXPECT_FALSE(map.show_own(1, 100, 2, (uint64_t{1} << kTokenBits) - 1)) << "no such token";
}

TEST(AddressMap, APlaceIsInUseUntilItsCallHasEnded) {
  AddressMap map({0, 0}, 2);
  ASSERT_TRUE(map.show_peer(1, 1, 100, 50, 7000));
  EXPECT_FALSE(map.peer_in_use(1, 1, 0));
  EXPECT_NE(map.find(1, kSpaceOne | 100, 5, 0), nullptr);
  EXPECT_TRUE(map.peer_in_use(1, 1, 4));
  EXPECT_FALSE(map.peer_in_use(1, 1, 5));
  EXPECT_NE(map.start_reading(1, kSpaceOne | 100), nullptr);
  EXPECT_TRUE(map.peer_in_use(1, 1, 5));
  map.stop_reading(1, kSpaceOne | 100);
  EXPECT_FALSE(map.peer_in_use(1, 1, 5));
}

TEST(AddressMap, NoticesThatAPlaceChangedBetweenCalls) {
  AddressMap map({0, 0}, 2);
  const uint64_t word = kSpaceOne | 100;
  ASSERT_TRUE(map.show_peer(1, 1, 100, 50, 7000));
  for (uint64_t call = 1; call < 4; ++call) {
    EXPECT_EQ(number(map.find(1, word, call, 0)), 7000u);
    EXPECT_EQ(number(map.find(1, word + 10, call, 1)), 7010u);
  }
  map.hide_peer(1, 1, 100, 50);
  EXPECT_EQ(map.find(1, word, 5, 0), nullptr);
  ASSERT_TRUE(map.show_peer(1, 1, 100, 50, 9000));
  EXPECT_EQ(number(map.find(1, word, 6, 0)), 9000u);
  EXPECT_EQ(number(map.find(1, word + 10, 6, 1)), 9010u);
}

TEST(AddressMap, HasAnotherVersionAfterEveryChangeOfItsOwn) {
  AddressMap map({0, 0}, 2);
  const uint64_t first = map.own_version();
  ASSERT_TRUE(map.show_own(1, 1000, 10, 5));
  const uint64_t second = map.own_version();
  EXPECT_NE(second, first);
  ASSERT_TRUE(map.show_peer(1, 1, 100, 50, 7000));
  EXPECT_EQ(map.own_version(), second);
  map.hide_own(1, 1000, 10);
  EXPECT_NE(map.own_version(), second);
}

}  // namespace
}  // namespace weft::exec
