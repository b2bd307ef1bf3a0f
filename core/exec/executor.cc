// SPDX-License-Identifier: Apache-2.0
#include "exec/executor.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "exec/relax.hpp"

namespace weft::exec {
namespace {

using schedule::Opcode;
using schedule::Operand;
using schedule::PlanStep;

constexpr uint32_t kCarryShift = 24;

}  // namespace

Executor::Executor(const Setup& setup, Watch& watch)
    : setup_(setup),
      watch_(watch),
      depth_(depth_of(setup_.ranks)),
      board_(setup_.boards[setup_.rank]),
      seen_(setup_.ranks, 0),
      ended_(setup_.ranks, 0),
      pointers_(2 * schedule::max_operands(setup_.ranks)) {
  const BoardLayout layout = board_layout(setup_.ranks, setup_.scratch_bytes);
  for (uint32_t area = 0; area < area_count(depth_); ++area) {
    std::vector<std::byte*>& table = base_tables_[area];
    table.resize(size_t{WEFT_SPACE_COUNT} * setup_.ranks);
    for (uint32_t r = 0; r < setup_.ranks; ++r) {
      table[size_t{WEFT_SPACE_SCRATCH} * setup_.ranks + r] =
          reinterpret_cast<std::byte*>(setup_.boards[r]) + layout.scratch_offset[area];
    }
  }
}

int32_t Executor::run(weft_task* base) noexcept {
  Task& task = *reinterpret_cast<Task*>(base);
  return task.executor->progress(task);
}

void Executor::begin_early(weft_task* base) noexcept {
  Task& task = *reinterpret_cast<Task*>(base);
  Executor& self = *task.executor;
  // What those on their way use of the board must stay theirs.
  const uint32_t most =
      std::min(in_flight_of(self.depth_), areas_of(task.plan->areas(), self.depth_).count);
  if (task.first_call != self.begun_.load(std::memory_order_relaxed) + 1 ||
      task.first_call - self.done() > most)
    return;
  if (self.watch_.failure() != 0 || !self.all_take_part()) return;
  self.begin(task);
  task.early = true;
  self.ahead_[self.last_ahead_++ % kMostDepth] = &task;
  self.walk(task, false);
}

bool Executor::all_take_part() const noexcept {
  for (uint32_t r = 0; r < setup_.ranks; ++r) {
    if (!watch_.takes_part(r)) return false;
  }
  return true;
}

void Executor::drop(weft_task* base) noexcept {
  Task& task = *reinterpret_cast<Task*>(base);
  task.executor->dropped(task);
}

const schedule::PlanBody& Executor::body(const Task& task) const noexcept {
  const schedule::Plan& plan = task.plan->plan;
  return task.piece + 1 == task.pieces || plan.has_lengths ? plan.last : plan.full;
}

int32_t Executor::progress(Task& task) noexcept {
  if (task.ended) {
    if (!settled(task)) return unsettled(task);
    return complete(task);
  }
  if (!task.begun) {
    if (watch_.failure() != 0) return fail_task(task, watch_.failure());
    // Calls of one communicator run in the order of issue, whatever their streams. Those before are
    // this rank's own and find the faults of peers themselves.
    if (done() + 1 != task.first_call) return WEFT_TASK_AGAIN;
    if (const int32_t code = check_members(task); code != 0) return fail_task(task, code);
    begin(task);
  } else {
    if (selected_ != &task) select(task);
    if (task.early) {
      task.early = false;
      if (watch_.failure() != 0) return fail_task(task, watch_.failure());
      if (const int32_t code = check_members(task); code != 0) return fail_task(task, code);
    }
  }
  for (;;) {
    const int32_t result = walk(task);
    if (result == WEFT_TASK_AGAIN) return stalled(task);
    if (result != 0) return fail_task(task, result);
    if (task.plan->synchronises) all_begun_ = call_;
    if (task.piece + 1 == task.pieces) break;
    board_->progress.done.store(call_, std::memory_order_release);
    done_.store(call_, std::memory_order_release);
    ++task.piece;
    begin_piece(task);
  }
  if (task.after.bytes != 0) stage(task, task.after);
  end(task);
  if (!settled(task)) return unsettled(task);
  return complete(task);
}

void Executor::end(Task& task) noexcept {
  task.ended = true;
  // Peers take what is done for good, and use what this rank has left for them.
  board_->progress.done.store(task.last_call, std::memory_order_release);
}

/// What follows a call that has to wait until it may be told of: as far as it goes.
void Executor::work_ahead() noexcept {
  for (uint64_t i = first_ahead_; i != last_ahead_; ++i) {
    Task& task = *ahead_[i % kMostDepth];
    if (task.ended) continue;
    if (watch_.failure() != 0 || !all_take_part()) return;
    select(task);
    // A fault is the communicator's: it fails the call whose turn it is, and this one after it.
    if (walk(task) != WEFT_TASK_DONE) return;
    if (task.plan->synchronises) all_begun_ = call_;
    end(task);
  }
}

bool Executor::settled(Task& task) noexcept {
  while (task.early_peers != 0) {
    const auto peer = static_cast<uint32_t>(std::countr_zero(task.early_peers));
    if (!has_ended_call(peer, task.last_call - 1)) return false;
    task.early_peers &= task.early_peers - 1;
  }
  return true;
}

void Executor::begin(Task& task) noexcept {
  task.begun = true;
  task.wait = {};
  if (task.before.bytes != 0) stage(task, task.before);
  begin_piece(task);
}

void Executor::select(const Task& task) noexcept {
  selected_ = &task;
  call_ = task.first_call + task.piece;
  bases_ = base_tables_[area_of(call_, task.plan->areas(), depth_)].data();
}

void Executor::begin_piece(Task& task) noexcept {
  select(task);
  begun_.store(call_, std::memory_order_relaxed);
  task.step = 0;
  task.some_unknown = false;
  // As numbers: a buffer that is not used may be null.
  const uint64_t offset = task.piece * task.plan->plan.piece_bytes;
  const auto place = [offset](const void* buffer) {
    return reinterpret_cast<std::byte*>(reinterpret_cast<uintptr_t>(buffer) + offset);
  };
  bases_[WEFT_SPACE_IN * setup_.ranks + setup_.rank] = place(task.in);
  bases_[WEFT_SPACE_OUT * setup_.ranks + setup_.rank] = place(task.out);
  // All calls so far, so that one which differed without anybody noticing is found by the next.
  history_ = std::rotl((history_ ^ task.fingerprint) * 0x9e3779b1u, 15);
  task.history = history_;
  Record& record = board_->records[call_ % kMostDepth];
  record.key = task.key;
  record.tag.store(tag_of(call_, history_), std::memory_order_release);
}

int32_t Executor::walk(Task& task, bool may_wait) noexcept {
  const schedule::PlanBody& plan = body(task);
  const auto count = static_cast<uint32_t>(plan.steps.size());
  if (task.step == 0 && task.plan->plan.uses_scratch && !scratch_is_free(task.plan->areas())) {
    return WEFT_TASK_AGAIN;
  }
  for (; task.step < count; ++task.step) {
    const PlanStep& step = plan.steps[task.step];
    const Operand* operands = plan.operands.data() + step.first;
    if (task.some_unknown) {
      const uint32_t peer = unknown_peer(task, step, operands);
      if (peer != setup_.rank) return unknown_place(task, peer);
    }
    switch (step.opcode) {
      case Opcode::kCopy:
        copy(step, operands);
        break;
      case Opcode::kReduce:
        reduce(task, step, operands);
        break;
      case Opcode::kCopyBlock:
        copy_block(task, step, operands);
        break;
      case Opcode::kReduceBlock:
        reduce_block(task, step, operands);
        break;
      case Opcode::kSignal:
      case Opcode::kSignalCarry:
        if (!signal(task, step, operands)) return WEFT_TASK_AGAIN;
        break;
      case Opcode::kWait:
        if (!may_wait) return WEFT_TASK_AGAIN;
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
    if (dst != src) setup_.transport->copy(dst, src, step.length, setup_.ranks);
  }
}

void Executor::reduce(const Task& task, const PlanStep& step, const Operand* operands) noexcept {
  const uint32_t total = step.dst_count + step.src_count;
  for (uint32_t i = 0; i < total; ++i) pointers_[i] = address(operands[i]);
  setup_.transport->reduce(pointers_.data(), step.dst_count, pointers_.data() + step.dst_count,
                           step.src_count, step.length, task.plan->key.type,
                           task.plan->key.reduce_op, setup_.ranks);
}

uint64_t Executor::block_length(const Task& task, uint32_t index) noexcept {
  const uint64_t piece = task.plan->plan.piece_bytes;
  const uint64_t begin = task.piece * piece;
  const uint64_t length = task.blocks.lengths[index];
  return begin >= length ? 0 : std::min(length - begin, piece);
}

void Executor::copy_block(const Task& task, const PlanStep& step,
                          const Operand* operands) noexcept {
  const uint64_t length = block_length(task, step.peer);
  if (length == 0) return;
  const std::byte* src = block_address(task, operands[step.dst_count]);
  for (uint32_t i = 0; i < step.dst_count; ++i) {
    std::byte* dst = block_address(task, operands[i]);
    if (dst != src) setup_.transport->copy(dst, src, length, setup_.ranks);
  }
}

void Executor::reduce_block(const Task& task, const PlanStep& step,
                            const Operand* operands) noexcept {
  const uint64_t length = block_length(task, step.peer);
  if (length == 0) return;
  const uint32_t total = step.dst_count + step.src_count;
  for (uint32_t i = 0; i < total; ++i) pointers_[i] = block_address(task, operands[i]);
  setup_.transport->reduce(pointers_.data(), step.dst_count, pointers_.data() + step.dst_count,
                           step.src_count, length / task.plan->plan.element_bytes,
                           task.plan->key.type, task.plan->key.reduce_op, setup_.ranks);
}

void Executor::stage(const Task& task, const StageCopy& copy) noexcept {
  if (copy.blocks == 0) return setup_.transport->copy(copy.to, copy.from, copy.bytes, setup_.ranks);
  for (uint32_t i = copy.first; i < copy.first + copy.blocks; ++i) {
    const uint64_t at = task.blocks.offsets[i];
    if (task.blocks.lengths[i] == 0) continue;
    setup_.transport->copy(static_cast<std::byte*>(copy.to) + at,
                           static_cast<const std::byte*>(copy.from) + at, task.blocks.lengths[i],
                           setup_.ranks);
  }
}

bool Executor::has_ended(uint32_t peer, uint64_t depth) noexcept {
  if (call_ <= depth) return true;
  const uint64_t wanted = call_ - depth;
  // Knowing that it began a much later one is enough, and usually known: a signal said so, or what
  // kind of call it was.
  const uint64_t later = wanted + in_flight_of(depth_);
  return all_begun_ >= later || seen_[peer] >= later || has_ended_call(peer, wanted);
}

bool Executor::has_ended_call(uint32_t peer, uint64_t call) noexcept {
  if (ended_[peer] >= call) return true;
  ended_[peer] = setup_.boards[peer]->progress.done.load(std::memory_order_acquire);
  if (ended_[peer] >= call) return true;
  awaited_ = peer;
  return false;
}

bool Executor::scratch_is_free(schedule::Areas kind) noexcept {
  const uint64_t depth = areas_of(kind, depth_).count;
  if (call_ <= depth || all_begun_ >= call_ - depth + in_flight_of(depth_)) return true;
  for (uint32_t peer = 0; peer < setup_.ranks; ++peer) {
    if (peer != setup_.rank && !has_ended(peer, depth)) return false;
  }
  return true;
}

bool Executor::signal(const Task& task, const PlanStep& step, const Operand* operands) noexcept {
  Line& line = *setup_.boards[step.peer]->line(call_, setup_.rank, setup_.ranks);
  if (step.ordinal == 1) {
    if (!has_ended(step.peer, depth_)) return false;  // it may still look at the line
    describe_call(task, line, step.peer);
    if (step.opcode == Opcode::kSignalCarry) {
      std::memcpy(line.data, address(operands[0]), step.length);
      line.carry |= static_cast<uint32_t>(step.length) << kCarryShift | step.carry_offset;
    }
  }
  line.epoch.store(epoch_of(call_, step.ordinal), std::memory_order_release);
  return true;
}

void Executor::describe_call(const Task& task, Line& line, uint32_t peer) noexcept {
  line.fingerprint = task.history;
  line.carry = task.early ? kEarly : 0;
  line.in = reinterpret_cast<uint64_t>(task.in) + task.in_shift;
  line.out = reinterpret_cast<uint64_t>(task.out) + task.out_shift;
  if (!task.plan->plan.own_blocks) return;
  // Of all blocks the peer needs to know those that it has a part in.
  const uint32_t out = setup_.ranks + peer;
  line.in += task.blocks.offsets[peer];
  line.out += task.blocks.offsets[out];
  const uint64_t lengths[] = {task.blocks.lengths[peer], task.blocks.lengths[out]};
  static_assert(sizeof lengths <= schedule::kCarryBytes);
  std::memcpy(line.data, lengths, sizeof lengths);
}

/// Returns the failure, or 0.
int32_t Executor::learn_call(Task& task, const Line& line, uint32_t peer) noexcept {
  if (line.fingerprint != task.history) return mismatch(task, peer);
  if (task.plan->plan.own_blocks) {
    uint64_t lengths[2];  // from the peer to this rank, and back
    std::memcpy(lengths, line.data, sizeof lengths);
    const uint64_t from = task.blocks.lengths[setup_.ranks + peer];
    const uint64_t to = task.blocks.lengths[peer];
    if (lengths[0] != from) return block_mismatch(task, peer, setup_.rank, lengths[0], from);
    if (lengths[1] != to) return block_mismatch(task, setup_.rank, peer, to, lengths[1]);
  }
  seen_[peer] = call_;
  learn_place(task, peer, WEFT_SPACE_IN, line.in);
  learn_place(task, peer, WEFT_SPACE_OUT, line.out);
  return 0;
}

/// Where a buffer of a peer is. That this rank does not know it is a fault only once it is needed:
/// a peer whose part in the call has ended may have given the place up.
void Executor::learn_place(Task& task, uint32_t peer, uint32_t space, uint64_t word) noexcept {
  std::byte*& base = bases_[space * setup_.ranks + peer];
  base = setup_.map->find(peer, word, call_, space == WEFT_SPACE_IN ? 0 : 1);
  if (base == nullptr && word >> kTokenBits != kTransportSpace) {
    task.some_unknown = true;
  } else if (base != nullptr && task.piece != 0) {
    base += task.piece * task.plan->plan.piece_bytes;
  }
}

/// The peer of which the step needs a place that this rank does not know; this rank if none.
uint32_t Executor::unknown_peer(const Task& task, const PlanStep& step,
                                const Operand* operands) const noexcept {
  const bool blocks = step.opcode == Opcode::kCopyBlock || step.opcode == Opcode::kReduceBlock;
  const bool whole = step.opcode == Opcode::kCopy || step.opcode == Opcode::kReduce;
  if (whole && step.length == 0) return setup_.rank;
  if (!whole && (!blocks || block_length(task, step.peer) == 0)) return setup_.rank;
  const uint32_t total = step.dst_count + std::max<uint32_t>(1, step.src_count);
  for (uint32_t i = 0; i < total; ++i) {
    const uint32_t peer = operands[i].base % setup_.ranks;
    if (peer != setup_.rank && bases_[operands[i].base] == nullptr) return peer;
  }
  return setup_.rank;
}

int32_t Executor::wait(Task& task, const PlanStep& step) noexcept {
  const Line& line = *board_->line(call_, step.peer, setup_.ranks);
  const uint64_t wanted = epoch_of(call_, step.ordinal);
  for (uint32_t i = 0; line.epoch.load(std::memory_order_acquire) < wanted; ++i) {
    if (i >= setup_.spins || task.at_launch.load(std::memory_order_relaxed)) {
      awaited_ = step.peer;
      return WEFT_TASK_AGAIN;
    }
    relax();
  }
  if (step.ordinal != 1) return WEFT_TASK_DONE;
  if (const int32_t code = learn_call(task, line, step.peer); code != 0) return code;
  uint32_t carry = line.carry;
  if ((carry & kEarly) != 0) {
    task.early_peers |= uint64_t{1} << step.peer;
    carry &= ~kEarly;
  }
  if (carry != 0) {
    std::byte* scratch = bases_[WEFT_SPACE_SCRATCH * setup_.ranks + setup_.rank];
    const uint32_t offset = carry & ((1u << kCarryShift) - 1);
    std::memcpy(scratch + offset, line.data, carry >> kCarryShift);
  }
  return WEFT_TASK_DONE;
}

void Executor::time(const Task& task) noexcept {
  const auto now = std::chrono::steady_clock::now();
  if (task.times != nullptr) task.times->add(now - std::max(task.issued_at, last_end_));
  last_end_ = now;
}

int32_t Executor::complete(Task& task) noexcept {
  if (setup_.times_calls) time(task);
  board_->progress.passed.store(task.last_call, std::memory_order_release);
  finish(task);
  return WEFT_TASK_DONE;
}

/// After this, task and executor may be gone.
void Executor::finish(Task& task) noexcept {
  // One that fails before its turn does not count: an earlier one may still be running, and what
  // that one uses would look free.
  if (!task.begun) {
    skipped_.fetch_add(1, std::memory_order_release);
    return;
  }
  if (first_ahead_ != last_ahead_ && ahead_[first_ahead_ % kMostDepth] == &task) ++first_ahead_;
  done_.store(task.last_call, std::memory_order_release);
}

}  // namespace weft::exec
