// SPDX-License-Identifier: Apache-2.0
// What a call on its way uses of its caller's memory, told to whoever asks before memory is given
// up: on any thread, without a lock.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::exec {

/// Addresses [begin, end). Written by the thread that issues; a reader may see a new begin with an
/// old end, which matters only to a program that gives up memory while it issues calls on it.
class UsedMemory {
 public:
  void set(const void* address, uint64_t bytes) noexcept {
    const auto begin = reinterpret_cast<uint64_t>(address);
    begin_.store(begin, std::memory_order_relaxed);
    end_.store(begin + bytes, std::memory_order_relaxed);
  }
  void clear() noexcept { set(nullptr, 0); }
  /// Grows it to the smallest range that has both.
  void include(const void* address, uint64_t bytes) noexcept {
    const auto begin = reinterpret_cast<uint64_t>(address);
    const uint64_t old_begin = begin_.load(std::memory_order_relaxed);
    const uint64_t old_end = end_.load(std::memory_order_relaxed);
    if (old_end == old_begin) return set(address, bytes);
    if (begin < old_begin) begin_.store(begin, std::memory_order_relaxed);
    if (begin + bytes > old_end) end_.store(begin + bytes, std::memory_order_relaxed);
  }
  [[nodiscard]] uint64_t bytes() const noexcept {
    return end_.load(std::memory_order_relaxed) - begin_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool overlaps(uint64_t begin, uint64_t end) const noexcept {
    const uint64_t own_begin = begin_.load(std::memory_order_relaxed);
    const uint64_t own_end = end_.load(std::memory_order_relaxed);
    return own_begin < own_end && own_begin < end && begin < own_end;
  }
  [[nodiscard]] bool overlaps(const UsedMemory& other) const noexcept {
    return overlaps(other.begin_.load(std::memory_order_relaxed),
                    other.end_.load(std::memory_order_relaxed));
  }

 private:
  std::atomic<uint64_t> begin_{0};
  std::atomic<uint64_t> end_{0};
};

}  // namespace weft::exec
