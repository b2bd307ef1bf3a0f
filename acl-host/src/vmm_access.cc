// SPDX-License-Identifier: Apache-2.0
// Questions about mappings, and who may access them. Processes of a host have one view of their
// memory: it is accessible once any location may access it.
#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "context.hpp"
#include "memory.hpp"
#include "vmm.hpp"

namespace weft::acl {
namespace {

aclError check_location(const aclrtMemLocation& location, const char* where) noexcept {
  if (location.type == ACL_MEM_LOCATION_TYPE_DEVICE) return check_device(location.id, where);
  if (location.type != ACL_MEM_LOCATION_TYPE_HOST) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: location type %d is neither HOST nor DEVICE", where,
                location.type);
  }
  if (location.id == 0) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: the host has id 0, not %u", where, location.id);
}

bool has_access(const Mapping& mapping, const aclrtMemLocation& location) noexcept {
  return std::any_of(mapping.access.begin(), mapping.access.end(), [&](const auto& known) {
    return known.type == location.type && known.id == location.id;
  });
}

aclError set_access(uintptr_t base, size_t size, const aclrtMemAccessDesc* wanted, size_t count,
                    const char* where) {
  if (const aclError error = refuse_after_fork(where)) return error;
  Vmm& all = vmm();
  const std::lock_guard lock(all.mutex);
  Reservation* range = nullptr;
  Mapping* mapping = find_start(all, base, &range, where);
  if (mapping == nullptr) return ACL_ERROR_RT_PARAM_INVALID;
  if (size != mapping->size) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: size %zu is not the mapping's %zu bytes", where,
                size, mapping->size);
  }
  const Physical& memory = all.physicals.at(mapping->physical);
  std::vector<aclrtMemLocation> access = mapping->access;
  for (size_t i = 0; i < count; ++i) {
    if (!has_access(*mapping, wanted[i].location)) access.push_back(wanted[i].location);
  }
  if (mapping->access.empty()) {
    if (const aclError error = publish(base, memory, where)) return error;
    if (mprotect(pointer(base), size, PROT_READ | PROT_WRITE) != 0) {
      Range removed;
      remove_range(base, place_of(memory), &removed);
      return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: cannot make %p accessible: %s", where,
                  pointer(base), strerror(errno));
    }
  }
  mapping->access = std::move(access);
  return ACL_SUCCESS;
}

}  // namespace

Mapping* find_start(Vmm& all, uintptr_t base, Reservation** range, const char* where) noexcept {
  const auto reservation = find_range(all.reservations, base);
  if (reservation == all.reservations.end()) {
    fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %p lies in no range of aclrtReserveMemAddress", where,
         pointer(base));
    return nullptr;
  }
  auto& mappings = reservation->second.mappings;
  const auto it = find_range(mappings, base);
  if (it == mappings.end()) {
    fail(ACL_ERROR_RT_PARAM_INVALID, "%s: nothing is mapped at %p; call aclrtMapMem first", where,
         pointer(base));
    return nullptr;
  }
  if (it->first != base) {
    fail(ACL_ERROR_RT_PARAM_INVALID,
         "%s: %p lies inside of the mapping at %p; pass the address that aclrtMapMem got", where,
         pointer(base), pointer(it->first));
    return nullptr;
  }
  *range = &reservation->second;
  return &it->second;
}

aclError publish(uintptr_t base, const Physical& memory, const char* where) {
  Range obstacle;
  if (add_range({base, memory.size}, place_of(memory), device_of(memory), &obstacle)) {
    return ACL_SUCCESS;
  }
  return refuse_stale(obstacle, where);
}

bool find_mapping(const void* address, Mapped* mapped) noexcept {
  Vmm& all = vmm();
  const std::lock_guard lock(all.mutex);
  const auto range = find_range(all.reservations, address_of(address));
  if (range == all.reservations.end()) return false;
  const auto it = find_range(range->second.mappings, address_of(address));
  if (it == range->second.mappings.end()) return false;
  aclError error = ACL_SUCCESS;
  mapped->range = {it->first, it->second.size};
  mapped->page = granularity_of(all.physicals.at(it->second.physical).prop, "", &error);
  return true;
}

