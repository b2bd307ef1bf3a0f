// SPDX-License-Identifier: Apache-2.0
// HcclComm handles: addresses in a fixed table, so that any value, also a stale or a wild one, is
// checked without a lock and without touching what it points to.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "comm/communicator.hpp"
#include "hccl/hccl_types.h"

namespace weft::api {

/// Communicators that may exist at once in a process.
inline constexpr uint32_t kMaxCommunicators = 65536;

/// On a cache line of its own, since every operator writes to it.
struct alignas(64) Slot {
  std::atomic<comm::Communicator*> communicator{nullptr};
  std::atomic<uint32_t> operators{0};  // that are being issued
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
  std::string origin;  // identifier of the root info, rank table, or parent and its members
  uint32_t rank = 0;
  bool from_table = false;
};

/// What is known of a communicator before its ranks have met.
struct Facts {
  uint32_t ranks = 0;
  uint32_t rank = 0;
  uint32_t servers = 0;  // that the ranks are on
  std::string name;
  HcclResult health = HCCL_SUCCESS;
};

/// A communicator whose ranks are about to meet. Its handle is there, its slot is still empty.
struct Joining {
  Facts facts;
  HcclComm handle = nullptr;  // null when it was given up
  bool settled = false;
  std::string failure;                    // the text to facts.health
  std::optional<uint32_t> deterministic;  // was set meanwhile
  std::weak_ptr<comm::Invitations::Meeting> meeting;
};

/// A name on a device, kept for a communicator in the making. It is given back unless a handle has
/// taken it over, with which it goes.
class ReservedName {
 public:
  /// Throws Error if a communicator of another origin, or the same rank, has it (HCCL_E_PARA), or
  /// if one is from a rank table, whatever its name, and this is to be from one too
  /// (HCCL_E_UNAVAIL).
  explicit ReservedName(NameUse use);
  ~ReservedName();
  ReservedName(const ReservedName&) = delete;
  ReservedName& operator=(const ReservedName&) = delete;

  // A handle. Both throw Error (HCCL_E_MEMORY) if the table is full.

  [[nodiscard]] HcclComm take(std::unique_ptr<comm::Communicator> communicator);
  /// One of the next two functions must follow, on any thread.
  [[nodiscard]] HcclComm take(const std::shared_ptr<Joining>& joining);

 private:
  const NameUse use_;
  bool taken_ = false;
};

/// The communicator gets its handle; it is destroyed if that was given up.
void joined(Joining& joining, std::unique_ptr<comm::Communicator> made);
void join_failed(Joining& joining, HcclResult code, const std::string& text);
/// Takes away a handle whose ranks have not met, or could not. False if it is none.
bool give_up_joining(HcclComm handle) noexcept;

/// The communicator of a handle with an empty slot: waits until its ranks have met, or until who
/// wanted to destroy it has given up. Throws Error: why they have not met, or HCCL_E_PARA if the
/// handle is none (any more). `marked`: its slot, if the calling thread has marked it as in use by
/// an operator.
[[gnu::cold]] comm::Communicator& await(HcclComm handle, Slot* marked = nullptr);
/// Calls `body` for each communicator, with null for what there is not: ranks that have not met, or
/// could not, are joining. None is taken away meanwhile.
void for_each(const std::function<void(const NameUse&, comm::Communicator*, Joining*)>& body);

/// Throws Error (HCCL_E_PARA).
[[noreturn]] void refuse_handle();

/// Waits for nobody. Throws Error (HCCL_E_PARA) if the handle is none.
Facts facts_of(HcclComm handle);

/// While it lives, handles that the calling thread makes count as made by another one.
class MakesFor {
 public:
  explicit MakesFor(uint64_t maker);
  ~MakesFor();
  MakesFor(const MakesFor&) = delete;
  MakesFor& operator=(const MakesFor&) = delete;

 private:
  const uint64_t before_;
};
/// A number of the calling thread that no other one ever has, or that it makes handles for.
uint64_t maker() noexcept;

/// The handle of that name on a device: of several ranks there, that which the calling thread made.
/// Null if there is none. Throws Error (HCCL_E_PARA) if this thread made none of several.
HcclComm handle_named(int32_t device, const std::string& name);

/// What a communicator's name was reserved for.
NameUse use_of(HcclComm handle);

/// Throws Error: HCCL_E_PARA if the handle is none, HCCL_E_AGAIN if some call of it has not ended.
/// Ranks that have not met have made none. Where another thread issues operators meanwhile, the
/// next ones wait while those on their way end, a quarter of a second for each and 4 s in all.
void require_idle(HcclComm handle);

/// Takes the communicator and its name out of the table, null if there is none.
[[nodiscard]] std::unique_ptr<comm::Communicator> take(HcclComm handle) noexcept;

/// The same. Throws Error (HCCL_E_AGAIN) and leaves it if some call of it has not ended, as
/// require_idle().
[[nodiscard]] std::unique_ptr<comm::Communicator> take_idle(HcclComm handle);

}  // namespace weft::api
