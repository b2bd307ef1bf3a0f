// SPDX-License-Identifier: Apache-2.0
#include "exec/messenger.hpp"

#include <algorithm>
#include <cstring>

#include "exec/relax.hpp"
#include "hccl/hccl_types.h"

namespace weft::exec {

Messenger::Messenger(const Setup& setup, Watch& watch)
    : setup_(setup),
      watch_(watch),
      board_(setup.boards[setup.rank]),
      sent_(setup.ranks, 0),
      received_(setup.ranks, 0),
      tails_(size_t{2} * setup.ranks, 0) {}

MessageTask& Messenger::fresh_task() {
  // Tasks end nearly in the order of launch: after a few that are still busy, all are. Streams
  // bound how many there can be.
  constexpr size_t kTries = 4;
  size_t at = tasks_.size();
  for (size_t i = 0; i < std::min(kTries, tasks_.size()); ++i) {
    const size_t candidate = (next_ + i) % tasks_.size();
    if (tasks_[candidate]->busy.load(std::memory_order_acquire)) continue;
    at = candidate;
    break;
  }
  if (at == tasks_.size()) {
    tasks_.push_back(std::make_unique<MessageTask>());
    tasks_.back()->older.store(newest_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    newest_.store(tasks_.back().get(), std::memory_order_release);
  }
  next_ = (at + 1) % tasks_.size();
  MessageTask& task = *tasks_[at];
  task.base = {&Messenger::run, &Messenger::drop, nullptr, nullptr, 0, 0};
  task.messenger = this;
  task.steps.clear();
  task.begun = false;
  task.wait = {};
  ++task.ticket;
  return task;
}

uint64_t& Messenger::counter(const MessageStep& step) noexcept {
  return step.kind == MessageStep::Kind::kSend ? sent_[step.peer] : received_[step.peer];
}

/// Messages of one kind and peer go one after another: only the first of each need be tried.
void Messenger::add_to_chains(MessageTask& task) {
  task.heads.clear();
  task.heads.reserve(task.steps.size());
  const auto tail = [&](const MessageStep& step) -> uint32_t& {
    const bool sends = step.kind == MessageStep::Kind::kSend;
    return tails_[(sends ? 0 : setup_.ranks) + step.peer];
  };
  for (uint32_t i = 0; i < task.steps.size(); ++i) {
    MessageStep& step = task.steps[i];
    step.next = 0;
    uint32_t* last = step.kind == MessageStep::Kind::kCopy ? nullptr : &tail(step);
    if (last == nullptr || *last == 0) {
      task.heads.push_back(i);
    } else {
      task.steps[*last - 1].next = i;
    }
    if (last != nullptr) *last = i + 1;
  }
  for (const MessageStep& step : task.steps) {
    if (step.kind != MessageStep::Kind::kCopy) tail(step) = 0;
  }
}

void Messenger::launch(MessageTask& task) {
  add_to_chains(task);
  task.used_from.clear();
  task.used_to.clear();
  for (MessageStep& step : task.steps) {
    if (step.kind != MessageStep::Kind::kCopy) step.sequence = ++counter(step);
    const void* from = step.staged != nullptr ? step.staged : step.from;
    if (from != nullptr) task.used_from.include(from, step.bytes);
    if (step.to != nullptr) task.used_to.include(step.to, step.bytes);
  }
  task.busy.store(true, std::memory_order_release);
  launched_.fetch_add(1, std::memory_order_release);
}

void Messenger::undo(MessageTask& task) noexcept {
  for (const MessageStep& step : task.steps) {
    if (step.kind != MessageStep::Kind::kCopy) --counter(step);
  }
  finish(task);
}

bool Messenger::in_use(uint64_t address, uint64_t bytes) const noexcept {
  const MessageTask* task = newest_.load(std::memory_order_acquire);
  for (; task != nullptr; task = task->older.load(std::memory_order_relaxed)) {
    if (!task->busy.load(std::memory_order_acquire)) continue;
    if (task->used_from.overlaps(address, address + bytes)) return true;
    if (task->used_to.overlaps(address, address + bytes)) return true;
  }
  return false;
}

int32_t Messenger::run(weft_task* base) noexcept {
  MessageTask& task = *reinterpret_cast<MessageTask*>(base);
  return task.messenger->progress(task);
}

void Messenger::drop(weft_task* base) noexcept {
  MessageTask& task = *reinterpret_cast<MessageTask*>(base);
  Messenger& messenger = *task.messenger;
  comm::CallKey key = messenger.key(task.steps.front());
  if (task.steps.size() > 1) {
    key.op = comm::kOpBatch;
    key.count = task.steps.size();
  }
  messenger.watch_.raise_dropped(task.steps.front().sequence, key);
  messenger.finish(task);
}

int32_t Messenger::progress(MessageTask& task) noexcept {
  if (watch_.failure() != 0) return fail_task(task);
  if (!task.begun) {
    task.begun = true;
    for (const MessageStep& step : task.steps) {
      if (step.staged == nullptr) continue;
      setup_.transport->copy(const_cast<void*>(step.from), step.staged, step.bytes, 1);
    }
  }
  for (uint32_t idle = 0; idle <= setup_.spins;) {
    const Advance result = pass(task);
    if (result == Advance::kFailed) return fail_task(task);
    if (task.heads.empty()) {
      finish(task);
      return WEFT_TASK_DONE;
    }
    if (result == Advance::kMoved) {
      idle = 0;
      task.wait = {};
    } else {
      ++idle;
      relax();
    }
  }
  if (!watch_.tired(task.wait) || investigate(task) == 0) return WEFT_TASK_AGAIN;
  return fail_task(task);
}

/// Tries all that can go on, so that none of them keeps another from it.
Messenger::Advance Messenger::pass(MessageTask& task) noexcept {
  Advance all = Advance::kWaits;
  for (size_t i = 0; i < task.heads.size();) {
    MessageStep& step = task.steps[task.heads[i]];
    const Advance one = advance(step);
    if (one == Advance::kFailed) return one;
    if (one == Advance::kMoved) all = one;
    if (!step.done) {
      ++i;
    } else if (step.next != 0) {
      task.heads[i] = step.next;  // and try that at once
    } else {
      task.heads[i] = task.heads.back();
      task.heads.pop_back();
    }
  }
  return all;
}

Messenger::Advance Messenger::advance(MessageStep& step) noexcept {
  switch (step.kind) {
    case MessageStep::Kind::kSend:
      return send(step);
    case MessageStep::Kind::kReceive:
      return receive(step);
    default:
      if (step.to != step.from) setup_.transport->copy(step.to, step.from, step.bytes, 1);
      step.done = true;
      return Advance::kMoved;
  }
}

Messenger::Advance Messenger::send(MessageStep& step) noexcept {
  const Receipt& receipt = *board_->receipt(step.peer, setup_.ranks);
  const uint64_t taken = receipt.sequence.load(std::memory_order_acquire);
  if (step.posted) {
    step.done = taken >= step.sequence;
    return step.done ? Advance::kMoved : Advance::kWaits;
  }
  if (taken + 1 < step.sequence) return Advance::kWaits;  // the one before is still in the mail
  if (!watch_.takes_part(step.peer)) {
    watch_.raise_remote(step.peer, step.sequence, key(step));
    return Advance::kFailed;
  }
  post(step);
  step.posted = true;
  return Advance::kMoved;
}

void Messenger::post(const MessageStep& step) noexcept {
  Mail& mail = *setup_.boards[step.peer]->mail(setup_.rank, setup_.ranks);
  mail.place = reinterpret_cast<uint64_t>(step.from) + step.shift;
  mail.count = step.count;
  mail.type = step.type;
  mail.carried = step.bytes <= sizeof mail.data ? 1 : 0;
  if (mail.carried == 1) std::memcpy(mail.data, step.from, step.bytes);
  mail.sequence.store(step.sequence, std::memory_order_release);
}

Messenger::Advance Messenger::receive(MessageStep& step) noexcept {
  const Mail& mail = *board_->mail(step.peer, setup_.ranks);
  if (mail.sequence.load(std::memory_order_acquire) < step.sequence) return Advance::kWaits;
  if (mail.count != step.count || mail.type != step.type) {
    mismatch(step, mail);
    return Advance::kFailed;
  }
  // The buffer of a sender that gave up is its caller's again.
  if (!watch_.takes_part(step.peer)) {
    watch_.raise_remote(step.peer, step.sequence, key(step));
    return Advance::kFailed;
  }
  if (!take(step, mail)) {
    unknown_place(step);
    return Advance::kFailed;
  }
  Receipt& receipt = *setup_.boards[step.peer]->receipt(setup_.rank, setup_.ranks);
  receipt.sequence.store(step.sequence, std::memory_order_release);
  step.done = true;
  return Advance::kMoved;
}

/// False if this rank does not know the place of the data.
bool Messenger::take(const MessageStep& step, const Mail& mail) noexcept {
  if (mail.carried == 1) {
    std::memcpy(step.to, mail.data, step.bytes);
    return true;
  }
  const void* from = setup_.map->start_reading(step.peer, mail.place);
  if (from != nullptr) setup_.transport->copy(step.to, from, step.bytes, 1);
  setup_.map->stop_reading(step.peer, mail.place);
  return from != nullptr;
}

void Messenger::mismatch(const MessageStep& step, const Mail& mail) noexcept {
  Fault fault{};
  fault.code = HCCL_E_PARA;
  fault.kind = FaultKind::kMessage;
  fault.rank_a = step.peer;
  fault.rank_b = setup_.rank;
  fault.call = step.sequence;
  fault.key_a.op = comm::kOpSend;
  fault.key_a.count = mail.count;
  fault.key_a.type = mail.type;
  fault.key_a.root = setup_.rank;
  fault.key_b = key(step);
  watch_.raise(fault);
}

void Messenger::unknown_place(const MessageStep& step) noexcept {
  Fault fault{};
  fault.code = HCCL_E_PARA;
  fault.kind = FaultKind::kPlace;
  fault.rank_a = step.peer;
  fault.rank_b = setup_.rank;
  fault.call = step.sequence;
  fault.key_a = fault.key_b = key(step);
  watch_.raise(fault);
}

/// Returns the failure, or 0.
int32_t Messenger::investigate(MessageTask& task) noexcept {
  for (const uint32_t head : task.heads) {
    const MessageStep& step = task.steps[head];
    if (!watch_.hopeless(task.wait, step.peer)) continue;
    // What the peer wrote before it went away counts.
    const Advance last = pass(task);
    if (last == Advance::kFailed) return watch_.failure();
    if (last == Advance::kMoved) return 0;  // look again later
    return watch_.raise_remote(step.peer, step.sequence, key(step));
  }
  if (const int32_t code = watch_.look_at_boards(); code != 0) return code;
  const MessageStep& first = task.steps[task.heads.front()];
  return watch_.check_time(task.wait, first.peer, first.sequence, key(first));
}

int32_t Messenger::fail_task(MessageTask& task) noexcept {
  setup_.transport->task_error(watch_.health_text().c_str());
  const int32_t code = watch_.failure();
  finish(task);
  return code;
}

void Messenger::finish(MessageTask& task) noexcept {
  task.busy.store(false, std::memory_order_release);
  // With this, task and messenger may be gone.
  ended_.fetch_add(1, std::memory_order_release);
}

comm::CallKey Messenger::key(const MessageStep& step) const noexcept {
  comm::CallKey key;
  key.op = step.kind == MessageStep::Kind::kSend ? comm::kOpSend : comm::kOpReceive;
  key.count = step.count;
  key.type = step.type;
  key.root = step.peer;
  return key;
}

}  // namespace weft::exec
