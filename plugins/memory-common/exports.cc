// SPDX-License-Identifier: Apache-2.0
#include "exports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "fault.hpp"

namespace weft::memory {
namespace {

constexpr const char* kTable = "shareable";  // shared with other plugins

/// A program may free its handle and go on with the mapping, so either shows that it lives.
bool lives(aclrtDrvMemHandle handle, uint64_t address) {
  aclrtPhysicalMemProp prop{};
  if (aclrtMemGetAllocationPropertiesFromHandle(handle, &prop) == ACL_SUCCESS) return true;
  aclrtDrvMemHandle mapped = nullptr;
  if (aclrtMemRetainAllocationHandle(reinterpret_cast<void*>(address), &mapped) != ACL_SUCCESS) {
    return false;
  }
  aclrtFreePhysical(mapped);
  return mapped == handle;
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

}  // namespace

uint64_t Exports::share(const weft_host& host, aclrtDrvMemHandle handle, uint64_t address) {
  const std::lock_guard lock(mutex_);
  const auto key = reinterpret_cast<uint64_t>(handle);
  uint64_t shareable = 0;
  // A handle may be given to other memory later, so what is remembered counts only if the runtime
  // refuses. Not restricted to processes: the ranks have proved to each other who they are, and
  // only they are told.
  const aclError error =
      aclrtMemExportToShareableHandleV2(handle, ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION,
                                        ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, &shareable);
  if (error != ACL_SUCCESS && !recall(host, key, &shareable)) {
    throw acl_fault(error, fmt::format("the memory at {:#x} cannot be shared with other processes "
                                       "(a program must not export it itself)",
                                       address));
  }
  if (addresses_.size() >= limit_) prune(host);
  addresses_[handle] = address;
  demand(host.remember(kTable, key, shareable), "remember a shareable handle");
  return shareable;
}

void Exports::prune(const weft_host& host) {
  std::erase_if(addresses_, [&](const auto& entry) {
    if (lives(entry.first, entry.second)) return false;
    host.forget(kTable, reinterpret_cast<uint64_t>(entry.first));
    return true;
  });
  limit_ = std::max<size_t>(64, 2 * addresses_.size());
}

}  // namespace weft::memory
