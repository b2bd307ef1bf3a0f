// SPDX-License-Identifier: Apache-2.0
#include "bench/memory.hpp"

#include <cerrno>
#include <cstdlib>

#include "hccl/hccl_comm.h"

namespace weft::tools {
namespace {

constexpr size_t kAlignment = 4096;

size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

Memory::Memory(MemoryKind kind, size_t bytes, HcclComm comm, const Fail& fail)
    : kind_(kind), bytes_(bytes), comm_(comm), fail_(fail) {
  if (bytes == 0) return;
  switch (kind) {
    case MemoryKind::kHeap:
      need("aclrtMalloc", aclrtMalloc(&data_, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
      break;
    case MemoryKind::kMalloc:
      data_ = std::aligned_alloc(kAlignment, round_up(bytes, kAlignment));
      if (data_ == nullptr) fail_("aligned_alloc", ENOMEM);
      break;
    case MemoryKind::kSymWin:
      map();
      need("HcclCommSymWinRegister", HcclCommSymWinRegister(comm_, data_, bytes_, &window_, 1));
      break;
    case MemoryKind::kZeroCopy:
      map();
      need("HcclCommSetMemoryRange", HcclCommSetMemoryRange(comm_, data_, bytes_, 0, 0));
      need("HcclCommActivateCommMemory",
           HcclCommActivateCommMemory(comm_, data_, bytes_, 0, physical_, 0));
      break;
  }
}

/// Physical memory of the current device behind addresses of its own.
void Memory::map() {
  int32_t device = 0;
  need("aclrtGetDevice", aclrtGetDevice(&device));
  aclrtPhysicalMemProp prop{};
  prop.handleType = ACL_MEM_HANDLE_TYPE_NONE;
  prop.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location = {static_cast<uint32_t>(device), ACL_MEM_LOCATION_TYPE_DEVICE};
  size_t unit = 1;
  need("aclrtMemGetAllocationGranularity",
       aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED, &unit));
  bytes_ = round_up(bytes_, unit);
  need("aclrtReserveMemAddress", aclrtReserveMemAddress(&data_, bytes_, 0, nullptr, 0));
  need("aclrtMallocPhysical", aclrtMallocPhysical(&physical_, bytes_, &prop, 0));
  need("aclrtMapMem", aclrtMapMem(data_, bytes_, 0, physical_, 0));
}

void Memory::unmap() {
  need("aclrtUnmapMem", aclrtUnmapMem(data_));
  need("aclrtFreePhysical", aclrtFreePhysical(physical_));
  need("aclrtReleaseMemAddress", aclrtReleaseMemAddress(data_));
}

Memory::~Memory() {
  if (data_ == nullptr) return;
  switch (kind_) {
    case MemoryKind::kHeap:
      need("aclrtFree", aclrtFree(data_));
      break;
    case MemoryKind::kMalloc:
      std::free(data_);
      break;
    case MemoryKind::kSymWin:
      need("HcclCommSymWinDeregister", HcclCommSymWinDeregister(window_));
      unmap();
      break;
    case MemoryKind::kZeroCopy:
      need("HcclCommDeactivateCommMemory", HcclCommDeactivateCommMemory(comm_, data_));
      need("HcclCommUnsetMemoryRange", HcclCommUnsetMemoryRange(comm_, data_));
      unmap();
      break;
  }
}

}  // namespace weft::tools
