// SPDX-License-Identifier: Apache-2.0
// The tasks engine's part of the collectives: walks a bound plan when the call is issued and puts
// it on the stream as copies, inline reductions, records and waits.
//
// A call goes through the areas of shared memory piece by piece: the caller's blocks are copied
// into In, the plan runs on the areas of all ranks, Out is copied to the caller. Each piece ends
// with a signal to and from every partner: each rank that this one signals, waits for, or shares
// memory with. So when a piece begins
//  - nobody touches this rank's In and Out any more,
//  - the other Scratch area may still be read by some, the one used now by nobody: it was used two
//    pieces ago.
// A partner that was none in the last call is met at the beginning of a call as well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "exec/executor.hpp"
#include "exec/signal_ring.hpp"
#include "exec/task_layout.hpp"
#include "exec/task_queue.hpp"
#include "schedule/plan.hpp"

namespace weft::exec {

/// A call with the caller's buffers.
struct TaskCall {
  const ExecPlan* plan = nullptr;
  const void* in = nullptr;
  void* out = nullptr;
  uint32_t in_side = WEFT_SIDE_DEVICE;
  uint32_t out_side = WEFT_SIDE_DEVICE;
  schedule::Blocks blocks;  // of an operation with lengths
  // Memory of this rank's own to which the input is copied first, where the output would overwrite
  // what later pieces still need; or null.
  std::byte* aside = nullptr;
  uint64_t in_bytes = 0;     // from the beginning of the input to its end
  uint32_t fingerprint = 0;  // of all that ranks must agree on
  // Set when all partners have been told that this rank has done its part.
  uint32_t told_mark = 0;
};

/// Runs of the plan that the call needs on this rank.
[[nodiscard]] uint64_t pieces_of(const TaskCall& call, uint32_t ranks);

/// Whether this rank has to do with `peer` in the call.
[[nodiscard]] bool involves(const TaskCall& call, uint32_t peer, uint32_t ranks);

class Lowering {
 public:
  /// `shared`: the memory of all ranks, at addresses of this process.
  Lowering(uint32_t rank, const TaskLayout& layout, std::vector<std::byte*> shared);

  /// All ranks must do the same calls in the same order. Throws Error: part of the call is then on
  /// the stream, and the communicator can do no more.
  void run(TaskCall call, TaskQueue& queue);

 private:
  struct Piece {
    const TaskCall& call;
    TaskQueue& queue;
    const schedule::PlanBody& body;
    uint64_t number = 0;
    uint64_t begin = 0;   // of the piece in every block, in bytes
    uint64_t stride = 0;  // from block to block in the areas
    bool last = false;
  };
  /// A caller's block and its place in the area.
  struct Block {
    uint64_t user = 0;  // offset in the caller's buffer
    uint64_t bytes = 0;
  };

  static void set_aside(TaskCall& call, TaskQueue& queue, uint32_t ranks);
  void run_piece(const Piece& piece);
  void find_partners(const Piece& piece);
  void signal_partners(TaskQueue& queue, bool strangers_only);
  void await_partners(TaskQueue& queue, bool strangers_only);
  [[nodiscard]] bool meets(uint32_t peer, bool strangers_only) const {
    return partners_[peer] && !(strangers_only && met_[peer]);
  }
  void copy_in(const Piece& piece);
  void copy_out(const Piece& piece);
  void step(const Piece& piece, const schedule::PlanStep& step);
  void copy(TaskQueue& queue, const schedule::PlanStep& step, const schedule::Operand* operands,
            uint64_t bytes);
  void reduce(const Piece& piece, const schedule::PlanStep& step, const schedule::Operand* operands,
              uint64_t elements);
  [[nodiscard]] std::byte* accumulator(const schedule::PlanStep& step,
                                       const schedule::Operand* operands) const;

  [[nodiscard]] uint32_t ranks() const { return static_cast<uint32_t>(shared_.size()); }
  [[nodiscard]] uint64_t blocks(const TaskCall& call, bool in) const;
  [[nodiscard]] Block block(const Piece& piece, bool in, uint64_t index) const;
  [[nodiscard]] bool takes_part(const Piece& piece, uint32_t peer) const;
  [[nodiscard]] std::byte* area(uint32_t space, uint32_t rank) const;
  [[nodiscard]] std::byte* address(const schedule::Operand& operand) const {
    return area(operand.base / ranks(), operand.base % ranks()) + operand.offset;
  }

  const uint32_t rank_;
  const TaskLayout layout_;
  const std::vector<std::byte*> shared_;
  SignalRing signals_;
  std::vector<bool> met_;       // peers that the last call ended with
  std::vector<bool> partners_;  // of the piece that is queued
  uint32_t parity_ = 0;         // Scratch area of the piece
  bool one_area_ = false;       // In is Out: a broadcast has one buffer
};

}  // namespace weft::exec
