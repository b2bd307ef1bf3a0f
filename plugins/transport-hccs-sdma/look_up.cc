// SPDX-License-Identifier: Apache-2.0
// What the ACL runtime knows of the memory at an address.
#include "acl/acl_rt.h"
#include "context.hpp"

namespace weft::hccs {
namespace {

/// Whether the block at `base` is mapped physical memory.
bool is_mapping(void* base) noexcept {
  aclrtDrvMemHandle handle = nullptr;
  if (aclrtMemRetainAllocationHandle(base, &handle) != ACL_SUCCESS) return false;
  aclrtFreePhysical(handle);
  return true;
}

}  // namespace

int32_t look_up(const void* heap, uint64_t bytes, const void* address,
                weft_address* place) noexcept {
  place->kind = WEFT_ADDRESS_OTHER;
  place->device = -1;
  place->base = 0;
  place->bytes = 0;
  aclrtPtrAttributes attributes{};
  if (aclrtPointerGetAttributes(address, &attributes) != ACL_SUCCESS) return WEFT_E_RUNTIME;
  const bool on_device = attributes.location.type == ACL_MEM_LOCATION_TYPE_DEVICE;
  if (!on_device && attributes.location.type != ACL_MEM_LOCATION_TYPE_HOST) return WEFT_OK;
  if (on_device) place->device = static_cast<int32_t>(attributes.location.id);
  void* base = nullptr;
  size_t size = 0;
  if (aclrtMemGetAddressRange(const_cast<void*>(address), &base, &size) != ACL_SUCCESS) {
    place->kind = on_device ? WEFT_ADDRESS_FREED : WEFT_ADDRESS_OTHER;
    return WEFT_OK;
  }
  place->base = reinterpret_cast<uint64_t>(base);
  place->bytes = size;
  place->kind = on_device ? WEFT_ADDRESS_DEVICE : WEFT_ADDRESS_PINNED;
  // The runtime answers the question for a mapping with an error where there is none: it is not
  // asked about the memory that most buffers are in.
  const bool in_heap = place->base - reinterpret_cast<uint64_t>(heap) < bytes;
  if (on_device && !in_heap && is_mapping(base)) place->kind = WEFT_ADDRESS_MAPPED;
  return WEFT_OK;
}

}  // namespace weft::hccs
