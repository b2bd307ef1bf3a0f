// SPDX-License-Identifier: Apache-2.0
// What the executor does when a wait is not satisfied: looks for lost peers, differing calls and
// time-outs.
#include "exec/executor.hpp"
#include "hccl/hccl_types.h"

namespace weft::exec {

int32_t Executor::fail_task(Task& task, int32_t code) noexcept {
  setup_.transport->task_error(watch_.health_text().c_str());
  finish(task);
  return code;
}

/// A call whose data are there, while others have not ended what came before.
int32_t Executor::unsettled(Task& task) noexcept {
  const uint32_t peer = awaited_;
  work_ahead();
  wait_at(task, uint64_t{task.pieces} << 32 | peer);
  if (!watch_.tired(task.wait)) return WEFT_TASK_AGAIN;
  // What the peer wrote before it went away counts: look at it only after its state was read.
  const bool hopeless = watch_.hopeless(task.wait, peer);
  if (settled(task) || awaited_ != peer) return WEFT_TASK_AGAIN;  // the next resume goes on
  int32_t code = watch_.look_at_boards();
  if (code == 0 && hopeless) code = watch_.raise_remote(peer, task.last_call, task.key);
  if (code == 0) code = watch_.check_time(task.wait, peer, task.last_call, task.key);
  return code == 0 ? WEFT_TASK_AGAIN : fail_task(task, code);
}

/// A wait at another place is another wait.
void Executor::wait_at(Task& task, uint64_t place) noexcept {
  if (place == task.stalled_at) return;
  task.stalled_at = place;
  task.wait = {};
}

int32_t Executor::stalled(Task& task) noexcept {
  wait_at(task, uint64_t{task.piece} << 32 | task.step);
  if (!watch_.tired(task.wait)) return WEFT_TASK_AGAIN;
  const int32_t code = investigate(task);
  return code == 0 ? WEFT_TASK_AGAIN : fail_task(task, code);
}

int32_t Executor::check_members(const Task& task) noexcept {
  for (uint32_t r = 0; r < setup_.ranks; ++r) {
    if (watch_.takes_part(r)) continue;
    // It left, but may have done its part of this call before; then its board stays until this rank
    // has, too.
    if (watch_.is_closed(r) &&
        setup_.boards[r]->progress.done.load(std::memory_order_acquire) >= task.last_call) {
      continue;
    }
    return watch_.raise_remote(r, task.first_call, task.key);
  }
  return 0;
}

int32_t Executor::investigate(Task& task) noexcept {
  const uint32_t peer = awaited_;
  // What the peer wrote before it went away counts: look at it only after its state was read.
  const bool hopeless = watch_.hopeless(task.wait, peer);
  if (hopeless) {
    const int32_t retry = walk(task);
    if (retry != WEFT_TASK_AGAIN) return retry;  // done: the next resume ends the call as usual
    if (awaited_ != peer) return 0;
  }
  // First, what a peer wrote before it went away: it may have gone because of it.
  if (const int32_t code = watch_.look_at_boards(); code != 0) return code;
  if (const int32_t code = check_records(task); code != 0) return code;
  if (hopeless) return watch_.raise_remote(peer, call_, task.key);
  return watch_.check_time(task.wait, peer, call_, task.key);
}

/// Whether some rank is in the same call, but calls something else.
int32_t Executor::check_records(const Task& task) noexcept {
  const uint64_t mine = tag_of(call_, task.history);
  for (uint32_t r = 0; r < setup_.ranks; ++r) {
    if (r == setup_.rank || (!watch_.is_open(r) && !watch_.is_closed(r))) continue;
    const Record& record = setup_.boards[r]->records[call_ % kMostDepth];
    const uint64_t tag = record.tag.load(std::memory_order_acquire);
    if (tag >> 32 == mine >> 32 && tag != mine) return mismatch(task, r);
  }
  return 0;
}

void Executor::dropped(Task& task) noexcept {
  watch_.raise_dropped(task.first_call + task.piece, task.key);
  finish(task);
}

int32_t Executor::mismatch(const Task& task, uint32_t peer) noexcept {
  Fault fault{};
  fault.code = HCCL_E_PARA;
  fault.rank_a = setup_.rank;
  fault.rank_b = peer;
  fault.call = call_;
  fault.key_a = task.key;
  fault.key_b = setup_.boards[peer]->records[call_ % kMostDepth].key;
  // The call before may have differed already, in a way that made nobody wait in vain.
  const Record& mine = board_->records[(call_ - 1) % kMostDepth];
  const Record& theirs = setup_.boards[peer]->records[(call_ - 1) % kMostDepth];
  const uint64_t my_tag = mine.tag.load(std::memory_order_acquire);
  const uint64_t their_tag = theirs.tag.load(std::memory_order_acquire);
  const auto before = static_cast<uint32_t>(call_ - 1);
  if (my_tag >> 32 == before && their_tag >> 32 == before && my_tag != their_tag) {
    fault.call = call_ - 1;
    fault.key_a = mine.key;
    fault.key_b = theirs.key;
  }
  return watch_.raise(fault);
}

/// The block from `sender` to `receiver`, of which one is this rank.
int32_t Executor::block_mismatch(const Task& task, uint32_t sender, uint32_t receiver,
                                 uint64_t sent, uint64_t expected) noexcept {
  Fault fault{};
  fault.code = HCCL_E_PARA;
  fault.kind = FaultKind::kBlock;
  fault.rank_a = sender;
  fault.rank_b = receiver;
  fault.call = call_;
  fault.key_a = fault.key_b = task.key;
  fault.key_a.count = sent / task.plan->plan.element_bytes;
  fault.key_b.count = expected / task.plan->plan.element_bytes;
  return watch_.raise(fault);
}

/// `peer` names a buffer by what this rank has given up already.
int32_t Executor::unknown_place(const Task& task, uint32_t peer) noexcept {
  Fault fault{};
  fault.code = HCCL_E_PARA;
  fault.kind = FaultKind::kPlace;
  fault.rank_a = peer;
  fault.rank_b = setup_.rank;
  fault.call = call_;
  fault.key_a = fault.key_b = task.key;
  return watch_.raise(fault);
}

}  // namespace weft::exec
