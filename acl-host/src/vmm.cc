// SPDX-License-Identifier: Apache-2.0
// Reserved ranges of addresses and the mappings in them. What is reserved is inaccessible; mapping
// and unmapping replace pages in place, so that no other mapping of the process can get in between.
#include "vmm.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "context.hpp"
#include "memory.hpp"
#include "soc.hpp"

namespace weft::acl {
namespace {

constexpr size_t kGiB = 1U << 30;
constexpr size_t kTiB = kGiB << 10;
constexpr uintptr_t kFixedBegin = 16 * kTiB;  // where programs may choose addresses
constexpr uintptr_t kFixedEnd = 24 * kTiB;
constexpr int kReserve = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

// Exactly there, or nowhere: 0 on failure (see errno).
uintptr_t reserve_at(uintptr_t base, size_t size) noexcept {
  void* got = mmap(pointer(base), size, PROT_NONE, kReserve | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == MAP_FAILED) return 0;
  if (address_of(got) == base) return base;
  munmap(got, size);  // a kernel that takes the address as a hint
  errno = EEXIST;
  return 0;
}

uintptr_t reserve_anywhere(size_t size, size_t align) noexcept {
  const size_t span = size + align;
  void* got = mmap(nullptr, span, PROT_NONE, kReserve, -1, 0);
  if (got == MAP_FAILED) return 0;
  const uintptr_t start = address_of(got);
  const uintptr_t base = (start + align - 1) / align * align;
  if (base > start) munmap(got, base - start);
  if (start + span > base + size) munmap(pointer(base + size), start + span - base - size);
  return base;
}

// `size` is made of whole huge pages.
aclError reserve(void** output, size_t size, uintptr_t expected, bool mixed, const char* where) {
  if (const aclError error = refuse_after_fork(where)) return error;
  if (const aclError error = watch_forks(where, ACL_ERROR_RT_MEMORY_ALLOCATION)) return error;
  const uintptr_t base = expected != 0 ? reserve_at(expected, size)
                                       : reserve_anywhere(size, size < kGiB ? kHugePage : kGiB);
  if (base == 0 && expected != 0) {
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "%s: %zu bytes at %p are in use or cannot be reserved (%s); choose others, or NULL",
                where, size, pointer(expected), strerror(errno));
  }
  if (base == 0) {
    return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%s: %zu bytes of addresses are not free: %s",
                where, size, strerror(errno));
  }
  madvise(pointer(base), size, MADV_DONTFORK);
  Vmm& all = vmm();
  const std::lock_guard lock(all.mutex);
  try {
    const auto it = all.reservations.emplace(base, Reservation{size, mixed, {}}).first;
    try {
      add_reserved({base, size});
    } catch (...) {
      all.reservations.erase(it);
      throw;
    }
  } catch (...) {
    munmap(pointer(base), size);
    throw;
  }
  *output = pointer(base);
  return ACL_SUCCESS;
}

aclError check_reserve(const void* output, size_t size, size_t alignment, uint64_t flags,
                       const char* where) noexcept {
  if (output == nullptr) return null_output(where, "virPtr");
  if (size == 0 || flags > 1) {
    return fail(ACL_ERROR_INVALID_PARAM,
                "%s: size %zu must not be 0 and flags 0x%llx must be 0 or 1", where, size,
                static_cast<unsigned long long>(flags));
  }
  if (alignment != 0) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: alignment is %zu; it must be 0", where, alignment);
  }
  if (size <= SIZE_MAX / 4) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%s: there are no %zu bytes of addresses", where,
              size);
}

// `size` is made of whole huge pages. Up to 1 GiB, an address has the alignment of the size's next
// power of two.
aclError check_fixed(uintptr_t expected, size_t size, const char* where) noexcept {
  if (expected == 0) return ACL_SUCCESS;
  if (soc_is(kSoc950)) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %s takes no expectPtr; pass NULL", where,
                aclrtGetSocName());
  }
  const size_t align = std::min(std::bit_ceil(size), kGiB);
  if (expected % align == 0 && expected >= kFixedBegin && expected < kFixedEnd &&
      size <= kFixedEnd - expected) {
    return ACL_SUCCESS;
  }
  return fail(
      ACL_ERROR_RT_PARAM_INVALID,
      "%s: expectPtr %p with %zu bytes must lie between 16 and 24 TiB, at a multiple of %zu", where,
      pointer(expected), size, align);
}

