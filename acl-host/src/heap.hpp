// SPDX-License-Identifier: Apache-2.0
// The memory of one device in this process: one sparse memory file, mapped once, and an allocator
// on it. Other processes map the same file. What the allocator knows lies outside of the heap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace weft::acl {

constexpr size_t kPage = 4096;
constexpr size_t kHugePage = 2U << 20;
constexpr size_t kSmallest = 64;  // unit and least alignment of blocks

/// A range of addresses.
struct Range {
  uintptr_t base = 0;
  size_t size = 0;
};

class Heap {
 public:
  /// A heap of WEFT_DEVICE_MEMORY bytes, by default the host's memory. It takes up pages as they
  /// are touched. nullptr, and the reason, on failure. Never destroyed.
  static Heap* create(int32_t device, std::string* why);

  /// A block aligned to 64 bytes, from 4 KiB on to 4 KiB and from 2 MiB on to 2 MiB; nullptr if
  /// there is no room.
  void* allocate(size_t size);

  /// Frees the block that starts at `block`; false if there is none. The pages of big blocks go
  /// back to the host.
  bool release(void* block);

  /// The allocated block that contains the address; an empty range if there is none.
  Range block_of(const void* address) const;

  /// Counts memory of the device that lies outside of the heap, in a file of its own, against the
  /// device's size; false if there is no room.
  bool take_outside(size_t size);
  void give_outside(size_t size);

  size_t free_bytes() const;

  /// Whether [address, address + size) lies in the heap. No lock.
  bool contains(const void* address, size_t size = 1) const noexcept {
    const uintptr_t offset = reinterpret_cast<uintptr_t>(address) - base_;
    return offset < size_ && size <= size_ - offset;
  }

  int32_t device() const noexcept { return device_; }
  int file() const noexcept { return file_; }
  void* base() const noexcept { return reinterpret_cast<void*>(base_); }
  size_t size() const noexcept { return size_; }

 private:
  Heap(int32_t device, int file, uintptr_t base, size_t size);

  using FreeBlocks = std::map<size_t, size_t>;  // offset -> size

  std::set<std::pair<size_t, size_t>>::iterator find_room(size_t size, size_t align);
  void insert_free(size_t offset, size_t size);
  void give_pages_back(size_t offset, size_t size) const noexcept;

  const int32_t device_;
  const int file_;
  const uintptr_t base_;  // 2 MiB aligned
  const size_t size_;

  mutable std::mutex mutex_;                          // guards what follows
  FreeBlocks free_;                                   // no two adjoin
  std::set<std::pair<size_t, size_t>> free_by_size_;  // (size, offset)
  std::map<size_t, size_t> used_;                     // offset -> size
  size_t used_bytes_ = 0;
  size_t outside_ = 0;
};

/// The heap of this process that contains the address, or nullptr. No lock.
Heap* find_heap(const void* address) noexcept;

/// Many hosts give a process 1024 descriptors at first and let it have far more: takes all of
/// them. False if there are no more.
bool raise_file_limit() noexcept;

/// A sparse memory file that can neither grow nor shrink, so that no process that maps it can take
/// pages from another; -1, and the reason, on failure.
int create_memory_file(const std::string& name, size_t size, std::string* why);

/// Maps `size` bytes of a memory file, 2 MiB aligned; nullptr on failure (see errno).
void* map_file(int file, size_t offset, size_t size) noexcept;

}  // namespace weft::acl
