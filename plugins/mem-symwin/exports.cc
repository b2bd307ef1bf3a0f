// SPDX-License-Identifier: Apache-2.0
#include "exports.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fault.hpp"

namespace weft::symwin {
namespace {

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

}  // namespace

uint64_t Exports::share(const Piece& piece) {
  const std::lock_guard lock(mutex_);
  if (const auto known = entries_.find(piece.handle); known != entries_.end()) {
    known->second.address = piece.address;
    return known->second.shareable;
  }
  if (entries_.size() >= limit_) prune();
  Entry& entry = entries_[piece.handle];
  entry.address = piece.address;
  // Not restricted to processes: the ranks have proved to each other who they are, and only they
  // are told the handle.
  const aclError error =
      aclrtMemExportToShareableHandleV2(piece.handle, ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION,
                                        ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, &entry.shareable);
  if (error != ACL_SUCCESS) {
    entries_.erase(piece.handle);
    throw acl_fault(error, fmt::format("the memory at {:#x} cannot be shared with other processes "
                                       "(once is possible: by the program itself, for windows, "
                                       "or for zero-copy ranges)",
                                       piece.address));
  }
  return entry.shareable;
}

void Exports::prune() {
  std::erase_if(entries_,
                [](const auto& entry) { return !lives(entry.first, entry.second.address); });
  limit_ = std::max<size_t>(64, 2 * entries_.size());
}

}  // namespace weft::symwin
