// SPDX-License-Identifier: Apache-2.0
// Runs bound plans for one rank of one communicator: walks their steps, waits for signals, and
// notices calls that differ. Resumable: a run that must wait gives its thread back.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "comm/call.hpp"
#include "exec/board.hpp"
#include "exec/call_times.hpp"
#include "exec/used_memory.hpp"
#include "exec/watch.hpp"
#include "schedule/partners.hpp"
#include "schedule/plan.hpp"
#include "weft/transport.h"

namespace weft::exec {

class Executor;

/// A plan with what the executor needs beside it.
struct ExecPlan {
  schedule::Plan plan;
  comm::CallKey key;
  uint32_t fingerprint = 0;
  // No rank ends the call before all have begun it: so it is where every output depends on every
  // input, since a rank's data can come only from a rank that has begun.
  bool synchronises = false;
  bool tells_all = false;  // this rank signals every other one
  bool as_tasks = false;   // for the tasks engine, else for the executor
  /// The Scratch areas that it takes turns with: the more, the further a rank may be ahead. Where
  /// ranks wait for each other anyway there is no need for the most.
  [[nodiscard]] schedule::Areas areas() const noexcept {
    const schedule::Areas least = synchronises ? schedule::Areas::kMiddle : schedule::Areas::kSmall;
    return std::max(least, plan.areas);
  }
  schedule::Exposure exposure;  // assumed to be all until it is known
  bool exposure_known = false;
  std::string algorithm;       // full name
  std::string source;          // what chose it
  std::vector<bool> partners;  // as tasks: by rank, whether it has a part in what this one does
  uint64_t last_call = 0;  // newest call that uses it: in use until the executor has done that one
  uint64_t serial = 0;     // no other plan of the communicator has or had it; from 1
};

/// What a task was prepared for. For the same once more, only its number has to be written.
struct Prepared {
  uint64_t plan = 0;  // its serial; 0: for nothing
  const void* in = nullptr;
  const void* out = nullptr;
  uint64_t map = 0;  // version of what is known of the rank's own memory

  friend bool operator==(const Prepared&, const Prepared&) = default;
};

/// Bytes to copy around a run, for a buffer that peers cannot see; `bytes` 0 if there is none.
struct StageCopy {
  void* to = nullptr;
  const void* from = nullptr;
  uint64_t bytes = 0;
  // 0: all bytes. Else only the blocks first .. first + blocks - 1 of the call: what is between
  // them is nobody's business.
  uint32_t blocks = 0;
  uint32_t first = 0;
};

/// One call on its way through a stream. Owned by the communicator, reused.
struct Task {
  weft_task base{};  // first: the transport calls base.run(&base)
  Executor* executor = nullptr;
  ExecPlan* plan = nullptr;
  comm::CallKey key;  // as called; that of the plan may leave out what the plan does not need
  const void* in = nullptr;  // visible to peers
  void* out = nullptr;
  uint64_t in_shift = 0;  // makes an address of the buffer a word for peers: AddressMap
  uint64_t out_shift = 0;
  StageCopy before;
  StageCopy after;
  UsedMemory used_in;  // the buffers of the caller, staged or not
  UsedMemory used_out;
  std::atomic<uint64_t> used_until{0};  // last_call, for those who ask what is in use
  uint64_t first_call = 0;              // number of its first piece
  uint64_t last_call = 0;  // of its last one: the task is free again once the executor has done it
  uint32_t pieces = 1;
  uint32_t fingerprint = 0;  // of the plan and of what else all ranks must agree on
  schedule::Blocks blocks;   // of an operation with lengths

  Prepared prepared;
  uint8_t in_way = 0;  // comm::Way
  uint8_t out_way = 0;
  bool own_heap = false;  // one piece, unstaged, with buffers that have one address here
  // How long the call takes, from its issue, or from the end of the one before it if that is later,
  // to its end on this rank. Null: nobody wants to know.
  CallTimes* times = nullptr;
  std::chrono::steady_clock::time_point issued_at;

  // On the thread that issues: it does not wait.
  std::atomic<bool> at_launch{false};

  // progress
  bool begun = false;
  bool early = false;         // begun before its turn, which has not come so far
  bool ended = false;         // its data are there; it may still have to wait before that is told
  uint64_t early_peers = 0;   // bit by rank: began this call before they had ended the one before
  bool some_unknown = false;  // some place in bases_ is null since this rank does not know it
  uint32_t history = 0;       // hash of the fingerprints of all calls up to this one
  uint32_t piece = 0;
  uint32_t step = 0;
  Wait wait;                // at `stalled_at`
  uint64_t stalled_at = 0;  // piece and step; once it has ended, pieces and peer
};

class Executor {
 public:
  /// Both must outlive it.
  Executor(const Setup& setup, Watch& watch);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Entry point for the transport.
  static int32_t run(weft_task* base) noexcept;
  /// The same for a call that is next in order while those before it are on their way, in the same
  /// stream, and have nothing to do with its buffers: does its steps up to the first wait, if it
  /// can. It needs one piece, and no staging, and tells every other rank something: so all of them
  /// know that it was early, and tell nobody that the call has ended until this rank has ended the
  /// one before. Or else a program could see by them that what comes later on the stream was done
  /// first. Its input is read at once: what writes it must be ahead of it on the stream, or be over
  /// when it is launched.
  static void begin_early(weft_task* base) noexcept;
  /// Of communicators with more ranks no call begins early.
  static constexpr uint32_t kMostEarlyRanks = 64;
  /// The same for a call that will never run: the communicator cannot go on without it.
  static void drop(weft_task* base) noexcept;

