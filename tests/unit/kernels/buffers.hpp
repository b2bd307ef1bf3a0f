// SPDX-License-Identifier: Apache-2.0
// Buffers at any alignment, with guard bytes around them.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace weft::kernels::test {

/// `bytes` bytes that begin `misaligned` bytes after a multiple of 64.
class Guarded {
 public:
  Guarded(size_t bytes, size_t misaligned) : memory_(bytes + 4 * kGuard, kMark), bytes_(bytes) {
    const auto address = reinterpret_cast<uintptr_t>(memory_.data());
    begin_ = 2 * kGuard - address % kGuard + misaligned % kGuard;
  }

  uint8_t* data() { return memory_.data() + begin_; }
  const uint8_t* data() const { return memory_.data() + begin_; }

  /// The bytes are those expected, and those around them are untouched.
  bool holds(const uint8_t* expected) const {
    const auto marked = [](uint8_t byte) { return byte == kMark; };
    return std::equal(data(), data() + bytes_, expected) &&
           std::all_of(memory_.data(), data(), marked) &&
           std::all_of(data() + bytes_, memory_.data() + memory_.size(), marked);
  }

 private:
  static constexpr size_t kGuard = 64;
  static constexpr uint8_t kMark = 0xA5;
  std::vector<uint8_t> memory_;
  size_t bytes_;
  size_t begin_;
};

/// Memory between two pages that cannot be touched: reading beyond it is seen as well as writing.
class Fenced {
 public:
  Fenced() : pages_(map()) { mprotect(pages_ + kPage, kBytes, PROT_READ | PROT_WRITE); }
  ~Fenced() { munmap(pages_, kBytes + 2 * kPage); }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;

  uint8_t* first(size_t /*bytes*/) { return pages_ + kPage; }
  uint8_t* last(size_t bytes) { return pages_ + kPage + kBytes - bytes; }

 private:
  static constexpr size_t kPage = 65536;  // a multiple of every page size in use
  static constexpr size_t kBytes = kPage;
  static uint8_t* map() {
    void* pages = mmap(nullptr, kBytes + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    return static_cast<uint8_t*>(pages);
  }
  uint8_t* pages_;
};

}  // namespace weft::kernels::test
