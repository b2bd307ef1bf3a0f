// SPDX-License-Identifier: Apache-2.0
#include "runtime.hpp"

#include <fmt/format.h>

#include <string_view>
#include <thread>

#include "acl/acl.h"
#include "weft/abi.h"

namespace weft::zerocopy {
namespace {

// Mappings and reservations begin at multiples of this.
constexpr uint64_t kUnit = 2U << 20;

constexpr const char* kTable = "shareable";  // shared with other plugins

void* pointer(uint64_t address) { return reinterpret_cast<void*>(address); }

/// The newest text comes first; older ones are not about this.
std::string acl_text(aclError error) {
  const char* texts = aclGetRecentErrMsg();
  const std::string_view all = texts == nullptr ? "no text" : texts;
  return fmt::format("error {}, {}", error, all.substr(0, all.find('\n')));
}

void demand(aclError error, std::string_view what) {
  if (error != ACL_SUCCESS) {
    throw Fault{WEFT_E_RUNTIME, fmt::format("{}: {}", what, acl_text(error))};
  }
}

/// What a plugin of this process remembers; another one may be about to.
bool recall(const weft_host& host, uint64_t key, uint64_t* shareable) {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    if (host.recall(kTable, key, shareable) == WEFT_OK) return true;
    std::this_thread::yield();
  }
  return false;
}

/// A program may free its handle and go on with the mapping, so either shows that it lives.
bool lives(void* handle, uint64_t address) {
  aclrtPhysicalMemProp prop{};
  if (aclrtMemGetAllocationPropertiesFromHandle(handle, &prop) == ACL_SUCCESS) return true;
  aclrtDrvMemHandle mapped = nullptr;
  if (aclrtMemRetainAllocationHandle(pointer(address), &mapped) != ACL_SUCCESS) return false;
  aclrtFreePhysical(mapped);
  return mapped == handle;
}

}  // namespace

Reservation::Reservation(uint64_t bytes, uint64_t flags) {
  demand(aclrtReserveMemAddress(&base_, bytes, 0, nullptr, flags),
         fmt::format("reserving {} bytes of addresses for the memory of another rank", bytes));
}

Reservation::~Reservation() { aclrtReleaseMemAddress(base_); }

Import::Import(std::shared_ptr<Reservation> room, uint64_t offset, uint64_t bytes,
               uint64_t shareable, int32_t device)
    : room_(std::move(room)), address_(pointer(room_->base() + offset)), shareable_(shareable) {
  demand(aclrtMemImportFromShareableHandle(shareable, device, &handle_),
         "importing the memory of another rank");
  if (const aclError error = aclrtMapMem(address_, bytes, 0, handle_, 0); error != ACL_SUCCESS) {
    const std::string text = acl_text(error);
    aclrtFreePhysical(handle_);
    throw Fault{WEFT_E_RUNTIME, "mapping the memory of another rank: " + text};
  }
}

Import::~Import() {
  aclrtUnmapMem(address_);
  aclrtFreePhysical(handle_);
}

uint64_t Exports::share(const weft_host& host, void* handle, uint64_t address) {
  // A number of a freed handle may come again, so what is remembered counts only if the runtime
  // refuses. Peers need no process ids to prove themselves: the number is a secret of the group.
  const auto key = reinterpret_cast<uint64_t>(handle);
  uint64_t shareable = 0;
  const aclError error = aclrtMemExportToShareableHandle(
      handle, ACL_MEM_HANDLE_TYPE_NONE, ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION, &shareable);
  if (error != ACL_SUCCESS && recall(host, key, &shareable)) return shareable;
  demand(error, fmt::format("exporting the physical memory of handle {}", handle));
  if (known_.size() >= limit_) forget_dead(host);
  known_[handle] = address;
  if (const int32_t code = host.remember(kTable, key, shareable); code != WEFT_OK) {
    throw Fault{code, "no memory to remember a shareable handle"};
  }
  return shareable;
}

void Exports::forget_dead(const weft_host& host) {
  std::erase_if(known_, [&](const auto& entry) {
    if (lives(entry.first, entry.second)) return false;
    host.forget(kTable, reinterpret_cast<uint64_t>(entry.first));
    return true;
  });
  limit_ = 2 * known_.size() + 64;
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
    throw Fault{WEFT_E_PARA, fmt::format("no mapping begins at {:#x}; activate memory after "
                                         "aclrtMapMem, at the address given there ({})",
                                         span.base, acl_text(error))};
  }
  aclrtFreePhysical(mapped);
  if (mapped != handle) {
    throw Fault{WEFT_E_PARA, fmt::format("{:#x} is a mapping of handle {}, not of {}; pass the "
                                         "handle that aclrtMapMem got",
                                         span.base, mapped, handle)};
  }
  size_t bytes = 0;
  demand(aclrtMemGetAddressRange(pointer(span.base), nullptr, &bytes),
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
  demand(aclrtMemSetAccess(pointer(mapping.base), mapping.bytes, &wanted, 1),
         fmt::format("giving device {} access to the mapping at {:#x}", device, mapping.base));
}

}  // namespace weft::zerocopy
