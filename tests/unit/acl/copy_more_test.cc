// SPDX-License-Identifier: Apache-2.0
// Batches of copies, copies with addresses in device memory, sets of words.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "vmm_support.hpp"

namespace weft::test {
namespace {

constexpr auto kInner = ACL_MEMCPY_INNER_DEVICE_TO_DEVICE;
constexpr aclrtMemLocation kHost{0, ACL_MEM_LOCATION_TYPE_HOST};
constexpr aclrtMemLocation kDevice{0, ACL_MEM_LOCATION_TYPE_DEVICE};

/// One mapping and one block of the heap, which all functions treat alike.
class CopyMore : public VmmTest {
 protected:
  void SetUp() override {
    VmmTest::SetUp();
    base_ = bytes_of(reserve(kUnit));
    handle_ = allocate(kUnit);
    map(base_, kUnit, handle_);
    void* block = nullptr;
    ASSERT_EQ(aclrtMalloc(&block, kUnit, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    block_ = bytes_of(block);
    for (size_t i = 0; i < kUnit; ++i) {
      base_[i] = static_cast<unsigned char>(i * 3);
      block_[i] = 0;
    }
  }
  void TearDown() override {
    EXPECT_EQ(aclrtFree(block_), ACL_SUCCESS);
    unmap(base_);
    free_memory(handle_);
    release(base_);
    VmmTest::TearDown();
  }

  unsigned char* base_ = nullptr;
  unsigned char* block_ = nullptr;
  aclrtDrvMemHandle handle_ = nullptr;
};

TEST_F(CopyMore, WordsAreSet) {
  auto* words = reinterpret_cast<uint32_t*>(base_);
  ASSERT_EQ(aclrtMemsetD32(words + 1, 4 * 1001, 0x01020304, 1001), ACL_SUCCESS) << error_text();
  EXPECT_TRUE(std::all_of(words + 1, words + 1002, [](uint32_t w) { return w == 0x01020304; }));
  EXPECT_EQ(base_[4 * 1002], static_cast<unsigned char>(4 * 1002 * 3));
  ASSERT_EQ(aclrtMemsetD32Async(block_, kUnit, 77, kUnit / 4, stream_), ACL_SUCCESS);
  synchronise();
  EXPECT_EQ(reinterpret_cast<uint32_t*>(block_)[kUnit / 4 - 1], 77U);
  uint32_t host = 5;
  EXPECT_EQ(aclrtMemsetD32(nullptr, 0, 1, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemsetD32(nullptr, 4, 1, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemsetD32(base_ + 2, 8, 1, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemsetD32(base_, 7, 1, 2), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemsetD32(base_, SIZE_MAX, 1, SIZE_MAX / 4), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemsetD32Async(&host, 4, 1, 1, stream_), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(host, 5U);
}

TEST_F(CopyMore, BatchesCopyBothWays) {
  std::vector<unsigned char> host(3 * 1000);
  for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<unsigned char>(i * 5);
  std::vector<unsigned char> out(777);
  void* dsts[] = {block_, base_ + 4001, nullptr, out.data()};
  void* srcs[] = {host.data(), &host[1000], nullptr, block_ + 3};
  size_t sizes[] = {1000, 2000, 0, 777};
  size_t rooms[] = {1000, 3000, 0, 777};
  aclrtMemcpyBatchAttr attrs[] = {{kDevice, kHost, {}}, {kHost, kDevice, {}}};
  size_t starts[] = {0, 3};
  size_t failed = 5;
  ASSERT_EQ(aclrtMemcpyBatch(dsts, rooms, srcs, sizes, 4, attrs, starts, 2, &failed), ACL_SUCCESS)
      << error_text();
  EXPECT_EQ(failed, SIZE_MAX);
  EXPECT_EQ(std::memcmp(base_ + 4001, &host[1000], 2000), 0);
  EXPECT_EQ(std::memcmp(out.data(), &host[3], 777), 0);
  std::fill(out.begin(), out.end(), 0);
  std::memset(block_, 0, 1000);
  ASSERT_EQ(aclrtMemcpyBatchAsync(dsts, rooms, srcs, sizes, 4, attrs, starts, 2, &failed, stream_),
            ACL_SUCCESS);
  ASSERT_EQ(aclrtMemcpyBatchAsyncV2(dsts, rooms, srcs, sizes, 4, attrs, starts, 2, stream_),
            ACL_SUCCESS);
  synchronise();
  EXPECT_EQ(std::memcmp(out.data(), &host[3], 777), 0);
  ASSERT_EQ(aclrtMemcpyBatchV2(dsts, rooms, srcs, sizes, 4, attrs, starts, 2), ACL_SUCCESS);
}

TEST_F(CopyMore, MistakesOfBatchesAreNamed) {
  char host[8] = {};
  void* dsts[] = {block_, block_};
  void* srcs[] = {host, host};
  size_t sizes[] = {8, 8};
  size_t rooms[] = {8, 7};
  aclrtMemcpyBatchAttr attrs[] = {{kDevice, kHost, {}}, {kDevice, kHost, {}}};
  size_t starts[] = {0, 1};
  size_t failed = 5;
  const auto code = [&] {
    return aclrtMemcpyBatch(dsts, rooms, srcs, sizes, 2, attrs, starts, 2, &failed);
  };
  EXPECT_EQ(code(), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(failed, 1U);
  rooms[1] = 8;
  EXPECT_EQ(code(), ACL_SUCCESS);
  srcs[1] = nullptr;
  EXPECT_EQ(code(), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(failed, 1U);
  srcs[1] = host;
  attrs[1].rsv[15] = 1;
  EXPECT_EQ(code(), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(failed, SIZE_MAX);
  attrs[1].rsv[15] = 0;
  for (const size_t start : {0U, 2U}) {
    starts[1] = start;
    EXPECT_EQ(code(), ACL_ERROR_INVALID_PARAM);
  }
  starts[1] = 1;
  attrs[0].srcLoc = kDevice;
  EXPECT_EQ(code(), ACL_ERROR_INVALID_PARAM);
  expect_text("between host and device");
  attrs[0].srcLoc = kHost;
  EXPECT_EQ(aclrtMemcpyBatch(dsts, rooms, srcs, sizes, 0, attrs, starts, 2, &failed),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpyBatch(nullptr, rooms, srcs, sizes, 2, attrs, starts, 2, &failed),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpyBatch(dsts, rooms, srcs, sizes, 2, attrs, starts, 2, nullptr),
            ACL_ERROR_INVALID_PARAM);
}

TEST_F(CopyMore, AddressesAreReadWhenTheStreamGetsThere) {
  auto* table = reinterpret_cast<void**>(base_);
  table[0] = nullptr;
  table[1] = nullptr;
  Gate gate;
  ASSERT_EQ(gate.launch(stream_), ACL_SUCCESS);
  const auto from = const_cast<const void**>(table + 1);
  ASSERT_EQ(aclrtMemcpyAsyncWithOffset(table, kUnit, 5, from, 1003, 100, kInner, stream_),
            ACL_SUCCESS)
      << error_text();
  table[0] = block_;
  table[1] = base_;
  gate.open();
  synchronise();
  EXPECT_EQ(std::memcmp(block_ + 5, base_ + 100, 1003), 0);
  EXPECT_EQ(block_[4], 0);
  EXPECT_EQ(block_[1008], 0);

  table[0] = nullptr;  // the stream's fault, not a crash
  ASSERT_EQ(aclrtMemcpyAsyncWithOffset(table, kUnit, 0, from, 8, 0, kInner, stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_ERROR_RT_SYS_DMA);
  expect_text("is not device memory");
  EXPECT_EQ(aclrtMemcpyAsyncWithOffset(table, 7, 0, from, 8, 0, kInner, stream_),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(
      aclrtMemcpyAsyncWithOffset(table, 8, 0, from, 8, 0, ACL_MEMCPY_DEVICE_TO_DEVICE, stream_),
      ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpyAsyncWithOffset(nullptr, 8, 0, from, 8, 0, kInner, stream_),
            ACL_ERROR_INVALID_PARAM);
  void* on_host = block_;
  EXPECT_EQ(aclrtMemcpyAsyncWithOffset(&on_host, 8, 0, from, 8, 0, kInner, stream_),
            ACL_ERROR_RT_PARAM_INVALID);
}

TEST_F(CopyMore, DescriptorsDriveCopies) {
  size_t size = 0;
  ASSERT_EQ(aclrtGetMemcpyDescSize(kInner, &size), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetMemcpyDescSize(ACL_MEMCPY_DEFAULT, &size), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetMemcpyDescSize(kInner, nullptr), ACL_ERROR_INVALID_PARAM);
  void* descriptor = nullptr;
  ASSERT_EQ(aclrtMalloc(&descriptor, size, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemset(descriptor, size, 0, size), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemcpyAsyncWithDesc(descriptor, kInner, stream_), ACL_SUCCESS) << error_text();
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_ERROR_RT_SYS_DMA);
  expect_text("holds no descriptor");
  ASSERT_EQ(aclrtSetMemcpyDesc(descriptor, kInner, base_, block_, kUnit, nullptr), ACL_SUCCESS)
      << error_text();
  for (int again = 0; again < 2; ++again) {
    std::memset(block_, 0, kUnit);
    ASSERT_EQ(aclrtMemcpyAsyncWithDesc(descriptor, kInner, stream_), ACL_SUCCESS);
    synchronise();
    EXPECT_EQ(std::memcmp(block_, base_, kUnit), 0);
  }
  EXPECT_EQ(aclrtSetMemcpyDesc(&size, kInner, base_, block_, 8, nullptr),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtSetMemcpyDesc(descriptor, kInner, base_, block_, 8, &size),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtSetMemcpyDesc(descriptor, kInner, nullptr, block_, 8, nullptr),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpyAsyncWithDesc(nullptr, kInner, stream_), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtFree(descriptor), ACL_SUCCESS);
}

TEST_F(CopyMore, ALinkIsChosenForMappedMemory) {
  void* other = reserve(kUnit);
  EXPECT_EQ(aclrtMemMapSelectedLink(nullptr, kUnit, base_, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemMapSelectedLink(other, kUnit, base_, 2), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemMapSelectedLink(other, kUnit, block_, 1), ACL_ERROR_RT_PARAM_INVALID);
  ASSERT_EQ(aclrtMemMapSelectedLink(other, kUnit, base_, ACL_RT_MEM_LINK_IDX_1), ACL_SUCCESS)
      << error_text();
  EXPECT_EQ(std::memcmp(other, base_, kUnit), 0);
  unmap(other);
  release(other);
  EXPECT_EQ(aclrtMemP2PMap(base_, kUnit, 1, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemP2PMap(base_, kUnit, 1, 0), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
}

}  // namespace
}  // namespace weft::test
