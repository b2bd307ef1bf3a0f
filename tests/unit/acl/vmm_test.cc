// SPDX-License-Identifier: Apache-2.0
// Virtual memory in one process: reserving, allocating, mapping, using, and giving back.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "vmm_support.hpp"

namespace weft::test {
namespace {

class Vmm : public VmmTest {};

unsigned char mapped_byte(size_t i) { return static_cast<unsigned char>(i * 7 + i / 4096); }

// Two pieces of memory next to each other are used as one, odd sizes and the seam included.
TEST_F(Vmm, AdjoiningMappingsAreUsedLikeOneBlock) {
  void* base = reserve(2 * kUnit);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(base) % kUnit, 0U);
  aclrtDrvMemHandle handles[] = {allocate(kUnit), allocate(kUnit)};
  unsigned char* bytes = bytes_of(base);
  map(bytes + kUnit, kUnit, handles[1]);
  map(bytes, kUnit, handles[0]);
  std::vector<unsigned char> in(2 * kUnit);
  for (size_t i = 0; i < in.size(); ++i) in[i] = mapped_byte(i);
  for (const size_t size : {size_t{1}, size_t{4097}, 2 * kUnit - 3, 2 * kUnit}) {
    const size_t at = 2 * kUnit - size;
    std::vector<unsigned char> out(size);
    ASSERT_EQ(aclrtMemset(base, 2 * kUnit, 0xEE, 2 * kUnit), ACL_SUCCESS) << error_text();
    ASSERT_EQ(aclrtMemcpyAsync(bytes + at, size, &in[at], size, ACL_MEMCPY_HOST_TO_DEVICE, stream_),
              ACL_SUCCESS)
        << error_text();
    ASSERT_EQ(
        aclrtMemcpyAsync(out.data(), size, bytes + at, size, ACL_MEMCPY_DEVICE_TO_HOST, stream_),
        ACL_SUCCESS)
        << error_text();
    synchronise();
    EXPECT_EQ(std::memcmp(out.data(), &in[at], size), 0) << size;
    if (at > 0) {
      EXPECT_EQ(bytes[at - 1], 0xEE);
    }
  }
  EXPECT_EQ(aclrtMemcpy(base, 3 * kUnit, in.data(), 2 * kUnit + 1, ACL_MEMCPY_HOST_TO_DEVICE),
            ACL_ERROR_RT_PARAM_INVALID);
  expect_text("ends outside");
  for (aclrtDrvMemHandle handle : handles) free_memory(handle);
  EXPECT_EQ(bytes[kUnit], mapped_byte(kUnit));  // memory stays while it is mapped
  unmap(bytes);
  unmap(bytes + kUnit);
  release(base);
}

TEST_F(Vmm, MappedMemoryIsReducedSetAndCopiedBetweenDevices) {
  void* base = reserve(kUnit);
  void* far = reserve(kUnit);
  aclrtDrvMemHandle near_memory = allocate(kUnit);
  aclrtDrvMemHandle far_memory = allocate(kUnit, device_memory(1));
  map(base, kUnit, near_memory);
  map(far, kUnit, far_memory);
  constexpr size_t kCount = 1003;
  auto* sum = static_cast<float*>(base);
  auto* part = static_cast<float*>(far);
  for (size_t i = 0; i < kCount; ++i) {
    sum[i] = static_cast<float>(i);
    part[i] = 0.5F;
  }
  ASSERT_EQ(aclrtReduceAsync(base, far, kCount * 4, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT,
                             stream_, nullptr),
            ACL_SUCCESS)
      << error_text();
  ASSERT_EQ(aclrtMemcpyAsync(far, kUnit, base, kCount * 4, ACL_MEMCPY_DEVICE_TO_DEVICE, stream_),
            ACL_SUCCESS)
      << error_text();
  ASSERT_EQ(aclrtMemsetAsync(base, kUnit, 0, 4, stream_), ACL_SUCCESS) << error_text();
  synchronise();
  EXPECT_EQ(sum[0], 0.0F);
  for (size_t i = 0; i < kCount; ++i) ASSERT_EQ(part[i], static_cast<float>(i) + 0.5F) << i;
  for (void* memory : {base, far}) {
    unmap(memory);
    release(memory);
  }
  free_memory(near_memory);
  free_memory(far_memory);
}

TEST_F(Vmm, QuestionsAboutMappedAddressesAreAnswered) {
  void* base = reserve(3 * kUnit);
  unsigned char* middle = bytes_of(base) + kUnit;
  aclrtDrvMemHandle handle = allocate(kUnit, device_memory(2));
  map(middle, kUnit, handle);
  aclrtPtrAttributes attributes{};
  ASSERT_EQ(aclrtPointerGetAttributes(middle + 77, &attributes), ACL_SUCCESS);
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(attributes.location.id, 2U);
  EXPECT_EQ(attributes.pageSize, kUnit);
  void* start = nullptr;
  size_t size = 0;
  ASSERT_EQ(aclrtMemGetAddressRange(middle + 77, &start, &size), ACL_SUCCESS) << error_text();
  EXPECT_EQ(start, middle);
  EXPECT_EQ(size, kUnit);
  aclrtPhysicalMemProp prop{};
  ASSERT_EQ(aclrtMemGetAllocationPropertiesFromHandle(handle, &prop), ACL_SUCCESS);
  EXPECT_EQ(prop.memAttr, ACL_HBM_MEM_HUGE);
  EXPECT_EQ(prop.location.id, 2U);

  ASSERT_EQ(aclrtPointerGetAttributes(base, &attributes), ACL_SUCCESS);
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_UNREGISTERED);
  EXPECT_EQ(aclrtMemGetAddressRange(base, &start, &size), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtFree(middle), ACL_ERROR_RT_PARAM_INVALID);
  expect_text("aclrtUnmapMem");
  unmap(middle);
  free_memory(handle);
  release(base);
}

