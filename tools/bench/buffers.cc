// SPDX-License-Identifier: Apache-2.0
#include "bench/buffers.hpp"

#include <algorithm>
#include <cstring>

#include "acl/acl.h"

namespace weft::tools {
namespace {

constexpr size_t kStagingBytes = size_t{1} << 20;

}  // namespace

Buffer::Buffer(MemoryKind kind, size_t bytes, HcclComm comm, Fail fail)
    : on_host_(kind == MemoryKind::kMalloc),
      fail_(std::move(fail)),
      memory_(kind, bytes, comm, fail_),
      staging_(kStagingBytes) {}

void Buffer::copy_in(size_t at, size_t bytes) {
  if (on_host_) {
    std::memcpy(data() + at, staging_.data(), bytes);
    return;
  }
  const aclError error =
      aclrtMemcpy(data() + at, bytes, staging_.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE);
  if (error != ACL_SUCCESS) fail_("aclrtMemcpy", error);
}

void Buffer::copy_out(size_t at, size_t bytes) {
  if (on_host_) {
    std::memcpy(staging_.data(), data() + at, bytes);
    return;
  }
  const aclError error =
      aclrtMemcpy(staging_.data(), bytes, data() + at, bytes, ACL_MEMCPY_DEVICE_TO_HOST);
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
