// SPDX-License-Identifier: Apache-2.0
#include "schedule/schedule.hpp"

namespace weft::schedule {

uint32_t in_blocks(uint32_t op, uint32_t ranks) noexcept {
  switch (op) {
    case WEFT_OP_ALL_REDUCE:
    case WEFT_OP_BROADCAST:
    case WEFT_OP_REDUCE:
    case WEFT_OP_ALL_GATHER:
    case WEFT_OP_ALL_GATHER_V:
      return 1;
    case WEFT_OP_SCATTER:
    case WEFT_OP_REDUCE_SCATTER:
    case WEFT_OP_REDUCE_SCATTER_V:
    case WEFT_OP_ALL_TO_ALL:
    case WEFT_OP_ALL_TO_ALL_V:
      return ranks;
    default:
      return 0;
  }
}

uint32_t out_blocks(uint32_t op, uint32_t ranks) noexcept {
  switch (op) {
    case WEFT_OP_ALL_REDUCE:
    case WEFT_OP_BROADCAST:
    case WEFT_OP_REDUCE:
    case WEFT_OP_SCATTER:
    case WEFT_OP_REDUCE_SCATTER:
    case WEFT_OP_REDUCE_SCATTER_V:
      return 1;
    case WEFT_OP_ALL_GATHER:
    case WEFT_OP_ALL_GATHER_V:
    case WEFT_OP_ALL_TO_ALL:
    case WEFT_OP_ALL_TO_ALL_V:
      return ranks;
    default:
      return 0;
  }
}

bool has_input(const Shape& shape, uint32_t rank) noexcept {
  const bool of_root = shape.op == WEFT_OP_BROADCAST || shape.op == WEFT_OP_SCATTER;
  return !of_root || rank == shape.root;
}

bool has_output(const Shape& shape, uint32_t rank) noexcept {
  return shape.op != WEFT_OP_REDUCE || rank == shape.root;
}

uint64_t length_class(const Shape& shape, const weft_chunk& chunk) noexcept {
  const bool in = chunk.space == WEFT_SPACE_IN;
  switch (shape.op) {
    case WEFT_OP_ALL_GATHER_V:
      return in ? chunk.rank : chunk.block;
    case WEFT_OP_REDUCE_SCATTER_V:
      return in ? chunk.block : chunk.rank;
    case WEFT_OP_ALL_TO_ALL_V: {
      const uint64_t from = in ? chunk.rank : chunk.block;
      const uint64_t to = in ? chunk.block : chunk.rank;
      return from * shape.ranks + to;
    }
    default:
      return 0;
  }
}

const char* verb_name(uint32_t verb) noexcept {
  switch (verb) {
    case WEFT_VERB_COPY:
      return "copy";
    case WEFT_VERB_REDUCE:
      return "reduce";
    case WEFT_VERB_SIGNAL:
      return "signal";
    case WEFT_VERB_WAIT:
      return "wait";
    default:
      return "?";
  }
}

}  // namespace weft::schedule
