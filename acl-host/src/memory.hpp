// SPDX-License-Identifier: Apache-2.0
// What the runtime knows about addresses outside of the heaps: page-locked host memory, memory
// imported from other processes, and reserved ranges with what is mapped in them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "acl/acl.h"
#include "heap.hpp"

namespace weft::acl {

enum class Place {
  kUnknown,     ///< plain host memory, or nothing at all
  kHeap,        ///< a device's heap in this process
  kImported,    ///< another process's device memory
  kAllocated,   ///< from aclrtMallocHost
  kRegistered,  ///< from aclrtHostRegister
  kMapped,      ///< a device's physical memory at reserved addresses
  kMappedHost,  ///< the host's physical memory at reserved addresses
  kReserved,    ///< reserved addresses without memory that may be used
};

constexpr bool is_device(Place place) {
  return place == Place::kHeap || place == Place::kImported || place == Place::kMapped;
}
constexpr bool is_pinned(Place place) {
  return place == Place::kAllocated || place == Place::kRegistered || place == Place::kMappedHost;
}

constexpr bool in_reserved(Place place) {
  return place == Place::kMapped || place == Place::kMappedHost || place == Place::kReserved;
}

struct Location {
  Place place = Place::kUnknown;
  int32_t device = -1;
  Range range;  // the heap, or the registered range
};

Location locate(const void* address) noexcept;

/// Reports a range that begins in known memory and does not end in it.
aclError check_range(const void* address, size_t size, const char* where,
                     const char* name) noexcept;

/// Reports an address that is not in device memory, or (`pinned_too`) in page-locked memory.
aclError need_known(const void* address, size_t size, bool pinned_too, const char* where,
                    const char* name) noexcept;

/// Keeps a range; throws std::bad_alloc. False if it overlaps one that is kept: the obstacle.
bool add_range(Range range, Place place, int32_t device, Range* obstacle);

/// Reports that new memory meets a range that its owner freed without unregistering it.
aclError refuse_stale(Range obstacle, const char* where) noexcept;

/// Forgets the range that begins at `base` if it is of that place.
bool remove_range(uintptr_t base, Place place, Range* removed) noexcept;

/// Keeps reserved addresses, in which mapped ranges are then kept; throws std::bad_alloc.
void add_reserved(Range range);
void remove_reserved(uintptr_t base) noexcept;

/// Whether a registered range begins here.
bool has_range(uintptr_t base, Place place) noexcept;

}  // namespace weft::acl
