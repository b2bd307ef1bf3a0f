// SPDX-License-Identifier: Apache-2.0
// Device and host memory: placement, reuse, exhaustion, bad pointers.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "support.hpp"

namespace weft::test {
namespace {

using Memory = Acl;

constexpr auto kPolicy = ACL_MEM_MALLOC_HUGE_FIRST;

TEST_F(Memory, ArgumentsAreChecked) {
  void* pointer = nullptr;
  EXPECT_EQ(aclrtMalloc(nullptr, 8, kPolicy), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMalloc(&pointer, 0, kPolicy), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMalloc(&pointer, SIZE_MAX, kPolicy), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMalloc(&pointer, SIZE_MAX / 2, kPolicy), ACL_ERROR_RT_MEMORY_ALLOCATION);
  EXPECT_NE(error_text().find("WEFT_DEVICE_MEMORY"), std::string::npos);
  aclrtMallocConfig config{nullptr, 1};
  EXPECT_EQ(aclrtMallocWithCfg(&pointer, 8, kPolicy, &config), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtFree(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMallocHost(nullptr, 8), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMallocHost(&pointer, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMallocHost(&pointer, SIZE_MAX / 2), ACL_ERROR_RT_MEMORY_ALLOCATION);
  EXPECT_EQ(aclrtFreeHost(nullptr), ACL_ERROR_INVALID_PARAM);
  aclError without_context = ACL_SUCCESS;
  std::thread([&] { without_context = aclrtMalloc(&pointer, 8, kPolicy); }).join();
  EXPECT_EQ(without_context, ACL_ERROR_RT_CONTEXT_NULL);
}

TEST_F(Memory, BlocksAreAlignedBySize) {
  const std::pair<size_t, uintptr_t> cases[] = {
      {1, 64}, {100, 64}, {4096, 4096}, {5000, 4096}, {2U << 20, 2U << 20}, {3U << 20, 2U << 20}};
  for (const auto& [size, align] : cases) {
    void* pointer = nullptr;
    ASSERT_EQ(aclrtMallocAlign32(&pointer, size, ACL_MEM_MALLOC_HUGE_ONLY), ACL_SUCCESS);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(pointer) % align, 0U) << size;
    EXPECT_EQ(aclrtFree(pointer), ACL_SUCCESS);
  }
}

TEST_F(Memory, SmallBlocksShareAPage) {
  std::vector<void*> blocks(64);
  for (void*& block : blocks) ASSERT_EQ(aclrtMalloc(&block, 8, kPolicy), ACL_SUCCESS);
  const auto [low, high] = std::minmax_element(blocks.begin(), blocks.end());
  EXPECT_LE(static_cast<char*>(*high) - static_cast<char*>(*low), 8192);
  for (void* block : blocks) EXPECT_EQ(aclrtFree(block), ACL_SUCCESS);
}

TEST_F(Memory, BadPointersAreRefusedWithAReason) {
  void* block = nullptr;
  void* host = nullptr;
  int local = 0;
  ASSERT_EQ(aclrtMalloc(&block, 1000, kPolicy), ACL_SUCCESS);
  ASSERT_EQ(aclrtMallocHost(&host, 1000), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(static_cast<char*>(block) + 64), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_NE(error_text().find("lies inside of the block"), std::string::npos);
  EXPECT_EQ(aclrtFree(&local), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtFree(host), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_NE(error_text().find("aclrtFreeHost"), std::string::npos);
  EXPECT_EQ(aclrtFreeHost(block), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtFree(block), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(block), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_NE(error_text().find("free each block once"), std::string::npos);
  EXPECT_EQ(aclrtFreeHost(host), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreeHost(host), ACL_ERROR_RT_PARAM_INVALID);
  std::mt19937_64 random(1);
  for (int i = 0; i < 10'000; ++i) {
    auto* wild = reinterpret_cast<void*>(random() | 1);
    EXPECT_NE(aclrtFree(wild), ACL_SUCCESS);
    EXPECT_NE(aclrtFreeHost(wild), ACL_SUCCESS);
    EXPECT_NE(aclrtDestroyEvent(wild), ACL_SUCCESS);
    EXPECT_NE(aclrtDestroyStream(wild), ACL_SUCCESS);
    EXPECT_NE(aclrtDestroyContext(wild), ACL_SUCCESS);
  }
}

TEST_F(Memory, AddressesTellWhereTheyAre) {
  void* block = nullptr;
  void* big = nullptr;
  void* host = nullptr;
  int local = 0;
  ASSERT_EQ(aclrtMalloc(&block, 1000, kPolicy), ACL_SUCCESS);
  ASSERT_EQ(aclrtMalloc(&big, 4U << 20, kPolicy), ACL_SUCCESS);
  ASSERT_EQ(aclrtMallocHost(&host, 1000), ACL_SUCCESS);
  aclrtPtrAttributes attributes{};
  ASSERT_EQ(aclrtPointerGetAttributes(static_cast<char*>(block) + 10, &attributes), ACL_SUCCESS);
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(attributes.location.id, 0U);
  EXPECT_EQ(attributes.pageSize, 4096U);
  ASSERT_EQ(aclrtPointerGetAttributes(big, &attributes), ACL_SUCCESS);
  EXPECT_EQ(attributes.pageSize, 2U << 20);
  ASSERT_EQ(aclrtPointerGetAttributes(host, &attributes), ACL_SUCCESS);
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_HOST);
  ASSERT_EQ(aclrtPointerGetAttributes(&local, &attributes), ACL_SUCCESS);
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_UNREGISTERED);
  EXPECT_EQ(aclrtPointerGetAttributes(nullptr, &attributes), ACL_ERROR_INVALID_PARAM);

  void* base = nullptr;
  size_t size = 0;
  ASSERT_EQ(aclrtMemGetAddressRange(static_cast<char*>(block) + 999, &base, &size), ACL_SUCCESS);
  EXPECT_EQ(base, block);
  EXPECT_GE(size, 1000U);
  ASSERT_EQ(aclrtMemGetAddressRange(static_cast<char*>(host) + 999, &base, nullptr), ACL_SUCCESS);
  EXPECT_EQ(base, host);
  EXPECT_EQ(aclrtMemGetAddressRange(block, nullptr, nullptr), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemGetAddressRange(&local, &base, nullptr), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtFree(block), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemGetAddressRange(block, &base, nullptr), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtFree(big), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreeHost(host), ACL_SUCCESS);
}

TEST_F(Memory, HostRangesAreRegisteredOnce) {
  const size_t size = 3 * 4096;
  void* pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  void* device = nullptr;
  EXPECT_EQ(
      aclrtHostRegister(static_cast<char*>(pages) + 8, 100, ACL_HOST_REGISTER_MAPPED, &device),
      ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtHostRegister(pages, size, ACL_HOST_REGISTER_IOMEMORY, &device),
            ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  ASSERT_EQ(aclrtHostRegister(pages, size, ACL_HOST_REGISTER_MAPPED, &device), ACL_SUCCESS);
  EXPECT_EQ(aclrtHostRegister(pages, 4096, ACL_HOST_REGISTER_MAPPED, &device),
            ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  EXPECT_EQ(aclrtHostRegisterV2(static_cast<char*>(pages) + 4096, 4096, ACL_HOST_REG_PINNED),
            ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  EXPECT_EQ(aclrtHostGetDevicePointer(pages, &device, 0), ACL_SUCCESS);
  aclrtPtrAttributes attributes{};
  ASSERT_EQ(aclrtPointerGetAttributes(static_cast<char*>(pages) + 5000, &attributes), ACL_SUCCESS);
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_HOST);
  EXPECT_EQ(aclrtHostUnregister(pages), ACL_SUCCESS);
  EXPECT_EQ(aclrtHostUnregister(pages), ACL_ERROR_HOST_MEMORY_NOT_REGISTERED);
  EXPECT_EQ(aclrtHostGetDevicePointer(pages, &device, 0), ACL_ERROR_HOST_MEMORY_NOT_REGISTERED);
  EXPECT_EQ(aclrtHostRegisterV2(pages, 4096, 0), ACL_ERROR_RT_PARAM_INVALID);
  munmap(pages, size);
}

TEST_F(Memory, TheDeviceCountsItsBytes) {
  size_t free_before = 0;
  size_t free_after = 0;
  size_t total = 0;
  ASSERT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free_before, &total), ACL_SUCCESS);
  void* block = nullptr;
  ASSERT_EQ(aclrtMalloc(&block, 1U << 20, kPolicy), ACL_SUCCESS);
  ASSERT_EQ(aclrtGetMemInfo(ACL_HBM_MEM_HUGE, &free_after, &total), ACL_SUCCESS);
  EXPECT_EQ(free_before - free_after, 1U << 20);
  EXPECT_LE(free_before, total);
  EXPECT_EQ(aclrtFree(block), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetMemInfo(enum_value<aclrtMemAttr>(18), &free_after, &total),
            ACL_ERROR_RT_INVALID_MEMORY_TYPE);
  EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, nullptr, &total), ACL_ERROR_INVALID_PARAM);
}

TEST_F(Memory, EveryBlockLiesInTheHeap) {
  void* base = nullptr;
  size_t size = 0;
  ASSERT_EQ(aclhostGetHeap(0, &base, &size), ACL_SUCCESS);
  for (const size_t bytes : {size_t{1}, size_t{5000}, size_t{3} << 20}) {
    void* block = nullptr;
    ASSERT_EQ(aclrtMalloc(&block, bytes, kPolicy), ACL_SUCCESS);
    const auto offset = static_cast<size_t>(static_cast<char*>(block) - static_cast<char*>(base));
    EXPECT_LE(offset + bytes, size);
    EXPECT_EQ(aclrtFree(block), ACL_SUCCESS);
  }
  EXPECT_EQ(aclhostGetHeap(0, nullptr, &size), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclhostGetHeap(99, &base, &size), ACL_ERROR_RT_INVALID_DEVICEID);
}

/// Random blocks, each filled with a byte of its own, so that any overlap shows.
class Blocks {
 public:
  explicit Blocks(uint64_t seed) : random_(seed) {}

