// SPDX-License-Identifier: Apache-2.0
#include "exec/pending.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/op_names.hpp"
#include "base/thread.hpp"

namespace weft::exec {
namespace {

using std::chrono::milliseconds;

// How long calls may go on without one of them ending after a peer was lost: what they need of it
// may be there already.
constexpr milliseconds kLostGrace{300};
// How long the stream of a call may take to its mark when a peer has left that needs it no more.
constexpr milliseconds kLeftGrace{500};
constexpr milliseconds kShortTick{10};
constexpr milliseconds kLongTick{100};
// The thread sleeps when there was nothing to do for so long: waking it costs a system call.
constexpr milliseconds kIdle{1000};
// Places that are looked at when a call begins.
constexpr size_t kFewCalls = 4;

}  // namespace

Pending::Pending(const Setup& setup, const TaskTools& tools, Watch& watch)
    : setup_(setup), tools_(tools), watch_(watch), last_progress_(Clock::now()) {
  thread_ = start_thread([this] { watch_calls(); });
}

Pending::~Pending() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

/// Takes calls that have ended off the list, looking at `most` of them. With the lock held. True if
/// there were any.
bool Pending::sweep(size_t most) {
  size_t looked = 0;
  const auto ended = [&](uint32_t index) {
    if (looked++ >= most) return false;
    Call& call = calls_[index];
    if (!call.queued || tools_.table.passed(tools_.endpoint, end_mark(index)) == 0) return false;
    call.free = true;
    free_.push_back(index);
    return true;
  };
  if (std::erase_if(on_their_way_, ended) == 0) return false;
  last_progress_ = Clock::now();
  return true;
}

uint32_t Pending::free_place(std::unique_lock<std::mutex>& lock) {
  sweep(kFewCalls);
  const auto start = Clock::now();
  while (free_.empty() && calls_.size() == kMost && !sweep(kMost)) {
    lock.unlock();
    if (const int32_t code = watch_.health(); code != 0) {
      throw Error(static_cast<HcclResult>(code), watch_.health_text());
    }
    if (setup_.timeout.count() > 0 && Clock::now() - start > setup_.timeout) {
      throw Error(HCCL_E_TIMEOUT,
                  fmt::format("{} calls are queued on this communicator and none ends", kMost));
    }
    sched_yield();
    lock.lock();
  }
  if (free_.empty()) {
    calls_.emplace_back();
    return static_cast<uint32_t>(calls_.size() - 1);
  }
  const uint32_t index = free_.back();
  free_.pop_back();
  return index;
}

uint32_t Pending::begin(const comm::CallKey& key, TaskQueue& queue) {
  uint32_t index = 0;
  {
    std::unique_lock lock(mutex_);
    index = free_place(lock);
    Call& call = calls_[index];
    call.key = key;
    call.stream = queue.stream();
    call.number = ++issued_;
    ++call.use;
    call.free = false;
    call.queued = false;
    call.begun = call.hopeless = {};
    call.needs.clear();
  }
  try {
    queue.mark(begin_mark(index));
  } catch (...) {
    const std::lock_guard lock(mutex_);
    calls_[index].free = true;
    free_.push_back(index);
    throw;
  }
  const std::lock_guard lock(mutex_);
  if (on_their_way_.empty()) last_progress_ = Clock::now();
  on_their_way_.push_back(index);
  if (asleep_) changed_.notify_all();
  return index;
}

void Pending::needs(uint32_t call, uint32_t peer, uint32_t mark) {
  const std::lock_guard lock(mutex_);
  calls_[call].needs.push_back({peer, mark});
}

void Pending::end(uint32_t call, TaskQueue& queue) {
  queue.mark(end_mark(call));
  const std::lock_guard lock(mutex_);
  calls_[call].queued = true;
}

/// What is queued of it ends with its stream, which was aborted.
void Pending::cancel(uint32_t call) {
  const std::lock_guard lock(mutex_);
  std::erase(on_their_way_, call);
}

void Pending::follow_last_collective(TaskQueue& queue) {
  {
    const std::lock_guard lock(mutex_);
    if (last_use_ == 0 || calls_[last_].free || calls_[last_].use != last_use_) return;
    if (calls_[last_].stream == queue.stream()) return;
  }
  queue.follow(end_mark(last_));
}

void Pending::set_last_collective(uint32_t call) {
  const std::lock_guard lock(mutex_);
  last_ = call;
  last_use_ = calls_[call].use;
}

void Pending::add_stream(void* stream) {
  const std::lock_guard lock(mutex_);
  own_streams_.push_back(stream);
}

void Pending::peer_gone() noexcept { changed_.notify_all(); }

bool Pending::busy() {
  const std::lock_guard lock(mutex_);
  sweep(kMost);
  return !on_their_way_.empty();
}

uint64_t Pending::ended() {
  const std::lock_guard lock(mutex_);
  return issued_ - on_their_way_.size();
}

void Pending::fail(int32_t code, const std::string& text) noexcept {
  watch_.give_up(code, text);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !aborting_; });
  abort_streams(lock);
}

