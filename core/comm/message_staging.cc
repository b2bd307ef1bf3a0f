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

}  // namespace

MessageStaging::~MessageStaging() {
  for (const Buffer& buffer : buffers_) transport_.release(endpoint_, buffer.address);
}

/// A use is over when its task has ended, or when the task is used again.
bool MessageStaging::is_free(const Buffer& buffer, const exec::MessageTask& for_task) noexcept {
  if (buffer.ticket != buffer.user->ticket) return true;
  return buffer.user != &for_task && !buffer.user->busy.load(std::memory_order_acquire);
}

void* MessageStaging::get(uint64_t bytes, const exec::MessageTask& task) {
  Buffer* small = nullptr;  // the largest free one that does not do
  for (Buffer& buffer : buffers_) {
    if (!is_free(buffer, task)) continue;
    if (buffer.bytes >= bytes) {
      buffer.user = &task;
      buffer.ticket = task.ticket;
      return buffer.address;
    }
    if (small == nullptr || buffer.bytes > small->bytes) small = &buffer;
  }
  if (small != nullptr) {  // makes room for its successor
    transport_.release(endpoint_, small->address);
    *small = buffers_.back();
    buffers_.pop_back();
  }
  const uint64_t size = std::bit_ceil(std::max(bytes, kSmallest));
  void* address = nullptr;
  if (transport_.allocate(endpoint_, size, &address) != HCCL_SUCCESS) {
    throw Error(HCCL_E_OOM,
                fmt::format("no {} bytes of device memory to stage a message that the receiver "
                            "cannot see ({}); allocate it with aclrtMalloc instead",
                            size, plugin::take_failure()));
  }
  buffers_.push_back({address, size, &task, task.ticket});
  return address;
}

}  // namespace weft::comm
