// SPDX-License-Identifier: Apache-2.0
// A device's memory: creation of the memory file, and a best-fit allocator with coalescing.
#include "heap.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "error.hpp"

namespace weft::acl {
namespace {

constexpr size_t kGiveBack = 1U << 20;  // blocks of this size give their pages back when freed
constexpr size_t kMaxHeaps = 1024;

std::atomic<Heap*> g_heaps[kMaxHeaps];
std::atomic<size_t> g_heap_count{0};

constexpr size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

size_t alignment_of(size_t size) {
  if (size >= kHugePage) return kHugePage;
  return size >= kPage ? kPage : kSmallest;
}

// "512M", "4G": a number and perhaps one of K M G T. 0 if the text is something else.
size_t parse_size(std::string_view text) {
  size_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || end - rest > 1) return 0;
  if (rest == end) return value;
  const size_t power = std::string_view("KMGT").find(*rest);
  if (power == std::string_view::npos) return 0;
  const unsigned shift = 10 * (static_cast<unsigned>(power) + 1);
  return value > (SIZE_MAX >> shift) ? 0 : value << shift;
}

size_t configured_size(std::string* why) {
  const char* text = std::getenv("WEFT_DEVICE_MEMORY");
  if (text == nullptr || *text == '\0') {
    const auto pages = static_cast<size_t>(sysconf(_SC_PHYS_PAGES));
    return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE)) / kHugePage * kHugePage;
  }
  const size_t size = parse_size(text) / kPage * kPage;
  if (size == 0) {
    *why = "WEFT_DEVICE_MEMORY is \"" + std::string(text) +
           "\"; set it to a number of bytes from 4K, or one with K, M, G or T";
  }
  return size;
}

std::string system_error(const char* what) {
  return std::string(what) + ": " + explain_errno(errno);
}

}  // namespace

bool raise_file_limit() noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return false;
  limit.rlim_cur = limit.rlim_max;
  return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

int create_memory_file(const std::string& name, size_t size, std::string* why) {
  const auto create = [&] { return memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING); };
  int file = create();
  if (file < 0 && errno == EMFILE && raise_file_limit()) file = create();
  if (file < 0) {
    *why = system_error("memfd_create");
    return -1;
  }
  if (ftruncate(file, static_cast<off_t>(size)) != 0 ||
      fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    *why = system_error("sizing a memory file");
    close(file);
    return -1;
  }
  return file;
}

