// SPDX-License-Identifier: Apache-2.0
// Notifies: one bit each, in a memory file of the creator's process that importers map.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "acl/acl.h"
#include "ipc_server.hpp"
#include "pool.hpp"

namespace weft::acl {

/// A mapping of another process's notifies. It stays as long as a notify or a queued task needs it.
struct ForeignBits;

/// The bit, and above it the number of notifies that had the word before. Whoever refers to a
/// notify that is no more finds another number there and changes nothing, so a process may die at
/// any time without leaving anything to clean up.
struct Bit {
  uint64_t* word = nullptr;
  uint64_t generation = 0;
  ForeignBits* foreign = nullptr;  // nullptr: this process's own

  uint64_t clear() const noexcept { return generation << 1; }
  uint64_t set() const noexcept { return clear() | 1; }
};

struct alignas(128) Notify {
  std::atomic<Life> life_state{Life::kDead};
  Notify* next_free = nullptr;
  Bit bit;
  int32_t device = 0;  // of its creator
  uint32_t id = 0;     // unique on the device
  std::atomic<bool> exported{false};
  Key key;  // of an exported one
};

extern constinit Pool<Notify, (1U << 20)> g_notifies;

constexpr size_t kBitStride = 64;  // bytes from one word to the next: a cache line each

/// The notify behind a handle; nullptr after reporting why not.
Notify* find_notify(aclrtNotify handle, const char* where, aclError* error) noexcept;

/// The file of this process's bits, for exports. It exists once there is a notify.
int bits_file() noexcept;
size_t bits_size() noexcept;
size_t bit_offset(const Notify& notify) noexcept;

/// Uses of another process's bits. The last release unmaps them.
void use_foreign(ForeignBits* foreign) noexcept;
void release_foreign(ForeignBits* foreign) noexcept;

/// Ends the export, if there is one.
void end_export(Notify& notify) noexcept;

}  // namespace weft::acl
