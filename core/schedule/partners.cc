// SPDX-License-Identifier: Apache-2.0
#include "schedule/partners.hpp"

#include <algorithm>

namespace weft::schedule {

std::vector<bool> partners(const Shape& shape, const std::function<Schedule(const Shape&)>& emit) {
  std::vector<bool> found(shape.ranks, false);
  const Schedule mine = emit(shape);
  for (const Step& step : mine.steps) {
    if (step.verb == WEFT_VERB_SIGNAL || step.verb == WEFT_VERB_WAIT) found[step.peer] = true;
  }
  for (const weft_chunk& chunk : mine.operands) found[chunk.rank] = true;
  const auto is_mine = [&](const weft_chunk& chunk) { return chunk.rank == shape.rank; };
  for (uint32_t rank = 0; rank < shape.ranks; ++rank) {
    if (rank == shape.rank || found[rank]) continue;
    const Schedule theirs = emit({shape.op, shape.ranks, rank, shape.root});
    found[rank] = std::any_of(theirs.operands.begin(), theirs.operands.end(), is_mine);
  }
  found[shape.rank] = false;
  return found;
}

Exposure exposure(const Shape& shape, const std::function<Schedule(const Shape&)>& emit) {
  Exposure found{false, false};
  for (uint32_t rank = 0; rank < shape.ranks; ++rank) {
    if (rank == shape.rank) continue;
    for (const weft_chunk& chunk : emit({shape.op, shape.ranks, rank, shape.root}).operands) {
      if (chunk.rank != shape.rank) continue;
      found.in |= chunk.space == WEFT_SPACE_IN;
      found.out |= chunk.space == WEFT_SPACE_OUT;
    }
  }
  return found;
}

}  // namespace weft::schedule
