// SPDX-License-Identifier: Apache-2.0
// Choosing a link to mapped memory. A plain host has one kind of link: the choice is checked, and
// the memory is the same over each.
#include "context.hpp"
#include "memory.hpp"
#include "soc.hpp"

using namespace weft::acl;

aclError aclrtMemMapSelectedLink(void* virPtrDst, size_t size, void* virPtrSrc, uint32_t linkIdx) {
  constexpr const char* kWhere = "aclrtMemMapSelectedLink";
  if (virPtrDst == nullptr || virPtrSrc == nullptr || size == 0) {
    return fail(ACL_ERROR_INVALID_PARAM,
                "%s: virPtrDst %p and virPtrSrc %p must not be NULL and size %zu not 0", kWhere,
                virPtrDst, virPtrSrc, size);
  }
  if (!soc_is(kSocA3)) {
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s: %s has no links to choose from", kWhere,
                aclrtGetSocName());
  }
  if (linkIdx > ACL_RT_MEM_LINK_IDX_1) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: link %u is neither SIO (0) nor HCCS (1)", kWhere,
                linkIdx);
  }
  aclrtDrvMemHandle handle = nullptr;
  if (const aclError error = aclrtMemRetainAllocationHandle(virPtrSrc, &handle)) return error;
  const aclError error = aclrtMapMem(virPtrDst, size, 0, handle, 0);
  aclrtFreePhysical(handle);  // the mapping, and whoever had it before, keep the memory
  return error;
}

aclError aclrtMemP2PMap(void* devPtr, size_t size, int32_t dstDevId, uint64_t flags) {
  constexpr const char* kWhere = "aclrtMemP2PMap";
  if (devPtr == nullptr || size == 0 || flags != 0) {
    return fail(ACL_ERROR_INVALID_PARAM,
                "%s: devPtr %p must not be NULL, size %zu must not be 0 and flags 0x%llx must be 0",
                kWhere, devPtr, size, static_cast<unsigned long long>(flags));
  }
  if (!soc_is(kSoc950)) {
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s: %s does not have it; use %s", kWhere,
                aclrtGetSocName(), "aclrtDeviceEnablePeerAccess");
  }
  if (const aclError error = check_device(dstDevId, kWhere)) return error;
  if (const aclError error = need_known(devPtr, size, false, kWhere, "devPtr")) return error;
  return guarded(kWhere, [&]() -> aclError {
    const int32_t owner = locate(devPtr).device;
    if (owner != dstDevId) enable_peer(dstDevId, owner);
    return ACL_SUCCESS;
  });
}
