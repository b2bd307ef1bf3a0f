// SPDX-License-Identifier: Apache-2.0
// Memory of every kind that a caller may pass, with guard bytes around what is lent to a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace weft::test {

enum class Memory {
  kDevice,           // aclrtMalloc
  kDeviceUnaligned,  // in such memory, at an odd address
  kHost,             // malloc
  kHostUnaligned,
  kPinned  // aclrtMallocHost
};
inline constexpr uint32_t kMemoryKinds = 5;
std::string name_of(Memory kind);

/// A block of memory that is lent to one call after another. Needs a current device.
class Arena {
 public:
  Arena(Memory kind, size_t capacity);
  /// In `bytes` bytes at `memory`, which is the caller's; the capacity is less by kMargin.
  Arena(void* memory, size_t bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// `bytes` bytes filled with a fixed byte, between guard bytes. Replaces the loan before.
  std::byte* lend(size_t bytes);
  /// Something wrote around the loan.
  bool guards_broken() const;

  static constexpr std::byte kFill{0xCC};
  static constexpr size_t kMargin = 448;

 private:
  static constexpr size_t kGuard = 192;  // over a cache line on both sides
  static constexpr std::byte kGuardByte{0xA7};
  static_assert(kMargin == 2 * kGuard + 64);  // and room to align or misalign

  Memory kind_;
  bool odd_;  // lends at an odd address
  size_t capacity_;
  bool borrowed_ = false;
  std::byte* block_ = nullptr;
  std::byte* loan_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace weft::test
