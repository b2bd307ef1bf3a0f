// SPDX-License-Identifier: Apache-2.0
#include "exec/executor.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace weft::exec {
namespace {

using schedule::Opcode;
using schedule::Operand;
using schedule::PlanStep;

constexpr uint32_t kCarryShift = 24;

inline void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

}  // namespace

Executor::Executor(Setup setup)
    : setup_(std::move(setup)),
      board_(setup_.boards[setup_.rank]),
      seen_(setup_.ranks, 0),
      pointers_(2 * schedule::max_operands(setup_.ranks)),
      peer_states_(std::make_unique<std::atomic<PeerState>[]>(setup_.ranks)) {
  const BoardLayout layout = board_layout(setup_.ranks, setup_.scratch_bytes);
  for (uint32_t parity = 0; parity < 2; ++parity) {
    std::vector<std::byte*>& table = base_tables_[parity];
    table.resize(size_t{WEFT_SPACE_COUNT} * setup_.ranks);
    for (uint32_t r = 0; r < setup_.ranks; ++r) {
      table[size_t{WEFT_SPACE_SCRATCH} * setup_.ranks + r] =
          reinterpret_cast<std::byte*>(setup_.boards[r]) + layout.scratch_offset[parity];
    }
  }
  for (uint32_t r = 0; r < setup_.ranks; ++r) peer_states_[r] = PeerState::kAlive;
}

int32_t Executor::run(weft_task* base) noexcept {
  Task& task = *reinterpret_cast<Task*>(base);
  return task.executor->progress(task);
}

void Executor::drop(weft_task* base) noexcept {
  Task& task = *reinterpret_cast<Task*>(base);
  task.executor->dropped(task);
}

uint64_t Executor::done() const noexcept {
  return board_->progress.done.load(std::memory_order_acquire);
}

const schedule::PlanBody& Executor::body(const Task& task) const noexcept {
  const schedule::Plan& plan = task.plan->plan;
  return task.piece + 1 == plan.pieces ? plan.last : plan.full;
}

int32_t Executor::progress(Task& task) noexcept {
  if (!task.begun) {
    if (failure() != 0) return fail_task(task, failure());
    // Calls of one communicator run in the order of issue, whatever their streams. Those before are
    // this rank's own and find the faults of peers themselves.
    if (done() + 1 != task.first_call) return WEFT_TASK_AGAIN;
    if (const int32_t code = check_members(task); code != 0) return fail_task(task, code);
    task.begun = true;
    task.waiting_since = {};
    if (task.before.bytes != 0) {
      setup_.transport->copy(task.before.to, task.before.from, task.before.bytes);
    }
    begin_piece(task);
  }
  for (;;) {
    const int32_t result = walk(task);
    if (result == WEFT_TASK_AGAIN) return stalled(task);
    if (result != 0) return fail_task(task, result);
    if (task.piece + 1 == task.plan->plan.pieces) break;
    board_->progress.done.store(call_, std::memory_order_release);
    ++task.piece;
    begin_piece(task);
  }
  if (task.after.bytes != 0) {
    setup_.transport->copy(task.after.to, task.after.from, task.after.bytes);
  }
  finish(task);
  return WEFT_TASK_DONE;
}

void Executor::begin_piece(Task& task) noexcept {
  task.step = 0;
  call_ = task.first_call + task.piece;
  bases_ = base_tables_[call_ & 1].data();
  const uint64_t offset = task.piece * task.plan->plan.piece_bytes;
  const auto in = static_cast<const std::byte*>(task.in) + offset;
  bases_[WEFT_SPACE_IN * setup_.ranks + setup_.rank] = const_cast<std::byte*>(in);
  bases_[WEFT_SPACE_OUT * setup_.ranks + setup_.rank] = static_cast<std::byte*>(task.out) + offset;
  Record& record = board_->records[call_ & 1];
  record.key = task.plan->key;
  record.tag.store(tag_of(call_, task.plan->fingerprint), std::memory_order_release);
}

int32_t Executor::walk(Task& task) noexcept {
  const schedule::PlanBody& plan = body(task);
  const auto count = static_cast<uint32_t>(plan.steps.size());
  if (task.step == 0 && task.plan->plan.uses_scratch && !scratch_is_free()) return WEFT_TASK_AGAIN;
  for (; task.step < count; ++task.step) {
    const PlanStep& step = plan.steps[task.step];
    const Operand* operands = plan.operands.data() + step.first;
    switch (step.opcode) {
      case Opcode::kCopy:
        copy(step, operands);
        break;
      case Opcode::kReduce:
        reduce(task, step, operands);
        break;
      case Opcode::kSignal:
      case Opcode::kSignalCarry:
        if (!signal(task, step, operands)) return WEFT_TASK_AGAIN;
        break;
      case Opcode::kWait:
        if (const int32_t result = wait(task, step); result != 0) return result;
        break;
    }
  }
  return WEFT_TASK_DONE;
}

