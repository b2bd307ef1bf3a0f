// SPDX-License-Identifier: Apache-2.0
#include "buffers.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "ranks.hpp"

namespace weft::test {

std::string name_of(Memory kind) {
  switch (kind) {
    case Memory::kDevice:
      return "device";
    case Memory::kDeviceUnaligned:
      return "device, unaligned";
    case Memory::kHost:
      return "malloc";
    case Memory::kHostUnaligned:
      return "malloc, unaligned";
    default:
      return "pinned";
  }
}

Arena::Arena(Memory kind, size_t capacity) : kind_(kind), capacity_(capacity) {
  const size_t bytes = capacity + kMargin;
  void* memory = nullptr;
  switch (kind) {
    case Memory::kDevice:
    case Memory::kDeviceUnaligned:
      ok(aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
      break;
    case Memory::kPinned:
      ok(aclrtMallocHost(&memory, bytes));
      break;
    default:
      memory = std::malloc(bytes);
      check(memory != nullptr, "no memory");
  }
  block_ = static_cast<std::byte*>(memory);
}

Arena::Arena(void* memory, size_t bytes)
    : kind_(Memory::kDevice),
      capacity_(bytes - kMargin),
      borrowed_(true),
      block_(static_cast<std::byte*>(memory)) {}

Arena::~Arena() {
  if (borrowed_) return;
  switch (kind_) {
    case Memory::kDevice:
    case Memory::kDeviceUnaligned:
      aclrtFree(block_);
      break;
    case Memory::kPinned:
      aclrtFreeHost(block_);
      break;
    default:
      std::free(block_);
  }
}

std::byte* Arena::lend(size_t bytes) {
  check(bytes <= capacity_, "the arena is too small");
  const bool odd = kind_ == Memory::kDeviceUnaligned || kind_ == Memory::kHostUnaligned;
  loan_ = block_ + kGuard + (odd ? 13 : 0);
  bytes_ = bytes;
  std::fill_n(loan_ - kGuard, kGuard, kGuardByte);
  std::fill_n(loan_, bytes, kFill);
  std::fill_n(loan_ + bytes, kGuard, kGuardByte);
  return loan_;
}

bool Arena::guards_broken() const {
  const auto intact = [](std::byte byte) { return byte == kGuardByte; };
  return !std::all_of(loan_ - kGuard, loan_, intact) ||
         !std::all_of(loan_ + bytes_, loan_ + bytes_ + kGuard, intact);
}

}  // namespace weft::test
