// SPDX-License-Identifier: Apache-2.0
#include "acl/acl_rt.h"
#include "context.hpp"

namespace weft::hccs {

int32_t Imports::open(const std::string& key, void** base) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[key];
  if (entry.users == 0) {
    const aclError error = aclrtIpcMemImportByKey(&entry.base, key.c_str(),
                                                  ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS);
    if (error != ACL_SUCCESS) {
      entries_.erase(key);
      return error;
    }
  }
  ++entry.users;
  *base = entry.base;
  return ACL_SUCCESS;
}

void Imports::close(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end() || --found->second.users > 0) return;
  aclrtIpcMemClose(key.c_str());
  entries_.erase(found);
}

}  // namespace weft::hccs
