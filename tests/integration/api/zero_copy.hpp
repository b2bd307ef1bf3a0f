// SPDX-License-Identifier: Apache-2.0
// What the tests of zero-copy ranges share.
#pragma once

#include <cstdint>
#include <string>

#include "own_memory.hpp"

namespace weft::test {

/// A block of a range: mapped and active from its begin on.
class Block {
 public:
  Block(HcclComm comm, unsigned char* address, size_t bytes = kUnit)
      : memory_(bytes), address_(address) {
    memory_.map(address);
    ok(HcclCommActivateCommMemory(comm, address, bytes, 0, memory_.handle(), 0));
  }
  unsigned char* address() const { return address_; }
  aclrtDrvMemHandle handle() const { return memory_.handle(); }
  /// In the order of programs.
  void close(HcclComm comm) {
    ok(HcclCommDeactivateCommMemory(comm, address_));
    unmap();
  }
  void unmap() {
    ok(aclrtUnmapMem(address_));
    memory_.free();
  }

 private:
  Physical memory_;
  unsigned char* address_;
};

/// Reserved addresses that are a range of the communicator. The first one is collective.
class RangeOf {
 public:
  RangeOf(HcclComm comm, size_t bytes) : room_(bytes) {
    ok(HcclCommSetMemoryRange(comm, room_.base(), bytes, 0, 1));
  }
  unsigned char* at(size_t units) const { return room_.base() + units * kUnit; }
  void close(HcclComm comm) {
    ok(HcclCommUnsetMemoryRange(comm, room_.base()));
    room_.release();
  }

 private:
  Reserved room_;
};

/// Sums one int32 of each rank, in place; the result must be right.
inline void sum_at(HcclComm comm, void* place, uint32_t rank, uint32_t ranks, const Stream& stream,
                   const std::source_location& where = std::source_location::current()) {
  auto* value = static_cast<int32_t*>(place);
  *value = static_cast<int32_t>(10 + rank);
  ok(HcclAllReduce(value, value, 1, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm, stream), where);
  stream.synchronize(where);
  const uint32_t sum = 10 * ranks + ranks * (ranks - 1) / 2;
  check(*value == static_cast<int32_t>(sum), "the sum is " + std::to_string(*value), where);
}

}  // namespace weft::test