void* map_file(int file, size_t offset, size_t size) noexcept {
  const size_t span = size + kHugePage;
  void* reserved =
      mmap(nullptr, span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return nullptr;
  const auto start = reinterpret_cast<uintptr_t>(reserved);
  const uintptr_t base = round_up(start, kHugePage);
  void* mapped = mmap(reinterpret_cast<void*>(base), size, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_NORESERVE | MAP_FIXED, file, static_cast<off_t>(offset));
  if (mapped == MAP_FAILED) {
    munmap(reserved, span);
    return nullptr;
  }
  const uintptr_t end = base + round_up(size, kPage);
  if (base > start) munmap(reserved, base - start);
  if (start + span > end) munmap(reinterpret_cast<void*>(end), start + span - end);
  madvise(mapped, size, MADV_DONTFORK);  // a child's stray access faults instead of corrupting
  madvise(mapped, size, MADV_HUGEPAGE);  // a wish; many hosts refuse it
  return mapped;
}

Heap* Heap::create(int32_t device, std::string* why) {
  const size_t size = configured_size(why);
  if (size == 0) return nullptr;
  const int file = create_memory_file("weft-device-" + std::to_string(device), size, why);
  if (file < 0) return nullptr;
  void* base = map_file(file, 0, size);
  if (base == nullptr) {
    *why = system_error("mapping WEFT_DEVICE_MEMORY bytes");
    close(file);
    return nullptr;
  }
  auto* heap = new Heap(device, file, reinterpret_cast<uintptr_t>(base), size);
  const size_t index = g_heap_count.fetch_add(1);
  g_heaps[index].store(heap, std::memory_order_release);
  return heap;
}

Heap::Heap(int32_t device, int file, uintptr_t base, size_t size)
    : device_(device), file_(file), base_(base), size_(size) {
  insert_free(0, size);
}

// The smallest free block that has room for `size` bytes at an aligned place.
std::set<std::pair<size_t, size_t>>::iterator Heap::find_room(size_t size, size_t align) {
  auto it = free_by_size_.lower_bound({size, 0});
  while (it != free_by_size_.end()) {
    const auto [have, offset] = *it;
    if (round_up(offset, align) - offset + size <= have) break;
    ++it;
  }
  return it;
}

void* Heap::allocate(size_t size) {
  if (size > size_) return nullptr;
  const size_t align = alignment_of(size);
  size = round_up(size, kSmallest);
  const std::lock_guard lock(mutex_);
  if (size > size_ - used_bytes_ - outside_) return nullptr;
  const auto room = find_room(size, align);
  if (room == free_by_size_.end()) return nullptr;
  const auto [have, start] = *room;
  const size_t offset = round_up(start, align);
  used_.emplace(offset, size);
  used_bytes_ += size;
  free_.erase(start);
  free_by_size_.erase(room);
  if (offset > start) insert_free(start, offset - start);
  if (start + have > offset + size) insert_free(offset + size, start + have - offset - size);
  return reinterpret_cast<void*>(base_ + offset);
}

bool Heap::release(void* block) {
  const size_t offset = reinterpret_cast<uintptr_t>(block) - base_;
  size_t size = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto it = used_.find(offset);
    if (it == used_.end()) return false;
    size = it->second;
    used_.erase(it);
  }
  // Belongs to nobody meanwhile: nobody's data can be lost.
  if (size >= kGiveBack) give_pages_back(offset, size);
  const std::lock_guard lock(mutex_);
  used_bytes_ -= size;
  insert_free(offset, size);
  return true;
}

void Heap::insert_free(size_t offset, size_t size) {
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && next->first == offset + size) {
    size += next->second;
    free_by_size_.erase({next->second, next->first});
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == offset) {
      offset = previous->first;
      size += previous->second;
      free_by_size_.erase({previous->second, previous->first});
      free_.erase(previous);
    }
  }
  free_.emplace(offset, size);
  free_by_size_.emplace(size, offset);
}

void Heap::give_pages_back(size_t offset, size_t size) const noexcept {
  const size_t first = round_up(offset, kPage);
  const size_t end = (offset + size) / kPage * kPage;
  if (first >= end) return;
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(first),
            static_cast<off_t>(end - first));
}

Range Heap::block_of(const void* address) const {
  const size_t offset = reinterpret_cast<uintptr_t>(address) - base_;
  const std::lock_guard lock(mutex_);
  auto it = used_.upper_bound(offset);
  if (it == used_.begin()) return {};
  --it;
  if (offset >= it->first + it->second) return {};
  return {base_ + it->first, it->second};
}

bool Heap::take_outside(size_t size) {
  const std::lock_guard lock(mutex_);
  if (size > size_ - used_bytes_ - outside_) return false;
  outside_ += size;
  return true;
}

void Heap::give_outside(size_t size) {
  const std::lock_guard lock(mutex_);
  outside_ -= size;
}

size_t Heap::free_bytes() const {
  const std::lock_guard lock(mutex_);
  return size_ - used_bytes_ - outside_;
}

Heap* find_heap(const void* address) noexcept {
  const size_t count = g_heap_count.load(std::memory_order_acquire);
  for (size_t i = 0; i < count; ++i) {
    Heap* heap = g_heaps[i].load(std::memory_order_acquire);
    if (heap != nullptr && heap->contains(address)) return heap;
  }
  return nullptr;
}

}  // namespace weft::acl
