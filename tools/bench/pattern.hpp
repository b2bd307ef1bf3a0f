// SPDX-License-Identifier: Apache-2.0
// The data of a bench: what every rank sends and what must come out, as functions of rank and
// index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/spec.hpp"

namespace weft::tools {

/// An endless sequence of elements, repeated after kPeriod: a prime, so that no shift by a block or
/// a part of one maps it onto itself.
class Pattern {
 public:
  static constexpr uint64_t kPeriod = 16381;

  Pattern(size_t element, std::vector<std::byte> table);

  /// Bytes of one element.
  size_t element() const { return element_; }
  /// Elements first .. first + count - 1.
  void write(std::byte* to, uint64_t first, uint64_t count) const;
  /// How many of `count` elements differ from those of the sequence, bit by bit.
  uint64_t mismatches(const std::byte* data, uint64_t first, uint64_t count) const;

 private:
  size_t element_;
  std::vector<std::byte> table_;
};

/// What `rank` sends.
///
/// For a reduction: whole numbers, small enough that every result is exact in every type and in
/// every order of summation. Else: arbitrary bits.
Pattern input_pattern(const Spec& spec, uint32_t rank);

/// The reduction of what all ranks send.
Pattern reduced_pattern(const Spec& spec);

/// Untouched memory: the same bytes in every element, and in none of a reduction.
Pattern untouched_pattern(const Spec& spec);

// Patterns by their source: a rank, or one of these.
inline constexpr uint32_t kReduced = UINT32_MAX;
inline constexpr uint32_t kUntouched = UINT32_MAX - 1;
Pattern pattern_of(const Spec& spec, uint32_t source);

}  // namespace weft::tools
