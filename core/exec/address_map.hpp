// SPDX-License-Identifier: Apache-2.0
// How the ranks of a communicator name places in each other's memory. What travels is one word: the
// number of a space, and in the lower 48 bits a token. Space 0 is what the transport itself makes
// visible, there a token is an address of its owner; each memory plugin has a space of its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "exec/range_table.hpp"

namespace weft::exec {

inline constexpr uint32_t kTokenBits = 48;
inline constexpr uint32_t kTransportSpace = 0;

class AddressMap {
 public:
  /// `deltas`: by rank, what makes an address of the rank one of this process. `spaces` counts
  /// space 0.
  AddressMap(std::vector<int64_t> deltas, uint32_t spaces);
  AddressMap(const AddressMap&) = delete;
  AddressMap& operator=(const AddressMap&) = delete;

  // By memory plugins, on any thread: see weft/memory.h. Show answers false for an overlap.

  bool show_own(uint32_t space, uint64_t address, uint64_t bytes, uint64_t token);
  void hide_own(uint32_t space, uint64_t address, uint64_t bytes);
  bool show_peer(uint32_t space, uint32_t peer, uint64_t token, uint64_t bytes, uint64_t address);
  void hide_peer(uint32_t space, uint32_t peer, uint64_t token, uint64_t bytes);
  /// Whether a call after `done` found a buffer of `peer` in this space, or a message is being read
  /// from one.
  [[nodiscard]] bool peer_in_use(uint32_t space, uint32_t peer, uint64_t done) const noexcept;

  // On the way of a call: no lock, no allocation.

  /// Whether a buffer of this rank lies in the space; then `shift` makes its addresses words.
  bool find_own(uint32_t space, uint64_t address, uint64_t bytes, uint64_t* shift) const noexcept;
  [[nodiscard]] bool shows_any(uint32_t space) const noexcept {
    return !tables_[space * columns()].empty();
  }

  /// Another one after every change of what find_own() answers.
  [[nodiscard]] uint64_t own_version() const noexcept {
    return own_version_.load(std::memory_order_acquire);
  }

  /// The address here of a place of `peer`, which call number `call` uses; null if this rank does
  /// not know the place. Calls come one after another; `buffer` (below kBuffers) is one of a
  /// call's, for which the last answer is kept.
  std::byte* find(uint32_t peer, uint64_t word, uint64_t call, uint32_t buffer) noexcept {
    if (word >> kTokenBits == kTransportSpace) return by_delta(peer, word);
    return find_in_space(peer, word, call, buffer);
  }
  static constexpr uint32_t kBuffers = 2;

  /// The same for a message, until stop_reading().
  std::byte* start_reading(uint32_t peer, uint64_t word) noexcept;
  void stop_reading(uint32_t peer, uint64_t word) noexcept;

 private:
  /// How a place of a peer in one space is being used. Written before the table is looked into, so
  /// that whoever hides a place and then looks here misses nobody.
  struct Use {
    std::atomic<uint64_t> call{0};
    std::atomic<uint32_t> reading{0};
  };
  /// The last answer for a buffer of a peer, good as long as the table has this version.
  struct Answer {
    uint64_t word = 0;
    uint64_t version = 1;  // no table has that for long
    std::byte* address = nullptr;
  };

  [[nodiscard]] uint32_t ranks() const noexcept { return static_cast<uint32_t>(deltas_.size()); }
  /// Of a space: the own table, then those of the peers.
  [[nodiscard]] uint32_t columns() const noexcept { return ranks() + 1; }
  RangeTable& table_of(uint32_t space, uint32_t peer) noexcept {
    return tables_[space * columns() + 1 + peer];
  }
  [[nodiscard]] std::byte* by_delta(uint32_t peer, uint64_t word) const noexcept {
    return reinterpret_cast<std::byte*>(word + static_cast<uint64_t>(deltas_[peer]));
  }
  std::byte* find_in_space(uint32_t peer, uint64_t word, uint64_t call, uint32_t buffer) noexcept;
  std::byte* look(uint32_t peer, uint64_t word) noexcept;

  const std::vector<int64_t> deltas_;
  const uint32_t spaces_;
  std::mutex mutex_;  // of writers
  std::unique_ptr<RangeTable[]> tables_;
  std::unique_ptr<Use[]> uses_;  // [space * ranks + peer]
  std::vector<Answer> answers_;  // [peer * kBuffers + buffer]
  std::atomic<uint64_t> own_version_{0};
};

}  // namespace weft::exec
