// SPDX-License-Identifier: Apache-2.0
// What the tests of symmetric windows share.
#pragma once

#include <cstdint>
#include <source_location>

#include "memory_group.hpp"
#include "ranks.hpp"
#include "vmm.hpp"

namespace weft::test {

/// What the communicators of a group of ranks go over; made before the ranks start.
class Nets {
 public:
  Nets();
  ~Nets();
  Nets(const Nets&) = delete;
  Nets& operator=(const Nets&) = delete;
  /// One that this rank has not had yet.
  Net& next(uint32_t rank);

 private:
  static constexpr uint32_t kNets = 6;
  Net* const nets_;
  uint32_t taken_[Net::kMaxRanks] = {};  // by rank
};

inline constexpr uint64_t kUnit = kPhysicalUnit;
inline constexpr uint64_t kWindowBytes = 64 * kUnit;

/// One rank of a communicator, and the plugin's member for it. Collective to make.
class Comm {
 public:
  Comm(Rank& self, Nets& nets, uint64_t window_bytes = kWindowBytes);

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
  /// Whether so many windows are shown, of every rank.
  bool shows(size_t windows) const;
  void detach();

  Group group;

 private:
  const uint32_t rank_;
  const uint32_t ranks_;
};

/// Opened in this process.
MemoryPlugin& plugin();
const weft_memory& symwin();

/// Bytes free on the device while no rank does anything. Collective.
size_t free_at_rest(Rank& self);

void fill(unsigned char* memory, uint64_t bytes, uint32_t rank);
void check_filled(const unsigned char* memory, uint64_t bytes, uint32_t rank, uint64_t first = 0,
                  const std::source_location& where = std::source_location::current());

}  // namespace weft::test