TEST_F(Vmm, HostMemoryIsPageLocked) {
  void* base = reserve(kUnit);
  aclrtDrvMemHandle handle = allocate(kUnit, host_memory());
  map(base, kUnit, handle);
  free_memory(handle);
  aclrtPtrAttributes attributes{};
  ASSERT_EQ(aclrtPointerGetAttributes(base, &attributes), ACL_SUCCESS);
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_HOST);
  void* block = nullptr;
  ASSERT_EQ(aclrtMalloc(&block, 100, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  std::memset(base, 5, 100);
  EXPECT_EQ(
      aclrtMemcpyAsyncWithCondition(block, 100, base, 100, ACL_MEMCPY_HOST_TO_DEVICE, stream_),
      ACL_SUCCESS)
      << error_text();
  synchronise();
  EXPECT_EQ(std::memcmp(block, base, 100), 0);
  uint64_t flag = 0;
  aclrtMemLocation location{0, ACL_MEM_LOCATION_TYPE_HOST};
  ASSERT_EQ(aclrtMemGetAccess(base, &location, &flag), ACL_SUCCESS);
  EXPECT_EQ(flag, static_cast<uint64_t>(ACL_RT_MEM_ACCESS_FLAGS_READWRITE));
  EXPECT_EQ(aclrtFree(block), ACL_SUCCESS);
  unmap(base);
  release(base);
}

TEST_F(Vmm, AccessIsGivenLater) {
  void* base = reserve(kUnit);
  aclrtDrvMemHandle handle = allocate(kUnit);
  ASSERT_EQ(aclrtMemMapNoAccess(base, kUnit, 0, handle, 0), ACL_SUCCESS) << error_text();
  EXPECT_EQ(aclrtMemset(base, kUnit, 1, 1), ACL_ERROR_RT_PARAM_INVALID);
  expect_text("aclrtMemSetAccess");
  uint64_t flag = 9;
  aclrtMemLocation location{0, ACL_MEM_LOCATION_TYPE_DEVICE};
  ASSERT_EQ(aclrtMemGetAccess(base, &location, &flag), ACL_SUCCESS) << error_text();
  EXPECT_EQ(flag, 0U);
  aclrtMemAccessDesc access[] = {{ACL_RT_MEM_ACCESS_FLAGS_READWRITE, location, {}},
                                 {ACL_RT_MEM_ACCESS_FLAGS_READWRITE, {1, location.type}, {}}};
  EXPECT_EQ(aclrtMemSetAccess(base, kUnit - 1, access, 2), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemSetAccess(base, kUnit, access, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemSetAccess(bytes_of(base) + 4096, kUnit, access, 2), ACL_ERROR_RT_PARAM_INVALID);
  expect_text("inside of the mapping");
  access[1].flags = ACL_RT_MEM_ACCESS_FLAGS_READ;
  EXPECT_EQ(aclrtMemSetAccess(base, kUnit, access, 2), ACL_ERROR_RT_PARAM_INVALID);
  expect_text("READWRITE");
  access[1].flags = ACL_RT_MEM_ACCESS_FLAGS_READWRITE;
  access[1].location = {99, ACL_MEM_LOCATION_TYPE_DEVICE};
  EXPECT_EQ(aclrtMemSetAccess(base, kUnit, access, 2), ACL_ERROR_RT_INVALID_DEVICEID);
  access[1].location = {1, ACL_MEM_LOCATION_TYPE_HOST};
  EXPECT_EQ(aclrtMemSetAccess(base, kUnit, access, 2), ACL_ERROR_RT_PARAM_INVALID);
  access[1].location = {0, ACL_MEM_LOCATION_TYPE_MANAGED};
  EXPECT_EQ(aclrtMemSetAccess(base, kUnit, access, 2), ACL_ERROR_INVALID_PARAM);
  access[1].location = {1, ACL_MEM_LOCATION_TYPE_DEVICE};
  for (int again = 0; again < 2; ++again) {
    ASSERT_EQ(aclrtMemSetAccess(base, kUnit, access, 2), ACL_SUCCESS) << error_text();
  }
  for (const uint32_t device : {0U, 1U, 2U}) {
    location.id = device;
    ASSERT_EQ(aclrtMemGetAccess(base, &location, &flag), ACL_SUCCESS);
    EXPECT_EQ(flag, device < 2 ? 3U : 0U);
  }
  EXPECT_EQ(aclrtMemset(base, kUnit, 1, kUnit), ACL_SUCCESS) << error_text();
  unmap(base);
  EXPECT_EQ(aclrtMemGetAccess(base, &location, &flag), ACL_ERROR_RT_PARAM_INVALID);
  free_memory(handle);
  release(base);
}

TEST_F(Vmm, AHandleIsMappedTwiceAndRetained) {
  void* base = reserve(2 * kUnit);
  unsigned char* bytes = bytes_of(base);
  aclrtDrvMemHandle handle = allocate(kUnit);
  map(bytes, kUnit, handle);
  map(bytes + kUnit, kUnit, handle);
  bytes[5] = 50;
  EXPECT_EQ(bytes[kUnit + 5], 50);
  free_memory(handle);
  EXPECT_EQ(aclrtFreePhysical(handle), ACL_ERROR_RT_INVALID_HANDLE);
  aclrtDrvMemHandle retained = nullptr;
  EXPECT_EQ(aclrtMemRetainAllocationHandle(bytes + 1, &retained), ACL_ERROR_RT_PARAM_INVALID);
  ASSERT_EQ(aclrtMemRetainAllocationHandle(bytes + kUnit, &retained), ACL_SUCCESS);
  EXPECT_EQ(retained, handle);
  unmap(bytes);
  unmap(bytes + kUnit);
  map(bytes, kUnit, retained);  // the reference has kept the memory
  EXPECT_EQ(bytes[5], 50);
  free_memory(retained);
  unmap(bytes);
  EXPECT_EQ(aclrtMapMem(bytes, kUnit, 0, retained, 0), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtMemRetainAllocationHandle(bytes, &retained), ACL_ERROR_RT_PARAM_INVALID);
  release(base);
}

TEST_F(Vmm, MistakesOfMappingAreNamed) {
  void* base = reserve(4 * kUnit);
  unsigned char* bytes = bytes_of(base);
  aclrtDrvMemHandle one = allocate(kUnit);
  aclrtDrvMemHandle two = allocate(2 * kUnit);
  EXPECT_EQ(aclrtMapMem(nullptr, kUnit, 0, one, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMapMem(base, kUnit, 0, nullptr, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMapMem(base, 0, 0, one, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMapMem(base, kUnit, 0, one, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMapMem(base, kUnit, kUnit, one, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMapMem(base, kUnit, 0, two, 0), ACL_ERROR_RT_PARAM_INVALID);
  expect_text("must be the memory's");
  EXPECT_EQ(aclrtMapMem(bytes + 4096, kUnit, 0, one, 0), ACL_ERROR_RT_PARAM_INVALID);
  expect_text("no multiple");
  EXPECT_EQ(aclrtMapMem(bytes + 3 * kUnit, 2 * kUnit, 0, two, 0), ACL_ERROR_RT_PARAM_INVALID);
  expect_text("does not lie in one range");
  EXPECT_EQ(aclrtMapMem(&base, kUnit, 0, one, 0), ACL_ERROR_RT_PARAM_INVALID);

  map(bytes + kUnit, 2 * kUnit, two);
  for (const size_t at : {kUnit, 2 * kUnit}) {
    EXPECT_EQ(aclrtMapMem(bytes + at, kUnit, 0, one, 0), ACL_ERROR_RT_PARAM_INVALID) << at;
    expect_text("overlaps the mapping");
  }
  EXPECT_EQ(aclrtMapMem(bytes, 2 * kUnit, 0, two, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtUnmapMem(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtUnmapMem(bytes + 2 * kUnit), ACL_ERROR_RT_PARAM_INVALID);
  expect_text("inside of the mapping");
  EXPECT_EQ(aclrtUnmapMem(bytes), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtUnmapMem(&base), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtReleaseMemAddress(base), ACL_ERROR_RT_PARAM_INVALID);
  expect_text("still has 1 mappings");
  EXPECT_EQ(aclrtReleaseMemAddress(bytes + kUnit), ACL_ERROR_RT_PARAM_INVALID);

  aclrtDrvMemHandle other = allocate(kUnit, device_memory(1));
  EXPECT_EQ(aclrtMapMem(bytes, kUnit, 0, other, 0), ACL_ERROR_RT_PARAM_INVALID);
  expect_text("memory of one device");
  unmap(bytes + kUnit);
  EXPECT_EQ(aclrtUnmapMem(bytes + kUnit), ACL_ERROR_RT_PARAM_INVALID);
  map(bytes, kUnit, other);  // empty again: any device
  unmap(bytes);
  for (aclrtDrvMemHandle handle : {one, two, other}) free_memory(handle);
  release(base);
  EXPECT_EQ(aclrtReleaseMemAddress(base), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtReleaseMemAddress(nullptr), ACL_ERROR_INVALID_PARAM);
}

TEST_F(Vmm, MistakesOfReservingAreNamed) {
  void* base = nullptr;
  EXPECT_EQ(aclrtReserveMemAddress(nullptr, kUnit, 0, nullptr, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtReserveMemAddress(&base, 0, 0, nullptr, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtReserveMemAddress(&base, kUnit, 0, nullptr, 2), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtReserveMemAddress(&base, kUnit, kUnit, nullptr, 0), ACL_ERROR_RT_PARAM_INVALID);
  for (const size_t size : {SIZE_MAX, SIZE_MAX / 2, size_t{1} << 60}) {
    EXPECT_EQ(aclrtReserveMemAddress(&base, size, 0, nullptr, 0), ACL_ERROR_RT_MEMORY_ALLOCATION);
  }
  constexpr uintptr_t kTiB = uintptr_t{1} << 40;
  struct Fixed {
    uintptr_t address;
    size_t size;
  };
  for (const auto& [address, size] :
       {Fixed{15 * kTiB, kUnit}, Fixed{24 * kTiB, kUnit}, Fixed{17 * kTiB + 4096, 1},
        Fixed{24 * kTiB - kUnit, 2 * kUnit}, Fixed{17 * kTiB + kUnit, 3 * kUnit},
        Fixed{17 * kTiB + kUnit, size_t{1} << 30}}) {
    EXPECT_EQ(aclrtReserveMemAddress(&base, size, 0, reinterpret_cast<void*>(address), 0),
              ACL_ERROR_RT_PARAM_INVALID);
    expect_text("between 16 and 24 TiB");
  }
  EXPECT_EQ(aclrtReserveMemAddressNoUCMemory(&base, kUnit, 0, nullptr, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(
      aclrtReserveMemAddressNoUCMemory(&base, kUnit, 0, reinterpret_cast<void*>(40 * kTiB), 0),
      ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(base, nullptr);
  ASSERT_EQ(aclrtReserveMemAddress(&base, kUnit + 1, 0, nullptr, 0), ACL_SUCCESS);  // an odd size
  release(base);
}

#ifndef __SANITIZE_THREAD__  // which does not let programs choose addresses
TEST_F(Vmm, AddressesCanBeChosenOnce) {
  constexpr size_t kSize = size_t{1} << 30;
  void* const wish = reinterpret_cast<void*>((uintptr_t{20} << 40) + kSize);
  void* base = nullptr;
  ASSERT_EQ(aclrtReserveMemAddress(&base, kSize, 0, wish, 1), ACL_SUCCESS) << error_text();
  EXPECT_EQ(base, wish);
  void* again = nullptr;
  EXPECT_EQ(aclrtReserveMemAddress(&again, kSize, 0, wish, 1), ACL_ERROR_RT_PARAM_INVALID);
  expect_text("in use");
  release(base);
  ASSERT_EQ(aclrtReserveMemAddress(&base, kUnit, 0, wish, 1), ACL_SUCCESS) << error_text();
  release(base);
}

TEST_F(Vmm, ARangeAtAChosenAddressHoldsMemoryOfSeveralDevices) {
  constexpr size_t kSize = size_t{2} << 30;
  void* const wish = reinterpret_cast<void*>(uintptr_t{40} << 40);
  void* base = nullptr;
  ASSERT_EQ(aclrtReserveMemAddressNoUCMemory(&base, kSize, 0, wish, 1), ACL_SUCCESS)
      << error_text();
  ASSERT_EQ(base, wish);
  aclrtDrvMemHandle handles[] = {allocate(kUnit), allocate(kUnit, device_memory(1))};
  for (size_t i = 0; i < 2; ++i) map(bytes_of(base) + i * (kSize / 2), kUnit, handles[i]);
  for (size_t i = 0; i < 2; ++i) unmap(bytes_of(base) + i * (kSize / 2));
  for (aclrtDrvMemHandle handle : handles) free_memory(handle);
  release(base);
}
#endif

TEST_F(Vmm, GranularityAndMistakesOfAllocating) {
  size_t unit = 0;
  const auto minimum = ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM;
  for (int number = ACL_DDR_MEM; number <= ACL_MEM_P2P_HUGE1G; ++number) {
    const auto attribute = static_cast<aclrtMemAttr>(number);
    aclrtPhysicalMemProp prop = device_memory(0, attribute);
    const bool giant = attribute == ACL_HBM_MEM_HUGE1G || attribute == ACL_MEM_HUGE1G ||
                       attribute == ACL_MEM_P2P_HUGE1G;
    const bool any = attribute == ACL_MEM_NORMAL || attribute == ACL_MEM_HUGE ||
                     attribute == ACL_MEM_P2P_NORMAL || attribute == ACL_MEM_P2P_HUGE ||
                     attribute == ACL_HBM_MEM_HUGE || attribute == ACL_HBM_MEM_NORMAL;
    const bool ddr = attribute == ACL_DDR_MEM_HUGE || attribute == ACL_DDR_MEM_NORMAL ||
                     attribute == ACL_DDR_MEM_P2P_HUGE || attribute == ACL_DDR_MEM_P2P_NORMAL;
    EXPECT_EQ(aclrtMemGetAllocationGranularity(&prop, minimum, &unit),
              any || giant ? ACL_SUCCESS : ACL_ERROR_INVALID_PARAM)
        << number;
    if (any || giant) {
      EXPECT_EQ(unit, giant ? size_t{1} << 30 : kUnit);
    }
    prop.location.type = ACL_MEM_LOCATION_TYPE_HOST;
    EXPECT_EQ(aclrtMemGetAllocationGranularity(&prop, minimum, &unit),
              any || ddr || attribute == ACL_MEM_P2P_HUGE1G ? ACL_SUCCESS : ACL_ERROR_INVALID_PARAM)
        << number;
  }
  aclrtPhysicalMemProp prop = device_memory();
  EXPECT_EQ(aclrtMemGetAllocationGranularity(nullptr, minimum, &unit), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemGetAllocationGranularity(&prop, minimum, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_UNDEF, &unit),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(
      aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED, &unit),
      ACL_SUCCESS);

  aclrtDrvMemHandle handle = nullptr;
  const auto code = [&](size_t size, uint64_t flags = 0) {
    return aclrtMallocPhysical(&handle, size, &prop, flags);
  };
  EXPECT_EQ(aclrtMallocPhysical(nullptr, kUnit, &prop, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMallocPhysical(&handle, kUnit, nullptr, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(code(0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(code(kUnit, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(code(kUnit + 4096), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(code(SIZE_MAX / kUnit * kUnit), ACL_ERROR_RT_MEMORY_ALLOCATION);
  prop.location.id = 8;
  EXPECT_EQ(code(kUnit), ACL_ERROR_RT_INVALID_DEVICEID);
  prop.location.id = UINT32_MAX;
  EXPECT_EQ(code(kUnit), ACL_ERROR_RT_INVALID_DEVICEID);
  for (const auto type : {ACL_MEM_LOCATION_TYPE_UNREGISTERED, ACL_MEM_LOCATION_TYPE_MANAGED}) {
    prop.location = {0, type};
    EXPECT_EQ(code(kUnit), ACL_ERROR_INVALID_PARAM);
  }
  prop = device_memory();
  prop.handleType = ACL_MEM_HANDLE_TYPE_POSIX;
  EXPECT_EQ(code(kUnit), ACL_ERROR_INVALID_PARAM);
  prop = device_memory();
  prop.allocationType = enum_value<aclrtMemAllocationType>(1);
  EXPECT_EQ(code(kUnit), ACL_ERROR_INVALID_PARAM);
  prop = device_memory(0, ACL_MEM_HUGE1G);
  EXPECT_EQ(code(kUnit), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(handle, nullptr);
}

TEST_F(Vmm, AddressesWithoutMemoryAreRefused) {
  void* base = reserve(2 * kUnit);
  aclrtDrvMemHandle handle = allocate(kUnit);
  map(base, kUnit, handle);
  char host[64] = {};
  unsigned char* empty = bytes_of(base) + kUnit;
  EXPECT_EQ(aclrtMemcpy(host, 64, empty, 64, ACL_MEMCPY_DEVICE_TO_HOST),
            ACL_ERROR_RT_PARAM_INVALID);
  expect_text("without memory");
  EXPECT_EQ(aclrtMemcpyAsync(empty, 64, host, 64, ACL_MEMCPY_DEFAULT, stream_),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemset(empty - 32, 64, 0, 64), ACL_ERROR_RT_PARAM_INVALID);  // half of it
  EXPECT_EQ(aclrtReduceAsync(base, empty, 64, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT, stream_,
                             nullptr),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtValueWrite(empty, 1, 0, stream_), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtValueWrite(base, 1, 0, stream_), ACL_SUCCESS) << error_text();
  synchronise();
  unmap(base);
  EXPECT_EQ(aclrtMemset(base, 1, 0, 1), ACL_ERROR_RT_PARAM_INVALID);
  free_memory(handle);
  release(base);
}

TEST_F(Vmm, WildHandlesAndAddressesAreNamed) {
  void* base = reserve(kUnit);
  for (const uintptr_t wild : {uintptr_t{1}, uintptr_t{4096}, reinterpret_cast<uintptr_t>(&base),
                               reinterpret_cast<uintptr_t>(base), UINTPTR_MAX}) {
    auto* handle = reinterpret_cast<void*>(wild);
    aclrtPhysicalMemProp prop{};
    uint64_t shareable = 0;
    EXPECT_EQ(aclrtFreePhysical(handle), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclrtMapMem(base, kUnit, 0, handle, 0), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclrtMemGetAllocationPropertiesFromHandle(handle, &prop),
              ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, 0, &shareable),
              ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclrtUnmapMem(handle), ACL_ERROR_RT_PARAM_INVALID);
    if (handle != base) {
      EXPECT_EQ(aclrtReleaseMemAddress(handle), ACL_ERROR_RT_PARAM_INVALID);
    }
    expect_text("aclrt");
  }
  EXPECT_EQ(aclrtFreePhysical(nullptr), ACL_ERROR_INVALID_PARAM);
  release(base);
}

}  // namespace
}  // namespace weft::test
