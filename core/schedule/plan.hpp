// SPDX-License-Identifier: Apache-2.0
// A plan: a schedule bound to a count and a type. Free of addresses: an operand is a base (space of
// a rank) and an offset, so one plan serves every call of this size whatever its buffers are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/schedule.hpp"

namespace weft::schedule {

enum class Opcode : uint8_t {
  kCopy,         // dsts = src; length in bytes
  kReduce,       // dsts = src op src ...; length in elements
  kSignal,       // to peer
  kWait,         // for peer
  kSignalCarry,  // to peer, with `length` bytes of the one source inside the signal, meant for its
                 // Scratch
  kCopyBlock,    // the same as kCopy and kReduce, of a block whose length comes with the call
  kReduceBlock,
};

/// Kinds of Scratch areas. The smaller ones are more, so that a rank can be further ahead in calls
/// that need no more room.
enum class Areas : uint8_t { kSmall, kMiddle, kLarge };

/// Most bytes that a plan may use of a Scratch area, and of each block there. The limit of a block
/// keeps what a rank runs through, area after area, in the caches.
struct AreaLimits {
  uint64_t scratch;
  uint64_t block;
};
inline constexpr AreaLimits kSmallArea{uint64_t{8} << 10, uint64_t{1} << 10};
inline constexpr AreaLimits kMiddleArea{uint64_t{64} << 10, uint64_t{64} << 10};

struct PlanStep {
  Opcode opcode = Opcode::kCopy;
  uint8_t reserved = 0;
  uint16_t ordinal = 0;  // signal, wait: which one to/from this peer within the call, from 1
  uint32_t peer = 0;     // signal, wait; kCopyBlock, kReduceBlock: index of the length in the call
  uint32_t first = 0;    // operands[first ..): destinations, then sources
  uint32_t dst_count = 0;
  uint32_t src_count = 0;
  uint32_t carry_offset = 0;  // kSignalCarry: where in the peer's Scratch
  uint64_t length = 0;
};
static_assert(sizeof(PlanStep) == 32, "two steps in a cache line");

struct Operand {
  uint32_t base = 0;    // space * ranks + rank
  uint32_t block = 0;   // 0, or 1 + index of an offset in the call, which is added
  uint64_t offset = 0;  // bytes
};

/// The steps for one piece of the blocks.
struct PlanBody {
  std::vector<PlanStep> steps;
  std::vector<Operand> operands;
};

/// What a call of an operation with lengths brings beside its addresses, for n ranks: bytes, n of
/// the rank's In, then n of its Out. An operation that has one block there uses none.
struct Blocks {
  const uint64_t* offsets = nullptr;
  const uint64_t* lengths = nullptr;
};

/// A call is carried out as `pieces` runs over consecutive pieces of every block: full ones, then
/// one that may be shorter. One piece unless Scratch is too small for whole blocks.
struct Plan {
  uint32_t pieces = 1;       // of an operation with lengths: known only with the call
  uint64_t piece_bytes = 0;  // of one block, in a full piece; UINT64_MAX if it has no limit
  uint32_t element_bytes = 0;
  bool uses_scratch = false;
  Areas areas = Areas::kLarge;
  bool has_lengths = false;  // blocks have lengths of their own: there is one body, `last`
  bool own_blocks =
      false;      // ranks do not know each other's lengths: a signal tells a peer its block
  PlanBody full;  // empty if there is one piece only
  PlanBody last;
  uint64_t block_bytes = 0;
  uint64_t in_bytes = 0;  // of the whole In and Out of this rank
  uint64_t out_bytes = 0;
};

/// Where the data of a call may go.
struct Geometry {
  uint64_t count = 0;  // elements of one block
  uint32_t element_bytes = 0;
  uint64_t scratch_bytes = 0;  // room of one Scratch area
  // Staged: In and Out of a call are areas of their own, through which its blocks go piece by
  // piece. There they lie as in Scratch, one piece after the other.
  bool staged = false;
  uint64_t in_bytes = 0;  // room of the areas
  uint64_t out_bytes = 0;
  uint64_t temp_bytes = 0;  // room for one piece, of a rank's own
};

/// Bytes of a payload that fits into a signal.
inline constexpr uint32_t kCarryBytes = 32;

inline constexpr uint64_t kCacheLine = 64;

/// Bytes that a piece of a block may have, a multiple of a cache line, so that Scratch and areas
/// can hold it of every block that the schedule needs; UINT64_MAX if it needs none there. The same
/// on all ranks. Throws Error (HCCL_E_MEMORY) if that is none.
[[nodiscard]] uint64_t piece_room(const Schedule& schedule, const Geometry& geometry);

/// From one block to the next in Scratch and in areas, for pieces of `bytes`.
[[nodiscard]] constexpr uint64_t piece_stride(uint64_t bytes) noexcept {
  return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

/// `count` as a PlanStep keeps it. Throws Error if it is too large.
[[nodiscard]] uint16_t ordinal_of(uint32_t peer, uint32_t count);

/// Binds, then fuses small copies into the signals that follow them, unless staged. Throws Error
/// (HCCL_E_MEMORY) if Scratch cannot hold even one cache line of every block that the schedule
/// needs.
[[nodiscard]] Plan bind(const Schedule& schedule, const Geometry& geometry);

/// The same for an operation with lengths; the count is not used.
[[nodiscard]] Plan bind_blocks(const Schedule& schedule, const Geometry& geometry);

}  // namespace weft::schedule
