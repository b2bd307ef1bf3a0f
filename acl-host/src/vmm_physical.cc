// SPDX-License-Identifier: Apache-2.0
// Physical memory: its properties, its life, its handles.
#include <unistd.h>

#include <string>

#include "context.hpp"
#include "vmm.hpp"

namespace weft::acl {
namespace {

constexpr uint64_t kHandleTag = UINT64_C(0x5745) << 48;  // no address has these bits
constexpr size_t kGiantPage = 1U << 30;

bool is_giant(aclrtMemAttr attribute) noexcept {
  return attribute == ACL_HBM_MEM_HUGE1G || attribute == ACL_MEM_HUGE1G ||
         attribute == ACL_MEM_P2P_HUGE1G;
}

bool attribute_fits(aclrtMemAttr attribute, bool device) noexcept {
  switch (attribute) {
    case ACL_HBM_MEM_HUGE:
    case ACL_HBM_MEM_NORMAL:
    case ACL_MEM_NORMAL:
    case ACL_MEM_HUGE:
    case ACL_MEM_P2P_NORMAL:
    case ACL_MEM_P2P_HUGE:
    case ACL_MEM_P2P_HUGE1G:
      return true;
    case ACL_HBM_MEM_HUGE1G:
    case ACL_MEM_HUGE1G:
      return device;
    case ACL_DDR_MEM_HUGE:
    case ACL_DDR_MEM_NORMAL:
    case ACL_DDR_MEM_P2P_HUGE:
    case ACL_DDR_MEM_P2P_NORMAL:
      return !device;
    default:
      return false;
  }
}

size_t host_memory() noexcept {
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

aclError no_room(size_t size, const std::string& why, const char* where) noexcept {
  return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%s: no room for %zu bytes: %s", where, size,
              why.c_str());
}

// Takes the room of device memory, and gives it back unless it is kept.
class Room {
 public:
  Room(Heap* heap, size_t size) : heap_(heap), size_(size) {
    taken_ = heap == nullptr ? size <= host_memory() : heap->take_outside(size);
  }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  ~Room() {
    if (taken_ && heap_ != nullptr) heap_->give_outside(size_);
  }
  bool taken() const noexcept { return taken_; }
  void keep() noexcept { taken_ = false; }

 private:
  Heap* const heap_;
  const size_t size_;
  bool taken_ = false;
};

aclError check_request(size_t size, const aclrtPhysicalMemProp& prop, const char* where) noexcept {
  if (prop.handleType != ACL_MEM_HANDLE_TYPE_NONE ||
      prop.allocationType != ACL_MEM_ALLOCATION_TYPE_PINNED) {
    return fail(ACL_ERROR_INVALID_PARAM,
                "%s: handleType %d must be NONE (0) and allocationType %d must be PINNED (0)",
                where, prop.handleType, prop.allocationType);
  }
  aclError error = ACL_SUCCESS;
  const size_t unit = granularity_of(prop, where, &error);
  if (error != ACL_SUCCESS) return error;
  if (size % unit == 0) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_PARAM_INVALID,
              "%s: size %zu is no multiple of the %zu bytes of aclrtMemGetAllocationGranularity",
              where, size, unit);
}

aclError allocate(aclrtDrvMemHandle* handle, size_t size, const aclrtPhysicalMemProp& prop,
                  const char* where) {
  if (const aclError error = refuse_after_fork(where)) return error;
  Heap* heap = nullptr;
  if (prop.location.type == ACL_MEM_LOCATION_TYPE_DEVICE) {
    if (const aclError error = check_device(prop.location.id, where)) return error;
    heap = heap_of(static_cast<int32_t>(prop.location.id), where, ACL_ERROR_RT_MEMORY_ALLOCATION);
    if (heap == nullptr) return ACL_ERROR_RT_MEMORY_ALLOCATION;
  } else if (const aclError error = watch_forks(where, ACL_ERROR_RT_MEMORY_ALLOCATION)) {
    return error;
  }
  Room room(heap, size);
  if (!room.taken()) {
    if (heap == nullptr) return no_room(size, "the host has less memory", where);
    return no_room(size,
                   "device " + std::to_string(prop.location.id) + " has " +
                       std::to_string(heap->free_bytes()) + " of " + std::to_string(heap->size()) +
                       " free; free some or raise WEFT_DEVICE_MEMORY",
                   where);
  }
  std::string why;
  Physical memory{-1, size, prop, false, 1, 0, 0};
  memory.file = create_memory_file("weft-physical", size, &why);
  if (memory.file < 0) return no_room(size, why + "; or free some", where);
  const std::lock_guard lock(vmm().mutex);
  try {
    *handle = add_physical(vmm(), memory);
  } catch (...) {
    close(memory.file);
    throw;
  }
  room.keep();
  return ACL_SUCCESS;
}

}  // namespace

Vmm& vmm() {
  static auto& all = *new Vmm;  // never destroyed: threads may still run during exit
  return all;
}

void lock_before_fork() noexcept { vmm().mutex.lock(); }

void unlock_after_fork() noexcept { vmm().mutex.unlock(); }

void close_after_fork() noexcept {
  for (auto& [handle, memory] : vmm().physicals) {
    close(memory.file);
    memory.file = -1;
  }
  vmm().mutex.unlock();
}

