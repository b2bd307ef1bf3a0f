// SPDX-License-Identifier: Apache-2.0
#include "exec/watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/log.hpp"
#include "base/op_names.hpp"
#include "hccl/hccl_types.h"

namespace weft::exec {
namespace {

using Clock = std::chrono::steady_clock;

// Resumes between two looks around.
constexpr uint32_t kLookEvery = 64;
// How long a wait for a living peer goes on after another peer was lost: what it waits for may be
// on its way.
constexpr std::chrono::milliseconds kGrace{300};

}  // namespace

Watch::Watch(const Setup& setup)
    : setup_(setup), states_(std::make_unique<std::atomic<PeerState>[]>(setup.ranks)) {
  for (uint32_t r = 0; r < setup_.ranks; ++r) states_[r] = PeerState::kAlive;
}

std::string Watch::reason() const {
  const std::lock_guard lock(mutex_);
  return failure() != 0 ? failure_text_ : lost_text_;
}

void Watch::peer_lost(uint32_t rank, const std::string& what) {
  const std::lock_guard lock(mutex_);
  if (lost_text_.empty()) {
    lost_text_ = fmt::format("{} is gone: {}", setup_.peer_names[rank], what);
    lost_rank_ = rank;
  }
  states_[rank].store(PeerState::kLost, std::memory_order_release);
  marks_.fetch_or(kLost, std::memory_order_acq_rel);
}

void Watch::peer_left(uint32_t rank) noexcept {
  states_[rank].store(PeerState::kLeft, std::memory_order_release);
}

std::vector<Board*> Watch::living_peers() const {
  std::vector<Board*> living;
  for (uint32_t r = 0; r < setup_.ranks; ++r) {
    if (r != setup_.rank && state(r) == PeerState::kAlive) living.push_back(setup_.boards[r]);
  }
  return living;
}

bool Watch::is_closed(uint32_t rank) const noexcept {
  return setup_.boards[rank]->identity.magic.load(std::memory_order_acquire) ==
         closed(setup_.magic);
}

bool Watch::tired(Wait& wait) const noexcept {
  if (++wait.rounds % kLookEvery != 0 && !any_lost()) return false;
  if (wait.since == Clock::time_point{}) wait.since = Clock::now();
  return true;
}

int32_t Watch::look_at_boards() noexcept {
  if (const int32_t code = failure(); code != 0) return code;  // of a call on another stream
  for (uint32_t r = 0; r < setup_.ranks; ++r) {
    if (r == setup_.rank || (!is_open(r) && !is_closed(r))) continue;
    const Fault& fault = setup_.boards[r]->fault;
    if (fault.raised.load(std::memory_order_acquire) == 1) return adopt(fault);
  }
  return 0;
}

bool Watch::hopeless(const Wait& wait, uint32_t peer) const noexcept {
  return state(peer) != PeerState::kAlive || (any_lost() && Clock::now() - wait.since > kGrace);
}

int32_t Watch::check_time(const Wait& wait, uint32_t peer, uint64_t call,
                          const comm::CallKey& key) noexcept {
  tell_of_wait(wait.since, setup_.peer_names[peer], call, key);
  if (setup_.timeout.count() == 0 || Clock::now() - wait.since <= setup_.timeout) return 0;
  Fault fault{};
  fault.code = HCCL_E_TIMEOUT;
  fault.rank_a = peer;
  fault.rank_b = setup_.rank;
  fault.call = call;
  fault.timeout_ms = static_cast<uint64_t>(setup_.timeout.count());
  fault.key_a = key;
  return raise(fault);
}

/// At most one line in an interval.
void Watch::tell_of_wait(Clock::time_point since, std::string_view for_whom, uint64_t call,
                         const comm::CallKey& key) noexcept {
  if (setup_.monitor.count() == 0) return;
  const Clock::time_point now = Clock::now();
  Clock::time_point told = told_.load(std::memory_order_relaxed);
  if (now - std::max(since, told) <= setup_.monitor) return;
  if (!told_.compare_exchange_strong(told, now, std::memory_order_relaxed)) return;
  log::tell(fmt::format(
      "{}rank {} has waited {:.1f} s for {} in call or message {}, {}", setup_.label, setup_.rank,
      std::chrono::duration<double>(now - since).count(), for_whom, call, comm::describe(key)));
}

/// For HCCL_DIAGNOSE_ENABLE.
std::string Watch::diagnosis() const {
  std::string text;
  for (uint32_t r = 0; r < setup_.ranks; ++r) {
    constexpr const char* kStates[] = {"alive", "has left", "lost"};
    text += fmt::format("{}{}: {}, {} calls ended in the direct engine{}", r == 0 ? "" : "; ",
                        setup_.peer_names[r], kStates[static_cast<int>(state(r))],
                        setup_.boards[r]->progress.done.load(std::memory_order_acquire),
                        setup_.boards[r]->identity.gave_up.load(std::memory_order_acquire) != 0
                            ? ", has given up"
                            : "");
  }
  return text;
}

/// Whoever left may have done so because of a failure that it knew.
int32_t Watch::raise_remote(uint32_t peer, uint64_t call, const comm::CallKey& key) noexcept {
  if (const int32_t code = look_at_boards(); code != 0) return code;
  return raise_lost(peer, call, key);
}

/// Tells the others too: they may wait for this rank, not for the one that is gone. A rank that
/// left may have done so because another was lost before: then that one is the reason.
int32_t Watch::raise_lost(uint32_t peer, uint64_t call, const comm::CallKey& key) noexcept {
  Fault fault{};
  fault.code = HCCL_E_REMOTE;
  fault.rank_a = peer;
  fault.rank_b = setup_.rank;
  fault.call = call;
  fault.key_a = key;
  if (any_lost()) {
    std::string text;
    {
      const std::lock_guard lock(mutex_);
      text = lost_text_;
      fault.rank_a = lost_rank_;
    }
    set_failure(HCCL_E_REMOTE, fmt::format("{}; {} cannot complete", text, comm::describe(key)));
  }
  return raise(fault);
}

int32_t Watch::raise_dropped(uint64_t call, const comm::CallKey& key) noexcept {
  set_failure(
      HCCL_E_UNAVAIL,
      fmt::format("{} on rank {} was dropped by its stream, which was destroyed by force or "
                  "stopped by an earlier failure",
                  comm::describe(key), setup_.rank));
  return raise_lost(setup_.rank, call, key);
}

/// The first fault stays on the board: peers may be reading it, and calls on two streams may fail
/// at the same time.
void Watch::publish(const Fault& fault) noexcept {
  const std::lock_guard lock(mutex_);
  Fault& mine = setup_.boards[setup_.rank]->fault;
  if (mine.raised.load(std::memory_order_relaxed) != 0) return;
  mine.code = fault.code;
  mine.rank_a = fault.rank_a;
  mine.rank_b = fault.rank_b;
  mine.kind = fault.kind;
  mine.call = fault.call;
  mine.timeout_ms = fault.timeout_ms;
  mine.key_a = fault.key_a;
  mine.key_b = fault.key_b;
  std::memcpy(mine.note, fault.note, sizeof mine.note);
  mine.raised.store(1, std::memory_order_release);
  setup_.boards[setup_.rank]->identity.gave_up.store(1, std::memory_order_release);
}

int32_t Watch::raise(const Fault& fault) noexcept {
  publish(fault);
  return adopt(fault);
}

int32_t Watch::adopt(const Fault& fault) noexcept {
  set_failure(fault.code, explain(fault));
  return failure();
}

void Watch::set_failure(int32_t code, const std::string& text) noexcept {
  const std::lock_guard lock(mutex_);
  if (failure_.load(std::memory_order_relaxed) != 0) return;
  failure_text_ = text;
  failure_.store(code, std::memory_order_release);
  if (setup_.diagnose) {
    log::tell(fmt::format("{}rank {} has failed: {}. Ranks: {}", setup_.label, setup_.rank, text,
                          diagnosis()));
  }
}

std::string Watch::explain(const Fault& fault) const {
  // It may come from another process: trust no index.
  if (fault.rank_a >= setup_.ranks || fault.rank_b >= setup_.ranks) {
    return "another rank gave up for a reason that cannot be read";
  }
  const std::string& rank_a = setup_.peer_names[fault.rank_a];
  const std::string& rank_b = setup_.peer_names[fault.rank_b];
  const std::string a = comm::describe(fault.key_a);
  const std::string b = comm::describe(fault.key_b);
  if (fault.code == HCCL_E_REMOTE) {
    return fmt::format(
        "{} has destroyed its communicator, ended or lost a call; {} of {} waits for it", rank_a, a,
        rank_b);
  }
  if (fault.code == HCCL_E_TIMEOUT) {
    return fmt::format(
        "{} did not do its part of {} ({} {}) within {} s, waited for by rank {}; "
        "see HCCL_EXEC_TIMEOUT",
        rank_a, a, fault.key_a.op < WEFT_OP_COUNT ? "call" : "message", fault.call,
        static_cast<double>(fault.timeout_ms) / 1000, fault.rank_b);
  }
  switch (fault.kind) {
    case FaultKind::kMessage:
      return fmt::format("message {} differs: {} does a {}, {} does a {}", fault.call, rank_a, a,
                         rank_b, b);
    case FaultKind::kBlock:
      return fmt::format("call {} differs: in {}, {} sends {} elements to {}, which expects {}",
                         fault.call,
                         comm::describe({.op = fault.key_a.op, .type = fault.key_a.type}), rank_a,
                         fault.key_a.count, rank_b, fault.key_b.count);
    case FaultKind::kBuffer:
      return fmt::format(
          "{} did not issue {} ({} {}): {}; WEFT_CHECK=memory says more on that rank", rank_a, a,
          fault.key_a.op < WEFT_OP_COUNT ? "call" : "batch", fault.call,
          std::string_view(fault.note, strnlen(fault.note, sizeof fault.note)));
    case FaultKind::kPlace:
      return fmt::format(
          "in {}, call or message {}, a buffer of {} is in a window or memory range that {} has "
          "given up already; close them on all ranks after the last call that uses them",
          a, fault.call, rank_a, rank_b);
    default:
      break;
  }
  if (fault.key_a == fault.key_b) {
    const char* what =
        has_lengths(fault.key_a.op) ? "with different counts or displacements, or they " : "";
    return fmt::format(
        "call {} differs: {} and {} both call {} but {}chose different algorithms, or an earlier "
        "call differed already",
        fault.call, rank_a, rank_b, a, what);
  }
  return fmt::format("call {} differs: {} calls {}, {} calls {}", fault.call, rank_a, a, rank_b, b);
}

}  // namespace weft::exec
