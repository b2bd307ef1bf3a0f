// SPDX-License-Identifier: Apache-2.0
#include "exec/lowering.hpp"

#include <algorithm>
#include <utility>

#include "base/op_names.hpp"

namespace weft::exec {
namespace {

using schedule::Opcode;
using schedule::Operand;
using schedule::Plan;
using schedule::PlanBody;
using schedule::PlanStep;

uint64_t pieces(uint64_t bytes, uint64_t piece) { return (bytes + piece - 1) / piece; }

/// Of what this rank and a peer have for each other in all_to_all_v, where both know both.
uint64_t pieces_with(const TaskCall& call, uint32_t peer, uint32_t ranks) {
  const uint64_t longer = std::max(call.blocks.lengths[peer], call.blocks.lengths[ranks + peer]);
  return pieces(longer, call.plan->plan.piece_bytes);
}

}  // namespace

uint64_t pieces_of(const TaskCall& call, uint32_t ranks) {
  const Plan& plan = call.plan->plan;
  if (!plan.has_lengths) return plan.pieces;
  const uint64_t* lengths = call.blocks.lengths;
  const uint64_t longest = *std::max_element(lengths, lengths + size_t{2} * ranks);
  return std::max<uint64_t>(1, pieces(longest, plan.piece_bytes));
}

bool involves(const TaskCall& call, uint32_t peer, uint32_t ranks) {
  if (!call.plan->partners[peer]) return false;
  return !call.plan->plan.own_blocks || pieces_with(call, peer, ranks) > 0;
}

Lowering::Lowering(uint32_t rank, const TaskLayout& layout, std::vector<std::byte*> shared)
    : rank_(rank),
      layout_(layout),
      shared_(std::move(shared)),
      signals_(ranks()),
      met_(shared_.size(), true),
      partners_(shared_.size(), false) {}

void Lowering::set_aside(TaskCall& call, TaskQueue& queue, uint32_t ranks) {
  const auto* in = static_cast<const std::byte*>(call.in);
  const bool many = call.plan->plan.has_lengths && call.plan->key.op != WEFT_OP_ALL_GATHER_V;
  if (!many) queue.copy(call.aside, in, call.in_bytes, call.in_side);
  for (uint32_t i = 0; many && i < ranks; ++i) {
    const uint64_t at = call.blocks.offsets[i];
    queue.copy(call.aside + at, in + at, call.blocks.lengths[i], call.in_side);
  }
  call.in = call.aside;
  call.in_side = WEFT_SIDE_DEVICE;
}

void Lowering::run(TaskCall call, TaskQueue& queue) {
  if (call.aside != nullptr) set_aside(call, queue, ranks());
  const Plan& plan = call.plan->plan;
  one_area_ = call.plan->key.op == WEFT_OP_BROADCAST;
  const uint64_t count = pieces_of(call, ranks());
  std::vector<bool> met;
  for (uint64_t i = 0; i < count; ++i) {
    const bool full = i + 1 < count && !plan.has_lengths;
    Piece piece{call, queue,         full ? plan.full : plan.last, i, i * plan.piece_bytes,
                0,    i + 1 == count};
    const uint64_t bytes =
        full || plan.has_lengths ? plan.piece_bytes : plan.block_bytes - piece.begin;
    piece.stride = schedule::piece_stride(bytes);
    run_piece(piece);
    if (i == 0) met = partners_;
  }
  met_ = std::move(met);
}

void Lowering::run_piece(const Piece& piece) {
  find_partners(piece);
  if (piece.number == 0) {
    // Both of a pair know whether the last call was one of theirs: calls are the same on all ranks.
    signal_partners(piece.queue, true);
    await_partners(piece.queue, true);
  }
  copy_in(piece);
  if (piece.call.plan->plan.uses_scratch) parity_ ^= 1;
  for (const PlanStep& each : piece.body.steps) step(piece, each);
  copy_out(piece);
  signal_partners(piece.queue, false);
  if (piece.last) piece.queue.mark(piece.call.told_mark);
  await_partners(piece.queue, false);
}

void Lowering::find_partners(const Piece& piece) {
  for (uint32_t peer = 0; peer < ranks(); ++peer) {
    partners_[peer] = piece.call.plan->partners[peer] && takes_part(piece, peer);
  }
}

void Lowering::signal_partners(TaskQueue& queue, bool strangers_only) {
  for (uint32_t peer = 0; peer < ranks(); ++peer) {
    if (meets(peer, strangers_only)) signals_.signal(queue, peer);
  }
}

void Lowering::await_partners(TaskQueue& queue, bool strangers_only) {
  for (uint32_t peer = 0; peer < ranks(); ++peer) {
    if (meets(peer, strangers_only)) signals_.wait(queue, peer);
  }
}

/// False for a peer of an all_to_all_v that this rank is through with.
bool Lowering::takes_part(const Piece& piece, uint32_t peer) const {
  if (!piece.call.plan->plan.own_blocks) return true;
  return piece.number < pieces_with(piece.call, peer, ranks());
}

uint64_t Lowering::blocks(const TaskCall& call, bool in) const {
  const comm::CallKey& key = call.plan->key;
  const schedule::Shape shape{key.op, ranks(), rank_, key.root};
  if (in) return has_input(shape, rank_) ? schedule::in_blocks(key.op, ranks()) : 0;
  // The root of a broadcast has its output already.
  if (key.op == WEFT_OP_BROADCAST && rank_ == key.root) return 0;
  return has_output(shape, rank_) ? schedule::out_blocks(key.op, ranks()) : 0;
}

Lowering::Block Lowering::block(const Piece& piece, bool in, uint64_t index) const {
  const Plan& plan = piece.call.plan->plan;
  uint64_t begin = index * plan.block_bytes;
  uint64_t bytes = plan.block_bytes;
  if (plan.has_lengths) {
    const uint32_t op = piece.call.plan->key.op;
    const schedule::Blocks& given = piece.call.blocks;
    const uint64_t at = in ? index : ranks() + index;
    const bool only_one = op == (in ? WEFT_OP_ALL_GATHER_V : WEFT_OP_REDUCE_SCATTER_V);
    begin = only_one ? 0 : given.offsets[at];
    bytes = only_one ? given.lengths[in ? ranks() + rank_ : rank_] : given.lengths[at];
  }
  if (piece.begin >= bytes) return {};
  return {begin + piece.begin, std::min(bytes - piece.begin, plan.piece_bytes)};
}

void Lowering::copy_in(const Piece& piece) {
  const auto* user = static_cast<const std::byte*>(piece.call.in);
  for (uint64_t i = 0; i < blocks(piece.call, true); ++i) {
    const Block from = block(piece, true, i);
    piece.queue.copy(area(WEFT_SPACE_IN, rank_) + i * piece.stride, user + from.user, from.bytes,
                     piece.call.in_side);
  }
}

void Lowering::copy_out(const Piece& piece) {
  auto* user = static_cast<std::byte*>(piece.call.out);
  for (uint64_t i = 0; i < blocks(piece.call, false); ++i) {
    const Block to = block(piece, false, i);
    piece.queue.copy(user + to.user, area(WEFT_SPACE_OUT, rank_) + i * piece.stride, to.bytes,
                     piece.call.out_side);
  }
}

std::byte* Lowering::area(uint32_t space, uint32_t rank) const {
  switch (space) {
    case WEFT_SPACE_SCRATCH:
      return shared_[rank] + layout_.scratch[parity_];
    case WEFT_SPACE_OUT:
      return shared_[rank] + (one_area_ ? layout_.in : layout_.out);
    default:
      return shared_[rank] + layout_.in;
  }
}

void Lowering::step(const Piece& piece, const PlanStep& step) {
  const Plan& plan = piece.call.plan->plan;
  const Operand* operands = piece.body.operands.data() + step.first;
  const auto length = [&] {  // of a block whose length came with the call
    const uint64_t all = piece.call.blocks.lengths[step.peer];
    return piece.begin >= all ? 0 : std::min(all - piece.begin, plan.piece_bytes);
  };
  switch (step.opcode) {
    case Opcode::kCopy:
      return copy(piece.queue, step, operands, step.length);
    case Opcode::kReduce:
      return reduce(piece, step, operands, step.length);
    case Opcode::kCopyBlock:
      return copy(piece.queue, step, operands, length());
    case Opcode::kReduceBlock:
      return reduce(piece, step, operands, length() / plan.element_bytes);
    case Opcode::kSignalCarry:
      piece.queue.copy(area(WEFT_SPACE_SCRATCH, step.peer) + step.carry_offset,
                       address(operands[0]), step.length);
      [[fallthrough]];
    case Opcode::kSignal:
      if (takes_part(piece, step.peer)) signals_.signal(piece.queue, step.peer);
      return;
    case Opcode::kWait:
      if (takes_part(piece, step.peer)) signals_.wait(piece.queue, step.peer);
      return;
  }
}

void Lowering::copy(TaskQueue& queue, const PlanStep& step, const Operand* operands,
                    uint64_t bytes) {
  const std::byte* src = address(operands[step.dst_count]);
  for (uint32_t i = 0; i < step.dst_count; ++i) queue.copy(address(operands[i]), src, bytes);
}

/// Inline reduce combines two at a time, in the order of the sources. The result is made in one of
/// this rank's own destinations and copied to the others.
void Lowering::reduce(const Piece& piece, const PlanStep& step, const Operand* operands,
                      uint64_t elements) {
  const Plan& plan = piece.call.plan->plan;
  const comm::CallKey& key = piece.call.plan->key;
  const uint64_t bytes = elements * plan.element_bytes;
  const Operand* sources = operands + step.dst_count;
  if (step.src_count == 1) return copy(piece.queue, step, operands, bytes);
  std::byte* sum = accumulator(step, operands);
  piece.queue.copy(sum, address(sources[0]), bytes);
  for (uint32_t i = 1; i < step.src_count; ++i) {
    piece.queue.reduce(sum, address(sources[i]), elements, key.type, key.reduce_op);
  }
  for (uint32_t i = 0; i < step.dst_count; ++i) {
    piece.queue.copy(address(operands[i]), sum, bytes);
  }
}

/// A destination that is also a later source must keep that until it was read.
std::byte* Lowering::accumulator(const PlanStep& step, const Operand* operands) const {
  const Operand* later = operands + step.dst_count + 1;
  const Operand* end = operands + step.dst_count + step.src_count;
  for (uint32_t i = 0; i < step.dst_count; ++i) {
    std::byte* candidate = address(operands[i]);
    const auto is_it = [&](const Operand& source) { return address(source) == candidate; };
    if (operands[i].base % ranks() == rank_ && std::none_of(later, end, is_it)) return candidate;
  }
  return shared_[rank_] + layout_.temp;
}

}  // namespace weft::exec
