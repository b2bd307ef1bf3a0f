// SPDX-License-Identifier: Apache-2.0
// Objects behind handles. The memory of a pool is never given back, so any handle value, stale or
// invented, can be checked without touching memory that might not exist.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>

namespace weft::acl {

enum class Life : uint8_t {
  kDead,
  kLive,    ///< set by the creator when the object is ready
  kEnding,  ///< somebody destroys it
};

/// At most N objects of T. T has `std::atomic<Life> life_state` and `T* next_free`. An object is
/// constructed once and then reused, the longest unused one first. Objects own nothing on the heap.
template <class T, size_t N>
class Pool {
  static_assert(std::has_single_bit(sizeof(T)));

 public:
  /// An object that is not live; nullptr if there is none left.
  T* acquire() noexcept {
    const std::lock_guard lock(mutex_);
    if (free_head_ != nullptr) {
      T* object = free_head_;
      free_head_ = object->next_free;
      return object;
    }
    const size_t used = used_.load(std::memory_order_relaxed);
    if (used == N || !reserve()) return nullptr;
    T* object = new (at(used)) T;
    used_.store(used + 1, std::memory_order_release);
    return object;
  }

  void release(T* object) noexcept {
    const std::lock_guard lock(mutex_);
    object->life_state.store(Life::kDead, std::memory_order_release);
    object->next_free = nullptr;
    if (free_head_ == nullptr) {
      free_head_ = object;
    } else {
      free_tail_->next_free = object;
    }
    free_tail_ = object;
  }

  /// True for the one caller that may destroy the object; it still calls `release`.
  bool claim(T* object) noexcept {
    Life live = Life::kLive;
    return object->life_state.compare_exchange_strong(live, Life::kEnding);
  }

  /// The live object behind a handle, or nullptr.
  T* find(const void* handle) const noexcept {
    const size_t used = used_.load(std::memory_order_acquire);
    const uintptr_t offset =
        reinterpret_cast<uintptr_t>(handle) - base_.load(std::memory_order_relaxed);
    if (offset >= used * sizeof(T) || offset % sizeof(T) != 0) return nullptr;
    T* object = at(offset / sizeof(T));
    return is_there(*object) ? object : nullptr;
  }

  /// Calls f for each live object. One may be released or created meanwhile.
  template <class F>
  void for_each(F&& f) const {
    const size_t used = used_.load(std::memory_order_acquire);
    for (size_t i = 0; i < used; ++i) {
      T* object = at(i);
      if (is_there(*object)) f(*object);
    }
  }

  size_t index(const T* object) const noexcept { return static_cast<size_t>(object - at(0)); }

 private:
  static bool is_there(const T& object) noexcept {
    return object.life_state.load(std::memory_order_acquire) != Life::kDead;
  }

  T* at(size_t i) const noexcept {
    return std::launder(reinterpret_cast<T*>(base_.load(std::memory_order_relaxed)) + i);
  }

  bool reserve() noexcept {
    if (base_.load(std::memory_order_relaxed) != 0) return true;
    void* memory = mmap(nullptr, N * sizeof(T), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    base_.store(reinterpret_cast<uintptr_t>(memory), std::memory_order_relaxed);
    return true;
  }

  std::mutex mutex_;
  std::atomic<uintptr_t> base_{0};
  std::atomic<size_t> used_{0};  // objects constructed so far
  T* free_head_ = nullptr;
  T* free_tail_ = nullptr;
};

}  // namespace weft::acl
