// SPDX-License-Identifier: Apache-2.0
// Memory of one rank for a bench, filled and read the way a client must: by copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "bench/pattern.hpp"

namespace weft::tools {

/// The text is what failed; must not return.
using Fail = std::function<void(const char* function, int code)>;

/// One allocation, on the current device or from malloc.
class Buffer {
 public:
  /// Ends through `fail` if there is no memory. 0 bytes: no memory, data() is nullptr.
  Buffer(size_t bytes, bool malloc_memory, Fail fail);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::byte* data() const { return data_; }

  // `at` is a byte offset, counts are elements.
  void put(const Pattern& pattern, uint64_t first, size_t at, uint64_t count);
  uint64_t mismatches(const Pattern& pattern, uint64_t first, size_t at, uint64_t count);

 private:
  void copy_in(size_t at, size_t bytes);
  void copy_out(size_t at, size_t bytes);

  bool malloc_memory_;
  Fail fail_;
  std::byte* data_ = nullptr;
  std::vector<std::byte> staging_;
};

}  // namespace weft::tools