aclError not_reserved(uintptr_t base, size_t size, const char* where) noexcept {
  return fail(ACL_ERROR_RT_PARAM_INVALID,
              "%s: %p with %zu bytes does not lie in one range of aclrtReserveMemAddress", where,
              pointer(base), size);
}

aclError replace_pages(uintptr_t base, const Physical& memory, bool access,
                       const char* where) noexcept {
  void* got = mmap(pointer(base), memory.size, access ? PROT_READ | PROT_WRITE : PROT_NONE,
                   MAP_SHARED | MAP_NORESERVE | MAP_FIXED, memory.file, 0);
  if (got == MAP_FAILED) {
    return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: cannot map %zu bytes at %p: %s", where,
                memory.size, pointer(base), strerror(errno));
  }
  madvise(got, memory.size, MADV_DONTFORK);
  madvise(got, memory.size, MADV_HUGEPAGE);  // a wish; many hosts refuse it
  return ACL_SUCCESS;
}

aclError check_place(const Vmm& all, const Reservation& range, uintptr_t base,
                     const Physical& memory, size_t unit, const char* where) noexcept {
  if (base % unit != 0) {
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "%s: %p is no multiple of the memory's unit of %zu bytes", where, pointer(base),
                unit);
  }
  const auto next = range.mappings.lower_bound(base + memory.size);
  if (next != range.mappings.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second.size > base) {
      return fail(ACL_ERROR_RT_PARAM_INVALID,
                  "%s: %p with %zu bytes overlaps the mapping at %p of %zu bytes; unmap it first",
                  where, pointer(base), memory.size, pointer(previous->first),
                  previous->second.size);
    }
  }
  if (range.mixed || range.mappings.empty()) return ACL_SUCCESS;
  const Physical& other = all.physicals.at(range.mappings.begin()->second.physical);
  if (other.imported == memory.imported && device_of(other) == device_of(memory)) {
    return ACL_SUCCESS;
  }
  return fail(ACL_ERROR_RT_PARAM_INVALID,
              "%s: a reserved range holds memory of one device and either imported or not; reserve "
              "another one for this handle",
              where);
}

aclError map_memory(uintptr_t base, size_t size, size_t offset, aclrtDrvMemHandle handle,
                    bool access, const char* where) {
  if (const aclError error = refuse_after_fork(where)) return error;
  Vmm& all = vmm();
  const std::lock_guard lock(all.mutex);
  aclError error = ACL_SUCCESS;
  const auto physical = find_physical(all, handle, where, &error);
  if (error != ACL_SUCCESS) return error;
  Physical& memory = physical->second;
  if (offset != 0 || size != memory.size) {
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "%s: offset %zu must be 0 and size %zu must be the memory's %zu bytes", where,
                offset, size, memory.size);
  }
  const auto reservation = find_range(all.reservations, base);
  if (reservation == all.reservations.end() ||
      size > reservation->second.size - (base - reservation->first)) {
    return not_reserved(base, size, where);
  }
  Reservation& range = reservation->second;
  const size_t unit = granularity_of(memory.prop, where, &error);
  if (error != ACL_SUCCESS) return error;
  error = check_place(all, range, base, memory, unit, where);
  if (error != ACL_SUCCESS) return error;
  Mapping mapping{size, physical->first, {}};
  if (access) mapping.access.push_back(owner_of(memory));
  const auto it = range.mappings.emplace(base, std::move(mapping)).first;
  error = guarded(where, [&] { return access ? publish(base, memory, where) : ACL_SUCCESS; });
  if (error == ACL_SUCCESS) {
    error = replace_pages(base, memory, access, where);
    Range removed;
    if (error != ACL_SUCCESS && access) remove_range(base, place_of(memory), &removed);
  }
  if (error != ACL_SUCCESS) {
    range.mappings.erase(it);
    return error;
  }
  ++memory.mappings;
  return ACL_SUCCESS;
}

aclError map_checked(void* virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle,
                     uint64_t flags, bool access, const char* where) noexcept {
  if (virPtr == nullptr || handle == nullptr || size == 0 || flags != 0) {
    return fail(ACL_ERROR_INVALID_PARAM,
                "%s: virPtr %p and handle %p must not be NULL, size %zu must not be 0 and flags "
                "0x%llx must be 0",
                where, virPtr, handle, size, static_cast<unsigned long long>(flags));
  }
  return guarded(
      where, [&] { return map_memory(address_of(virPtr), size, offset, handle, access, where); });
}

