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
};

struct PlanStep {
  Opcode opcode = Opcode::kCopy;
  uint8_t reserved = 0;
  uint16_t ordinal = 0;  // signal, wait: which one to/from this peer within the call, from 1
  uint32_t peer = 0;
  uint32_t first = 0;  // operands[first ..): destinations, then sources
  uint32_t dst_count = 0;
  uint32_t src_count = 0;
  uint32_t carry_offset = 0;  // kSignalCarry: where in the peer's Scratch
  uint64_t length = 0;
};
static_assert(sizeof(PlanStep) == 32, "two steps in a cache line");

struct Operand {
  uint32_t base = 0;  // space * ranks + rank
  uint32_t reserved = 0;
  uint64_t offset = 0;  // bytes
};

/// The steps for one piece of the blocks.
struct PlanBody {
  std::vector<PlanStep> steps;
  std::vector<Operand> operands;
};

/// A call is carried out as `pieces` runs over consecutive pieces of every block: full ones, then
/// one that may be shorter. One piece unless Scratch is too small for whole blocks.
struct Plan {
  uint32_t pieces = 1;
  uint64_t piece_bytes = 0;  // of one block, in a full piece
  bool uses_scratch = false;
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
};

/// Bytes of a payload that fits into a signal.
inline constexpr uint32_t kCarryBytes = 32;

/// Binds, then fuses small copies into the signals that follow them. Throws Error (HCCL_E_MEMORY)
/// if Scratch cannot hold even one cache line of every block that the schedule needs.
[[nodiscard]] Plan bind(const Schedule& schedule, const Geometry& geometry);

}  // namespace weft::schedule
