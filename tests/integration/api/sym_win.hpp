// SPDX-License-Identifier: Apache-2.0
// What the tests of symmetric windows share.
#pragma once

#include <cstdint>

#include "hccl/hccl_sym_win.h"
#include "own_memory.hpp"

namespace weft::test {

/// A communicator of the whole group, with room for windows of so many GB on every rank.
inline HcclComm join_with_windows(Rank& rank, uint64_t gigabytes) {
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  config.hcclSymWinMaxMemSizePerRank = gigabytes;
  return rank.join(&config);
}

inline HcclCommSymWindow open_window(HcclComm comm, void* address, uint64_t bytes) {
  HcclCommSymWindow window = nullptr;
  ok(HcclCommSymWinRegister(comm, address, bytes, &window, 1));
  return window;
}

inline HcclCommSymWindow open_window(HcclComm comm, const Mapped& memory) {
  return open_window(comm, memory.data(), memory.size());
}

inline unsigned char* peer_pointer(HcclCommSymWindow window, uint32_t rank, size_t offset = 0) {
  void* pointer = nullptr;
  ok(HcclSymWinGetPeerPointer(window, offset, rank, &pointer));
  return static_cast<unsigned char*>(pointer);
}

inline void barrier(HcclComm comm, const Stream& stream) {
  ok(HcclBarrier(comm, stream));
  stream.synchronize();
}

/// The value of element `i` that a rank sends.
inline int32_t element(uint32_t rank, uint64_t i) {
  return static_cast<int32_t>(rank * 1000003 + i * 7 + i / 1021);
}

}  // namespace weft::test
