// SPDX-License-Identifier: Apache-2.0
// Ranges of addresses.
#pragma once

#include <cstdint>
#include <iterator>

namespace weft::zerocopy {

/// [base, base + bytes), never empty and below WEFT_TOKEN_LIMIT.
struct Span {
  uint64_t base = 0;
  uint64_t bytes = 0;

  uint64_t end() const { return base + bytes; }
  bool contains(const Span& other) const { return base <= other.base && other.end() <= end(); }
  bool overlaps(const Span& other) const { return base < other.end() && other.base < end(); }
};

/// In a map of disjoint things by their first address, each with `bytes`: the first one that
/// overlaps the span, or end().
template <class Map>
auto find_overlap(Map& map, const Span& span) {
  auto next = map.upper_bound(span.base);
  if (next != map.begin()) {
    const auto previous = std::prev(next);
    if (Span{previous->first, previous->second.bytes}.overlaps(span)) return previous;
  }
  return next != map.end() && next->first < span.end() ? next : map.end();
}

}  // namespace weft::zerocopy
