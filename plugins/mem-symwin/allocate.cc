// SPDX-License-Identifier: Apache-2.0
// Memory that can be registered, in one call: addresses, physical memory, and one mapped at the
// other.
#include <fmt/format.h>

#include "context.hpp"
#include "fault.hpp"

namespace weft::symwin {

void* allocate_memory(Context& context, uint64_t bytes) {
  const uint64_t unit = device_unit();
  const uint64_t whole = (bytes + unit - 1) / unit * unit;
  if (whole < bytes) throw Fault(WEFT_E_OOM, fmt::format("no device has {} bytes", bytes));
  const aclrtPhysicalMemProp prop = device_memory();
  void* address = nullptr;
  aclrtDrvMemHandle physical = nullptr;
  aclError error = aclrtReserveMemAddress(&address, whole, 0, nullptr, 1);
  if (error != ACL_SUCCESS) {
    throw acl_fault(error, fmt::format("no {} bytes of addresses", whole), WEFT_E_OOM);
  }
  error = aclrtMallocPhysical(&physical, whole, &prop, 0);
  if (error == ACL_SUCCESS) {
    error = aclrtMapMem(address, whole, 0, physical, 0);
    if (error != ACL_SUCCESS) aclrtFreePhysical(physical);
  }
  if (error != ACL_SUCCESS) {
    const Fault fault =
        acl_fault(error, fmt::format("no {} bytes of device memory", whole), WEFT_E_OOM);
    aclrtReleaseMemAddress(address);
    throw Fault(fault);
  }
  const std::lock_guard lock(context.mutex);
  context.allocated[address] = physical;
  return address;
}

void free_memory(Context& context, void* pointer) {
  const std::lock_guard lock(context.mutex);
  const auto found = context.allocated.find(pointer);
  if (found == context.allocated.end() || context.process != getpid()) {
    throw Fault(WEFT_E_NOT_FOUND, fmt::format("{} is not from HcommMemAlloc", pointer));
  }
  const auto address = reinterpret_cast<uint64_t>(pointer);
  for (const auto& [handle, window] : context.windows) {
    if (window.area == nullptr || !window.area->own.covers(address, address + 1)) continue;
    throw Fault(WEFT_E_PARA, fmt::format("the memory at {} is in window {}; deregister that first",
                                         pointer, handle));
  }
  aclrtUnmapMem(pointer);
  aclrtFreePhysical(found->second);
  aclrtReleaseMemAddress(pointer);
  context.allocated.erase(found);
}

}  // namespace weft::symwin
