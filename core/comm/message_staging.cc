// SPDX-License-Identifier: Apache-2.0
#include "comm/message_staging.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/error.hpp"
#include "plugin/registry.hpp"

namespace weft::comm {
namespace {

constexpr uint64_t kSmallest = uint64_t{4} << 10;
constexpr uint64_t kMiB = uint64_t{1} << 20;
// Bytes of free buffers that are kept for later messages.
constexpr uint64_t kKept = 64 * kMiB;

/// What is allocated for `bytes`: a little more, so that it serves messages of like sizes.
uint64_t rounded(uint64_t bytes) {
  if (bytes <= kMiB) return std::bit_ceil(std::max(bytes, kSmallest));
  return (bytes + kMiB - 1) / kMiB * kMiB;
}

}  // namespace

MessageStaging::~MessageStaging() {
  for (const Buffer& buffer : buffers_) transport_.release(endpoint_, buffer.address);
}

/// A use is over when its task has ended, or when the task is used again.
bool MessageStaging::is_free(const Buffer& buffer, const exec::MessageTask& for_task) noexcept {
  if (buffer.ticket != buffer.user->ticket) return true;
  return buffer.user != &for_task && !buffer.user->busy.load(std::memory_order_acquire);
}

/// Releases free buffers, from the first on, until at most `kept` bytes of them are left.
void MessageStaging::release_free(uint64_t kept, const exec::MessageTask& for_task) {
  uint64_t free = 0;
  for (const Buffer& buffer : buffers_) free += is_free(buffer, for_task) ? buffer.bytes : 0;
  std::erase_if(buffers_, [&](const Buffer& buffer) {
    if (free <= kept || !is_free(buffer, for_task)) return false;
    free -= buffer.bytes;
    transport_.release(endpoint_, buffer.address);
    return true;
  });
}

void* MessageStaging::get(uint64_t bytes, const exec::MessageTask& task) {
  Buffer* best = nullptr;  // the smallest free one that does
  for (Buffer& buffer : buffers_) {
    const bool does = buffer.bytes >= bytes && (best == nullptr || buffer.bytes < best->bytes);
    if (does && is_free(buffer, task)) best = &buffer;
  }
  if (best != nullptr) {
    best->user = &task;
    best->ticket = task.ticket;
    return best->address;
  }
  release_free(kKept, task);
  buffers_.reserve(buffers_.size() + 1);
  const uint64_t size = rounded(bytes);
  void* address = nullptr;
  if (transport_.allocate(endpoint_, size, &address) != HCCL_SUCCESS) {
    release_free(0, task);
    if (transport_.allocate(endpoint_, size, &address) != HCCL_SUCCESS) {
      throw Error(HCCL_E_OOM,
                  fmt::format("no {} bytes of device memory to stage a message that the receiver "
                              "cannot see ({}); allocate it with aclrtMalloc instead",
                              size, plugin::take_failure()));
    }
  }
  buffers_.push_back({address, size, &task, task.ticket});
  return address;
}

}  // namespace weft::comm
