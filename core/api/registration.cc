// SPDX-License-Identifier: Apache-2.0
// One-sided registration of memory.
#include <fmt/format.h>

#include <cstdint>
#include <set>

#include "api/export.hpp"
#include "api/operators.hpp"
#include "hccl/hccl_comm.h"

namespace weft::api {
namespace {

constexpr uint32_t kMostPeers = 768;

std::set<uint32_t> distinct_peers(const comm::Communicator& group, const uint32_t* ranks,
                                  uint32_t count) {
  if (count == 0 || count > kMostPeers) {
    throw Error(HCCL_E_PARA,
                fmt::format("peerRankNum is {}; allowed are 1 to {}", count, kMostPeers));
  }
  std::set<uint32_t> peers;
  for (uint32_t i = 0; i < count; ++i) {
    check_rank(ranks[i], "an entry of peerRanks", group);
    if (!peers.insert(ranks[i]).second) {
      throw Error(HCCL_E_PARA, fmt::format("peerRanks names rank {} twice", ranks[i]));
    }
  }
  return peers;
}

}  // namespace
}  // namespace weft::api

using weft::api::communicator;
using weft::api::require_all;

extern "C" {

WEFT_API HcclResult HcclCommRegister(HcclComm comm, void* addr, uint64_t size, void** handle,
                                     uint32_t) {
  return weft::guard("HcclCommRegister", [&] {
    require_all({{"comm", comm}, {"addr", addr}, {"handle", handle}});
    if (size == 0) throw weft::Error(HCCL_E_PARA, "size is 0");
    if (size > UINTPTR_MAX - reinterpret_cast<uintptr_t>(addr)) {
      throw weft::Error(HCCL_E_PARA, "addr and size lead beyond the end of all addresses");
    }
    *handle = communicator(comm).registrations().add();
    return HCCL_SUCCESS;
  });
}

WEFT_API HcclResult HcclCommDeregister(HcclComm comm, void* handle) {
  return weft::guard("HcclCommDeregister", [&] {
    require_all({{"comm", comm}, {"handle", handle}});
    communicator(comm).registrations().remove(handle);
    return HCCL_SUCCESS;
  });
}

WEFT_API HcclResult HcclCommExchangeMem(HcclComm comm, void* windowHandle, uint32_t* peerRanks,
                                        uint32_t peerRankNum) {
  return weft::guard("HcclCommExchangeMem", [&] {
    require_all({{"comm", comm}, {"windowHandle", windowHandle}, {"peerRanks", peerRanks}});
    weft::comm::Communicator& group = communicator(comm);
    const std::set<uint32_t> peers = weft::api::distinct_peers(group, peerRanks, peerRankNum);
    group.registrations().exchange(windowHandle, peers, group.options().connect_timeout);
    return HCCL_SUCCESS;
  });
}

}  // extern "C"
