// SPDX-License-Identifier: Apache-2.0
// HcclComm handles: addresses in a fixed table, so that any value, also a stale or a wild one, is
// checked without a lock and without touching what it points to.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "comm/communicator.hpp"
#include "hccl/hccl_types.h"

namespace weft::api {

/// Communicators that may exist at once in a process.
inline constexpr uint32_t kMaxCommunicators = 65536;

struct Slot {
  std::atomic<comm::Communicator*> communicator{nullptr};
};
extern Slot slots[kMaxCommunicators];

/// The slot that a handle is the address of, null if it is none.
inline Slot* slot_of(HcclComm handle) noexcept {
  const auto offset = reinterpret_cast<uintptr_t>(handle) - reinterpret_cast<uintptr_t>(slots);
  if (offset >= sizeof slots || offset % sizeof(Slot) != 0) return nullptr;
  return static_cast<Slot*>(handle);
}

/// Null if the handle is none. No lock.
[[nodiscard]] inline comm::Communicator* find(HcclComm handle) noexcept {
  const Slot* slot = slot_of(handle);
  return slot == nullptr ? nullptr : slot->communicator.load(std::memory_order_acquire);
}

/// What a communicator's name is kept for. Several ranks of one communicator may be on one device:
/// their origin is the same.
struct NameUse {
  int32_t device = -1;
  std::string name;
  std::string origin;  // identifier of the root info, or the rank table
  uint32_t rank = 0;
  bool from_table = false;
};

/// Keeps a name on a device for a communicator in the making. Throws Error if a communicator of
/// another origin, or the same rank, has it (HCCL_E_PARA), or if one is from a rank table, whatever
/// its name, and this is to be from one too (HCCL_E_UNAVAIL).
void reserve_name(const NameUse& use);
void release_name(const NameUse& use) noexcept;

/// A handle for a communicator whose name is reserved; the name is released with it. Throws Error
/// (HCCL_E_MEMORY) if the table is full.
[[nodiscard]] HcclComm add(std::unique_ptr<comm::Communicator> communicator, const NameUse& use);

/// Calls `body` for each communicator; none is taken away meanwhile.
void for_each(const std::function<void(comm::Communicator&)>& body);

/// Throws Error: HCCL_E_PARA if the handle is none, HCCL_E_AGAIN if some call of it has not ended.
void require_idle(HcclComm handle);

/// Takes the communicator and its name out of the table, null if there is none.
[[nodiscard]] std::unique_ptr<comm::Communicator> take(HcclComm handle) noexcept;

/// The same. Throws Error (HCCL_E_AGAIN) and leaves it if some call of it has not ended.
[[nodiscard]] std::unique_ptr<comm::Communicator> take_idle(HcclComm handle);

}  // namespace weft::api
