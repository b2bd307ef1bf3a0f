// SPDX-License-Identifier: Apache-2.0
// Shareable handles of this process's physical memory. A handle can be exported only once, and is
// needed again by every window and communicator that the memory gets into, and by other plugins: so
// the core remembers them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "span.hpp"
#include "weft/host.h"

namespace weft::symwin {

/// Thread-safe. Keeps no memory alive: entries of memory that is gone are dropped as the table
/// grows.
class Exports {
 public:
  /// Throws Fault (WEFT_E_RUNTIME). The caller holds a reference to the piece's memory.
  uint64_t share(const weft_host& host, const Piece& piece);

 private:
  void prune(const weft_host& host);

  std::mutex mutex_;
  std::unordered_map<aclrtDrvMemHandle, uint64_t> addresses_;  // exported here: where mapped last
  size_t limit_ = 64;  // of entries; then it is time to look for dead ones
};

}  // namespace weft::symwin
