// SPDX-License-Identifier: Apache-2.0
#include "runtime.hpp"

#include <fmt/format.h>

#include <string_view>

#include "acl/acl.h"
#include "weft/abi.h"

namespace weft::zerocopy {
namespace {

// Mappings and reservations begin at multiples of this.
constexpr uint64_t kUnit = 2U << 20;

void* pointer(uint64_t address) { return reinterpret_cast<void*>(address); }

}  // namespace

Reservation::Reservation(uint64_t bytes, uint64_t flags) {
  demand_acl(aclrtReserveMemAddress(&base_, bytes, 0, nullptr, flags),
             fmt::format("reserving {} bytes of addresses for the memory of another rank", bytes));
}

Reservation::~Reservation() { aclrtReleaseMemAddress(base_); }

Import::Import(std::shared_ptr<Reservation> room, uint64_t offset, uint64_t bytes,
               uint64_t shareable, int32_t device)
    : room_(std::move(room)), address_(pointer(room_->base() + offset)), shareable_(shareable) {
  demand_acl(aclrtMemImportFromShareableHandle(shareable, device, &handle_),
             "importing the memory of another rank");
  if (const aclError error = aclrtMapMem(address_, bytes, 0, handle_, 0); error != ACL_SUCCESS) {
    const Fault fault = memory::acl_fault(error, "mapping the memory of another rank");
    aclrtFreePhysical(handle_);
    throw Fault(fault);
  }
}

Import::~Import() {
  aclrtUnmapMem(address_);
  aclrtFreePhysical(handle_);
}

void check_hardware() {
  constexpr std::string_view kA3 = "Ascend910_93";
  const char* name = aclrtGetSocName();
  const std::string_view soc = name == nullptr ? "an unknown device" : name;
  if (soc.substr(0, kA3.size()) == kA3) return;
  throw Fault{WEFT_E_NOT_SUPPORT,
              fmt::format("{} has no zero-copy ranges, only {}* does; use memory of aclrtMalloc",
                          soc, kA3)};
}

void check_reservation(uint64_t base) {
  if (base % kUnit != 0) {
    throw Fault{WEFT_E_PARA, fmt::format("{:#x} is not the start of a reservation; pass the "
                                         "address that aclrtReserveMemAddress gave",
                                         base)};
  }
  void* block = nullptr;
  if (aclrtMemGetAddressRange(pointer(base), &block, nullptr) != ACL_SUCCESS) return;
  aclrtDrvMemHandle handle = nullptr;
  if (aclrtMemRetainAllocationHandle(pointer(base), &handle) == ACL_SUCCESS) {
    aclrtFreePhysical(handle);
    return;
  }
  throw Fault{WEFT_E_PARA, fmt::format("{:#x} lies in the block at {}, which is not made of "
                                       "physical memory mapped in a reservation; pass the address "
                                       "that aclrtReserveMemAddress gave",
                                       base, block)};
}

void check_mapping(const Span& span, void* handle) {
  aclrtDrvMemHandle mapped = nullptr;
  const aclError error = aclrtMemRetainAllocationHandle(pointer(span.base), &mapped);
  if (error == ACL_ERROR_RT_FEATURE_NOT_SUPPORT) return;  // old drivers cannot tell
  if (error != ACL_SUCCESS) {
    throw memory::acl_fault(error,
                            fmt::format("no mapping begins at {:#x}; activate memory after "
                                        "aclrtMapMem, at the address given there",
                                        span.base),
                            WEFT_E_PARA);
  }
  aclrtFreePhysical(mapped);
  if (mapped != handle) {
    throw Fault{WEFT_E_PARA, fmt::format("{:#x} is a mapping of handle {}, not of {}; pass the "
                                         "handle that aclrtMapMem got",
                                         span.base, mapped, handle)};
  }
  size_t bytes = 0;
  demand_acl(aclrtMemGetAddressRange(pointer(span.base), nullptr, &bytes),
             fmt::format("finding the mapping at {:#x}", span.base));
  if (bytes != span.bytes) {
    throw Fault{WEFT_E_PARA, fmt::format("the mapping at {:#x} has {} bytes, not {}; activate the "
                                         "whole of it",
                                         span.base, bytes, span.bytes)};
  }
}

void grant(const Span& mapping, int32_t device) {
  aclrtMemAccessDesc wanted{};
  wanted.flags = ACL_RT_MEM_ACCESS_FLAGS_READWRITE;
  wanted.location = {static_cast<uint32_t>(device), ACL_MEM_LOCATION_TYPE_DEVICE};
  uint64_t flags = 0;
  const aclError error = aclrtMemGetAccess(pointer(mapping.base), &wanted.location, &flags);
  if (error == ACL_SUCCESS && flags == ACL_RT_MEM_ACCESS_FLAGS_READWRITE) return;
  demand_acl(aclrtMemSetAccess(pointer(mapping.base), mapping.bytes, &wanted, 1),
             fmt::format("giving device {} access to the mapping at {:#x}", device, mapping.base));
}

}  // namespace weft::zerocopy
