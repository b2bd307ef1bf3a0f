// SPDX-License-Identifier: Apache-2.0
#include "schedule/check_memory.hpp"

namespace weft::schedule {

Memory::Memory(const Layout& layout)
    : layout_(layout),
      in_blocks_(in_blocks(layout.op, layout.ranks)),
      out_blocks_(out_blocks(layout.op, layout.ranks)),
      first_out_(layout.ranks * in_blocks_ * layout.parts) {
  const size_t scratch = size_t{layout.scratch_areas} * layout.scratch_blocks;
  const size_t blocks = layout.ranks * (in_blocks_ + out_blocks_ + scratch);
  cells_.resize(blocks * layout.parts);
}

bool Memory::in_place(uint32_t rank) const {
  // One buffer is all that a broadcast has.
  if (layout_.op == WEFT_OP_BROADCAST) return true;
  return layout_.placement == Placement::kInPlace ||
         (layout_.placement == Placement::kMixed && rank % 2 == 0);
}

uint32_t Memory::block(const weft_chunk& chunk, uint32_t call) const {
  const uint32_t outs = layout_.ranks * in_blocks_;
  const uint32_t out = outs + chunk.rank * out_blocks_;
  if (chunk.space == WEFT_SPACE_OUT) return out + chunk.block;
  if (chunk.space == WEFT_SPACE_SCRATCH) {
    const uint32_t scratch = outs + layout_.ranks * out_blocks_;
    const uint32_t area = call % layout_.scratch_areas;
    return scratch + (area * layout_.ranks + chunk.rank) * layout_.scratch_blocks + chunk.block;
  }
  const uint32_t in = chunk.rank * in_blocks_ + chunk.block;
  if (!in_place(chunk.rank)) return in;
  switch (layout_.op) {
    case WEFT_OP_ALL_REDUCE:
    case WEFT_OP_BROADCAST:
      return out;
    case WEFT_OP_REDUCE:
      return chunk.rank == layout_.root ? out : in;
    case WEFT_OP_REDUCE_SCATTER:
    case WEFT_OP_REDUCE_SCATTER_V:
    case WEFT_OP_SCATTER:
      return chunk.block == chunk.rank ? out : in;
    case WEFT_OP_ALL_GATHER:
    case WEFT_OP_ALL_GATHER_V:
      return out + chunk.rank;
    default:
      return in;  // no form in place
  }
}

Memory::Range Memory::cells(const weft_chunk& chunk, uint32_t call) const {
  const uint32_t first = block(chunk, call) * layout_.parts;
  if (chunk.parts == 1) return {first, layout_.parts};
  return {first + chunk.part, 1};
}

}  // namespace weft::schedule