  void allocate() {
    // Mostly small, sometimes of several pages or huge pages.
    const int shift = std::uniform_int_distribution(0, 22)(random_);
    const size_t size = 1 + random_() % (size_t{1} << shift);
    void* pointer = nullptr;
    const aclError error = aclrtMallocAlign32(&pointer, size, kPolicy);
    if (error != ACL_SUCCESS) {
      ASSERT_EQ(error, ACL_ERROR_RT_MEMORY_ALLOCATION);
      error_text();
      return free_one();
    }
    const auto fill = static_cast<unsigned char>(random_());
    std::memset(pointer, fill, size);
    ASSERT_TRUE(blocks_.emplace(static_cast<unsigned char*>(pointer), Block{size, fill}).second);
  }

  void free_one() {
    if (blocks_.empty()) return;
    auto it = blocks_.begin();
    std::advance(it, random_() % blocks_.size());
    const auto& [pointer, block] = *it;
    const auto fill = block.fill;
    ASSERT_TRUE(std::all_of(pointer, pointer + block.size,
                            [fill](unsigned char byte) { return byte == fill; }));
    ASSERT_EQ(aclrtFree(pointer), ACL_SUCCESS);
    blocks_.erase(it);
  }

  void step() {
    if (random_() % 5 < 3) {
      allocate();
    } else {
      free_one();
    }
  }

