// SPDX-License-Identifier: Apache-2.0
// The memory of one rank that its peers write signals to and read its state from. One per rank and
// communicator; all ranks map all boards. Layout: Board, lines[depth][ranks], mail[ranks],
// receipts[ranks], then, on page borders, small, middle and large Scratch areas.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "comm/call.hpp"
#include "schedule/plan.hpp"

namespace weft::exec {

/// Calls that a rank may be ahead of another one: where nobody waits for an answer, ranks that
/// share a core then change places once in so many calls. A power of two.
inline constexpr uint32_t kMostDepth = 128;
constexpr uint32_t depth_of(uint32_t ranks) noexcept {
  if (ranks <= 2) return 32;  // they need not share a core
  return ranks <= 16 ? kMostDepth : ranks <= 64 ? 32 : 8;
}
/// Calls of which a rank may have begun the next before it has ended the first: fewer than it may
/// be ahead of others, so that who has begun a call is known to have ended another of not long ago.
constexpr uint32_t in_flight_of(uint32_t depth) noexcept { return depth / 2; }

/// A signal from one peer, for one call in depth_of(). Written by the sender only, read by the
/// receiver only. All members but `epoch` are written with the first signal of a call and stay
/// until the receiver has ended that call.
struct alignas(64) Line {
  std::atomic<uint64_t> epoch;  // call << 16 | signals sent in this call
  uint32_t fingerprint;         // of all calls and choices so far: differs if one of them did
  uint32_t carry;  // kEarly, if it was so; bytes << 24 | offset in Scratch if something is carried
  uint64_t in;     // the sender's buffers: AddressMap
  uint64_t out;
  std::byte data[schedule::kCarryBytes];
};
static_assert(sizeof(Line) == 64);

/// In Line::carry: the sender had not ended its call before this one.
inline constexpr uint32_t kEarly = 1U << 31;

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
    // kMagic and a number of the communicator, since its memory may become another's board.
    // closed() of that once the rank has left; the board then stays readable for those who have
    // calls of it to end.
    std::atomic<uint64_t> magic;
    // 1 once the rank has raised its fault: it takes no part in any call any more, and its buffers
    // may be its caller's again. Beside the magic, since both are looked at together.
    std::atomic<uint32_t> gave_up;
  } identity;
  struct alignas(64) Progress {
    std::atomic<uint64_t> done;    // calls whose data are all there, on this rank
    std::atomic<uint64_t> passed;  // calls that it has ended: it looks at no board for them
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

/// The Scratch areas of one kind. A call takes the next one of those that its plan needs.
struct AreaRange {
  uint32_t first;  // its number
  uint32_t count;
};
inline constexpr uint32_t kMiddleAreas = 32;
constexpr AreaRange areas_of(schedule::Areas kind, uint32_t depth) noexcept {
  const uint32_t middle = depth < kMiddleAreas ? depth : kMiddleAreas;
  if (kind == schedule::Areas::kSmall) return {0, depth};
  if (kind == schedule::Areas::kMiddle) return {depth, middle};
  return {depth + middle, 2};
}
constexpr uint32_t area_of(uint64_t call, schedule::Areas kind, uint32_t depth) noexcept {
  const AreaRange range = areas_of(kind, depth);
  return range.first + static_cast<uint32_t>(call % range.count);
}
constexpr uint32_t area_count(uint32_t depth) noexcept {
  const AreaRange large = areas_of(schedule::Areas::kLarge, depth);
  return large.first + large.count;
}
inline constexpr uint32_t kMostAreas = area_count(kMostDepth);

/// Offsets and size of a board of `ranks` ranks with two large Scratch areas of `scratch` bytes.
struct BoardLayout {
  uint64_t scratch_offset[kMostAreas];
  uint64_t bytes;
};
constexpr BoardLayout board_layout(uint32_t ranks, uint64_t scratch) {
  using schedule::Areas;
  const uint32_t depth = depth_of(ranks);
  const uint64_t head =
      sizeof(Board) + ranks * (depth * sizeof(Line) + sizeof(Mail) + sizeof(Receipt));
  const auto pages = [](uint64_t bytes) { return (bytes + 4095) / 4096 * 4096; };
  BoardLayout layout{};
  layout.bytes = pages(head);
  const auto lay_out = [&](Areas kind, uint64_t stride) {
    const AreaRange range = areas_of(kind, depth);
    for (uint32_t i = range.first; i < range.first + range.count; ++i, layout.bytes += stride) {
      layout.scratch_offset[i] = layout.bytes;
    }
    layout.bytes = pages(layout.bytes);
  };
  // From one area to the next it is no power of two, or their beginnings would share a cache set.
  lay_out(Areas::kSmall, schedule::kSmallArea.scratch + 5 * schedule::kCacheLine);
  lay_out(Areas::kMiddle, schedule::kMiddleArea.scratch + 5 * schedule::kCacheLine);
  lay_out(Areas::kLarge, pages(scratch));
  return layout;
}

}  // namespace weft::exec
