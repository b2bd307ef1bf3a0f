// SPDX-License-Identifier: Apache-2.0
// Shareable handles of this process's physical memory. A handle can be exported only once, and is
// needed again by every window and communicator that the memory gets into, so they are kept here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "span.hpp"

namespace weft::symwin {

/// Thread-safe. Keeps no memory alive: entries of memory that is gone are dropped as the table
/// grows. Counts on handles that are not given to other memory later.
class Exports {
 public:
  /// Throws Fault (WEFT_E_RUNTIME). The caller holds a reference to the piece's memory.
  uint64_t share(const Piece& piece);

 private:
  struct Entry {
    uint64_t shareable = 0;
    uint64_t address = 0;  // where it was mapped last
  };
  void prune();

  std::mutex mutex_;
  std::unordered_map<aclrtDrvMemHandle, Entry> entries_;
  size_t limit_ = 64;  // of entries; then it is time to look for dead ones
};

}  // namespace weft::symwin
