// SPDX-License-Identifier: Apache-2.0
// Why a buffer is not used where it lies, for people.
#include <fmt/format.h>

#include <algorithm>

#include "book.hpp"

namespace weft::zerocopy {

std::string explain(const Member& member, const Span& span) {
  if (member.single()) return "a communicator of one rank uses no ranges";
  Book& book = member.book;
  const Lock lock(book.mutex);
  if (book.ranges.empty()) return "no range is set in this process";
  const auto range = book.range_of(span.base);
  if (range == book.ranges.end()) return fmt::format("{:#x} is outside every range", span.base);
  if (span.bytes > range->second.bytes - (span.base - range->first)) {
    return fmt::format("it goes beyond the end of the range at {:#x}", range->first);
  }
  for (uint64_t at = span.base; at < span.end() || at == span.base;) {
    const auto block = find_overlap(range->second.blocks, {at, 1});
    if (block == range->second.blocks.end() || block->second.state != State::kActive) {
      return fmt::format("in the range at {:#x} but not activated at {:#x}", range->first, at);
    }
    const auto& shown = block->second.shown;
    if (std::find(shown.begin(), shown.end(), &member) == shown.end()) {
      const bool covered = block->second.member->covers(member);
      return fmt::format(
          "the block at {:#x} was activated for another communicator {}", block->first,
          covered ? "that some rank has left since" : "whose processes do not cover this one");
    }
    at = block->first + block->second.bytes;
  }
  return "it is active for this communicator";
}

}  // namespace weft::zerocopy
