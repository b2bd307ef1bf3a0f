// SPDX-License-Identifier: Apache-2.0
#include "config/units.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace weft::config {
namespace {

constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();

std::string refusal(const std::function<void()>& parse) {
  try {
    parse();
  } catch (const BadValue& bad) {
    return bad.what();
  }
  return "accepted";
}

TEST(ParseBytes, BothEndsAreInside) {
  EXPECT_EQ(parse_bytes("..32KiB"), (Range{0, 32768}));
  EXPECT_EQ(parse_bytes("1MiB.."), (Range{1048576, kMost}));
  EXPECT_EQ(parse_bytes("1..2"), (Range{1, 2}));
  EXPECT_EQ(parse_bytes("3GiB..1TiB"), (Range{3ULL << 30, 1ULL << 40}));
  const Range range = parse_bytes("8B..16B");
  EXPECT_FALSE(range.contains(7));
  EXPECT_TRUE(range.contains(8));
  EXPECT_TRUE(range.contains(16));
  EXPECT_FALSE(range.contains(17));
}

TEST(ParseBytes, OneNumberIsExact) {
  EXPECT_EQ(parse_bytes("4096"), (Range{4096, 4096}));
  EXPECT_EQ(parse_bytes("4KiB"), (Range{4096, 4096}));
  EXPECT_EQ(parse_bytes("0"), (Range{0, 0}));
  EXPECT_EQ(parse_bytes("18446744073709551615"), (Range{kMost, kMost}));
}

TEST(ParseBytes, TellsWhatIsWrong) {
  const struct {
    const char* text;
    const char* what;
  } cases[] = {
      {"", "does not begin with a whole number"},
      {"x..", "does not begin with a whole number"},
      {"-1..", "does not begin with a whole number"},
      {"..-1", "does not begin with a whole number"},
      {" 1..2", "does not begin with a whole number"},
      {"..", "has no end"},
      {"1...2", "does not begin with a whole number"},
      {"2..1", "is empty"},
      {"1KiB..1023", "is empty"},
      {"1.5MiB", "unknown unit \".5MiB\""},
      {"1KB", "unknown unit \"KB\"; did you mean \"KiB\"?"},
      {"1kib", "unknown unit \"kib\"; did you mean \"KiB\"?"},
      {"1mb", "unknown unit \"mb\"; did you mean \"MiB\"?"},
      {"1G", "unknown unit \"G\"; did you mean \"GiB\"?"},
      {"1 KiB", "unknown unit \" KiB\"; did you mean \"KiB\"?"},
      {"5parsec", "known are B, KiB, MiB, GiB, TiB"},
      {"18446744073709551616", "is too large"},
      {"16777216TiB", "is too large"},
      {"18014398509481984KiB", "is too large"},
  };
  for (const auto& each : cases) {
    const std::string what = refusal([&] { (void)parse_bytes(each.text); });
    EXPECT_NE(what.find(each.what), std::string::npos) << each.text << " gave: " << what;
  }
}

TEST(ParseRanks, IsCutToTheNumbersThatOccur) {
  EXPECT_EQ(parse_ranks("2..16"), (Range{2, 16}));
  EXPECT_EQ(parse_ranks("..16"), (Range{2, 16}));
  EXPECT_EQ(parse_ranks("1.."), kAnyRanks);
  EXPECT_EQ(parse_ranks("4"), (Range{4, 4}));
}

TEST(ParseRanks, RefusesWhatNeverMatches) {
  EXPECT_NE(refusal([] { (void)parse_ranks("1"); }).find("2 to 4294967295"), std::string::npos);
  EXPECT_NE(refusal([] { (void)parse_ranks("..1"); }).find("matches no number"), std::string::npos);
  EXPECT_NE(refusal([] { (void)parse_ranks("4294967296.."); }).find("matches no number"),
            std::string::npos);
  EXPECT_NE(refusal([] { (void)parse_ranks("2KiB"); }).find("plain whole number"),
            std::string::npos);
}

TEST(ParseDuration, KnowsItsUnits) {
  using std::chrono::milliseconds;
  EXPECT_EQ(parse_duration("250ms"), milliseconds(250));
  EXPECT_EQ(parse_duration("1836s"), milliseconds(1'836'000));
  EXPECT_EQ(parse_duration("2min"), milliseconds(120'000));
}

TEST(ParseDuration, TellsWhatIsWrong) {
  EXPECT_NE(refusal([] { (void)parse_duration("120"); }).find("has no unit"), std::string::npos);
  EXPECT_NE(refusal([] { (void)parse_duration("0s"); }).find("more than 0"), std::string::npos);
  EXPECT_NE(refusal([] { (void)parse_duration("-5s"); }).find("does not begin"), std::string::npos);
  EXPECT_NE(refusal([] { (void)parse_duration("2mins"); }).find("did you mean \"min\"?"),
            std::string::npos);
  EXPECT_NE(refusal([] { (void)parse_duration("2sec"); }).find("did you mean \"s\"?"),
            std::string::npos);
  EXPECT_NE(refusal([] { (void)parse_duration("2147483648s"); }).find("too large"),
            std::string::npos);
  EXPECT_NE(refusal([] { (void)parse_duration("400000000000000000min"); }).find("too large"),
            std::string::npos);
}

TEST(Units, HostsMayBeOne) {
  EXPECT_EQ(parse_hosts("1"), (Range{1, 1}));
  EXPECT_EQ(parse_hosts("2.."), (Range{2, kAnyHosts.last}));
  EXPECT_EQ(parse_hosts("..3"), (Range{1, 3}));
  EXPECT_THROW((void)parse_hosts("0"), BadValue);
  EXPECT_THROW((void)parse_hosts("x"), BadValue);
}

TEST(Units, TextsAreWhatWouldBeRead) {
  EXPECT_EQ(text_of_bytes(uint64_t{0}), "0");
  EXPECT_EQ(text_of_bytes(uint64_t{1000}), "1000");
  EXPECT_EQ(text_of_bytes(uint64_t{4096}), "4KiB");
  EXPECT_EQ(text_of_bytes(uint64_t{3} << 40), "3TiB");
  for (const char* text : {"..512", "4KiB..", "1KiB..3MiB", "8"}) {
    EXPECT_EQ(text_of_bytes(parse_bytes(text)), text);
  }
  for (const char* text : {"..16", "3..", "3..4", "8"}) {
    EXPECT_EQ(text_of(parse_ranks(text), kAnyRanks), text);
  }
  EXPECT_EQ(text_of(std::chrono::milliseconds(250)), "250ms");
  EXPECT_EQ(text_of(std::chrono::seconds(120)), "120s");
}

TEST(Units, AStarStandsAtTheEndOfAName) {
  for (const char* name : {"tp0", "tp*", "*", "a b"}) EXPECT_EQ(parse_communicator(name), name);
  EXPECT_EQ(parse_communicator(std::string(127, 'x')).size(), 127U);
  for (const std::string& wrong :
       {std::string(), std::string("*a"), std::string("a**"), std::string(128, 'x')}) {
    EXPECT_THROW((void)parse_communicator(wrong), BadValue) << wrong;
  }
}

}  // namespace
}  // namespace weft::config