aclError unmap_memory(uintptr_t base, const char* where) {
  if (const aclError error = refuse_after_fork(where)) return error;
  Vmm& all = vmm();
  const std::lock_guard lock(all.mutex);
  Reservation* range = nullptr;
  const Mapping* mapping = find_start(all, base, &range, where);
  if (mapping == nullptr) return ACL_ERROR_RT_PARAM_INVALID;
  void* got = mmap(pointer(base), mapping->size, PROT_NONE, kReserve | MAP_FIXED, -1, 0);
  if (got == MAP_FAILED) {
    return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: cannot unmap %p: %s", where, pointer(base),
                strerror(errno));
  }
  madvise(got, mapping->size, MADV_DONTFORK);
  const auto physical = all.physicals.find(mapping->physical);
  Range removed;
  if (!mapping->access.empty()) remove_range(base, place_of(physical->second), &removed);
  range->mappings.erase(base);
  --physical->second.mappings;
  drop_unused(all, physical);
  return ACL_SUCCESS;
}

aclError release(uintptr_t base, const char* where) {
  if (const aclError error = refuse_after_fork(where)) return error;
  Vmm& all = vmm();
  const std::lock_guard lock(all.mutex);
  const auto it = all.reservations.find(base);
  if (it == all.reservations.end()) {
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "%s: no reserved range begins at %p; pass the address of aclrtReserveMemAddress, "
                "once",
                where, pointer(base));
  }
  if (!it->second.mappings.empty()) {
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "%s: the range at %p still has %zu mappings, the first at %p; call aclrtUnmapMem "
                "for each",
                where, pointer(base), it->second.mappings.size(),
                pointer(it->second.mappings.begin()->first));
  }
  if (munmap(pointer(base), it->second.size) != 0) {
    return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: cannot release %p: %s", where, pointer(base),
                strerror(errno));
  }
  remove_reserved(base);
  all.reservations.erase(it);
  return ACL_SUCCESS;
}

}  // namespace
}  // namespace weft::acl

using namespace weft::acl;

aclError aclrtReserveMemAddress(void** virPtr, size_t size, size_t alignment, void* expectPtr,
                                uint64_t flags) {
  constexpr const char* kWhere = "aclrtReserveMemAddress";
  if (const aclError error = check_reserve(virPtr, size, alignment, flags, kWhere)) return error;
  const size_t whole = (size + kHugePage - 1) / kHugePage * kHugePage;
  if (const aclError error = check_fixed(address_of(expectPtr), whole, kWhere)) return error;
  return guarded(kWhere,
                 [&] { return reserve(virPtr, whole, address_of(expectPtr), false, kWhere); });
}

aclError aclrtReserveMemAddressNoUCMemory(void** virPtr, size_t size, size_t alignment,
                                          void* expectPtr, uint64_t flags) {
  constexpr const char* kWhere = "aclrtReserveMemAddressNoUCMemory";
  if (const aclError error = check_reserve(virPtr, size, alignment, flags, kWhere)) return error;
  if (expectPtr == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: expectPtr is NULL; choose one from 40 TiB on",
                kWhere);
  }
  if (!soc_is(kSocA3)) {
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s: %s has no such memory; use %s* or %s",
                kWhere, aclrtGetSocName(), kSocA3, "aclrtReserveMemAddress");
  }
  if (size % kGiB != 0 || address_of(expectPtr) % kGiB != 0) {
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "%s: size %zu and expectPtr %p must be multiples of 1 GiB", kWhere, size,
                expectPtr);
  }
  return guarded(kWhere,
                 [&] { return reserve(virPtr, size, address_of(expectPtr), true, kWhere); });
}

aclError aclrtReleaseMemAddress(void* virPtr) {
  constexpr const char* kWhere = "aclrtReleaseMemAddress";
  if (virPtr == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "%s: virPtr is NULL", kWhere);
  return guarded(kWhere, [&] { return release(address_of(virPtr), kWhere); });
}

aclError aclrtMapMem(void* virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle,
                     uint64_t flags) {
  return map_checked(virPtr, size, offset, handle, flags, true, "aclrtMapMem");
}

aclError aclrtMemMapNoAccess(void* virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle,
                             uint64_t flags) {
  return map_checked(virPtr, size, offset, handle, flags, false, "aclrtMemMapNoAccess");
}

aclError aclrtUnmapMem(void* virPtr) {
  constexpr const char* kWhere = "aclrtUnmapMem";
  if (virPtr == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "%s: virPtr is NULL", kWhere);
  return guarded(kWhere, [&] { return unmap_memory(address_of(virPtr), kWhere); });
}
