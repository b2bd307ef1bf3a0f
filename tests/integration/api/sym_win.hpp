// SPDX-License-Identifier: Apache-2.0
// What the tests of symmetric windows share.
#pragma once

#include <cstdint>
#include <string>

#include "hccl/hccl_comm.h"
#include "hccl/hccl_sym_win.h"
#include "ranks.hpp"
#include "vmm.hpp"
#include "weft/comm.h"

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

/// That the last call took its buffers this way.
inline void check_way(HcclComm comm, uint32_t way,
                      const std::source_location& where = std::source_location::current()) {
  weft_call_info info{};
  info.head = WEFT_HEAD(weft_call_info);
  ok(weft_comm_last_call(comm, &info), where);
  const auto check_one = [&](uint32_t taken, const char* why) {
    if (taken == WEFT_WAY_NONE || taken == way) return;
    throw Failure(std::string("went by ") + weft_way_name(taken) + ": " + why, where);
  };
  check_one(info.in_way, info.in_why);
  check_one(info.out_way, info.out_why);
  check(info.in_way == way || info.out_way == way, "no buffer took the way", where);
}

/// The value of element `i` that a rank sends.
inline int32_t element(uint32_t rank, uint64_t i) {
  return static_cast<int32_t>(rank * 1000003 + i * 7 + i / 1021);
}

}  // namespace weft::test
