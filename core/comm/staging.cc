// SPDX-License-Identifier: Apache-2.0
#include "comm/staging.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/error.hpp"
#include "plugin/registry.hpp"

namespace weft::comm {
namespace {

constexpr uint64_t kSmallest = uint64_t{64} << 10;

}  // namespace

Staging::~Staging() {
  for (const Retired& old : retired_) transport_.release(endpoint_, old.address);
  if (in_.address != nullptr) transport_.release(endpoint_, in_.address);
  if (out_.address != nullptr) transport_.release(endpoint_, out_.address);
}

void* Staging::get(Buffer& buffer, uint64_t bytes, uint64_t call, uint64_t done) {
  if (bytes <= buffer.bytes) return buffer.address;
  std::erase_if(retired_, [&](const Retired& old) {
    if (old.free_after > done) return false;
    transport_.release(endpoint_, old.address);
    return true;
  });
  const uint64_t size = std::bit_ceil(std::max(bytes, kSmallest));
  void* address = nullptr;
  if (transport_.allocate(endpoint_, size, &address) != HCCL_SUCCESS) {
    throw Error(
        HCCL_E_OOM,
        fmt::format("no {} bytes of device memory to stage a buffer that peers cannot see ({}); "
                    "allocate it with aclrtMalloc instead",
                    size, plugin::take_failure()));
  }
  if (buffer.address != nullptr) retired_.push_back({buffer.address, call - 1});
  buffer = {address, size};
  return address;
}

}  // namespace weft::comm
