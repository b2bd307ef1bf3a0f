// SPDX-License-Identifier: Apache-2.0
#include "config/units.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <string>
#include <system_error>

#include "config/complain.hpp"

namespace weft::config {
namespace {

struct Unit {
  std::string_view name;
  uint64_t factor;
};
constexpr std::array<Unit, 5> kByteUnits = {
    {{"B", 1}, {"KiB", 1ULL << 10}, {"MiB", 1ULL << 20}, {"GiB", 1ULL << 30}, {"TiB", 1ULL << 40}}};
constexpr std::array<Unit, 3> kTimeUnits = {{{"ms", 1}, {"s", 1000}, {"min", 60'000}}};

std::string in_quotes(std::string_view text) { return '"' + std::string(text) + '"'; }

char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

// What is written for a unit by mistake ("kb", "MB", "sec") begins like it.
std::string meant_unit(std::string_view wrong, std::span<const std::string_view> names) {
  const auto alike = [wrong](std::string_view name) { return lower(name[0]) == lower(wrong[0]); };
  if (std::count_if(names.begin(), names.end(), alike) != 1) return suggestion(wrong, names);
  return "; did you mean " + in_quotes(*std::find_if(names.begin(), names.end(), alike)) + "?";
}

uint64_t factor_of(std::string_view unit, std::span<const Unit> units) {
  std::vector<std::string_view> names;
  for (const Unit& known : units) {
    if (known.name == unit) return known.factor;
    names.push_back(known.name);
  }
  throw BadValue("unknown unit " + in_quotes(unit) + meant_unit(unit, names));
}

// A whole number and its unit. Without units, or where `needs_unit` is not set, a plain number will
// do.
uint64_t parse_number(std::string_view text, std::span<const Unit> units, bool needs_unit) {
  uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc::invalid_argument) {
    throw BadValue(in_quotes(text) + " does not begin with a whole number, 0 or more");
  }
  if (error != std::errc()) throw BadValue(in_quotes(text) + " is too large");
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  if (unit.empty()) {
    if (needs_unit) throw BadValue(in_quotes(text) + " has no unit: write ms, s or min after it");
    return number;
  }
  if (units.empty()) throw BadValue(in_quotes(text) + " is not a plain whole number");
  uint64_t product = 0;
  if (__builtin_mul_overflow(number, factor_of(unit, units), &product)) {
    throw BadValue(in_quotes(text) + " is too large");
  }
  return product;
}

Range parse_range(std::string_view text, std::span<const Unit> units) {
  const auto dots = text.find("..");
  if (dots == std::string_view::npos) {
    const uint64_t only = parse_number(text, units, false);
    return {only, only};
  }
  const std::string_view first = text.substr(0, dots);
  const std::string_view last = text.substr(dots + 2);
  if (first.empty() && last.empty()) {
    throw BadValue("\"..\" has no end: leave the key out to match everything");
  }
  Range range;
  if (!first.empty()) range.first = parse_number(first, units, false);
  if (!last.empty()) range.last = parse_number(last, units, false);
  if (range.first > range.last) {
    throw BadValue("the range " + in_quotes(text) + " is empty: its first end is above its last");
  }
  return range;
}

}  // namespace

Range parse_bytes(std::string_view text) { return parse_range(text, kByteUnits); }

Range parse_ranks(std::string_view text) {
  const Range range = parse_range(text, {});
  const Range cut = {std::max(range.first, kAnyRanks.first), std::min(range.last, kAnyRanks.last)};
  if (cut.first > cut.last) {
    throw BadValue(in_quotes(text) + " matches no number of ranks: they are 2 to " +
                   std::to_string(kAnyRanks.last));
  }
  return cut;
}

Range parse_hosts(std::string_view text) {
  const Range range = parse_range(text, {});
  const Range cut = {std::max(range.first, kAnyHosts.first), std::min(range.last, kAnyHosts.last)};
  if (cut.first <= cut.last) return cut;
  throw BadValue(in_quotes(text) + " matches no number: they are 1 to " +
                 std::to_string(kAnyHosts.last));
}

std::string parse_communicator(std::string_view text) {
  constexpr std::size_t kLongest = 127;
  if (text.empty()) throw BadValue("a name has at least one character");
  if (text.size() > kLongest) throw BadValue(in_quotes(text) + " is longer than any name");
  if (text.find('*') < text.size() - 1) {
    throw BadValue(in_quotes(text) + ": a * stands for the rest of a name, so it comes last");
  }
  return std::string(text);
}

std::chrono::milliseconds parse_duration(std::string_view text) {
  const uint64_t value = parse_number(text, kTimeUnits, true);
  if (value == 0) throw BadValue(in_quotes(text) + " is no time at all: write more than 0");
  // Far above any use, and far below what clocks can add up.
  constexpr uint64_t kMost = 1000ULL * std::numeric_limits<int32_t>::max();
  if (value > kMost) throw BadValue(in_quotes(text) + " is too large");
  return std::chrono::milliseconds(static_cast<int64_t>(value));
}

std::string text_of_bytes(uint64_t bytes) {
  for (auto unit = kByteUnits.rbegin(); unit->factor > 1; ++unit) {
    if (bytes == 0 || bytes % unit->factor != 0) continue;
    return std::to_string(bytes / unit->factor) + std::string(unit->name);
  }
  return std::to_string(bytes);
}

namespace {

template <class Text>
std::string range_text(const Range& range, const Range& most, Text text) {
  if (range.first == range.last) return text(range.first);
  return (range.first == most.first ? "" : text(range.first)) + ".." +
         (range.last == most.last ? "" : text(range.last));
}

}  // namespace

std::string text_of(const Range& range, const Range& most) {
  return range_text(range, most, [](uint64_t number) { return std::to_string(number); });
}

std::string text_of_bytes(const Range& range) {
  return range_text(range, Range{}, [](uint64_t number) { return text_of_bytes(number); });
}

std::string text_of(std::chrono::milliseconds time) {
  return time.count() % 1000 == 0 ? std::to_string(time.count() / 1000) + "s"
                                  : std::to_string(time.count()) + "ms";
}

}  // namespace weft::config