bool open_mapping(Range wanted, Offer* offer) {
  Vmm& all = vmm();
  const std::lock_guard lock(all.mutex);
  const auto range = find_range(all.reservations, wanted.base);
  if (range == all.reservations.end()) return false;
  const auto it = find_range(range->second.mappings, wanted.base);
  if (it == range->second.mappings.end()) return false;
  const Physical& memory = all.physicals.at(it->second.physical);
  const size_t offset = wanted.base - it->first;
  if (!memory.on_device() || wanted.size > memory.size - offset) return false;
  offer->file = fcntl(memory.file, F_DUPFD_CLOEXEC, 0);
  offer->owned = true;
  offer->reply.device = device_of(memory);
  offer->reply.offset = offset;
  return offer->file >= 0;
}

}  // namespace weft::acl

using namespace weft::acl;

aclError aclrtMemSetAccess(void* virPtr, size_t size, aclrtMemAccessDesc* desc, size_t count) {
  constexpr const char* kWhere = "aclrtMemSetAccess";
  if (virPtr == nullptr || desc == nullptr || size == 0 || count == 0) {
    return fail(ACL_ERROR_INVALID_PARAM,
                "%s: virPtr %p and desc %p must not be NULL, size %zu and count %zu not 0", kWhere,
                virPtr, static_cast<void*>(desc), size, count);
  }
  for (size_t i = 0; i < count; ++i) {
    if (desc[i].flags != ACL_RT_MEM_ACCESS_FLAGS_READWRITE) {
      return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: flags %d of entry %zu must be READWRITE (3)",
                  kWhere, desc[i].flags, i);
    }
    if (const aclError error = check_location(desc[i].location, kWhere)) return error;
  }
  return guarded(kWhere, [&] { return set_access(address_of(virPtr), size, desc, count, kWhere); });
}

aclError aclrtMemGetAccess(void* virPtr, aclrtMemLocation* location, uint64_t* flag) {
  constexpr const char* kWhere = "aclrtMemGetAccess";
  if (virPtr == nullptr || location == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: %s is NULL", kWhere,
                virPtr == nullptr ? "virPtr" : "location");
  }
  if (flag == nullptr) return null_output(kWhere, "flag");
  if (const aclError error = check_location(*location, kWhere)) return error;
  return guarded(kWhere, [&]() -> aclError {
    Vmm& all = vmm();
    const std::lock_guard lock(all.mutex);
    Reservation* range = nullptr;
    const Mapping* mapping = find_start(all, address_of(virPtr), &range, kWhere);
    if (mapping == nullptr) return ACL_ERROR_RT_PARAM_INVALID;
    *flag = has_access(*mapping, *location) ? ACL_RT_MEM_ACCESS_FLAGS_READWRITE
                                            : ACL_RT_MEM_ACCESS_FLAGS_NONE;
    return ACL_SUCCESS;
  });
}

aclError aclrtMemRetainAllocationHandle(void* virPtr, aclrtDrvMemHandle* handle) {
  constexpr const char* kWhere = "aclrtMemRetainAllocationHandle";
  if (virPtr == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "%s: virPtr is NULL", kWhere);
  if (handle == nullptr) return null_output(kWhere, "handle");
  return guarded(kWhere, [&]() -> aclError {
    if (const aclError error = refuse_after_fork(kWhere)) return error;
    Vmm& all = vmm();
    const std::lock_guard lock(all.mutex);
    Reservation* range = nullptr;
    const Mapping* mapping = find_start(all, address_of(virPtr), &range, kWhere);
    if (mapping == nullptr) return ACL_ERROR_RT_PARAM_INVALID;
    ++all.physicals.at(mapping->physical).references;
    *handle = reinterpret_cast<aclrtDrvMemHandle>(mapping->physical);
    return ACL_SUCCESS;
  });
}
