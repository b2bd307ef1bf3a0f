// SPDX-License-Identifier: Apache-2.0
// A schedule: what one rank does in one call, in symbolic chunks. Blind to counts, types, addresses
// and transports.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/algorithm.h"

namespace weft::schedule {

/// The shape a schedule is made for. Equal on all ranks of a call except `rank`.
struct Shape {
  uint32_t op = 0;  // WEFT_OP_*
  uint32_t ranks = 0;
  uint32_t rank = 0;
  uint32_t root = 0;
};

/// One step; its operands are operands[first ..): the destinations, then the sources.
struct Step {
  uint32_t verb = 0;  // WEFT_VERB_*
  uint32_t peer = 0;
  uint32_t first = 0;
  uint32_t dst_count = 0;
  uint32_t src_count = 0;
};

struct Schedule {
  Shape shape;
  uint32_t scratch_blocks = 0;  // blocks of Scratch that some rank's step of this schedule names
  std::vector<Step> steps;
  std::vector<weft_chunk> operands;

  [[nodiscard]] std::span<const weft_chunk> dsts(const Step& s) const {
    return {operands.data() + s.first, s.dst_count};
  }
  [[nodiscard]] std::span<const weft_chunk> srcs(const Step& s) const {
    return {operands.data() + s.first + s.dst_count, s.src_count};
  }
};

/// Most destinations, and most sources, that one step may have; also the most blocks of Scratch.
[[nodiscard]] constexpr uint64_t max_operands(uint32_t ranks) noexcept {
  return 4 * uint64_t{ranks} + 64;
}

/// Number of blocks of In and Out for an operation (algorithm.h, "Geometry").
[[nodiscard]] uint32_t in_blocks(uint32_t op, uint32_t ranks) noexcept;
[[nodiscard]] uint32_t out_blocks(uint32_t op, uint32_t ranks) noexcept;

/// Whether a rank gives data, and whether it gets any: with a root, one of them may be the root's
/// alone.
[[nodiscard]] bool has_input(const Shape& shape, uint32_t rank) noexcept;
[[nodiscard]] bool has_output(const Shape& shape, uint32_t rank) noexcept;

/// For an operation whose blocks have lengths of their own: two chunks of In or Out with the same
/// number are equally long in every call.
[[nodiscard]] uint64_t length_class(const Shape& shape, const weft_chunk& chunk) noexcept;

/// "copy", "signal": for people; "?" for an unknown number.
[[nodiscard]] const char* verb_name(uint32_t verb) noexcept;

}  // namespace weft::schedule
