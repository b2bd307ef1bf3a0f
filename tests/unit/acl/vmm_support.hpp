// SPDX-License-Identifier: Apache-2.0
// Helpers of the tests of virtual memory.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

#include "support.hpp"

namespace weft::test {

constexpr size_t kUnit = 2U << 20;  // of physical memory and of mappings

inline aclrtPhysicalMemProp device_memory(uint32_t device = 0,
                                          aclrtMemAttr attribute = ACL_HBM_MEM_HUGE) {
  return {ACL_MEM_HANDLE_TYPE_NONE,
          ACL_MEM_ALLOCATION_TYPE_PINNED,
          attribute,
          {device, ACL_MEM_LOCATION_TYPE_DEVICE},
          0};
}

inline aclrtPhysicalMemProp host_memory() {
  aclrtPhysicalMemProp prop = device_memory(0, ACL_MEM_NORMAL);
  prop.location.type = ACL_MEM_LOCATION_TYPE_HOST;
  return prop;
}

inline unsigned char* bytes_of(void* memory) { return static_cast<unsigned char*>(memory); }

/// A test with shorthands that expect success.
class VmmTest : public Acl {
 protected:
  void* reserve(size_t size) {
    void* base = nullptr;
    EXPECT_EQ(aclrtReserveMemAddress(&base, size, 0, nullptr, 1), ACL_SUCCESS) << error_text();
    return base;
  }
  aclrtDrvMemHandle allocate(size_t size, const aclrtPhysicalMemProp& prop = device_memory()) {
    aclrtDrvMemHandle handle = nullptr;
    EXPECT_EQ(aclrtMallocPhysical(&handle, size, &prop, 0), ACL_SUCCESS) << error_text();
    return handle;
  }
  void map(void* base, size_t size, aclrtDrvMemHandle handle) {
    EXPECT_EQ(aclrtMapMem(base, size, 0, handle, 0), ACL_SUCCESS) << error_text();
  }
  void unmap(void* base) { EXPECT_EQ(aclrtUnmapMem(base), ACL_SUCCESS) << error_text(); }
  void free_memory(aclrtDrvMemHandle handle) {
    EXPECT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS) << error_text();
  }
  void release(void* base) { EXPECT_EQ(aclrtReleaseMemAddress(base), ACL_SUCCESS) << error_text(); }
  void synchronise() { EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS) << error_text(); }
  static void expect_text(const char* part) {
    const std::string text = error_text();
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
};

}  // namespace weft::test
