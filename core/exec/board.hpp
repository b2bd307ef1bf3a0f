// SPDX-License-Identifier: Apache-2.0
// The memory of one rank that its peers write signals to and read its state from. One per rank and
// communicator; all ranks map all boards. Layout: Board, lines[depth][ranks], mail[ranks],
// receipts[ranks], then, on a page border, `depth` small Scratch areas and two large ones.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "comm/call.hpp"
#include "schedule/plan.hpp"

namespace weft::exec {

/// Calls that a rank may be ahead of another one: where nobody waits for an answer, ranks that
/// share a core then change places once in so many calls. A power of two.
inline constexpr uint32_t kMostDepth = 32;
constexpr uint32_t depth_of(uint32_t ranks) noexcept { return ranks <= 64 ? kMostDepth : 8; }

/// A signal from one peer, for one call in depth_of(). Written by the sender only, read by the
/// receiver only. All members but `epoch` are written with the first signal of a call and stay
/// until the receiver has ended that call.
struct alignas(64) Line {
  std::atomic<uint64_t> epoch;  // call << 16 | signals sent in this call
  uint32_t fingerprint;         // of all calls and choices so far: differs if one of them did
  uint32_t carry;               // bytes << 24 | offset in Scratch; 0 if nothing is carried
  uint64_t in;                  // the sender's buffers: AddressMap
  uint64_t out;
  std::byte data[schedule::kCarryBytes];
};
static_assert(sizeof(Line) == 64);

constexpr uint64_t epoch_of(uint64_t call, uint32_t ordinal) { return call << 16 | ordinal; }

/// What this rank is calling: read by peers that wait, to see whether it is the same.
struct alignas(64) Record {
  std::atomic<uint64_t>
      tag;  // call << 32 | fingerprint: one word, so that a reader never sees halves of two calls
  comm::CallKey key;
};

constexpr uint64_t tag_of(uint64_t call, uint32_t fingerprint) { return call << 32 | fingerprint; }

/// Collectives that the tasks engine remembers, by number.
inline constexpr uint32_t kIssued = 256;

/// How two ranks differ, where the code says that they do.
enum class FaultKind : uint32_t {
  kCall,     // rank_a calls key_a, rank_b calls key_b
  kBlock,    // rank_a sends key_a.count elements to rank_b, which expects key_b.count
  kMessage,  // the same message is key_a on rank_a and key_b on rank_b
  kBuffer,   // rank_a (and rank_b, the same) refused to issue key_a, because of what `note` says
  kPlace     // rank_a's buffer is in a window or range that rank_b does not have (any more)
};

/// Why this rank gave up: read by peers that wait.
struct alignas(64) Fault {
  std::atomic<uint32_t> raised;  // 1 once the rest is written
  int32_t code;                  // HcclResult
  uint32_t rank_a;  // mismatch: the two ranks; else rank_a is the rank that was waited for
  uint32_t rank_b;
  FaultKind kind;
  uint64_t call;        // of kMessage: number of the message
  uint64_t timeout_ms;  // that has passed
  comm::CallKey key_a;
  comm::CallKey key_b;
  char note[56];  // for people; of kBuffer only
};

/// A message from one peer. Written by the sender only, once the receipt for the one before is
/// there.
struct alignas(64) Mail {
  std::atomic<uint64_t> sequence;  // messages of this sender so far
  uint64_t place;                  // of the data: AddressMap
  uint64_t count;                  // elements
  uint8_t type;                    // HcclDataType
  uint8_t carried;                 // 1: the data is here
  std::byte data[schedule::kCarryBytes];
};
static_assert(sizeof(Mail) == 64);

/// Messages to one peer that it has taken. Written by the receiver only.
struct alignas(64) Receipt {
  std::atomic<uint64_t> sequence;
};

/// Magic of a board whose rank has left.
constexpr uint64_t closed(uint64_t magic) { return ~magic; }

struct Board {
  static constexpr uint64_t kMagic = 0x6472616f62746677;  // "wftboard"

  struct alignas(64) Identity {
    // kMagic and a hash of the communicator, since its memory may become another's board. closed()
    // of that once the rank has left; the board then stays readable for those who have calls of it
    // to end.
    std::atomic<uint64_t> magic;
    // 1 once the rank has raised its fault: it takes no part in any call any more, and its buffers
    // may be its caller's again. Beside the magic, since both are looked at together.
    std::atomic<uint32_t> gave_up;
  } identity;
  struct alignas(64) Progress {
    std::atomic<uint64_t> done;  // calls completed by this rank
  } progress;
  Fault fault;
  Record records[kMostDepth];
  Record
      issued[kIssued];  // of the tasks engine, where calls are on their way long after their issue

  [[nodiscard]] Line* lines() { return reinterpret_cast<Line*>(this + 1); }
  /// The line for signals of `from`.
  [[nodiscard]] Line* line(uint64_t call, uint32_t from, uint32_t ranks) {
    return lines() + call % depth_of(ranks) * ranks + from;
  }
  [[nodiscard]] Mail* mail(uint32_t from, uint32_t ranks) {
    return reinterpret_cast<Mail*>(lines() + size_t{depth_of(ranks)} * ranks) + from;
  }
  [[nodiscard]] Receipt* receipt(uint32_t from, uint32_t ranks) {
    return reinterpret_cast<Receipt*>(mail(ranks, ranks)) + from;
  }
};

/// Scratch areas, each with its number, of which a call uses one: small ones if the plan says so,
/// in turn, else the two large ones.
/// From one small area to the next: no power of two, or their beginnings would share a cache set.
inline constexpr uint64_t kSmallStride = schedule::kSmallScratch + 5 * schedule::kCacheLine;
constexpr uint32_t area_of(uint64_t call, bool small, uint32_t depth) noexcept {
  return static_cast<uint32_t>(small ? call % depth : depth + call % 2);
}

/// Offsets and size of a board of `ranks` ranks with two large Scratch areas of `scratch` bytes.
struct BoardLayout {
  uint64_t scratch_offset[kMostDepth + 2];
  uint64_t bytes;
};
constexpr BoardLayout board_layout(uint32_t ranks, uint64_t scratch) {
  const uint32_t depth = depth_of(ranks);
  const uint64_t head =
      sizeof(Board) + ranks * (depth * sizeof(Line) + sizeof(Mail) + sizeof(Receipt));
  BoardLayout layout{};
  uint64_t at = (head + 4095) / 4096 * 4096;
  for (uint32_t i = 0; i < depth; ++i, at += kSmallStride) layout.scratch_offset[i] = at;
  at = (at + 4095) / 4096 * 4096;
  const uint64_t area = (scratch + 4095) / 4096 * 4096;
  for (uint32_t i = depth; i < depth + 2; ++i, at += area) layout.scratch_offset[i] = at;
  layout.bytes = at;
  return layout;
}

}  // namespace weft::exec
