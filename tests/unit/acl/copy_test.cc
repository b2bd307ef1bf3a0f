// SPDX-License-Identifier: Apache-2.0
// Copies, sets and reductions: results, checks and stream order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "support.hpp"

namespace weft::test {
namespace {

constexpr size_t kBytes = 100'003;  // odd on purpose

class Copy : public Acl {
 protected:
  void SetUp() override {
    Acl::SetUp();
    ASSERT_EQ(aclrtMalloc(&a_, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    ASSERT_EQ(aclrtMalloc(&b_, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    ASSERT_EQ(aclrtMallocHost(&pinned_, kBytes), ACL_SUCCESS);
    for (size_t i = 0; i < kBytes; ++i) data_.push_back(static_cast<char>(i * 7 + i / 251));
  }
  void TearDown() override {
    EXPECT_EQ(aclrtFree(a_), ACL_SUCCESS);
    EXPECT_EQ(aclrtFree(b_), ACL_SUCCESS);
    EXPECT_EQ(aclrtFreeHost(pinned_), ACL_SUCCESS);
    Acl::TearDown();
  }

  void* a_ = nullptr;
  void* b_ = nullptr;
  void* pinned_ = nullptr;
  std::vector<char> data_;
};

TEST_F(Copy, GoesToTheDeviceAroundItAndBack) {
  std::vector<char> back(kBytes);
  ASSERT_EQ(aclrtMemcpy(a_, kBytes, data_.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemcpy(b_, kBytes, a_, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemcpy(back.data(), kBytes, b_, kBytes, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
  EXPECT_EQ(back, data_);
  std::fill(back.begin(), back.end(), '\0');
  ASSERT_EQ(aclrtMemcpy(back.data(), kBytes, b_, kBytes, ACL_MEMCPY_DEFAULT), ACL_SUCCESS);
  EXPECT_EQ(back, data_);
}

TEST_F(Copy, ChecksInTheDocumentedOrder) {
  const auto kind = ACL_MEMCPY_DEVICE_TO_DEVICE;
  EXPECT_EQ(aclrtMemcpy(nullptr, 0, nullptr, 0, enum_value<aclrtMemcpyKind>(99)), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpyAsync(nullptr, 0, nullptr, 0, kind, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpy(nullptr, 8, b_, 8, kind), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpy(a_, 8, nullptr, 8, kind), ACL_ERROR_INVALID_PARAM);
  for (const int bad : {-1, 6, 7, 8}) {
    EXPECT_EQ(aclrtMemcpy(a_, 8, b_, 9, enum_value<aclrtMemcpyKind>(bad)), ACL_ERROR_INVALID_PARAM);
  }
  EXPECT_EQ(aclrtMemcpy(a_, 8, b_, 9, kind), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_NE(error_text().find("count 9 is more than the 8 bytes"), std::string::npos);
  EXPECT_EQ(aclrtMemcpy(a_, 8, a_, 8, kind), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpy(a_, SIZE_MAX, b_, SIZE_MAX / 2, kind), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemcpyAsync(pinned_, 8, pinned_, 8, ACL_MEMCPY_HOST_TO_HOST, stream_),
            ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclrtMemcpyAsync(data_.data(), 8, a_, 8, kind, stream_), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemcpyAsync(data_.data(), 8, pinned_, 8, ACL_MEMCPY_HOST_TO_DEVICE, stream_),
            ACL_ERROR_RT_PARAM_INVALID);
}

TEST_F(Copy, IsQueuedFromAndToPinnedMemory) {
  std::memcpy(pinned_, data_.data(), kBytes);
  Gate gate;
  ASSERT_EQ(gate.launch(stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemsetAsync(b_, kBytes, 0xAB, kBytes, stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemcpyAsync(a_, kBytes, pinned_, kBytes, ACL_MEMCPY_HOST_TO_DEVICE, stream_),
            ACL_SUCCESS);
  ASSERT_EQ(aclrtMemcpyAsync(b_, kBytes, a_, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE, stream_),
            ACL_SUCCESS);
  ASSERT_EQ(aclrtMemsetAsync(pinned_, kBytes, 0, kBytes, stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemcpyAsyncWithCondition(pinned_, kBytes, b_, kBytes, ACL_MEMCPY_DEVICE_TO_HOST,
                                          stream_),
            ACL_SUCCESS);
  gate.open();
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(std::memcmp(pinned_, data_.data(), kBytes), 0);
}

TEST_F(Copy, WithPageableMemoryIsDoneOnReturnAndInOrder) {
  std::vector<char> back(kBytes);
  ASSERT_EQ(aclrtMemsetAsync(a_, kBytes, 1, kBytes, stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemcpyAsync(a_, kBytes, data_.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE, stream_),
            ACL_SUCCESS);
  ASSERT_EQ(aclrtMemcpyAsync(back.data(), kBytes, a_, kBytes, ACL_MEMCPY_DEVICE_TO_HOST, stream_),
            ACL_SUCCESS);
  EXPECT_EQ(back, data_);
  EXPECT_EQ(aclrtMemcpyAsyncWithCondition(a_, kBytes, data_.data(), kBytes,
                                          ACL_MEMCPY_HOST_TO_DEVICE, stream_),
            ACL_ERROR_RT_PARAM_INVALID);
}

TEST_F(Copy, StagesHostDataWhenAskedTo) {
  Gate gate;
  std::vector<char> reused = data_;
  ASSERT_EQ(gate.launch(stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemcpyAsync(a_, kBytes, reused.data(), kBytes, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE,
                             stream_),
            ACL_SUCCESS);
  std::fill(reused.begin(), reused.end(), '\0');
  gate.open();
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(std::memcmp(a_, data_.data(), kBytes), 0);
}

TEST_F(Copy, DiscardedStagedCopiesLeaveNothing) {
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  Gate gate;
  ASSERT_EQ(gate.launch(stream), ACL_SUCCESS);
  ASSERT_EQ(
      aclrtMemcpyAsync(a_, kBytes, data_.data(), kBytes, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, stream),
      ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStreamForce(stream), ACL_SUCCESS);
}

TEST_F(Copy, TakesPartsOfRows) {
  const size_t width = 5;
  const size_t height = 7;
  std::vector<char> out(height * 8, 'x');
  ASSERT_EQ(aclrtMemcpy(a_, kBytes, data_.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemcpy2d(out.data(), 8, a_, 13, width, height, ACL_MEMCPY_DEVICE_TO_HOST),
            ACL_SUCCESS);
  std::vector<char> async_out(height * 8, 'x');
  ASSERT_EQ(aclrtMemcpy2dAsync(async_out.data(), 8, a_, 13, width, height,
                               ACL_MEMCPY_DEVICE_TO_HOST, stream_),
            ACL_SUCCESS);
  EXPECT_EQ(out, async_out);
  for (size_t row = 0; row < height; ++row) {
    for (size_t i = 0; i < 8; ++i) {
      EXPECT_EQ(out[row * 8 + i], i < width ? data_[row * 13 + i] : 'x');
    }
  }
  EXPECT_EQ(aclrtMemcpy2d(a_, 0, b_, 0, 0, 5, ACL_MEMCPY_DEVICE_TO_DEVICE), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpy2d(a_, 4, b_, 9, 5, 1, ACL_MEMCPY_DEVICE_TO_DEVICE),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpy2d(a_, 9, b_, 4, 5, 1, ACL_MEMCPY_DEVICE_TO_DEVICE),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpy2d(a_, 9, b_, 9, 5, 1, ACL_MEMCPY_HOST_TO_HOST), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpy2d(a_, SIZE_MAX / 2, b_, 9, 5, 9, ACL_MEMCPY_DEVICE_TO_DEVICE),
            ACL_ERROR_RT_PARAM_INVALID);
}

TEST_F(Copy, SetsBytes) {
  ASSERT_EQ(aclrtMemset(a_, kBytes, 0x1234, 1001), ACL_SUCCESS);
  const auto* bytes = static_cast<const unsigned char*>(a_);
  EXPECT_TRUE(std::all_of(bytes, bytes + 1001, [](unsigned char byte) { return byte == 0x34; }));
  EXPECT_EQ(aclrtMemset(nullptr, 0, 0, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemset(nullptr, 8, 0, 8), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemset(a_, 8, 0, 9), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemsetAsync(a_, 8, 0, 9, stream_), ACL_ERROR_RT_PARAM_INVALID);
}

TEST_F(Copy, NeedsAContext) {
  aclError sync = ACL_SUCCESS;
  aclError async = ACL_SUCCESS;
  aclError host = ACL_ERROR_FAILURE;
  std::thread([&] {
    char from[8] = {};
    char to[8] = {};
    sync = aclrtMemcpy(a_, 8, b_, 8, ACL_MEMCPY_DEVICE_TO_DEVICE);
    async = aclrtMemcpyAsync(a_, 8, b_, 8, ACL_MEMCPY_DEVICE_TO_DEVICE, stream_);
    host = aclrtMemcpy(to, 8, from, 8, ACL_MEMCPY_HOST_TO_HOST);
  }).join();
  EXPECT_EQ(sync, ACL_ERROR_RT_CONTEXT_NULL);
  EXPECT_EQ(async, ACL_ERROR_RT_CONTEXT_NULL);
  EXPECT_EQ(host, ACL_SUCCESS);
}

class Reduce : public Copy {
 protected:
  template <class T>
  void expect_reduced(aclrtReduceKind kind, aclDataType type, T (*expected)(T, T)) {
    const size_t count = 1003;
    auto* dst = static_cast<T*>(a_);
    auto* src = static_cast<T*>(b_);
    std::vector<T> wanted;
    for (size_t i = 0; i < count; ++i) {
      dst[i] = static_cast<T>(i % 37);
      src[i] = static_cast<T>(i % 23);
      wanted.push_back(expected(dst[i], src[i]));
    }
    ASSERT_EQ(aclrtReduceAsync(a_, b_, count * sizeof(T), kind, type, stream_, nullptr),
              ACL_SUCCESS)
        << error_text();
    ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
    EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), dst)) << "type " << type;
  }
};

TEST_F(Reduce, AddsAndPicks) {
  expect_reduced<float>(ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT,
                        [](float x, float y) { return x + y; });
  expect_reduced<int32_t>(ACL_RT_MEMCPY_SDMA_AUTOMATIC_MAX, ACL_INT32,
                          [](int32_t x, int32_t y) { return std::max(x, y); });
  expect_reduced<int16_t>(ACL_RT_MEMCPY_SDMA_AUTOMATIC_MIN, ACL_INT16,
                          [](int16_t x, int16_t y) { return std::min(x, y); });
  expect_reduced<int8_t>(ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_INT8,
                         [](int8_t x, int8_t y) { return static_cast<int8_t>(x + y); });
}

// A thread that waits with a limit does big tasks part by part.
TEST_F(Reduce, BigTasksAreDoneInParts) {
  constexpr size_t kCount = (9U << 18) + 3;  // more than two parts of int32
  constexpr size_t kSize = kCount * sizeof(int32_t);
  constexpr int32_t kWaitMs = 30000;
  void* memory[2] = {};
  for (void*& block : memory) {
    ASSERT_EQ(aclrtMalloc(&block, 2 * kSize, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  }
  auto* from = static_cast<int32_t*>(memory[0]);
  auto* to = static_cast<int32_t*>(memory[1]);
  ASSERT_EQ(aclrtMemsetAsync(to, 2 * kSize, 1, 2 * kSize, stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStreamWithTimeout(stream_, kWaitMs), ACL_SUCCESS);
  EXPECT_TRUE(std::all_of(to, to + 2 * kCount, [](int32_t value) { return value == 0x01010101; }));
  for (size_t i = 0; i < 2 * kCount; ++i) from[i] = static_cast<int32_t>(i * 7);

  // Two rows, each longer than a part.
  ASSERT_EQ(aclrtMemcpy2dAsync(to, kSize, from, kSize, kSize - 4, 2, ACL_MEMCPY_DEVICE_TO_DEVICE,
                               stream_),
            ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStreamWithTimeout(stream_, kWaitMs), ACL_SUCCESS);
  EXPECT_TRUE(std::equal(to, to + kCount - 1, from));
  EXPECT_TRUE(std::equal(to + kCount, to + 2 * kCount - 1, from + kCount));
  EXPECT_EQ(to[kCount - 1], 0x01010101);
  EXPECT_EQ(to[2 * kCount - 1], 0x01010101);

  ASSERT_EQ(aclrtReduceAsync(to, from, kSize - 4, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_INT32,
                             stream_, nullptr),
            ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStreamWithTimeout(stream_, kWaitMs), ACL_SUCCESS);
  size_t wrong = 0;
  for (size_t i = 0; i < kCount - 1; ++i) wrong += to[i] != static_cast<int32_t>(i * 14) ? 1U : 0U;
  EXPECT_EQ(wrong, 0U);
  EXPECT_EQ(to[kCount - 1], 0x01010101);
  for (void* block : memory) EXPECT_EQ(aclrtFree(block), ACL_SUCCESS);
}

TEST_F(Reduce, ChecksItsArguments) {
  const auto sum = ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM;
  const auto reduce = [&](void* dst, const void* src, uint64_t count, int kind, int type,
                          void* reserve = nullptr) {
    return aclrtReduceAsync(dst, src, count, enum_value<aclrtReduceKind>(kind),
                            enum_value<aclDataType>(type), stream_, reserve);
  };
  EXPECT_EQ(reduce(nullptr, b_, 8, sum, ACL_FLOAT), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(reduce(a_, nullptr, 8, sum, ACL_FLOAT), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(reduce(a_, b_, 0, sum, ACL_FLOAT), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(reduce(a_, b_, 8, sum, ACL_FLOAT, a_), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(reduce(a_, b_, 8, sum, ACL_DOUBLE), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(reduce(a_, b_, 8, 9, ACL_FLOAT), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(reduce(a_, b_, 8, 14, ACL_FLOAT), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(reduce(a_, b_, 8, ACL_RT_MEMCPY_SDMA_AUTOMATIC_EQUAL, ACL_FLOAT),
            ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(reduce(a_, b_, 8, sum, ACL_UINT32), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(reduce(a_, b_, 8, sum, ACL_INT4), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(reduce(static_cast<char*>(a_) + 2, b_, 8, sum, ACL_FLOAT), ACL_ERROR_RT_ADDR_UNALIGNED);
  EXPECT_EQ(reduce(a_, static_cast<char*>(b_) + 1, 8, sum, ACL_FLOAT16),
            ACL_ERROR_RT_ADDR_UNALIGNED);
  EXPECT_EQ(reduce(a_, b_, 6, sum, ACL_FLOAT), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(reduce(a_, b_, (UINT64_C(4) << 30) + 4, sum, ACL_FLOAT), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(reduce(a_, pinned_, 8, sum, ACL_FLOAT), ACL_ERROR_RT_PARAM_INVALID);
}

}  // namespace
}  // namespace weft::test
