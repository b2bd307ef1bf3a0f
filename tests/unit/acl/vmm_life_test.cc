// SPDX-License-Identifier: Apache-2.0
// Virtual memory in the long run: room, ten thousand cycles, threads, forks.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "vmm_support.hpp"

namespace weft::test {
namespace {

class VmmLife : public VmmTest {};

// In a process whose devices have 8 MiB: both kinds of device memory share them.
int fill_a_small_device(const std::vector<std::string>&) {
  demand(aclrtSetDevice(0) == ACL_SUCCESS, "set device");
  const aclrtPhysicalMemProp prop = device_memory();
  aclrtDrvMemHandle handle = nullptr;
  size_t free_bytes = 0;
  size_t total = 0;
  void* block = nullptr;
  demand(aclrtMallocPhysical(&handle, 3 * kUnit, &prop, 0) == ACL_SUCCESS, "allocate");
  demand(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total) == ACL_SUCCESS, "info");
  demand(free_bytes == kUnit && total == 4 * kUnit, "1 of 4 units free");
  const auto malloc = [&](size_t size) {
    return aclrtMalloc(&block, size, ACL_MEM_MALLOC_HUGE_FIRST);
  };
  demand(malloc(kUnit + 64) == ACL_ERROR_RT_MEMORY_ALLOCATION, "too much");
  demand(malloc(kUnit) == ACL_SUCCESS, "the rest");
  aclrtDrvMemHandle more = nullptr;
  demand(aclrtMallocPhysical(&more, kUnit, &prop, 0) == ACL_ERROR_RT_MEMORY_ALLOCATION, "full");
  demand(error_text().find("0 of 8388608 free") != std::string::npos, "text");
  demand(aclrtFree(block) == ACL_SUCCESS, "free");
  demand(aclrtMallocPhysical(&more, kUnit, &prop, 0) == ACL_SUCCESS, "room again");
  demand(aclrtFreePhysical(handle) == ACL_SUCCESS, "free physical");
  demand(aclrtFreePhysical(more) == ACL_SUCCESS, "free physical");
  return malloc(4 * kUnit);
}
[[maybe_unused]] const int kFillDevice = register_child("fill_a_small_device", fill_a_small_device);

TEST(VmmRoom, IsSharedWithTheHeap) {
  EXPECT_EQ(Child("fill_a_small_device", {}, {{"WEFT_DEVICE_MEMORY", "8M"}}).wait(), 0);
}

// In a process that begins with few descriptors and may have more.
int use_many_handles(const std::vector<std::string>&) {
  constexpr size_t kCount = 300;
  rlimit limit{};
  demand(getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max > 2 * kCount, "limit");
  limit.rlim_cur = 64;
  demand(setrlimit(RLIMIT_NOFILE, &limit) == 0, "lower the limit");
  const aclrtPhysicalMemProp prop = device_memory();
  std::vector<aclrtDrvMemHandle> handles(kCount);
  for (aclrtDrvMemHandle& handle : handles) {
    demand(aclrtMallocPhysical(&handle, kUnit, &prop, 0) == ACL_SUCCESS, "allocate");
  }
  limit.rlim_cur = limit.rlim_max = 64;
  demand(setrlimit(RLIMIT_NOFILE, &limit) == 0, "lower the limit for good");
  aclrtDrvMemHandle more = nullptr;
  demand(aclrtMallocPhysical(&more, kUnit, &prop, 0) == ACL_ERROR_RT_MEMORY_ALLOCATION, "more");
  const std::string text = error_text();
  demand(text.find("Too many open files") != std::string::npos, "text");
  demand(text.find("ulimit -n") != std::string::npos, "remedy");
  for (aclrtDrvMemHandle handle : handles) {
    demand(aclrtFreePhysical(handle) == ACL_SUCCESS, "free");
  }
  return aclrtMallocPhysical(&more, kUnit, &prop, 0);
}
[[maybe_unused]] const int kMany = register_child("use_many_handles", use_many_handles);

TEST(VmmRoom, IsNotBoundByTheFirstLimitOfOpenFiles) {
  EXPECT_EQ(Child("use_many_handles", {}, {{"WEFT_DEVICE_MEMORY", "1G"}}).wait(), 0);
}

struct Usage {
  size_t mappings = 0;
  size_t descriptors = 0;
  size_t resident = 0;  // pages
};

Usage usage() {
  Usage now;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) ++now.mappings;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++now.descriptors;
  }
  size_t size = 0;
  std::ifstream("/proc/self/statm") >> size >> now.resident;
  return now;
}