  bool empty() const { return blocks_.empty(); }

 private:
  struct Block {
    size_t size;
    unsigned char fill;
  };
  std::mt19937_64 random_;
  std::map<unsigned char*, Block> blocks_;
};

void use_heap_at_random(uint64_t seed, int steps) {
  Blocks blocks(seed);
  for (int i = 0; i < steps && !::testing::Test::HasFatalFailure(); ++i) blocks.step();
  while (!blocks.empty() && !::testing::Test::HasFatalFailure()) blocks.free_one();
}

TEST_F(Memory, RandomUseNeverOverlapsAndLeavesNothing) {
  size_t before = 0;
  size_t after = 0;
  size_t total = 0;
  ASSERT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &before, &total), ACL_SUCCESS);
  use_heap_at_random(42, 1500);
  ASSERT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &after, &total), ACL_SUCCESS);
  EXPECT_EQ(before, after);
}

TEST_F(Memory, RandomUseByThreadsNeverOverlaps) {
  std::vector<std::thread> threads;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    threads.emplace_back([seed] {
      ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      use_heap_at_random(seed, 400);
      ASSERT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void* take(size_t size, aclError expected) {
  void* block = nullptr;
  demand(aclrtMalloc(&block, size, kPolicy) == expected, "malloc of " + std::to_string(size));
  return block;
}

// In a process whose devices have 8 MiB.
int fill_a_small_heap(const std::vector<std::string>&) {
  demand(aclrtSetDevice(0) == ACL_SUCCESS, "set device");
  constexpr size_t kMiB = 1U << 20;
  demand(take(8 * kMiB, ACL_SUCCESS) != nullptr, "whole heap");
  take(1, ACL_ERROR_RT_MEMORY_ALLOCATION);
  demand(error_text().find("0 of 8388608 free") != std::string::npos, "text");
  void* base = nullptr;
  size_t size = 0;
  demand(aclhostGetHeap(0, &base, &size) == ACL_SUCCESS && size == 8 * kMiB, "heap");
  demand(aclrtFree(base) == ACL_SUCCESS, "free");
  std::vector<void*> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(take(kMiB, ACL_SUCCESS));
  take(64, ACL_ERROR_RT_MEMORY_ALLOCATION);
  // Every second one: no two adjoin, so 2 MiB do not fit; then the rest coalesces.
  for (size_t i = 0; i < 8; i += 2) demand(aclrtFree(blocks[i]) == ACL_SUCCESS, "free");
  take(2 * kMiB, ACL_ERROR_RT_MEMORY_ALLOCATION);
  for (size_t i = 1; i < 8; i += 2) demand(aclrtFree(blocks[i]) == ACL_SUCCESS, "free");
  demand(take(8 * kMiB, ACL_SUCCESS) == base, "coalesced");
  use_heap_at_random(7, 0);
  return 0;
}
[[maybe_unused]] const int kFill = register_child("fill_a_small_heap", fill_a_small_heap);

TEST(SmallHeap, IsUsedUpAndComesBack) {
  EXPECT_EQ(Child("fill_a_small_heap", {}, {{"WEFT_DEVICE_MEMORY", "8M"}}).wait(), 0);
}

// Freed pages read as zero again: they went back to the host.
TEST_F(Memory, FreedBigBlocksGiveTheirPagesBack) {
  constexpr size_t kSize = 4U << 20;
  void* block = nullptr;
  ASSERT_EQ(aclrtMalloc(&block, kSize, kPolicy), ACL_SUCCESS);
  std::memset(block, 1, kSize);
  ASSERT_EQ(aclrtFree(block), ACL_SUCCESS);
  const auto* bytes = static_cast<const char*>(block);  // still mapped: the heap stays
  EXPECT_TRUE(std::all_of(bytes, bytes + kSize, [](char byte) { return byte == 0; }));
}

TEST_F(Memory, AStaleRegistrationIsNamed) {
  // Stands for memory that was freed while registered: everything that may be allocated later.
  auto* stale = reinterpret_cast<void*>(uintptr_t{4096});
  ASSERT_EQ(aclrtHostRegisterV2(stale, UINT64_C(1) << 47, ACL_HOST_REG_PINNED), ACL_SUCCESS);
  void* memory = nullptr;
  EXPECT_EQ(aclrtMallocHost(&memory, 100), ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  EXPECT_NE(error_text().find("the range at 0x1000"), std::string::npos);
  EXPECT_EQ(memory, nullptr);
  ASSERT_EQ(aclrtHostUnregister(stale), ACL_SUCCESS);
  ASSERT_EQ(aclrtMallocHost(&memory, 100), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreeHost(memory), ACL_SUCCESS);
}

}  // namespace
}  // namespace weft::test
