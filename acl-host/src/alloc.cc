// SPDX-License-Identifier: Apache-2.0
// Allocation of device memory and of page-locked host memory.
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "context.hpp"
#include "heap.hpp"
#include "memory.hpp"

namespace weft::acl {
namespace {

constexpr size_t kPadding = 63;  // what a device adds to a request, at most: limits its size

aclError check_request(const void* output, size_t size, const char* where) noexcept {
  if (output == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: the output is NULL; pass where to store the pointer",
                where);
  }
  if (size == 0 || size > SIZE_MAX - kPadding) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: size %zu cannot be allocated; ask for 1 byte or more",
                where, size);
  }
  return ACL_SUCCESS;
}

aclError check_config(const aclrtMallocConfig* config, const char* where) noexcept {
  if (config == nullptr || config->numAttrs == 0 || config->attrs != nullptr) return ACL_SUCCESS;
  return fail(ACL_ERROR_INVALID_PARAM, "%s: numAttrs is %zu and attrs is NULL; pass the attributes",
              where, config->numAttrs);
}

aclError allocate(void** output, size_t size, const char* where) noexcept {
  if (const aclError error = check_request(output, size, where)) return error;
  const Context* context = need_context(where);
  if (context == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
  return guarded(where, [&]() -> aclError {
    Heap* heap = heap_of(context->device, where, ACL_ERROR_RT_MEMORY_ALLOCATION);
    if (heap == nullptr) return ACL_ERROR_RT_MEMORY_ALLOCATION;
    *output = heap->allocate(size);
    if (*output != nullptr) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_MEMORY_ALLOCATION,
                "%s: no room for %zu bytes on device %d, which has %zu of %zu free; free some or "
                "raise WEFT_DEVICE_MEMORY",
                where, size, context->device, heap->free_bytes(), heap->size());
  });
}

aclError refuse_free(const void* pointer, const char* where) noexcept {
  const Location location = locate(pointer);
  switch (location.place) {
    case Place::kHeap:
      if (const Range block = find_heap(pointer)->block_of(pointer); block.size != 0) {
        return fail(ACL_ERROR_RT_PARAM_INVALID,
                    "%s: %p lies inside of the block at %p; pass the address that aclrtMalloc gave",
                    where, pointer, reinterpret_cast<void*>(block.base));
      }
      return fail(ACL_ERROR_RT_PARAM_INVALID,
                  "%s: %p is not allocated on device %d, or no longer; free each block once", where,
                  pointer, location.device);
    case Place::kImported:
      return fail(ACL_ERROR_RT_PARAM_INVALID,
                  "%s: %p is another process's memory; use aclrtIpcMemClose", where, pointer);
    case Place::kMapped:
    case Place::kMappedHost:
    case Place::kReserved:
      return fail(ACL_ERROR_RT_PARAM_INVALID,
                  "%s: %p lies in reserved addresses; use aclrtUnmapMem, aclrtFreePhysical and "
                  "aclrtReleaseMemAddress",
                  where, pointer);
    case Place::kAllocated:
      return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %p is host memory; use aclrtFreeHost", where,
                  pointer);
    case Place::kRegistered:
    case Place::kUnknown:
      break;
  }
  return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %p is not from aclrtMalloc", where, pointer);
}

size_t host_memory() noexcept {
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

aclError allocate_host(void** output, size_t size, const char* where) noexcept {
  if (const aclError error = check_request(output, size, where)) return error;
  std::unique_ptr<void, decltype(&std::free)> memory(nullptr, std::free);
  if (size <= host_memory()) {
    memory.reset(std::aligned_alloc(kSmallest, (size + kSmallest - 1) / kSmallest * kSmallest));
  }
  if (memory == nullptr) {
    return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%s: the host has no room for %zu bytes", where,
                size);
  }
  return guarded(where, [&]() -> aclError {
    Range obstacle;
    const Range range{reinterpret_cast<uintptr_t>(memory.get()), size};
    if (!add_range(range, Place::kAllocated, -1, &obstacle)) return refuse_stale(obstacle, where);
    *output = memory.release();
    return ACL_SUCCESS;
  });
}

aclError register_host(void* pointer, size_t size, const char* where) noexcept {
  if (pointer == nullptr || size == 0) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: %s", where,
                pointer == nullptr ? "ptr is NULL" : "size is 0; pass 1 byte or more");
  }
  const auto base = reinterpret_cast<uintptr_t>(pointer);
  if (base % kPage != 0 || size > UINTPTR_MAX - base) {
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "%s: the range at %p of %zu bytes must begin at a multiple of 4096", where, pointer,
                size);
  }
  return guarded(where, [&]() -> aclError {
    Range obstacle;
    if (add_range({base, size}, Place::kRegistered, -1, &obstacle)) return ACL_SUCCESS;
    return fail(ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
                "%s: the range at %p of %zu bytes overlaps page-locked memory at %p; unregister it "
                "first",
                where, pointer, size, reinterpret_cast<void*>(obstacle.base));
  });
}

}  // namespace
}  // namespace weft::acl

using namespace weft::acl;

aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy) {
  return allocate(devPtr, size, "aclrtMalloc");
}

