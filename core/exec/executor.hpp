// SPDX-License-Identifier: Apache-2.0
// Runs bound plans for one rank of one communicator: the only place where steps are walked, peers
// are waited for, and time-outs, lost peers and differing calls are noticed. Resumable: a run that
// must wait gives its thread back.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "comm/call.hpp"
#include "exec/board.hpp"
#include "schedule/plan.hpp"
#include "weft/transport.h"

namespace weft::exec {

class Executor;

/// A plan with what the executor needs beside it.
struct ExecPlan {
  schedule::Plan plan;
  comm::CallKey key;
  uint32_t fingerprint = 0;
  std::string algorithm;   // full name
  std::string source;      // what chose it
  uint64_t last_call = 0;  // newest call that uses it: in use until the executor has done that one
};

/// Bytes to copy around a run, for a buffer that peers cannot see; `bytes` 0 if there is none.
struct StageCopy {
  void* to = nullptr;
  const void* from = nullptr;
  uint64_t bytes = 0;
};

/// One call on its way through a stream. Owned by the communicator, reused.
struct Task {
  weft_task base{};  // first: the transport calls base.run(&base)
  Executor* executor = nullptr;
  ExecPlan* plan = nullptr;
  const void* in = nullptr;  // visible to peers
  void* out = nullptr;
  StageCopy before;
  StageCopy after;
  uint64_t first_call = 0;  // number of its first piece
  uint64_t last_call = 0;   // of its last one: the task is free again once the executor has done it

  // progress
  bool begun = false;
  uint32_t piece = 0;
  uint32_t step = 0;
  uint32_t rounds = 0;      // how often it had to wait at `stalled_at`
  uint64_t stalled_at = 0;  // piece and step
  std::chrono::steady_clock::time_point waiting_since;
};

enum class PeerState : uint8_t { kAlive, kLeft, kLost };

struct Setup {
  const weft_transport* transport = nullptr;
  uint32_t rank = 0;
  uint32_t ranks = 0;
  std::vector<Board*> boards;  // of all ranks, at addresses of this process
  uint64_t magic = Board::kMagic;
  std::vector<int64_t> deltas;
  std::vector<std::string> peer_names;  // "rank 3 (host a, pid 17)"
  uint64_t scratch_bytes = 0;
  uint32_t spins = 0;                    // polls of a signal before the thread is given back
  std::chrono::milliseconds timeout{0};  // of a wait; 0 = none
};

class Executor {
 public:
  explicit Executor(Setup setup);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Entry point for the transport.
  static int32_t run(weft_task* base) noexcept;
  /// The same for a call that will never run: the communicator cannot go on without it.
  static void drop(weft_task* base) noexcept;

  /// Number of the last call (piece) that this rank completed.
  [[nodiscard]] uint64_t done() const noexcept;

  /// Number of tasks that have ended and will not be touched again.
  [[nodiscard]] uint64_t ended() const noexcept { return ended_.load(std::memory_order_acquire); }

  /// Boards of the other ranks that are neither lost nor left.
  [[nodiscard]] std::vector<Board*> living_peers() const;

  /// HCCL_SUCCESS, or why this communicator can do no more calls.
  [[nodiscard]] int32_t health() const noexcept;
  [[nodiscard]] std::string health_text() const;

  /// From the control plane, on any thread.
  void peer_lost(uint32_t rank, const std::string& what);
  void peer_left(uint32_t rank) noexcept;

 private:
  [[nodiscard]] int32_t failure() const noexcept {
    return failure_.load(std::memory_order_acquire);
  }
  int32_t progress(Task& task) noexcept;
  void begin_piece(Task& task) noexcept;
  int32_t walk(Task& task) noexcept;
  /// Whether `peer` has ended the call before the last one: what it used then may be used again.
  bool ended_call_before_last(uint32_t peer) noexcept;
  bool scratch_is_free() noexcept;
  /// A rank that has destroyed its communicator will never join a call; its board is not to be
  /// written to. Returns the failure, or 0.
  int32_t check_members(const Task& task) noexcept;
  void copy(const schedule::PlanStep& step, const schedule::Operand* operands) noexcept;
  void reduce(const Task& task, const schedule::PlanStep& step,
              const schedule::Operand* operands) noexcept;
  bool signal(const Task& task, const schedule::PlanStep& step,
              const schedule::Operand* operands) noexcept;
  int32_t wait(const Task& task, const schedule::PlanStep& step) noexcept;
  void finish(Task& task) noexcept;

  // waiting for something that may never come: faults.cc
  int32_t stalled(Task& task) noexcept;
  int32_t investigate(Task& task) noexcept;
  int32_t check_peer(const Task& task, uint32_t peer, bool grace_over) noexcept;
  int32_t check_boards(const Task& task) noexcept;
  int32_t mismatch(const Task& task, uint32_t peer) noexcept;
  int32_t raise_remote(const Task& task, uint32_t peer) noexcept;
  int32_t raise(const Fault& fault) noexcept;
  int32_t adopt(const Fault& fault) noexcept;
  void set_failure(int32_t code, const std::string& text) noexcept;
  int32_t fail_task(Task& task, int32_t code) noexcept;
  void dropped(Task& task) noexcept;
  [[nodiscard]] std::string explain(const Fault& fault) const;
  [[nodiscard]] const schedule::PlanBody& body(const Task& task) const noexcept;
  [[nodiscard]] std::byte* address(const schedule::Operand& operand) const noexcept {
    return bases_[operand.base] + operand.offset;
  }

  const Setup setup_;
  Board* const board_;           // own
  uint32_t awaited_ = 0;         // peer that the last walk stopped for
  uint64_t call_ = 0;            // the piece being run
  std::byte** bases_ = nullptr;  // of the parity of call_: [space * ranks + rank]
  std::vector<std::byte*> base_tables_[2];
  std::vector<uint64_t> seen_;   // per peer: the newest call that it is known to have begun
  std::vector<void*> pointers_;  // room for the operands of a reduce
  std::unique_ptr<std::atomic<PeerState>[]> peer_states_;
  std::atomic<bool> peer_lost_{false};
  std::atomic<uint64_t> ended_{0};

  std::atomic<int32_t> failure_{0};
  mutable std::mutex failure_mutex_;  // guards the texts; taken only when something has failed
  std::string failure_text_;
  std::string lost_text_;
  uint32_t lost_rank_ = 0;  // the first one
};

}  // namespace weft::exec
