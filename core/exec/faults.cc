// SPDX-License-Identifier: Apache-2.0
// What the executor does when a wait is not satisfied: looks for lost peers, differing calls and
// time-outs.
#include <fmt/format.h>

#include "base/names.hpp"
#include "exec/executor.hpp"
#include "hccl/hccl_types.h"

namespace weft::exec {
namespace {

using Clock = std::chrono::steady_clock;

// Rounds between two looks around; a round is one resume of the task by its stream.
constexpr uint32_t kLookEvery = 64;
// How long a wait for a living peer goes on after another peer was lost: what it waits for may be
// on its way.
constexpr std::chrono::milliseconds kGrace{300};

}  // namespace

int32_t Executor::health() const noexcept {
  if (const int32_t code = failure(); code != 0) return code;
  return peer_lost_.load(std::memory_order_acquire) ? HCCL_E_REMOTE : HCCL_SUCCESS;
}

std::string Executor::health_text() const {
  const std::lock_guard lock(failure_mutex_);
  return failure() != 0 ? failure_text_ : lost_text_;
}

void Executor::peer_lost(uint32_t rank, const std::string& what) {
  const std::lock_guard lock(failure_mutex_);
  if (lost_text_.empty()) {
    lost_text_ = fmt::format("{} is gone: {}", setup_.peer_names[rank], what);
    lost_rank_ = rank;
  }
  peer_states_[rank].store(PeerState::kLost, std::memory_order_release);
  peer_lost_.store(true, std::memory_order_release);
}

void Executor::peer_left(uint32_t rank) noexcept {
  peer_states_[rank].store(PeerState::kLeft, std::memory_order_release);
}

void Executor::set_failure(int32_t code, const std::string& text) noexcept {
  const std::lock_guard lock(failure_mutex_);
  if (failure_.load(std::memory_order_relaxed) != 0) return;
  failure_text_ = text;
  failure_.store(code, std::memory_order_release);
}

int32_t Executor::fail_task(Task& task, int32_t code) noexcept {
  setup_.transport->task_error(health_text().c_str());
  finish(task);
  return code;
}

int32_t Executor::stalled(Task& task) noexcept {
  const uint64_t place = uint64_t{task.piece} << 32 | task.step;
  if (place != task.stalled_at) {
    task.stalled_at = place;
    task.rounds = 0;
    task.waiting_since = {};
  }
  if (++task.rounds % kLookEvery != 0 && !peer_lost_.load(std::memory_order_relaxed)) {
    return WEFT_TASK_AGAIN;
  }
  const int32_t code = investigate(task);
  return code == 0 ? WEFT_TASK_AGAIN : fail_task(task, code);
}

int32_t Executor::check_members(const Task& task) noexcept {
  for (uint32_t r = 0; r < setup_.ranks; ++r) {
    const Board& board = *setup_.boards[r];
    const uint64_t magic = board.identity.magic.load(std::memory_order_acquire);
    if (magic == setup_.magic) continue;
    // It left, but may have done its part of this call before; then its board stays until this rank
    // has, too.
    if (magic == closed(setup_.magic) &&
        board.progress.done.load(std::memory_order_acquire) >= task.last_call) {
      continue;
    }
    return raise_remote(task, r);
  }
  return 0;
}

std::vector<Board*> Executor::living_peers() const {
  std::vector<Board*> living;
  for (uint32_t r = 0; r < setup_.ranks; ++r) {
    if (r != setup_.rank && peer_states_[r].load(std::memory_order_acquire) == PeerState::kAlive) {
      living.push_back(setup_.boards[r]);
    }
  }
  return living;
}

int32_t Executor::investigate(Task& task) noexcept {
  const Clock::time_point now = Clock::now();
  if (task.waiting_since == Clock::time_point{}) task.waiting_since = now;
  const auto waited = now - task.waiting_since;
  const uint32_t peer = awaited_;
  // What the peer wrote before it went away counts: look at it only after its state was read.
  const PeerState state = peer_states_[peer].load(std::memory_order_acquire);
  const bool lost = peer_lost_.load(std::memory_order_acquire);
  if (state != PeerState::kAlive || (lost && waited > kGrace)) {
    const int32_t retry = walk(task);
    if (retry != WEFT_TASK_AGAIN) return retry;  // done: the next resume ends the call as usual
    if (awaited_ != peer) return 0;
  }
  return check_peer(task, peer, lost && waited > kGrace);
}

int32_t Executor::check_peer(const Task& task, uint32_t peer, bool grace_over) noexcept {
  // First, what a peer wrote before it went away: it may have gone because of it.
  if (const int32_t code = check_boards(task); code != 0) return code;
  const PeerState state = peer_states_[peer].load(std::memory_order_acquire);
  if (state != PeerState::kAlive || grace_over) return raise_remote(task, peer);
  if (setup_.timeout.count() > 0 && Clock::now() - task.waiting_since > setup_.timeout) {
    Fault fault{};
    fault.code = HCCL_E_TIMEOUT;
    fault.rank_a = peer;
    fault.rank_b = setup_.rank;
    fault.call = call_;
    fault.timeout_ms = static_cast<uint64_t>(setup_.timeout.count());
    fault.key_a = task.plan->key;
    return raise(fault);
  }
  return 0;
}

int32_t Executor::check_boards(const Task& task) noexcept {
  for (uint32_t r = 0; r < setup_.ranks; ++r) {
    Board& board = *setup_.boards[r];
    const uint64_t magic = board.identity.magic.load(std::memory_order_acquire);
    if (r == setup_.rank || (magic != setup_.magic && magic != closed(setup_.magic))) continue;
    if (board.fault.raised.load(std::memory_order_acquire) == 1) return adopt(board.fault);
    const Record& record = board.records[call_ & 1];
    const uint64_t tag = record.tag.load(std::memory_order_acquire);
    const uint64_t mine = tag_of(call_, task.plan->fingerprint);
    if (tag >> 32 == mine >> 32 && tag != mine) {
      return mismatch(task, r);
    }
  }
  return 0;
}

void Executor::dropped(Task& task) noexcept {
  set_failure(
      HCCL_E_UNAVAIL,
      fmt::format("{} on rank {} was dropped by its stream, which was destroyed by force or "
                  "stopped by an earlier failure",
                  comm::describe(task.plan->key), setup_.rank));
  raise_remote(task, setup_.rank);
  finish(task);
}

/// Tells the others too: they may wait for this rank, not for the one that is gone. A rank that
/// left may have done so because another was lost before: then that one is the reason.
int32_t Executor::raise_remote(const Task& task, uint32_t peer) noexcept {
  Fault fault{};
  fault.code = HCCL_E_REMOTE;
  fault.rank_a = peer;
  fault.rank_b = setup_.rank;
  fault.call = call_;
  fault.key_a = task.plan->key;
  if (peer_lost_.load(std::memory_order_acquire)) {
    std::string text;
    {
      const std::lock_guard lock(failure_mutex_);
      text = lost_text_;
      fault.rank_a = lost_rank_;
    }
    set_failure(HCCL_E_REMOTE,
                fmt::format("{}; {} cannot complete", text, comm::describe(task.plan->key)));
  }
  return raise(fault);
}

int32_t Executor::mismatch(const Task& task, uint32_t peer) noexcept {
  Fault fault{};
  fault.code = HCCL_E_PARA;
  fault.rank_a = setup_.rank;
  fault.rank_b = peer;
  fault.call = call_;
  fault.key_a = task.plan->key;
  fault.key_b = setup_.boards[peer]->records[call_ & 1].key;
  return raise(fault);
}

int32_t Executor::raise(const Fault& fault) noexcept {
  Fault& mine = board_->fault;
  mine.code = fault.code;
  mine.rank_a = fault.rank_a;
  mine.rank_b = fault.rank_b;
  mine.call = fault.call;
  mine.timeout_ms = fault.timeout_ms;
  mine.key_a = fault.key_a;
  mine.key_b = fault.key_b;
  mine.raised.store(1, std::memory_order_release);
  return adopt(fault);
}

int32_t Executor::adopt(const Fault& fault) noexcept {
  set_failure(fault.code, explain(fault));
  return failure();
}

std::string Executor::explain(const Fault& fault) const {
  // It may come from another process: trust no index.
  if (fault.rank_a >= setup_.ranks || fault.rank_b >= setup_.ranks) {
    return "another rank gave up for a reason that cannot be read";
  }
  const std::string a = comm::describe(fault.key_a);
  if (fault.code == HCCL_E_REMOTE) {
    return fmt::format(
        "{} has destroyed its communicator, ended or lost a call; {} of {} waits for it",
        setup_.peer_names[fault.rank_a], a, setup_.peer_names[fault.rank_b]);
  }
  if (fault.code == HCCL_E_TIMEOUT) {
    return fmt::format(
        "{} did not do its part of {} (call {}) within {} s, waited for by rank {}; "
        "see HCCL_EXEC_TIMEOUT",
        setup_.peer_names[fault.rank_a], a, fault.call,
        static_cast<double>(fault.timeout_ms) / 1000, fault.rank_b);
  }
  if (fault.key_a == fault.key_b) {
    return fmt::format("call {} differs: {} and {} both call {} but chose different algorithms",
                       fault.call, setup_.peer_names[fault.rank_a], setup_.peer_names[fault.rank_b],
                       a);
  }
  return fmt::format("call {} differs: {} calls {}, {} calls {}", fault.call,
                     setup_.peer_names[fault.rank_a], a, setup_.peer_names[fault.rank_b],
                     comm::describe(fault.key_b));
}

}  // namespace weft::exec
