// SPDX-License-Identifier: Apache-2.0
// Values that the policy writes as text: ranges of numbers and bytes, and durations.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

namespace weft::config {

/// What is wrong with a value; where it stands is the caller's to add.
class BadValue : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Both ends are inside.
struct Range {
  uint64_t first = 0;
  uint64_t last = std::numeric_limits<uint64_t>::max();

  [[nodiscard]] constexpr bool contains(uint64_t value) const {
    return first <= value && value <= last;
  }
  [[nodiscard]] constexpr bool covers(const Range& other) const {
    return first <= other.first && other.last <= last;
  }
  friend constexpr bool operator==(const Range&, const Range&) = default;
};

/// The numbers of ranks that a call can have here: a single rank needs no algorithm.
inline constexpr Range kAnyRanks = {2, std::numeric_limits<uint32_t>::max()};

/// The numbers of hosts, and of ranks on each of them: 0 stands for hosts that have different ones.
inline constexpr Range kAnyHosts = {1, std::numeric_limits<uint32_t>::max()};
inline constexpr Range kAnyPerHost = {0, std::numeric_limits<uint32_t>::max()};

/// "a..b" (both ends inside), "a..", "..b" or "a" (exactly a). A number of bytes may have a unit:
/// B, KiB, MiB, GiB or TiB. All throw BadValue.
[[nodiscard]] Range parse_bytes(std::string_view text);
/// The same without units, cut to kAnyRanks.
[[nodiscard]] Range parse_ranks(std::string_view text);
/// The same, 1 or more: of hosts, and of ranks on each.
[[nodiscard]] Range parse_hosts(std::string_view text);
/// The name of a communicator, or the beginning of names with a * behind it.
[[nodiscard]] std::string parse_communicator(std::string_view text);
/// A whole number with a unit: ms, s or min. More than 0.
[[nodiscard]] std::chrono::milliseconds parse_duration(std::string_view text);

/// As a policy writes them: "4KiB", "1000"; "..512", "4KiB..", "8"; "120s", "250ms".
[[nodiscard]] std::string text_of_bytes(uint64_t bytes);
/// `most` is the range that needs no condition: an end that is its end is left out.
[[nodiscard]] std::string text_of(const Range& range, const Range& most);
[[nodiscard]] std::string text_of_bytes(const Range& range);
[[nodiscard]] std::string text_of(std::chrono::milliseconds time);

}  // namespace weft::config
