// SPDX-License-Identifier: Apache-2.0
// The heap of a communicator on one rank: addresses for the windows of all ranks, one slot for
// each, and what is mapped there.
#pragma once

#include <cstdint>
#include <vector>

#include "acl/acl_rt.h"

namespace weft::symwin {

/// Bytes of a slot: as configured, or else (WEFT_NOT_CONFIGURED) 16 GiB or the whole memory of the
/// current device, whichever is less. Throws Fault: WEFT_E_PARA for a bad configuration.
uint64_t slot_bytes(uint64_t configured);

/// Physical memory of the current device as windows use it, and the unit of its size. Throws Fault.
aclrtPhysicalMemProp device_memory();
uint64_t device_unit();

/// Reserved addresses of `ranks` slots. Nothing may be mapped there when it ends.
class Heap {
 public:
  /// Throws Fault: WEFT_E_INTERNAL if there is no room, WEFT_E_NOT_SUPPORT if the chip has no such
  /// heaps.
  Heap(uint32_t ranks, uint64_t slot);
  ~Heap();
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  uint64_t slot() const { return slot_; }
  uint64_t address(uint32_t rank, uint64_t offset) const { return base_ + rank * slot_ + offset; }

 private:
  uint64_t base_ = 0;
  uint64_t slot_ = 0;
};

/// Mappings in a heap, undone together.
class Mappings {
 public:
  Mappings() = default;
  ~Mappings();
  Mappings(const Mappings&) = delete;
  Mappings& operator=(const Mappings&) = delete;

  /// Maps all of the memory. Throws Fault (WEFT_E_RUNTIME).
  void add(uint64_t address, uint64_t bytes, aclrtDrvMemHandle handle);
  /// The same for memory of a peer, which `device` gets access to.
  void add_peer(uint64_t address, uint64_t bytes, aclrtDrvMemHandle handle, int32_t device);
  /// The same with memory of another process, for the current device, which is `device`.
  void add_import(uint64_t address, uint64_t bytes, uint64_t shareable, int32_t device);

 private:
  std::vector<void*> addresses_;
};

}  // namespace weft::symwin
