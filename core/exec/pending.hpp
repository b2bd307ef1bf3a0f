// SPDX-License-Identifier: Apache-2.0
// The calls of a communicator that are on their way as tasks of streams. A thread looks after them:
// when they cannot end any more it gives the communicator up and aborts their streams, so that
// whoever synchronises gets an error.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "comm/call.hpp"
#include "exec/task_queue.hpp"
#include "exec/watch.hpp"
#include "weft/transport.h"

namespace weft::exec {

class Pending {
 public:
  static constexpr uint32_t kMost = 4096;  // calls on their way at once
  static constexpr uint32_t kMarks = 3 * kMost;

  /// All must outlive it.
  Pending(const Setup& setup, const TaskTools& tools, Watch& watch);
  ~Pending();
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

  // By the issuing thread. Calls must be ordered by the caller.

  /// A call begins on the stream. If there are too many it waits until one has ended. Throws Error.
  uint32_t begin(const comm::CallKey& key, TaskQueue& queue);
  /// The call needs `peer`, which can leave in peace once this rank's stream is past the mark:
  /// before that it cannot have ended its own part.
  void needs(uint32_t call, uint32_t peer, uint32_t mark);
  /// All of it is on the stream, the marks of its needs are set. Throws Error.
  void end(uint32_t call, TaskQueue& queue);
  /// What is left of a call that did not get onto the stream.
  void cancel(uint32_t call);
  /// The marks of a call's beginning and end, and of when it has told its partners that this rank
  /// has done its part.
  static uint32_t begin_mark(uint32_t call) { return 3 * call; }
  static uint32_t end_mark(uint32_t call) { return 3 * call + 1; }
  static uint32_t told_mark(uint32_t call) { return 3 * call + 2; }
  /// Collectives run in the order of issue, whatever their streams.
  void follow_last_collective(TaskQueue& queue);
  void set_last_collective(uint32_t call);
  /// A stream of the communicator's own on which parts of calls run.
  void add_stream(void* stream);

  /// Calls so far.
  [[nodiscard]] uint64_t issued() const noexcept { return issued_; }

  /// Gives the communicator up and aborts all its streams. Any thread.
  void fail(int32_t code, const std::string& text) noexcept;
  /// A peer is lost or has left: from the control plane.
  void peer_gone() noexcept;
  /// Some call has not ended yet.
  [[nodiscard]] bool busy();
  /// Calls that have ended, as far as busy() has seen.
  [[nodiscard]] uint64_t ended();

 private:
  using Clock = std::chrono::steady_clock;
  struct Need {
    uint32_t peer;
    uint32_t mark;
  };
  struct Call {
    comm::CallKey key;
    void* stream = nullptr;
    uint64_t number = 0;
    uint64_t use = 0;  // of this place
    bool free = true;
    bool queued = false;  // all of it
    Clock::time_point begun;
    Clock::time_point hopeless;  // since when a rank that it needs has left
    std::vector<Need> needs;
  };

  void watch_calls();
  void look(std::unique_lock<std::mutex>& lock);
  bool sweep(size_t most);
  [[nodiscard]] uint32_t first_gone() const noexcept;
  [[nodiscard]] uint32_t missing(const Call& call) const noexcept;
  bool look_at(uint32_t index, Clock::time_point now) noexcept;
  void abort_streams(std::unique_lock<std::mutex>& lock) noexcept;
  uint32_t free_place(std::unique_lock<std::mutex>& lock);

  const Setup& setup_;
  const TaskTools& tools_;
  Watch& watch_;
  std::mutex mutex_;  // guards all below; never held while a stream is waited for
  std::condition_variable changed_;
  std::vector<Call> calls_;
  std::vector<uint32_t> on_their_way_;  // oldest first
  std::vector<uint32_t> free_;
  std::vector<void*> own_streams_;
  uint64_t issued_ = 0;
  uint32_t last_ = 0;  // newest collective
  uint64_t last_use_ = 0;
  bool asleep_ = false;
  bool stop_ = false;
  bool aborting_ = false;
  Clock::time_point last_progress_;
  std::thread thread_;  // last: uses all the others
};

}  // namespace weft::exec
