// SPDX-License-Identifier: Apache-2.0
// The memory of all ranks as the checker sees it: one cell for each part of each block.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/check.hpp"
#include "schedule/check_values.hpp"

namespace weft::schedule {

struct Cell {
  Value value = Values::kUnknown;
  Event write;               // the last one
  std::vector<Event> reads;  // since then, the last one of each rank
};

class Memory {
 public:
  struct Layout {
    uint32_t op = 0;
    uint32_t ranks = 0;
    uint32_t parts = 1;  // cells of a block
    uint32_t scratch_blocks = 0;
    uint32_t scratch_areas = 2;
    Placement placement = Placement::kSeparate;
    uint32_t root = 0;
  };

  explicit Memory(const Layout& layout);

  [[nodiscard]] uint32_t parts() const { return layout_.parts; }
  /// The cells [first, first + count) of a chunk in a call.
  struct Range {
    uint32_t first = 0;
    uint32_t count = 0;
  };
  [[nodiscard]] Range cells(const weft_chunk& chunk, uint32_t call) const;
  [[nodiscard]] Cell& operator[](uint32_t cell) { return cells_[cell]; }
  /// False for what belongs to In only.
  [[nodiscard]] bool writable(uint32_t cell) const { return cell >= first_out_; }

 private:
  [[nodiscard]] bool in_place(uint32_t rank) const;
  /// Block of the cells in units of blocks, counted over In, Out and Scratch of all ranks.
  [[nodiscard]] uint32_t block(const weft_chunk& chunk, uint32_t call) const;

  Layout layout_;
  uint32_t in_blocks_;
  uint32_t out_blocks_;
  uint32_t first_out_;  // In comes first, then Out, then Scratch
  std::vector<Cell> cells_;
};

}  // namespace weft::schedule
