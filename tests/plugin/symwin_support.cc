// SPDX-License-Identifier: Apache-2.0
#include "symwin_support.hpp"

namespace weft::test {
namespace {

/// A few bytes of every page are enough.
bool is_checked(uint64_t i) { return i % 4096 % 1021 == 0; }

}  // namespace

Nets::Nets() : nets_(Net::create(kNets)) {}

Nets::~Nets() { Net::destroy(nets_, kNets); }

Net& Nets::next(uint32_t rank) {
  const uint32_t net = taken_[rank]++;
  check(net < kNets, "there are enough nets");
  return nets_[net];
}

Comm::Comm(Rank& self, Nets& nets, uint64_t window_bytes)
    : group(plugin(), nets.next(self.rank()), self.rank(), self.ranks(), self.device(),
            window_bytes),
      rank_(self.rank()),
      ranks_(self.ranks()) {}

void Comm::detach() {
  group.detach();
  check(shows(0), "all is hidden at the end");
}

int32_t Comm::enter(void* address, uint64_t bytes, void** window, uint32_t flag) {
  return symwin().window_register(group.member(), address, bytes, flag, window);
}

void* Comm::open(void* address, uint64_t bytes) {
  void* window = nullptr;
  expect(enter(address, bytes, &window), WEFT_OK);
  check(window != nullptr, "a handle");
  return window;
}

int32_t Comm::close(void* window) { return symwin().window_deregister(plugin().context, window); }

unsigned char* Comm::peer(void* window, uint32_t rank, uint64_t offset) {
  void* pointer = nullptr;
  expect(symwin().window_peer(plugin().context, window, offset, rank, &pointer), WEFT_OK);
  return static_cast<unsigned char*>(pointer);
}

int32_t Comm::peer_code(void* window, uint32_t rank, uint64_t offset) {
  void* pointer = nullptr;
  return symwin().window_peer(plugin().context, window, offset, rank, &pointer);
}

Comm::Found Comm::find(void* address, uint64_t bytes) {
  Found found{};
  found.code = symwin().window_find(group.member(), address, bytes, &found.window, &found.offset);
  return found;
}

bool Comm::shows(size_t windows) const {
  bool all = group.own_places() == windows;
  for (uint32_t rank = 0; rank < ranks_; ++rank) {
    all = all && group.peer_places(rank) == (rank == rank_ ? 0 : windows);
  }
  return all;
}

MemoryPlugin& plugin() { return memory_plugin("mem-symwin.so"); }
const weft_memory& symwin() { return *plugin().table; }

size_t free_at_rest(Rank& self) {
  { const Mapped warm(kUnit); }  // what the runtime keeps from then on is no loss
  self.sync();
  const size_t bytes = free_memory();
  self.sync();
  return bytes;
}

void fill(unsigned char* memory, uint64_t bytes, uint32_t rank) {
  for (uint64_t i = 0; i < bytes; ++i) {
    if (is_checked(i)) memory[i] = pattern(rank, i);
  }
}

void check_filled(const unsigned char* memory, uint64_t bytes, uint32_t rank, uint64_t first,
                  const std::source_location& where) {
  for (uint64_t i = 0; i < bytes; ++i) {
    if (!is_checked(first + i) || memory[i] == pattern(rank, first + i)) continue;
    throw Failure(
        "byte " + std::to_string(first + i) + " of rank " + std::to_string(rank) + " is wrong",
        where);
  }
}

}  // namespace weft::test