void cycle(size_t rounds, uint32_t device) {
  const aclrtPhysicalMemProp prop = device_memory(device);
  for (size_t i = 0; i < rounds; ++i) {
    const size_t size = (1 + i % 3) * kUnit;
    void* base = nullptr;
    aclrtDrvMemHandle handle = nullptr;
    ASSERT_EQ(aclrtReserveMemAddress(&base, size + i, 0, nullptr, i % 2), ACL_SUCCESS);
    ASSERT_EQ(aclrtMallocPhysical(&handle, size, &prop, 0), ACL_SUCCESS) << error_text();
    ASSERT_EQ(aclrtMapMem(base, size, 0, handle, 0), ACL_SUCCESS) << error_text();
    auto* word = reinterpret_cast<size_t*>(bytes_of(base) + size) - 1;
    ASSERT_EQ(*word, 0U);  // fresh memory
    *word = i + 1;
    if (i % 2 == 0) {
      ASSERT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);
    }
    ASSERT_EQ(aclrtUnmapMem(base), ACL_SUCCESS) << error_text();
    if (i % 2 == 1) {
      ASSERT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);
    }
    ASSERT_EQ(aclrtReleaseMemAddress(base), ACL_SUCCESS) << error_text();
  }
}

TEST_F(VmmLife, TenThousandCyclesLeaveNothing) {
  constexpr size_t kRounds = 10000;
  constexpr size_t kSlackPages = (64U << 20) / 4096;  // a sanitizer keeps freed blocks for a while
  cycle(100, 0);
  const Usage before = usage();
  cycle(kRounds, 0);
  const Usage after = usage();
  EXPECT_LE(after.mappings, before.mappings + 32);
  EXPECT_EQ(after.descriptors, before.descriptors);
  EXPECT_LE(after.resident, before.resident + kSlackPages);
}

TEST_F(VmmLife, ThreadsMapAtTheSameTime) {
  std::vector<std::thread> threads;
  for (uint32_t device = 0; device < 4; ++device) {
    threads.emplace_back([device] { cycle(200, device % 2); });
  }
  for (std::thread& thread : threads) thread.join();
}

size_t count_physical_files() {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const auto target = std::filesystem::read_symlink(entry, error);
    if (target.string().find("weft-physical") != std::string::npos) ++count;
  }
  return count;
}

// A process forked after use has neither the addresses nor the memory.
int fork_with_mappings(const std::vector<std::string>&) {
  void* base = nullptr;
  demand(aclrtReserveMemAddress(&base, kUnit, 0, nullptr, 0) == ACL_SUCCESS, "reserve");
  const aclrtPhysicalMemProp prop = host_memory();
  aclrtDrvMemHandle handle = nullptr;
  demand(aclrtMallocPhysical(&handle, kUnit, &prop, 0) == ACL_SUCCESS, "allocate");
  demand(count_physical_files() == 1, "one file");
  const pid_t child = fork();
  if (child == 0) {
    void* other = nullptr;
    demand(count_physical_files() == 0, "the child keeps memory of its parent");
    demand(aclrtMapMem(base, kUnit, 0, handle, 0) == ACL_ERROR_RT_DEV_SETUP_ERROR, "map");
    demand(aclrtReleaseMemAddress(base) == ACL_ERROR_RT_DEV_SETUP_ERROR, "release");
    demand(aclrtFreePhysical(handle) == ACL_ERROR_RT_DEV_SETUP_ERROR, "free");
    demand(aclrtReserveMemAddress(&other, kUnit, 0, nullptr, 0) == ACL_ERROR_RT_DEV_SETUP_ERROR,
           "reserve");
    demand(aclrtMallocPhysical(&other, kUnit, &prop, 0) == ACL_ERROR_RT_DEV_SETUP_ERROR,
           "allocate");
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  demand(aclrtMapMem(base, kUnit, 0, handle, 0) == ACL_SUCCESS, "map");
  return status;
}
[[maybe_unused]] const int kForkMapped = register_child("fork_with_mappings", fork_with_mappings);

TEST(VmmFork, IsRefusedAfterUse) { EXPECT_EQ(Child("fork_with_mappings", {}).wait(), 0); }

}  // namespace
}  // namespace weft::test
