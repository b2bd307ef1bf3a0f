// SPDX-License-Identifier: Apache-2.0
// The part of acl/acl_host.h that concerns memory.
#include "acl/acl_host.h"
#include "context.hpp"
#include "heap.hpp"

using namespace weft::acl;

aclError aclhostGetHeap(int32_t deviceId, void** base, size_t* size) {
  constexpr const char* kWhere = "aclhostGetHeap";
  if (base == nullptr || size == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: an output is NULL; pass where to store both", kWhere);
  }
  return guarded(kWhere, [&]() -> aclError {
    if (const aclError error = check_device(deviceId, kWhere)) return error;
    const Heap* heap = heap_of(deviceId, kWhere, ACL_ERROR_RT_DEV_SETUP_ERROR);
    if (heap == nullptr) return ACL_ERROR_RT_DEV_SETUP_ERROR;
    *base = heap->base();
    *size = heap->size();
    return ACL_SUCCESS;
  });
}
