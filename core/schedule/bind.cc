// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/op_names.hpp"
#include "schedule/bind_walk.hpp"
#include "schedule/plan.hpp"

namespace weft::schedule {
namespace {

// carry_offset shares a 32-bit word with the length of the payload.
constexpr uint64_t kMaxCarryOffset = uint64_t{1} << 24;

constexpr uint64_t round_up(uint64_t value, uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// Turns chunks into byte ranges for a piece of `elements` of every block.
class Binder {
 public:
  Binder(const Schedule& schedule, const Geometry& geometry, uint64_t elements)
      : schedule_(schedule),
        element_bytes_(geometry.element_bytes),
        elements_(elements),
        staged_(geometry.staged),
        scratch_stride_(piece_stride(elements * geometry.element_bytes)),
        block_stride_(staged_ ? scratch_stride_ : geometry.count * geometry.element_bytes) {}

  PlanBody run() {
    body_.steps.reserve(schedule_.steps.size());
    body_.operands.reserve(schedule_.operands.size());
    walk(
        schedule_, [this](PlanStep& sync) { add_sync(sync); },
        [this](const Step& step) { add_move(step); });
    return std::move(body_);
  }

 private:
  void add_sync(PlanStep& step) {
    if (step.opcode == Opcode::kSignal && step.ordinal == 1 && copy_is_next_ && !staged_) {
      fuse(step);
    }
    copy_is_next_ = false;
    body_.steps.push_back(step);
  }

  /// A copy of a few bytes into the peer's Scratch just before its first signal travels inside that
  /// signal. The checker runs every schedule in this form too (Machine::carried).
  void fuse(PlanStep& signal) {
    const PlanStep& copy = body_.steps.back();
    if (copy.dst_count != 1 || copy.length > kCarryBytes) return;
    const Operand dst = body_.operands[copy.first];
    const uint32_t peer_scratch = WEFT_SPACE_SCRATCH * schedule_.shape.ranks + signal.peer;
    if (dst.base != peer_scratch || dst.offset >= kMaxCarryOffset) return;
    signal.opcode = Opcode::kSignalCarry;
    signal.first = copy.first + 1;
    signal.src_count = 1;
    signal.carry_offset = static_cast<uint32_t>(dst.offset);
    signal.length = copy.length;
    body_.steps.pop_back();
  }

  void add_move(const Step& step) {
    const weft_chunk& shape = schedule_.operands[step.first];
    const uint64_t begin = part_begin(shape.part, shape.parts);
    const uint64_t elements = part_begin(shape.part + 1, shape.parts) - begin;
    copy_is_next_ = step.verb == WEFT_VERB_COPY && elements > 0;
    if (elements == 0) return;
    PlanStep bound;
    bound.opcode = step.verb == WEFT_VERB_REDUCE ? Opcode::kReduce : Opcode::kCopy;
    bound.first = static_cast<uint32_t>(body_.operands.size());
    bound.dst_count = step.dst_count;
    bound.src_count = step.src_count;
    bound.length = bound.opcode == Opcode::kReduce ? elements : elements * element_bytes_;
    for (uint32_t i = 0; i < step.dst_count + step.src_count; ++i) {
      body_.operands.push_back(operand(schedule_.operands[step.first + i]));
    }
    body_.steps.push_back(bound);
  }

  /// First element of a part: cut at cache lines, so that two ranks never write one.
  [[nodiscard]] uint64_t part_begin(uint64_t part, uint64_t parts) const {
    if (parts == 1) return part == 0 ? 0 : elements_;
    const uint64_t line = std::max<uint64_t>(1, kCacheLine / element_bytes_);
    const uint64_t quantum = round_up((elements_ + parts - 1) / parts, line);
    return std::min(elements_, part * quantum);
  }

  [[nodiscard]] Operand operand(const weft_chunk& chunk) const {
    const uint64_t stride = chunk.space == WEFT_SPACE_SCRATCH ? scratch_stride_ : block_stride_;
    Operand bound;
    bound.base = chunk.space * schedule_.shape.ranks + chunk.rank;
    bound.offset = chunk.block * stride + part_begin(chunk.part, chunk.parts) * element_bytes_;
    return bound;
  }

  const Schedule& schedule_;
  const uint64_t element_bytes_;
  const uint64_t elements_;
  const bool staged_;
  const uint64_t scratch_stride_;
  const uint64_t block_stride_;
  bool copy_is_next_ = false;  // the schedule's step before this one is the body's last, a copy
  PlanBody body_;
};

/// Elements of every block that fit into Scratch and areas at once.
uint64_t elements_per_piece(const Schedule& schedule, const Geometry& g) {
  if (g.count == 0) return 0;
  return std::min(g.count, piece_room(schedule, g) / g.element_bytes);
}

uint64_t room_of(uint64_t bytes, uint64_t blocks) {
  return blocks == 0 ? UINT64_MAX : bytes / blocks / kCacheLine * kCacheLine;
}

/// The smallest kind of areas with room for `blocks` of `bytes`.
Areas smallest_areas(uint64_t blocks, uint64_t bytes) noexcept {
  if (blocks == 0) return Areas::kSmall;
  const auto fits = [&](const AreaLimits& area) {
    return bytes <= area.block &&
           blocks <= area.scratch / std::max(piece_stride(bytes), kCacheLine);
  };
  return fits(kSmallArea) ? Areas::kSmall : fits(kMiddleArea) ? Areas::kMiddle : Areas::kLarge;
}

}  // namespace

uint64_t piece_room(const Schedule& schedule, const Geometry& g) {
  uint64_t room = room_of(g.scratch_bytes, schedule.scratch_blocks);
  if (g.staged) {
    const Shape& shape = schedule.shape;
    room = std::min({room, room_of(g.in_bytes, in_blocks(shape.op, shape.ranks)),
                     room_of(g.out_bytes, out_blocks(shape.op, shape.ranks)),
                     is_reduction(shape.op) ? room_of(g.temp_bytes, 1) : UINT64_MAX});
  }
  if (room > 0) return room;
  throw Error(
      HCCL_E_MEMORY,
      fmt::format("the HCCL buffer is too small: {} bytes for {} blocks of Scratch{}; raise "
                  "HCCL_BUFFSIZE or choose another algorithm",
                  g.scratch_bytes, schedule.scratch_blocks,
                  g.staged ? fmt::format(" and {} for the blocks of a buffer", g.in_bytes) : ""));
}

uint16_t ordinal_of(uint32_t peer, uint32_t count) {
  if (count <= UINT16_MAX) return static_cast<uint16_t>(count);
  throw Error(HCCL_E_INTERNAL,
              fmt::format("a schedule signals rank {} more than {} times", peer, UINT16_MAX));
}

Plan bind(const Schedule& schedule, const Geometry& geometry) {
  Plan plan;
  plan.element_bytes = geometry.element_bytes;
  const uint64_t elements = elements_per_piece(schedule, geometry);
  const uint64_t pieces = geometry.count == 0 ? 1 : (geometry.count + elements - 1) / elements;
  if (pieces > UINT32_MAX) {
    throw Error(HCCL_E_MEMORY, "the HCCL buffer is too small for a call of this size");
  }
  plan.pieces = static_cast<uint32_t>(pieces);
  plan.uses_scratch = schedule.scratch_blocks > 0;
  plan.piece_bytes = elements * geometry.element_bytes;
  if (pieces == 1 && !geometry.staged) {
    plan.areas = smallest_areas(schedule.scratch_blocks, plan.piece_bytes);
  }
  if (pieces > 1) plan.full = Binder(schedule, geometry, elements).run();
  plan.last = Binder(schedule, geometry, geometry.count - (pieces - 1) * elements).run();
  plan.block_bytes = geometry.count * geometry.element_bytes;
  const Shape& shape = schedule.shape;
  plan.in_bytes = plan.block_bytes * in_blocks(shape.op, shape.ranks);
  plan.out_bytes = plan.block_bytes * out_blocks(shape.op, shape.ranks);
  // A broadcast has one buffer, which is the output of all but the root.
  if (!has_input(shape, shape.rank) && shape.op != WEFT_OP_BROADCAST) plan.in_bytes = 0;
  if (!has_output(shape, shape.rank)) plan.out_bytes = 0;
  return plan;
}

}  // namespace weft::schedule
