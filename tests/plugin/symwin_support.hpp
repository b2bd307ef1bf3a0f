// SPDX-License-Identifier: Apache-2.0
// The plugin mem-symwin and a group that the test plays: ranks exchange through memory they share,
// and what the plugin shows is written down.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ranks.hpp"
#include "vmm.hpp"
#include "weft/memory.h"

namespace weft::test {

/// Where the ranks of all groups of a test exchange; made before the ranks start.
class Board {
 public:
  Board();
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  static constexpr uint32_t kRanks = 8;
  static constexpr uint64_t kRoom = 1U << 16;
  struct Slot {
    uint64_t length;
    uint64_t process;
    char bytes[kRoom];
  };
  Slot& slot(uint32_t rank) const { return slots_[rank]; }

 private:
  Slot* slots_;
};

constexpr uint64_t kWindowBytes = 64 * kPhysicalUnit;

/// One rank of a communicator, and the plugin's member for it. Collective to make.
class Comm {
 public:
  Comm(Rank& self, Board& board, uint64_t window_bytes = kWindowBytes);
  ~Comm();
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;

  int32_t enter(void* address, uint64_t bytes, void** window, uint32_t flag = 1);
  /// Registers and must succeed.
  void* open(void* address, uint64_t bytes);
  int32_t close(void* window);
  /// The address of a place of a peer; must succeed.
  unsigned char* peer(void* window, uint32_t rank, uint64_t offset = 0);
  int32_t peer_code(void* window, uint32_t rank, uint64_t offset);
  /// Code, handle and offset.
  struct Found {
    int32_t code;
    void* window;
    uint64_t offset;
  };
  Found find(void* address, uint64_t bytes);
  std::string explain(const void* address, uint64_t bytes);
  void detach();

  // What was shown and is not hidden.
  struct Shown {
    uint64_t bytes;
    uint64_t to;  // token of own memory, address of a peer's
    bool operator==(const Shown&) const = default;
  };
  std::map<uint64_t, Shown> own;                           // by address
  std::map<std::pair<uint32_t, uint64_t>, Shown> of_peer;  // by peer and token

  // What the group answers.
  uint32_t exchanges = 0;                  // that began
  uint32_t fail_exchange = 0;              // the number of the one that fails
  int32_t exchange_code = WEFT_E_TIMEOUT;  // and how
  int32_t show_peer_code = WEFT_OK;
  int32_t show_own_code = WEFT_OK;
  uint64_t used_address = 0;  // in a buffer of a call
  bool peer_used = false;
  std::vector<uint64_t> processes;  // may be changed before the first registration

 private:
  Rank& self_;
  Board& board_;
  weft_group group_{};
  void* member_ = nullptr;

  friend struct GroupFunctions;
};

/// The reason of the calling thread's last failure.
const std::string& reason();

/// Fails the rank unless the code is as wanted and the reason has all parts.
void expect(int32_t code, int32_t wanted, std::initializer_list<std::string> parts = {},
            const std::source_location& where = std::source_location::current());

/// The plugin's table, opened in this process.
const weft_memory& symwin();
void* symwin_context();

/// What byte `i` of `rank` is before anybody has changed it.
inline unsigned char pattern(uint32_t rank, uint64_t i) {
  return static_cast<unsigned char>(rank * 101 + i * 7 + i / 4093);
}
void fill(unsigned char* memory, uint64_t bytes, uint32_t rank);
void check_filled(const unsigned char* memory, uint64_t bytes, uint32_t rank, uint64_t first = 0,
                  const std::source_location& where = std::source_location::current());

}  // namespace weft::test