void Executor::copy(const PlanStep& step, const Operand* operands) noexcept {
  const std::byte* src = address(operands[step.dst_count]);
  for (uint32_t i = 0; i < step.dst_count; ++i) {
    std::byte* dst = address(operands[i]);
    if (dst != src) setup_.transport->copy(dst, src, step.length);
  }
}

void Executor::reduce(const Task& task, const PlanStep& step, const Operand* operands) noexcept {
  const uint32_t total = step.dst_count + step.src_count;
  for (uint32_t i = 0; i < total; ++i) pointers_[i] = address(operands[i]);
  setup_.transport->reduce(pointers_.data(), step.dst_count, pointers_.data() + step.dst_count,
                           step.src_count, step.length, task.plan->key.type,
                           task.plan->key.reduce_op);
}

bool Executor::ended_call_before_last(uint32_t peer) noexcept {
  // Knowing that it began the last one is enough, and usually known: a signal said so.
  if (seen_[peer] + 1 >= call_) return true;
  const auto& progress = setup_.boards[peer]->progress;
  if (progress.done.load(std::memory_order_acquire) + 2 >= call_) return true;
  awaited_ = peer;
  return false;
}

bool Executor::scratch_is_free() noexcept {
  for (uint32_t peer = 0; peer < setup_.ranks; ++peer) {
    if (peer != setup_.rank && !ended_call_before_last(peer)) return false;
  }
  return true;
}

bool Executor::signal(const Task& task, const PlanStep& step, const Operand* operands) noexcept {
  Line& line = *setup_.boards[step.peer]->line(call_, setup_.rank, setup_.ranks);
  if (step.ordinal == 1) {
    if (!ended_call_before_last(step.peer)) return false;  // it may still look at the line
    line.fingerprint = task.plan->fingerprint;
    line.in = reinterpret_cast<uint64_t>(bases_[WEFT_SPACE_IN * setup_.ranks + setup_.rank]);
    line.out = reinterpret_cast<uint64_t>(bases_[WEFT_SPACE_OUT * setup_.ranks + setup_.rank]);
    line.carry = 0;
    if (step.opcode == Opcode::kSignalCarry) {
      std::memcpy(line.data, address(operands[0]), step.length);
      line.carry = static_cast<uint32_t>(step.length) << kCarryShift | step.carry_offset;
    }
  }
  line.epoch.store(epoch_of(call_, step.ordinal), std::memory_order_release);
  return true;
}

int32_t Executor::wait(const Task& task, const PlanStep& step) noexcept {
  const Line& line = *board_->line(call_, step.peer, setup_.ranks);
  const uint64_t wanted = epoch_of(call_, step.ordinal);
  for (uint32_t i = 0; line.epoch.load(std::memory_order_acquire) < wanted; ++i) {
    if (i >= setup_.spins) {
      awaited_ = step.peer;
      return WEFT_TASK_AGAIN;
    }
    relax();
  }
  if (step.ordinal != 1) return WEFT_TASK_DONE;
  if (line.fingerprint != task.plan->fingerprint) return mismatch(task, step.peer);
  seen_[step.peer] = call_;
  const int64_t delta = setup_.deltas[step.peer];
  bases_[WEFT_SPACE_IN * setup_.ranks + step.peer] =
      reinterpret_cast<std::byte*>(line.in + static_cast<uint64_t>(delta));
  bases_[WEFT_SPACE_OUT * setup_.ranks + step.peer] =
      reinterpret_cast<std::byte*>(line.out + static_cast<uint64_t>(delta));
  if (line.carry != 0) {
    std::byte* scratch = bases_[WEFT_SPACE_SCRATCH * setup_.ranks + setup_.rank];
    const uint32_t offset = line.carry & ((1u << kCarryShift) - 1);
    std::memcpy(scratch + offset, line.data, line.carry >> kCarryShift);
  }
  return WEFT_TASK_DONE;
}

void Executor::finish(Task& task) noexcept {
  // After a failure calls may end out of order: never step back.
  if (done() < task.last_call) {
    board_->progress.done.store(task.last_call, std::memory_order_release);
  }
  // From here on task and executor may be gone.
  ended_.fetch_add(1, std::memory_order_release);
}

}  // namespace weft::exec
