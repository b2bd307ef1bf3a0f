// SPDX-License-Identifier: Apache-2.0
// Shareable handles of this process's physical memory. The runtime exports a handle only once, and
// it is needed again by all that the memory gets into, of any plugin: so the core remembers them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "acl/acl_rt.h"
#include "weft/host.h"

namespace weft::memory {

/// Thread-safe. Keeps no memory alive: entries of memory that is gone are dropped as the table
/// grows.
class Exports {
 public:
  /// `address`: where the memory is mapped. Throws Fault (WEFT_E_RUNTIME). The caller sees to it
  /// that the handle stays good meanwhile.
  uint64_t share(const weft_host& host, aclrtDrvMemHandle handle, uint64_t address);

 private:
  void prune(const weft_host& host);

  std::mutex mutex_;
  std::unordered_map<aclrtDrvMemHandle, uint64_t> addresses_;  // shared here: where mapped last
  size_t limit_ = 64;  // of entries; then it is time to look for dead ones
};

}  // namespace weft::memory
