// SPDX-License-Identifier: Apache-2.0
// Virtual memory management: reserved ranges of addresses, physical memory in files of its own, and
// the mappings of one in the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "acl/acl.h"
#include "heap.hpp"
#include "ipc_server.hpp"
#include "memory.hpp"

namespace weft::acl {

/// Physical memory, of this process or imported. It exists as long as it is referred to or mapped.
struct Physical {
  int file = -1;
  size_t size = 0;
  aclrtPhysicalMemProp prop{};
  bool imported = false;
  size_t references = 1;  // what aclrtFreePhysical takes off; 0: the handle is no longer good
  size_t mappings = 0;
  uint64_t shareable = 0;  // its shareable handle, once exported, or the one it was imported by

  bool on_device() const noexcept { return prop.location.type == ACL_MEM_LOCATION_TYPE_DEVICE; }
};
using Physicals = std::map<uint64_t, Physical>;  // by handle

struct Mapping {
  size_t size = 0;
  uint64_t physical = 0;
  std::vector<aclrtMemLocation> access;  // locations that may read and write; empty: nobody
};

struct Reservation {
  size_t size = 0;
  bool mixed = false;  // may hold memory of several devices and processes
  std::map<uintptr_t, Mapping> mappings;
};

struct Vmm {
  std::mutex mutex;  // taken before any other lock
  uint64_t last_handle = 0;
  Physicals physicals;
  std::map<uint64_t, uint64_t> imports;  // shareable handle -> handle
  std::map<uintptr_t, Reservation> reservations;
};

Vmm& vmm();

/// A new handle for the memory. The caller holds the lock. Handles are no addresses and never used
/// again, so that a wild or a stale one is noticed.
aclrtDrvMemHandle add_physical(Vmm& all, const Physical& memory);

/// What a good handle refers to, or end() after reporting why it is not. The caller holds the lock.
Physicals::iterator find_physical(Vmm& all, aclrtDrvMemHandle handle, const char* where,
                                  aclError* error) noexcept;

/// Gives the memory back if nothing refers to it any more. The caller holds the lock.
void drop_unused(Vmm& all, Physicals::iterator it) noexcept;

/// The least unit of memory with these properties; 0 after reporting why they cannot be.
size_t granularity_of(const aclrtPhysicalMemProp& prop, const char* where,
                      aclError* error) noexcept;

inline void* pointer(uintptr_t address) noexcept { return reinterpret_cast<void*>(address); }
inline uintptr_t address_of(const void* pointer) noexcept {
  return reinterpret_cast<uintptr_t>(pointer);
}

/// The element of a map of disjoint ranges that contains the address, or end().
template <class Map>
auto find_range(Map& ranges, uintptr_t address) {
  auto it = ranges.upper_bound(address);
  if (it == ranges.begin()) return ranges.end();
  --it;
  return address - it->first < it->second.size ? it : ranges.end();
}

inline Place place_of(const Physical& memory) noexcept {
  return memory.on_device() ? Place::kMapped : Place::kMappedHost;
}

/// The device whose memory it is; -1: the host's.
inline int32_t device_of(const Physical& memory) noexcept {
  return memory.on_device() ? static_cast<int32_t>(memory.prop.location.id) : -1;
}

/// Where mapping it gives access to.
inline aclrtMemLocation owner_of(const Physical& memory) noexcept {
  if (memory.on_device()) return memory.prop.location;
  return {0, ACL_MEM_LOCATION_TYPE_HOST};
}

/// The mapping that begins at the address; nullptr after reporting that there is none. The caller
/// holds the lock.
Mapping* find_start(Vmm& all, uintptr_t base, Reservation** range, const char* where) noexcept;

/// Keeps an accessible mapping among the ranges that other functions know, or reports why not.
aclError publish(uintptr_t base, const Physical& memory, const char* where);

/// Around a fork: a child does not hold on to physical memory that the parent frees. Its handles
/// are good for nothing anyway.
void lock_before_fork() noexcept;
void unlock_after_fork() noexcept;
void close_after_fork() noexcept;  // in the child, instead of unlocking

/// A mapping and its page size.
struct Mapped {
  Range range;
  size_t page = 0;
};
bool find_mapping(const void* address, Mapped* mapped) noexcept;

/// Opens, for an export, the file behind a range that lies in one mapping of a device's memory.
bool open_mapping(Range range, Offer* offer);

}  // namespace weft::acl
