// SPDX-License-Identifier: Apache-2.0
#include "heap.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fault.hpp"
#include "weft/memory.h"

namespace weft::symwin {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;
constexpr uint64_t kTiB = kGiB << 10;
constexpr uint64_t kDefaultSlot = 16 * kGiB;
#ifdef __SANITIZE_THREAD__  // ends programs that choose an address below
constexpr uint64_t kFirst = 85 * kTiB;
#else
constexpr uint64_t kFirst = 40 * kTiB;  // where heaps may lie
#endif
constexpr uint64_t kEnd = 224 * kTiB;
constexpr uint64_t kStep = 16 * kGiB;  // from one attempt to the next, at least

uint64_t device_bytes() {
  size_t free = 0;
  size_t total = 0;
  demand_acl(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total),
             "the size of the device's memory is not known");
  return total;
}

}  // namespace

aclrtPhysicalMemProp device_memory() {
  int32_t device = 0;
  demand_acl(aclrtGetDevice(&device), "no device is current on this thread");
  aclrtPhysicalMemProp prop{};
  prop.handleType = ACL_MEM_HANDLE_TYPE_NONE;
  prop.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = static_cast<uint32_t>(device);
  return prop;
}

uint64_t device_unit() {
  aclrtPhysicalMemProp prop = device_memory();
  size_t unit = 0;
  demand_acl(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &unit),
             "the unit of physical memory is not known");
  return unit;
}

uint64_t slot_bytes(uint64_t configured) {
  const uint64_t memory = device_bytes();
  const uint64_t unit = device_unit();
  const uint64_t slot =
      configured != WEFT_NOT_CONFIGURED ? configured : std::min(kDefaultSlot, memory / unit * unit);
  if (slot > memory) {
    throw Fault(WEFT_E_PARA,
                fmt::format("hcclSymWinMaxMemSizePerRank gives windows {} bytes on every rank, and "
                            "the device has {}; configure less",
                            slot, memory));
  }
  if (slot == 0 || slot % unit != 0) {
    throw Fault(WEFT_E_PARA,
                fmt::format("hcclSymWinMaxMemSizePerRank gives windows {} bytes on every rank; "
                            "configure a multiple of {}",
                            slot, unit));
  }
  return slot;
}

Heap::Heap(uint32_t ranks, uint64_t slot) : slot_(slot) {
  const uint64_t bytes = (ranks * slot + kGiB - 1) / kGiB * kGiB;
  const uint64_t step = std::max(bytes, kStep);
  aclError error = ACL_SUCCESS;
  // Addresses may be in use, by other communicators first of all.
  for (uint64_t hint = kFirst; hint + bytes <= kEnd; hint += step) {
    void* base = nullptr;
    error = aclrtReserveMemAddressNoUCMemory(&base, bytes, 0, reinterpret_cast<void*>(hint), 1);
    if (error == ACL_SUCCESS) {
      base_ = reinterpret_cast<uint64_t>(base);
      return;
    }
    if (error == ACL_ERROR_RT_FEATURE_NOT_SUPPORT) {
      throw acl_fault(error, "symmetric windows", WEFT_E_NOT_SUPPORT);
    }
    if (error != ACL_ERROR_RT_PARAM_INVALID) break;
  }
  throw acl_fault(
      error,
      fmt::format("no {} bytes of addresses are free for the windows of {} ranks; lower "
                  "hcclSymWinMaxMemSizePerRank",
                  bytes, ranks),
      WEFT_E_INTERNAL);
}

Heap::~Heap() { aclrtReleaseMemAddress(reinterpret_cast<void*>(base_)); }

Mappings::~Mappings() {
  for (void* address : addresses_) aclrtUnmapMem(address);
}

void Mappings::add(uint64_t address, uint64_t bytes, aclrtDrvMemHandle handle) {
  addresses_.push_back(reinterpret_cast<void*>(address));
  const aclError error = aclrtMapMem(addresses_.back(), bytes, 0, handle, 0);
  if (error == ACL_SUCCESS) return;
  addresses_.pop_back();
  throw acl_fault(error, "memory cannot be mapped into the heap");
}

void Mappings::add_peer(uint64_t address, uint64_t bytes, aclrtDrvMemHandle handle,
                        int32_t device) {
  add(address, bytes, handle);
  aclrtMemAccessDesc access{};
  access.flags = ACL_RT_MEM_ACCESS_FLAGS_READWRITE;
  access.location = {static_cast<uint32_t>(device), ACL_MEM_LOCATION_TYPE_DEVICE};
  demand_acl(aclrtMemSetAccess(addresses_.back(), bytes, &access, 1),
             "the device gets no access to a peer's memory");
}

void Mappings::add_import(uint64_t address, uint64_t bytes, uint64_t shareable, int32_t device) {
  aclrtDrvMemHandle handle = nullptr;
  demand_acl(aclrtMemImportFromShareableHandleV2(&shareable, ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, 0,
                                                 &handle),
             "memory of a peer cannot be imported");
  try {
    add_peer(address, bytes, handle, device);
  } catch (...) {
    aclrtFreePhysical(handle);
    throw;
  }
  aclrtFreePhysical(handle);  // the mapping keeps the memory
}

}  // namespace weft::symwin
