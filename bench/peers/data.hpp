// SPDX-License-Identifier: Apache-2.0
// The buffers of one rank for one size: what is sent, and what must have come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common.hpp"

namespace weft::peers {

/// Zeroed memory of this process, on huge pages if it is large.
class Buffer {
 public:
  explicit Buffer(uint64_t elements);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  float* data() const { return data_; }

 private:
  size_t bytes_;
  float* data_;
};

/// The numbers that the ranks send: whole, and so small that every sum of them is exact. They
/// repeat after a prime, so that no shift by a block maps them onto themselves.
class Numbers {
 public:
  explicit Numbers(uint32_t ranks);

  /// Source of the sum over all ranks.
  uint32_t sum() const { return uint32_t(tables_.size()) - 1; }
  /// Elements first .. first + count - 1 of what `source` sends.
  void write(float* to, uint32_t source, uint64_t first, uint64_t count) const;
  /// How many differ.
  uint64_t wrong(const float* data, uint32_t source, uint64_t first, uint64_t count) const;

 private:
  std::vector<std::vector<float>> tables_;  // by source
};

/// Elements of the buffers of a rank, and of a block.
struct Shape {
  uint64_t count = 0;  // see Job
  uint64_t bytes = 0;  // of the larger buffer
  uint64_t send = 0;
  uint64_t receive = 0;
};

/// `bytes` is rounded down to whole elements, or blocks; up if that would be none.
Shape make_shape(Op op, uint32_t rank, uint32_t ranks, uint64_t bytes);

/// Elements of a receive buffer that are not what they must be.
uint64_t wrong_elements(const Numbers& numbers, const Job& job, const float* received);

}  // namespace weft::peers