  /// Number of the last call (piece) that this rank completed, or that failed once it had begun.
  [[nodiscard]] uint64_t done() const noexcept { return done_.load(std::memory_order_acquire); }

  /// Number of tasks that failed before their turn. They, and those up to done(), will not be
  /// touched again.
  [[nodiscard]] uint64_t skipped() const noexcept {
    return skipped_.load(std::memory_order_acquire);
  }

 private:
  int32_t progress(Task& task) noexcept;
  void begin(Task& task) noexcept;
  void begin_piece(Task& task) noexcept;
  /// Makes it the call that is being run.
  void select(const Task& task) noexcept;
  int32_t walk(Task& task, bool may_wait = true) noexcept;
  /// Whether `peer` has ended the call `depth` calls ago: what it used then may be used again.
  bool has_ended(uint32_t peer, uint64_t depth) noexcept;
  /// By the newest of its progress that this rank has seen, or now. If not, it is awaited.
  bool has_ended_call(uint32_t peer, uint64_t call) noexcept;
  bool scratch_is_free(schedule::Areas kind) noexcept;
  /// A rank that has destroyed its communicator will never join a call; its board is not to be
  /// written to. Returns the failure, or 0.
  int32_t check_members(const Task& task) noexcept;
  [[nodiscard]] bool all_take_part() const noexcept;
  void copy(const schedule::PlanStep& step, const schedule::Operand* operands) noexcept;
  void copy_block(const Task& task, const schedule::PlanStep& step,
                  const schedule::Operand* operands) noexcept;
  void reduce_block(const Task& task, const schedule::PlanStep& step,
                    const schedule::Operand* operands) noexcept;
  void stage(const Task& task, const StageCopy& copy) noexcept;
  void describe_call(const Task& task, Line& line, uint32_t peer) noexcept;
  void learn_place(Task& task, uint32_t peer, uint32_t space, uint64_t word) noexcept;
  [[nodiscard]] uint32_t unknown_peer(const Task& task, const schedule::PlanStep& step,
                                      const schedule::Operand* operands) const noexcept;
  int32_t learn_call(Task& task, const Line& line, uint32_t peer) noexcept;
  void reduce(const Task& task, const schedule::PlanStep& step,
              const schedule::Operand* operands) noexcept;
  bool signal(const Task& task, const schedule::PlanStep& step,
              const schedule::Operand* operands) noexcept;
  int32_t wait(Task& task, const schedule::PlanStep& step) noexcept;
  /// The data of a call are there.
  void end(Task& task) noexcept;
  void work_ahead() noexcept;
  /// Whether that a call has ended may be told.
  bool settled(Task& task) noexcept;
  int32_t unsettled(Task& task) noexcept;
  /// Ends it well.
  int32_t complete(Task& task) noexcept;
  void time(const Task& task) noexcept;
  void finish(Task& task) noexcept;

  // waiting for something that may never come: faults.cc
  int32_t stalled(Task& task) noexcept;
  static void wait_at(Task& task, uint64_t place) noexcept;
  int32_t investigate(Task& task) noexcept;
  int32_t check_records(const Task& task) noexcept;
  int32_t mismatch(const Task& task, uint32_t peer) noexcept;
  int32_t block_mismatch(const Task& task, uint32_t sender, uint32_t receiver, uint64_t sent,
                         uint64_t expected) noexcept;
  int32_t unknown_place(const Task& task, uint32_t peer) noexcept;
  int32_t fail_task(Task& task, int32_t code) noexcept;
  void dropped(Task& task) noexcept;
  [[nodiscard]] const schedule::PlanBody& body(const Task& task) const noexcept;
  [[nodiscard]] std::byte* address(const schedule::Operand& operand) const noexcept {
    return bases_[operand.base] + operand.offset;
  }
  [[nodiscard]] std::byte* block_address(const Task& task,
                                         const schedule::Operand& operand) const noexcept {
    return address(operand) + (operand.block == 0 ? 0 : task.blocks.offsets[operand.block - 1]);
  }
  /// Bytes of a block in this piece.
  [[nodiscard]] static uint64_t block_length(const Task& task, uint32_t index) noexcept;

  const Setup& setup_;
  Watch& watch_;
  const uint32_t depth_;
  Board* const board_;              // own
  uint32_t awaited_ = 0;            // peer that the last walk stopped for
  const Task* selected_ = nullptr;  // the last one that was run; the next two are of it
  uint64_t call_ = 0;               // its piece
  std::byte** bases_ = nullptr;     // with the Scratch areas of call_: [space * ranks + rank]
  std::vector<std::byte*> base_tables_[kMostAreas];
  // The newest call that this rank has begun. Another thread may look at it, and then it matters
  // only that it is not the one before the call that is asked about.
  std::atomic<uint64_t> begun_{0};
  uint32_t history_ = 0;         // of that one
  uint64_t all_begun_ = 0;       // the newest call that all are known to have begun
  std::vector<uint64_t> seen_;   // per peer: the newest call that it is known to have begun
  std::vector<uint64_t> ended_;  // ... to have ended
  std::vector<void*> pointers_;  // room for the operands of a reduce
  // Calls that were begun early and are not over, in their order; the first is
  // ahead_[first_ahead_].
  std::array<Task*, kMostDepth> ahead_{};
  uint64_t first_ahead_ = 0;
  uint64_t last_ahead_ = 0;                         // behind the last one
  std::chrono::steady_clock::time_point last_end_;  // of a call; only if calls are timed
  std::atomic<uint64_t> done_{0};
  std::atomic<uint64_t> skipped_{0};
};

}  // namespace weft::exec