/// Of all calls that have not ended, and the communicator's own. Without the lock: a stream may be
/// running something.
void Pending::abort_streams(std::unique_lock<std::mutex>& lock) noexcept {
  std::vector<void*> streams = own_streams_;
  for (const uint32_t index : on_their_way_) {
    void* stream = calls_[index].stream;
    if (std::find(streams.begin(), streams.end(), stream) == streams.end()) {
      streams.push_back(stream);
    }
  }
  aborting_ = true;
  lock.unlock();
  void* previous = nullptr;
  if (setup_.transport->enter(tools_.endpoint, &previous) == WEFT_OK) {
    for (void* stream : streams) tools_.table.abort(tools_.endpoint, stream);
    setup_.transport->leave(tools_.endpoint, previous);
  }
  lock.lock();
  aborting_ = false;
  changed_.notify_all();
}

uint32_t Pending::first_gone() const noexcept {
  uint32_t peer = 0;
  while (peer < setup_.ranks && watch_.state(peer) == PeerState::kAlive) ++peer;
  return peer;
}

void Pending::watch_calls() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (on_their_way_.empty()) {
      asleep_ = Clock::now() - last_progress_ > kIdle;
      if (asleep_) {
        changed_.wait(lock, [&] { return stop_ || !on_their_way_.empty(); });
        asleep_ = false;
        last_progress_ = Clock::now();
      } else {
        changed_.wait_for(lock, kLongTick);
      }
      continue;
    }
    const bool hurry =
        first_gone() < setup_.ranks || (setup_.timeout.count() > 0 && setup_.timeout < kIdle);
    changed_.wait_for(lock, hurry ? kShortTick : kLongTick);
    if (!stop_) look(lock);
  }
}

/// A rank that the call needs and that has left without having done its part; or the number of
/// ranks.
uint32_t Pending::missing(const Call& call) const noexcept {
  for (const Need& need : call.needs) {
    const bool past = call.queued && tools_.table.passed(tools_.endpoint, need.mark) != 0;
    if (!past && watch_.state(need.peer) == PeerState::kLeft) return need.peer;
  }
  return setup_.ranks;
}

/// True if the call cannot end; then the communicator was given up.
bool Pending::look_at(uint32_t index, Clock::time_point now) noexcept {
  Call& call = calls_[index];
  const uint32_t peer = missing(call);
  if (peer == setup_.ranks) {
    call.hopeless = {};
  } else if (call.hopeless == Clock::time_point{}) {
    call.hopeless = now;
  } else if (now - call.hopeless > kLeftGrace) {
    watch_.raise_remote(peer, call.number, call.key);
    return true;
  }
  if (call.begun == Clock::time_point{}) {
    if (tools_.table.passed(tools_.endpoint, begin_mark(index)) != 0) call.begun = now;
    return false;
  }
  watch_.tell_of_wait(call.begun, "other ranks", call.number, call.key);
  if (setup_.timeout.count() == 0 || now - call.begun <= setup_.timeout) return false;
  watch_.give_up(
      HCCL_E_TIMEOUT,
      fmt::format("{} of {} (call {} of this communicator) did not end within {} s: some rank "
                  "has not done its part, or calls something else; see HCCL_EXEC_TIMEOUT",
                  comm::describe(call.key), setup_.peer_names[setup_.rank], call.number,
                  static_cast<double>(setup_.timeout.count()) / 1000));
  return true;
}

/// Gives up if nothing can be hoped for any more. With the lock held.
void Pending::look(std::unique_lock<std::mutex>& lock) {
  sweep(kMost);
  if (on_their_way_.empty() || aborting_) return;
  const auto now = Clock::now();
  bool over = watch_.look_at_boards() != 0;
  if (!over && watch_.any_lost() && now - last_progress_ > kLostGrace) {
    const Call& oldest = calls_[on_their_way_.front()];
    watch_.raise_remote(first_gone(), oldest.number, oldest.key);
    over = true;
  }
  for (size_t i = 0; !over && i < on_their_way_.size(); ++i) over = look_at(on_their_way_[i], now);
  if (over) abort_streams(lock);
}

}  // namespace weft::exec