aclError aclrtMallocAlign32(void** devPtr, size_t size, aclrtMemMallocPolicy) {
  return allocate(devPtr, size, "aclrtMallocAlign32");
}

aclError aclrtMallocCached(void** devPtr, size_t size, aclrtMemMallocPolicy) {
  return allocate(devPtr, size, "aclrtMallocCached");
}

aclError aclrtMallocWithCfg(void** devPtr, size_t size, aclrtMemMallocPolicy,
                            aclrtMallocConfig* cfg) {
  if (const aclError error = check_config(cfg, "aclrtMallocWithCfg")) return error;
  return allocate(devPtr, size, "aclrtMallocWithCfg");
}

aclError aclrtMemFlush(void* devPtr, size_t size) {
  if (devPtr != nullptr && size != 0) return ACL_SUCCESS;
  return fail(ACL_ERROR_INVALID_PARAM, "aclrtMemFlush: the range is empty");
}

aclError aclrtMemInvalidate(void* devPtr, size_t size) {
  if (devPtr != nullptr && size != 0) return ACL_SUCCESS;
  return fail(ACL_ERROR_INVALID_PARAM, "aclrtMemInvalidate: the range is empty");
}

aclError aclrtFree(void* devPtr) {
  constexpr const char* kWhere = "aclrtFree";
  if (devPtr == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "%s: devPtr is NULL", kWhere);
  if (const aclError error = refuse_after_fork(kWhere)) return error;
  return guarded(kWhere, [&]() -> aclError {
    Heap* heap = find_heap(devPtr);
    if (heap != nullptr && heap->release(devPtr)) return ACL_SUCCESS;
    return refuse_free(devPtr, kWhere);
  });
}

aclError aclrtMallocHost(void** hostPtr, size_t size) {
  return allocate_host(hostPtr, size, "aclrtMallocHost");
}

aclError aclrtMallocHostWithCfg(void** ptr, uint64_t size, aclrtMallocConfig* cfg) {
  if (const aclError error = check_config(cfg, "aclrtMallocHostWithCfg")) return error;
  return allocate_host(ptr, size, "aclrtMallocHostWithCfg");
}

aclError aclrtFreeHost(void* hostPtr) {
  constexpr const char* kWhere = "aclrtFreeHost";
  if (hostPtr == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "%s: hostPtr is NULL", kWhere);
  Range removed;
  if (!remove_range(reinterpret_cast<uintptr_t>(hostPtr), Place::kAllocated, &removed)) {
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "%s: %p is not from aclrtMallocHost, or no longer; free each block once", kWhere,
                hostPtr);
  }
  std::free(hostPtr);
  return ACL_SUCCESS;
}

aclError aclrtHostRegister(void* ptr, uint64_t size, aclrtHostRegisterType type, void** devPtr) {
  constexpr const char* kWhere = "aclrtHostRegister";
  if (devPtr == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "%s: devPtr is NULL", kWhere);
  if (type == ACL_HOST_REGISTER_IOMEMORY) {
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s: a plain host has no device I/O memory",
                kWhere);
  }
  if (type != ACL_HOST_REGISTER_MAPPED && type != ACL_HOST_REGISTER_READONLY) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: type %d does not exist", kWhere, type);
  }
  if (const aclError error = register_host(ptr, size, kWhere)) return error;
  *devPtr = ptr;
  return ACL_SUCCESS;
}

aclError aclrtHostRegisterV2(void* ptr, uint64_t size, uint32_t flag) {
  constexpr const char* kWhere = "aclrtHostRegisterV2";
  if (flag == 0 || (flag & ~(ACL_HOST_REG_MAPPED | ACL_HOST_REG_PINNED)) != 0) {
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "%s: flag 0x%x is not made of ACL_HOST_REG_MAPPED and ACL_HOST_REG_PINNED", kWhere,
                flag);
  }
  return register_host(ptr, size, kWhere);
}

aclError aclrtHostGetDevicePointer(void* pHost, void** pDevice, uint32_t flag) {
  constexpr const char* kWhere = "aclrtHostGetDevicePointer";
  if (pHost == nullptr || pDevice == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: %s is NULL", kWhere,
                pHost == nullptr ? "pHost" : "pDevice");
  }
  if (flag != 0) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: flag is 0x%x; it must be 0", kWhere, flag);
  }
  if (!is_pinned(locate(pHost).place)) {
    return fail(ACL_ERROR_HOST_MEMORY_NOT_REGISTERED,
                "%s: %p is not registered; call aclrtHostRegister first", kWhere, pHost);
  }
  *pDevice = pHost;
  return ACL_SUCCESS;
}

aclError aclrtHostUnregister(void* ptr) {
  constexpr const char* kWhere = "aclrtHostUnregister";
  if (ptr == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "%s: ptr is NULL", kWhere);
  Range removed;
  if (remove_range(reinterpret_cast<uintptr_t>(ptr), Place::kRegistered, &removed)) {
    return ACL_SUCCESS;
  }
  return fail(ACL_ERROR_HOST_MEMORY_NOT_REGISTERED, "%s: no registered range begins at %p", kWhere,
              ptr);
}
