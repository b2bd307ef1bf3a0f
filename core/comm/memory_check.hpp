// SPDX-License-Identifier: Apache-2.0
// WEFT_CHECK=memory: whether the buffers of a call are memory that the call may use, by the books
// of the runtime and of the kernel. For people who look for a mistake: it allocates, asks and reads
// files as it likes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/call.hpp"
#include "comm/mappings.hpp"
#include "comm/message.hpp"
#include "schedule/plan.hpp"
#include "weft/transport.h"

namespace weft::comm {

/// What a call does with its buffers on this rank, beside what its arguments say. Bytes.
struct CallShape {
  uint32_t rank = 0;
  uint32_t ranks = 1;
  uint64_t in_bytes = 0;  // 0: not looked at
  uint64_t out_bytes = 0;
  uint64_t block_bytes = 0;  // where all blocks have one length
  schedule::Blocks blocks;   // else
};

class MemoryCheck {
 public:
  /// What is wrong with a buffer.
  struct Finding {
    std::string text;   // all of it, and what to do
    std::string brief;  // which buffer and what, for the other ranks
  };
  using Result = std::optional<Finding>;

  /// Both must outlive it.
  MemoryCheck(const weft_transport& transport, void* endpoint)
      : transport_(transport), endpoint_(endpoint) {}

  // The first thing that is wrong. They throw Error if the books cannot be read.

  [[nodiscard]] Result look_at(const Call& call, const CallShape& shape);
  [[nodiscard]] Result look_at(std::span<const Message> messages);
  /// An address that is no buffer, as those of windows and ranges: only whether it is the address
  /// of a pointer.
  [[nodiscard]] Result look_at(const char* name, const void* address);

 private:
  /// Bytes that the call reads or writes: a buffer or a block of it.
  struct Piece {
    uint64_t begin = 0;
    uint64_t bytes = 0;
    bool written = false;
    int32_t type = 0;                  // HcclDataType
    const char* buffer = nullptr;      // name of the argument
    uint64_t origin = 0;               // where the buffer begins
    uint64_t number = 0;               // of the block or message
    bool is_block = false;             // of many
    bool on_device = false;            // by the runtime's books
    const Message* message = nullptr;  // one of many
    [[nodiscard]] uint64_t end() const { return begin + bytes; }
    [[nodiscard]] std::string name() const;
    [[nodiscard]] std::string full_name() const;
  };

  void add(const Piece& piece) {
    if (piece.bytes > 0) pieces_.push_back(piece);
  }
  void add_side(const Piece& whole, const uint64_t* offsets, const uint64_t* lengths,
                uint32_t blocks);
  [[nodiscard]] Result look_at_pieces();
  [[nodiscard]] Result look_in_books(Piece& piece) const;
  [[nodiscard]] static Result look_in_mappings(const Piece& piece, const Mappings& mappings);
  [[nodiscard]] Result look_for_pointer(const Piece& piece, const Mappings& mappings) const;
  [[nodiscard]] Result look_for_overlap(const std::string& advice);
  [[nodiscard]] weft_address look_up(uint64_t address) const;

  const weft_transport& transport_;
  void* const endpoint_;
  std::vector<Piece> pieces_;  // of the call that is looked at
};

}  // namespace weft::comm
