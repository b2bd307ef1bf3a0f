// SPDX-License-Identifier: Apache-2.0
#include "comm/memory_check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/names.hpp"
#include "plugin/registry.hpp"

namespace weft::comm {
namespace {

using Result = MemoryCheck::Result;
using Finding = MemoryCheck::Finding;

constexpr const char* kKeep = "keep it allocated until the stream has been synchronised";

uint64_t number(const void* address) { return reinterpret_cast<uint64_t>(address); }

std::string hex(uint64_t address) { return fmt::format("{:#x}", address); }

/// The word at an aligned address, whatever other threads do with it. May read beyond an object
/// that is smaller than a word, but never beyond its page.
__attribute__((noinline, no_sanitize("address"), no_sanitize("thread"))) uint64_t word_at(
    uint64_t address) {
  return *reinterpret_cast<const volatile uint64_t*>(address);
}

/// Elements that are large enough to be addresses on purpose.
bool holds_addresses(int32_t type) {
  return type == HCCL_DATA_TYPE_INT64 || type == HCCL_DATA_TYPE_UINT64;
}

/// The forms of in-place that operators have: in and out may overlap in these.
bool in_place(const Call& call, const CallShape& shape) {
  const uint64_t in = number(call.in);
  const uint64_t out = number(call.out);
  const uint64_t slot = shape.rank * shape.block_bytes;
  switch (call.key.op) {
    case WEFT_OP_ALL_REDUCE:
    case WEFT_OP_REDUCE:
      return in == out;
    case WEFT_OP_REDUCE_SCATTER:
    case WEFT_OP_SCATTER:
      return out == in || out == in + slot;
    case WEFT_OP_ALL_GATHER:
      return in == out + slot;
    default:
      return false;
  }
}

std::string in_place_advice(uint32_t op) {
  switch (op) {
    case WEFT_OP_ALL_REDUCE:
    case WEFT_OP_REDUCE:
      return "pass one address for both, or buffers that lie apart";
    case WEFT_OP_REDUCE_SCATTER:
    case WEFT_OP_SCATTER:
      return "recvBuf may be sendBuf or this rank's block of it; else they must lie apart";
    case WEFT_OP_ALL_GATHER:
      return "sendBuf may be this rank's block of recvBuf; else they must lie apart";
    default:
      return "pass buffers and blocks that lie apart";
  }
}

}  // namespace

std::string MemoryCheck::Piece::name() const {
  if (message != nullptr) return fmt::format("buf of item {}", number);
  return is_block ? fmt::format("block {} of {}", number, buffer) : buffer;
}

std::string MemoryCheck::Piece::full_name() const {
  std::string text = name();
  if (message != nullptr) {
    CallKey key;
    key.op = message->sends ? kOpSend : kOpReceive;
    key.count = message->count;
    key.type = static_cast<uint8_t>(message->type);
    key.root = message->peer;
    text += fmt::format(" ({})", describe(key));
  }
  return fmt::format("{} at {}, {} bytes,", text, hex(begin), bytes);
}

weft_address MemoryCheck::look_up(uint64_t address) const {
  weft_address place{};
  place.head = WEFT_HEAD(weft_address);
  const int32_t code =
      transport_.look_up(endpoint_, reinterpret_cast<const void*>(address), &place);
  if (code == WEFT_OK) return place;
  throw Error(static_cast<HcclResult>(code),
              fmt::format("WEFT_CHECK=memory: the transport cannot look up {}: {}", hex(address),
                          plugin::take_failure()));
}

/// The runtime's: one live allocation, or mappings that follow each other without a gap.
Result MemoryCheck::look_in_books(Piece& piece) const {
  const weft_address place = look_up(piece.begin);
  piece.on_device = place.kind == WEFT_ADDRESS_DEVICE || place.kind == WEFT_ADDRESS_MAPPED;
  if (place.kind == WEFT_ADDRESS_FREED) {
    return Finding{fmt::format("{} is freed memory of device {}, or was never allocated; {}",
                               piece.full_name(), place.device, kKeep),
                   piece.name() + " is freed device memory"};
  }
  if (place.kind == WEFT_ADDRESS_OTHER) return std::nullopt;
  uint64_t end = place.base + place.bytes;
  while (place.kind == WEFT_ADDRESS_MAPPED && end < piece.end()) {
    const weft_address next = look_up(end);
    if (next.kind != WEFT_ADDRESS_MAPPED || next.base != end) break;
    end = next.base + next.bytes;
  }
  if (piece.end() <= end) return std::nullopt;
  const char* what = "allocation";
  if (place.kind == WEFT_ADDRESS_MAPPED) what = "mapped memory";
  if (place.kind == WEFT_ADDRESS_PINNED) what = "page-locked memory";
  const uint64_t offset = piece.begin - place.base;
  return Finding{
      fmt::format(
          "{} is out of range: it begins at offset {} of its {}, which has {} bytes from {} "
          "on, and ends {} bytes behind it; {} {} bytes or more, or pass a smaller count",
          piece.full_name(), offset, what, end - place.base, hex(place.base), piece.end() - end,
          place.kind == WEFT_ADDRESS_MAPPED ? "map" : "allocate", offset + piece.bytes),
      fmt::format("{} is longer than its {}", piece.name(), what)};
}

/// The kernel's, which need not know the memory of a device.
Result MemoryCheck::look_in_mappings(const Piece& piece, const Mappings& mappings) {
  const auto bad = mappings.first_bad(piece.begin, piece.bytes, piece.written);
  if (!bad) return std::nullopt;
  const std::string where =
      fmt::format("{} (offset {})", hex(bad->address), bad->address - piece.begin);
  switch (bad->why) {
    case Mappings::Why::kReadOnly:
      return Finding{fmt::format("{} cannot be written: {} is read-only memory; pass memory that "
                                 "can be written",
                                 piece.full_name(), where),
                     piece.name() + " is read-only memory"};
    case Mappings::Why::kReserved:
      return Finding{fmt::format("{} is not all memory: {} is an address that is reserved, but has "
                                 "no memory that may be used (unmapped, or never mapped); {}",
                                 piece.full_name(), where, kKeep),
                     piece.name() + " is not mapped"};
    default:
      return Finding{fmt::format("{} is not all memory: {} was freed, unmapped or never allocated; "
                                 "{}",
                                 piece.full_name(), where, kKeep),
                     piece.name() + " is freed or unmapped"};
  }
}

/// A host variable whose value is the address of the buffer that was meant.
Result MemoryCheck::look_for_pointer(const Piece& piece, const Mappings& mappings) const {
  if (piece.origin % sizeof(uint64_t) != 0 || holds_addresses(piece.type)) return std::nullopt;
  const uint32_t kind = look_up(piece.origin).kind;
  if (kind != WEFT_ADDRESS_OTHER && kind != WEFT_ADDRESS_PINNED) return std::nullopt;
  if (mappings.first_bad(piece.origin, sizeof(uint64_t), false)) return std::nullopt;
  const uint64_t word = word_at(piece.origin);
  if (word == 0) return std::nullopt;
  const weft_address target = look_up(word);
  if (target.kind != WEFT_ADDRESS_DEVICE && target.kind != WEFT_ADDRESS_MAPPED) return std::nullopt;
  const std::string name = piece.is_block ? piece.buffer : piece.name();
  return Finding{
      fmt::format("{} {} is the address of a pointer: it is host memory that begins with {}, which "
                  "is an address in memory of device {}; pass the pointer itself, not its address",
                  name, hex(piece.origin), hex(word), target.device),
      name + " is the address of a pointer"};
}

/// Two pieces that overlap, one of which is written.
Result MemoryCheck::look_for_overlap(const std::string& advice) {
  std::sort(pieces_.begin(), pieces_.end(),
            [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
  const Piece* farthest = nullptr;          // of all before, the one that ends last
  const Piece* farthest_written = nullptr;  // the same of those that are written
  const auto extend = [](const Piece*& known, const Piece& piece) {
    if (known == nullptr || piece.end() > known->end()) known = &piece;
  };
  for (const Piece& piece : pieces_) {
    const Piece* other = piece.written ? farthest : farthest_written;
    if (other != nullptr && other->end() > piece.begin) {
      const uint64_t bytes = std::min(other->end(), piece.end()) - piece.begin;
      return Finding{fmt::format("{} and {} overlap in {} bytes from {} on; {}", other->full_name(),
                                 piece.full_name(), bytes, hex(piece.begin), advice),
                     fmt::format("{} and {} overlap", other->name(), piece.name())};
    }
    extend(farthest, piece);
    if (piece.written) extend(farthest_written, piece);
  }
  return std::nullopt;
}

Result MemoryCheck::look_at_pieces() {
  for (Piece& piece : pieces_) {
    if (Result found = look_in_books(piece)) return found;
  }
  const auto outside = [](const Piece& piece) { return !piece.on_device; };
  if (std::none_of(pieces_.begin(), pieces_.end(), outside)) return std::nullopt;
  const Mappings mappings = Mappings::read();
  uint64_t origin = 0;
  for (const Piece& piece : pieces_) {
    if (piece.on_device) continue;
    if (Result found = look_in_mappings(piece, mappings)) return found;
    if (piece.origin == origin) continue;  // another block of it
    origin = piece.origin;
    if (Result found = look_for_pointer(piece, mappings)) return found;
  }
  return std::nullopt;
}

void MemoryCheck::add_side(const Piece& whole, const uint64_t* offsets, const uint64_t* lengths,
                           uint32_t blocks) {
  if (offsets == nullptr) {
    add(whole);
    return;
  }
  for (uint32_t i = 0; i < blocks; ++i) {
    Piece block = whole;
    block.begin = whole.origin + offsets[i];
    block.bytes = lengths[i];
    block.number = i;
    block.is_block = true;
    add(block);
  }
}

Result MemoryCheck::look_at(const Call& call, const CallShape& shape) {
  pieces_.clear();
  const bool broadcast = call.key.op == WEFT_OP_BROADCAST;
  Piece in;
  in.origin = in.begin = number(call.in);
  in.bytes = shape.in_bytes;
  in.type = call.key.type;
  in.buffer = broadcast ? "buf" : "sendBuf";
  in.written = broadcast && call.key.root != shape.rank;
  Piece out = in;
  out.origin = out.begin = number(call.out);
  out.bytes = broadcast ? 0 : shape.out_bytes;  // one buffer, which was added already
  out.buffer = "recvBuf";
  out.written = true;
  const Lengths& given = call.lengths;
  const schedule::Blocks& blocks = shape.blocks;
  const uint64_t n = shape.ranks;
  add_side(in, given.in_counts == nullptr ? nullptr : blocks.offsets, blocks.lengths, shape.ranks);
  add_side(out, given.out_counts == nullptr ? nullptr : blocks.offsets + n,
           given.out_counts == nullptr ? nullptr : blocks.lengths + n, shape.ranks);
  if (Result found = look_at_pieces()) return found;
  if (in_place(call, shape)) return std::nullopt;
  return look_for_overlap(in_place_advice(call.key.op));
}

Result MemoryCheck::look_at(std::span<const Message> messages) {
  pieces_.clear();
  for (size_t i = 0; i < messages.size(); ++i) {
    const Message& message = messages[i];
    Piece piece;
    piece.origin = piece.begin = number(message.buffer);
    piece.bytes = message.count * type_size(message.type);
    piece.written = !message.sends;
    piece.type = message.type;
    piece.buffer = message.sends ? "sendBuf" : "recvBuf";
    piece.number = i;
    if (messages.size() > 1) piece.message = &message;
    add(piece);
  }
  if (Result found = look_at_pieces()) return found;
  return look_for_overlap("what is received must lie apart from all else in one batch or group");
}

Result MemoryCheck::look_at(const char* name, const void* address) {
  Piece piece;
  piece.origin = piece.begin = number(address);
  piece.type = HCCL_DATA_TYPE_INT8;
  piece.buffer = name;
  return look_for_pointer(piece, Mappings::read());
}

}  // namespace weft::comm
