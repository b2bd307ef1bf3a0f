// SPDX-License-Identifier: Apache-2.0
// Memory of one rank for a bench, filled and read the way a client must: by copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/memory.hpp"
#include "bench/pattern.hpp"

namespace weft::tools {

/// One block of memory.
class Buffer {
 public:
  /// See Memory.
  Buffer(MemoryKind kind, size_t bytes, HcclComm comm, Fail fail);

  std::byte* data() const { return memory_.data(); }

  // `at` is a byte offset, counts are elements.
  void put(const Pattern& pattern, uint64_t first, size_t at, uint64_t count);
  uint64_t mismatches(const Pattern& pattern, uint64_t first, size_t at, uint64_t count);

 private:
  void copy_in(size_t at, size_t bytes);
  void copy_out(size_t at, size_t bytes);

  const bool on_host_;
  const Fail fail_;
  const Memory memory_;
  std::vector<std::byte> staging_;
};

}  // namespace weft::tools
