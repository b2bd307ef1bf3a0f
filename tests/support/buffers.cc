// SPDX-License-Identifier: Apache-2.0
#include "buffers.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "policy_file.hpp"
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

namespace {

/// Streams do not copy what malloc gives: in the tasks engine page-locked memory stands for it.
Memory usable(Memory kind) {
  const bool from_malloc = kind == Memory::kHost || kind == Memory::kHostUnaligned;
  return from_malloc && runs_as_tasks() ? Memory::kPinned : kind;
}

}  // namespace

Arena::Arena(Memory kind, size_t capacity)
    : kind_(usable(kind)),
      odd_(kind == Memory::kDeviceUnaligned || kind == Memory::kHostUnaligned),
      capacity_(capacity) {
  const size_t bytes = capacity + kMargin;
  void* memory = nullptr;
  switch (kind_) {
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
      odd_(false),
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
  loan_ = block_ + kGuard + (odd_ ? 13 : 0);
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
