// SPDX-License-Identifier: Apache-2.0
#include "vmm.hpp"

#include <unistd.h>

#include <fstream>
#include <numeric>
#include <utility>

#include "ranks.hpp"

namespace weft::test {

Reserved::Reserved(size_t bytes) : size_(bytes) {
  ok(aclrtReserveMemAddress(&base_, bytes, 0, nullptr, 1));
}

Reserved::~Reserved() {
  if (base_ != nullptr) aclrtReleaseMemAddress(base_);
}

void Reserved::release() { ok(aclrtReleaseMemAddress(std::exchange(base_, nullptr))); }

Physical::Physical(size_t bytes) : size_(bytes) {
  int32_t device = 0;
  ok(aclrtGetDevice(&device));
  const aclrtPhysicalMemProp prop{ACL_MEM_HANDLE_TYPE_NONE,
                                  ACL_MEM_ALLOCATION_TYPE_PINNED,
                                  ACL_HBM_MEM_HUGE,
                                  {static_cast<uint32_t>(device), ACL_MEM_LOCATION_TYPE_DEVICE},
                                  0};
  ok(aclrtMallocPhysical(&handle_, bytes, &prop, 0));
}

Physical::~Physical() {
  if (handle_ != nullptr) aclrtFreePhysical(handle_);
}

Physical::Physical(Physical&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), size_(other.size_) {}

void Physical::map(void* address) const { ok(aclrtMapMem(address, size_, 0, handle_, 0)); }

void Physical::free() { ok(aclrtFreePhysical(std::exchange(handle_, nullptr))); }

Mapped::Mapped(const std::vector<size_t>& pieces)
    : addresses_(std::accumulate(pieces.begin(), pieces.end(), size_t{0})) {
  unsigned char* at = addresses_.base();
  try {
    for (const size_t bytes : pieces) {
      pieces_.emplace_back(bytes).map(at);
      mapped_.push_back(at);
      at += bytes;
    }
  } catch (...) {
    for (void* address : mapped_) aclrtUnmapMem(address);
    throw;
  }
}

Mapped::~Mapped() {
  for (void* address : mapped_) aclrtUnmapMem(address);
}

void Mapped::free() {
  for (void* address : std::exchange(mapped_, {})) ok(aclrtUnmapMem(address));
  for (Physical& piece : pieces_) piece.free();
  addresses_.release();
}

size_t free_memory() {
  size_t free = 0;
  size_t total = 0;
  ok(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total));
  return free;
}

size_t address_space() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace weft::test
