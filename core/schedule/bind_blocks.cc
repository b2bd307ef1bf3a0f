// SPDX-License-Identifier: Apache-2.0
// Binding of operations whose blocks have lengths of their own. The lengths and places come with
// each call, so one plan serves all calls of a type: a step names a length and an operand an offset
// by its index in schedule::Blocks.
#include <utility>

#include "schedule/bind_walk.hpp"
#include "schedule/plan.hpp"

namespace weft::schedule {
namespace {

class BlockBinder {
 public:
  BlockBinder(const Schedule& schedule, uint64_t room, bool staged)
      : schedule_(schedule),
        op_(schedule.shape.op),
        ranks_(schedule.shape.ranks),
        room_(room),
        staged_(staged) {}

  PlanBody run() {
    body_.steps.reserve(schedule_.steps.size());
    body_.operands.reserve(schedule_.operands.size());
    walk(
        schedule_, [this](const PlanStep& sync) { body_.steps.push_back(sync); },
        [this](const Step& step) { add_move(step); });
    return std::move(body_);
  }

 private:
  void add_move(const Step& step) {
    PlanStep bound;
    bound.opcode = step.verb == WEFT_VERB_REDUCE ? Opcode::kReduceBlock : Opcode::kCopyBlock;
    bound.first = static_cast<uint32_t>(body_.operands.size());
    bound.dst_count = step.dst_count;
    bound.src_count = step.src_count;
    for (uint32_t i = 0; i < step.dst_count + step.src_count; ++i) {
      const weft_chunk& chunk = schedule_.operands[step.first + i];
      if (chunk.space != WEFT_SPACE_SCRATCH) bound.peer = length_index(chunk);
      body_.operands.push_back(operand(chunk));
    }
    body_.steps.push_back(bound);
  }

  /// Which of this rank's lengths the chunk has; the builder saw to it that there is one.
  [[nodiscard]] uint32_t length_index(const weft_chunk& chunk) const {
    const bool in = chunk.space == WEFT_SPACE_IN;
    const bool own = chunk.rank == schedule_.shape.rank;
    switch (op_) {
      case WEFT_OP_ALL_GATHER_V:
        return ranks_ + (in ? chunk.rank : chunk.block);
      case WEFT_OP_REDUCE_SCATTER_V:
        return in ? chunk.block : chunk.rank;
      default:  // all_to_all_v: what a peer has for this rank is what this rank gets from it
        if (own) return in ? chunk.block : ranks_ + chunk.block;
        return in ? ranks_ + chunk.rank : chunk.rank;
    }
  }

  [[nodiscard]] Operand operand(const weft_chunk& chunk) const {
    Operand bound;
    bound.base = chunk.space * ranks_ + chunk.rank;
    if (chunk.space == WEFT_SPACE_SCRATCH || staged_) {
      bound.offset = chunk.block * room_;
    } else if (chunk.space == WEFT_SPACE_IN && op_ != WEFT_OP_ALL_GATHER_V) {
      bound.block = 1 + chunk.block;
    } else if (chunk.space == WEFT_SPACE_OUT && op_ != WEFT_OP_REDUCE_SCATTER_V) {
      bound.block = 1 + ranks_ + chunk.block;
    }
    // In all_to_all_v a peer's signal tells where its block for this rank begins.
    if (op_ == WEFT_OP_ALL_TO_ALL_V && chunk.rank != schedule_.shape.rank) bound.block = 0;
    return bound;
  }

  const Schedule& schedule_;
  const uint32_t op_;
  const uint32_t ranks_;
  const uint64_t room_;  // bytes of a block of Scratch and of staged blocks
  const bool staged_;
  PlanBody body_;
};

}  // namespace

Plan bind_blocks(const Schedule& schedule, const Geometry& geometry) {
  Plan plan;
  plan.has_lengths = true;
  plan.own_blocks = schedule.shape.op == WEFT_OP_ALL_TO_ALL_V;
  plan.element_bytes = geometry.element_bytes;
  plan.uses_scratch = schedule.scratch_blocks > 0;
  plan.piece_bytes = piece_room(schedule, geometry);
  plan.last = BlockBinder(schedule, plan.piece_bytes, geometry.staged).run();
  return plan;
}

}  // namespace weft::schedule
