// SPDX-License-Identifier: Apache-2.0
// Reading structs of writers that know fewer or more fields (P3 - P5). There is only one minor yet,
// so the structs here are made up.
#include "plugin/table.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <string>

namespace weft::plugin {
namespace {

struct Table {
  weft_head head;
  uint64_t number;
  const char* first;
  const char* second;
};
constexpr Entry kFirst = WEFT_ENTRY(Table, first);
constexpr Entry kSecond = WEFT_ENTRY(Table, second);

Table written(uint32_t size, uint16_t major = WEFT_ABI_MAJOR) {
  return {{size, major, 0}, 5, "one", "two"};
}

TEST(Table, OfAnOlderMinorHasNoLaterEntries) {
  constexpr uint32_t kOld = offsetof(Table, second);
  const Table theirs = written(kOld);
  EXPECT_TRUE(has_entry(&theirs, theirs.head.size, kFirst));
  EXPECT_FALSE(has_entry(&theirs, theirs.head.size, kSecond));
  const Table ours = full_copy(theirs);
  EXPECT_EQ(ours.number, 5U);
  EXPECT_STREQ(ours.first, "one");
  EXPECT_EQ(ours.second, nullptr);
  EXPECT_EQ(ours.head.size, kOld);
}

TEST(Table, OfALaterMinorIsReadAsFarAsItIsKnown) {
  struct Later {
    Table known;
    const char* third;
  } const theirs{written(sizeof(Later)), "three"};
  const Table ours = full_copy(theirs.known);
  EXPECT_STREQ(ours.second, "two");
  EXPECT_EQ(ours.head.size, sizeof(Table));
}

TEST(Table, EntriesThatAreNullOrCutInTwoAreNotThere) {
  Table theirs = written(offsetof(Table, second) + 7);
  EXPECT_FALSE(has_entry(&theirs, theirs.head.size, kSecond));
  theirs = written(sizeof(Table));
  EXPECT_TRUE(has_entry(&theirs, theirs.head.size, kSecond));
  theirs.second = nullptr;
  EXPECT_FALSE(has_entry(&theirs, theirs.head.size, kSecond));
}

std::string refusal(const std::function<void()>& check) {
  try {
    check();
  } catch (const Refusal& refused) {
    return refused.what();
  }
  return "accepted";
}

TEST(Table, OfAnotherMajorIsRefusedWithBothNumbers) {
  const Table theirs = written(sizeof(Table), 9);
  EXPECT_EQ(refusal([&] { check_head(theirs.head, "it"); }),
            "it is of weft ABI 9.0, this library has 1.0 (ABI rule P4); rebuild the plugin with "
            "this library's SDK");
  EXPECT_EQ(refusal([&] { check_head(written(sizeof(Table)).head, "it"); }), "accepted");
}

TEST(Table, LackingARequiredEntryIsRefusedByName) {
  const std::array required = {kFirst, kSecond};
  const Table whole = written(sizeof(Table));
  EXPECT_EQ(refusal([&] { check_entries(&whole, required, "it"); }), "accepted");
  const Table older = written(offsetof(Table, second));
  EXPECT_EQ(refusal([&] { check_entries(&older, required, "it"); }),
            "it lacks the required entry \"second\" (ABI rule P5); fill it in");
}

}  // namespace
}  // namespace weft::plugin