aclrtDrvMemHandle add_physical(Vmm& all, const Physical& memory) {
  const uint64_t handle = kHandleTag | ++all.last_handle;
  all.physicals.emplace(handle, memory);
  return reinterpret_cast<aclrtDrvMemHandle>(handle);
}

Physicals::iterator find_physical(Vmm& all, aclrtDrvMemHandle handle, const char* where,
                                  aclError* error) noexcept {
  *error = ACL_SUCCESS;
  if (handle == nullptr) {
    *error = fail(ACL_ERROR_INVALID_PARAM, "%s: handle is NULL", where);
    return all.physicals.end();
  }
  const auto it = all.physicals.find(reinterpret_cast<uint64_t>(handle));
  if (it != all.physicals.end() && it->second.references > 0) return it;
  *error = fail(ACL_ERROR_RT_INVALID_HANDLE,
                "%s: %p is no handle of physical memory in this process, or it was freed", where,
                handle);
  return all.physicals.end();
}

void drop_unused(Vmm& all, Physicals::iterator it) noexcept {
  const Physical& memory = it->second;
  if (memory.references > 0 || memory.mappings > 0) return;
  if (memory.imported) {
    all.imports.erase(memory.shareable);
  } else {
    if (memory.shareable != 0) remove_export(from_shareable(memory.shareable));
    if (memory.on_device()) {
      device_at(static_cast<int32_t>(memory.prop.location.id))
          .heap.load()
          ->give_outside(memory.size);
    }
  }
  close(memory.file);
  all.physicals.erase(it);
}

size_t granularity_of(const aclrtPhysicalMemProp& prop, const char* where,
                      aclError* error) noexcept {
  const aclrtMemLocationType type = prop.location.type;
  const bool device = type == ACL_MEM_LOCATION_TYPE_DEVICE;
  if (!device && type != ACL_MEM_LOCATION_TYPE_HOST && type != ACL_MEM_LOCATION_TYPE_HOST_NUMA) {
    *error = fail(ACL_ERROR_INVALID_PARAM, "%s: location type %d is neither host nor device", where,
                  type);
    return 0;
  }
  if (!attribute_fits(prop.memAttr, device)) {
    *error = fail(ACL_ERROR_INVALID_PARAM, "%s: memAttr %d is not for memory of %s", where,
                  prop.memAttr, device ? "a device" : "the host");
    return 0;
  }
  return is_giant(prop.memAttr) ? kGiantPage : kHugePage;
}

}  // namespace weft::acl

using namespace weft::acl;

aclError aclrtMemGetAllocationGranularity(aclrtPhysicalMemProp* prop,
                                          aclrtMemGranularityOptions option, size_t* granularity) {
  constexpr const char* kWhere = "aclrtMemGetAllocationGranularity";
  if (prop == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "%s: prop is NULL", kWhere);
  if (granularity == nullptr) return null_output(kWhere, "granularity");
  if (option != ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM &&
      option != ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: option %d is neither MINIMUM nor RECOMMENDED", kWhere,
                option);
  }
  aclError error = ACL_SUCCESS;
  const size_t unit = granularity_of(*prop, kWhere, &error);
  if (error == ACL_SUCCESS) *granularity = unit;
  return error;
}

aclError aclrtMallocPhysical(aclrtDrvMemHandle* handle, size_t size,
                             const aclrtPhysicalMemProp* prop, uint64_t flags) {
  constexpr const char* kWhere = "aclrtMallocPhysical";
  if (handle == nullptr) return null_output(kWhere, "handle");
  if (prop == nullptr || size == 0 || flags != 0) {
    return fail(ACL_ERROR_INVALID_PARAM,
                "%s: prop %p must not be NULL, size %zu must not be 0 and flags 0x%llx must be 0",
                kWhere, static_cast<const void*>(prop), size,
                static_cast<unsigned long long>(flags));
  }
  if (const aclError error = check_request(size, *prop, kWhere)) return error;
  return guarded(kWhere, [&] { return allocate(handle, size, *prop, kWhere); });
}

aclError aclrtFreePhysical(aclrtDrvMemHandle handle) {
  constexpr const char* kWhere = "aclrtFreePhysical";
  return guarded(kWhere, [&]() -> aclError {
    if (const aclError error = refuse_after_fork(kWhere)) return error;
    Vmm& all = vmm();
    const std::lock_guard lock(all.mutex);
    aclError error = ACL_SUCCESS;
    const auto it = find_physical(all, handle, kWhere, &error);
    if (error != ACL_SUCCESS) return error;
    --it->second.references;
    drop_unused(all, it);
    return ACL_SUCCESS;
  });
}

aclError aclrtMemGetAllocationPropertiesFromHandle(aclrtDrvMemHandle handle,
                                                   aclrtPhysicalMemProp* prop) {
  constexpr const char* kWhere = "aclrtMemGetAllocationPropertiesFromHandle";
  if (prop == nullptr) return null_output(kWhere, "prop");
  return guarded(kWhere, [&]() -> aclError {
    Vmm& all = vmm();
    const std::lock_guard lock(all.mutex);
    aclError error = ACL_SUCCESS;
    const auto it = find_physical(all, handle, kWhere, &error);
    if (error == ACL_SUCCESS) *prop = it->second.prop;
    return error;
  });
}
