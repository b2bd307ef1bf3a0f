// SPDX-License-Identifier: Apache-2.0
#include "bench/buffers.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "acl/acl.h"

namespace weft::tools {
namespace {

constexpr size_t kStagingBytes = size_t{1} << 20;
constexpr size_t kAlignment = 4096;

}  // namespace

Buffer::Buffer(size_t bytes, bool malloc_memory, Fail fail)
    : malloc_memory_(malloc_memory), fail_(std::move(fail)), staging_(kStagingBytes) {
  if (bytes == 0) return;
  if (malloc_memory) {
    const size_t whole = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    data_ = static_cast<std::byte*>(std::aligned_alloc(kAlignment, whole));
    if (data_ == nullptr) fail_("aligned_alloc", ENOMEM);
    return;
  }
  void* memory = nullptr;
  const aclError error = aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
  if (error != ACL_SUCCESS) fail_("aclrtMalloc", error);
  data_ = static_cast<std::byte*>(memory);
}

Buffer::~Buffer() {
  if (data_ == nullptr) return;
  if (malloc_memory_) {
    std::free(data_);
    return;
  }
  const aclError error = aclrtFree(data_);
  if (error != ACL_SUCCESS) fail_("aclrtFree", error);
}

void Buffer::copy_in(size_t at, size_t bytes) {
  if (malloc_memory_) {
    std::memcpy(data_ + at, staging_.data(), bytes);
    return;
  }
  const aclError error =
      aclrtMemcpy(data_ + at, bytes, staging_.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE);
  if (error != ACL_SUCCESS) fail_("aclrtMemcpy", error);
}

void Buffer::copy_out(size_t at, size_t bytes) {
  if (malloc_memory_) {
    std::memcpy(staging_.data(), data_ + at, bytes);
    return;
  }
  const aclError error =
      aclrtMemcpy(staging_.data(), bytes, data_ + at, bytes, ACL_MEMCPY_DEVICE_TO_HOST);
  if (error != ACL_SUCCESS) fail_("aclrtMemcpy", error);
}

void Buffer::put(const Pattern& pattern, uint64_t first, size_t at, uint64_t count) {
  const uint64_t most = kStagingBytes / pattern.element();
  for (uint64_t done = 0; done < count; done += most) {
    const uint64_t portion = std::min(most, count - done);
    pattern.write(staging_.data(), first + done, portion);
    copy_in(at + done * pattern.element(), portion * pattern.element());
  }
}

uint64_t Buffer::mismatches(const Pattern& pattern, uint64_t first, size_t at, uint64_t count) {
  const uint64_t most = kStagingBytes / pattern.element();
  uint64_t wrong = 0;
  for (uint64_t done = 0; done < count; done += most) {
    const uint64_t portion = std::min(most, count - done);
    copy_out(at + done * pattern.element(), portion * pattern.element());
    wrong += pattern.mismatches(staging_.data(), first + done, portion);
  }
  return wrong;
}

}  // namespace weft::tools
