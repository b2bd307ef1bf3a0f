// SPDX-License-Identifier: Apache-2.0
// n ranks of one communicator on ordinary memory, for tests of what runs on streams: each rank has
// two streams, resumed by this thread in a random order or by a thread each.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/op_names.hpp"
#include "exec/executor.hpp"
#include "exec/messenger.hpp"
#include "hccl/hccl_types.h"
#include "schedule/builder.hpp"
#include "weft/sdk.hpp"

namespace weft::exec {

inline constexpr uint64_t kScratch = 4096;
inline constexpr std::chrono::seconds kPatience{60};  // for what must happen

/// What the last task that failed on this thread said.
inline thread_local std::string last_task_error;

/// Called by sums on this thread, if it is set.
inline thread_local std::function<void()> on_reduce;

/// Copies, and sums of int32.
inline weft_transport loopback() {
  weft_transport t{};
  t.head = WEFT_HEAD(weft_transport);
  t.task_error = [](const char* text) { last_task_error = text; };
  t.copy = [](void* dst, const void* src, uint64_t bytes, uint32_t) {
    std::memcpy(dst, src, bytes);
  };
  t.reduce = [](void* const* dsts, uint64_t nd, const void* const* srcs, uint64_t ns,
                uint64_t count, int32_t, int32_t, uint32_t) {
    if (on_reduce) on_reduce();
    for (uint64_t i = 0; i < count; ++i) {
      int32_t sum = 0;
      for (uint64_t s = 0; s < ns; ++s) sum += static_cast<const int32_t*>(srcs[s])[i];
      for (uint64_t d = 0; d < nd; ++d) static_cast<int32_t*>(dsts[d])[i] = sum;
    }
  };
  return t;
}

/// Lengths and offsets of one rank's In, then of its Out, in bytes.
struct BlockTable {
  std::vector<uint64_t> offsets;
  std::vector<uint64_t> lengths;
};

class Group {
 public:
  static constexpr uint32_t kStreams = 2;

  explicit Group(uint32_t n, std::chrono::milliseconds timeout = kPatience,
                 uint64_t scratch = kScratch)
      : n_(n), scratch_(scratch), transport_(loopback()), streams_(size_t{n} * kStreams) {
    const BoardLayout layout = board_layout(n, scratch);
    for (uint32_t r = 0; r < n; ++r) {
      memory_.emplace_back(std::aligned_alloc(4096, layout.bytes), std::free);
      std::memset(memory_.back().get(), 0, layout.bytes);
      boards_.push_back(static_cast<Board*>(memory_.back().get()));
      boards_.back()->identity.magic = Board::kMagic;
    }
    for (uint32_t r = 0; r < n; ++r) {
      Setup& setup = setups_.emplace_back();
      setup.transport = &transport_;
      setup.rank = r;
      setup.ranks = n;
      setup.boards = boards_;
      setup.map = std::make_unique<exec::AddressMap>(std::vector<int64_t>(n, 0), 1);
      for (uint32_t k = 0; k < n; ++k) setup.peer_names.push_back("rank " + std::to_string(k));
      setup.scratch_bytes = scratch;
      setup.timeout = timeout;
      watches_.push_back(std::make_unique<Watch>(setup));
      executors_.push_back(std::make_unique<Executor>(setup, *watches_.back()));
      messengers_.push_back(std::make_unique<Messenger>(setup, *watches_.back()));
    }
    next_call_.resize(n, 0);
  }

  /// Queues one call of rank r on int32 data.
  Task& add(uint32_t r, const weft_algorithm& algorithm, uint64_t count, const int32_t* in,
            int32_t* out, uint32_t stream = 0) {
    return launch(r, make_plan(r, algorithm, count), in, out, stream);
  }

  /// The same for an operation with lengths. `blocks` must live until the call has ended; `count`
  /// and `digest` are what ranks must agree on.
  Task& add(uint32_t r, const weft_algorithm& algorithm, uint64_t count, uint32_t digest,
            const BlockTable& blocks, const int32_t* in, int32_t* out) {
    ExecPlan& plan = make_plan(r, algorithm, count);
    const uint64_t longest = *std::max_element(blocks.lengths.begin(), blocks.lengths.end());
    Task& task = launch(r, plan, in, out, 0);
    task.blocks = {blocks.offsets.data(), blocks.lengths.data()};
    task.fingerprint ^= digest;
    if (plan.plan.uses_scratch) {
      const uint64_t pieces = (longest + plan.plan.piece_bytes - 1) / plan.plan.piece_bytes;
      task.pieces = std::max<uint32_t>(1, static_cast<uint32_t>(pieces));
      task.last_call = next_call_[r] = task.first_call + task.pieces - 1;
    }
    return task;
  }

  void submit(uint32_t r, weft_task& task, uint32_t stream = 0) {
    queue(r, stream).push_back(&task);
  }

  /// One resume of the oldest task of a stream. 0, -1 or a code; 0 too if there is none.
  int32_t step(uint32_t r, uint32_t stream = 0) {
    std::deque<weft_task*>& tasks = queue(r, stream);
    if (tasks.empty()) return 0;
    const int32_t result = tasks.front()->run(tasks.front());
    if (result != WEFT_TASK_AGAIN) tasks.pop_front();
    return result;
  }
  /// As a stream does that begins a task while others are ahead of it.
  static void begin_early(Task& task) { Executor::begin_early(&task.base); }

  /// Resumes one stream until its oldest task has ended, for at most kPatience.
  int32_t finish(uint32_t r, uint32_t stream = 0) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    int32_t result = WEFT_TASK_AGAIN;
    while (result == WEFT_TASK_AGAIN && std::chrono::steady_clock::now() < deadline) {
      result = step(r, stream);
    }
    return result;
  }
  /// A stream drops its oldest task.
  void drop(uint32_t r, uint32_t stream = 0) {
    weft_task* task = queue(r, stream).front();
    queue(r, stream).pop_front();
    task->drop(task);
  }

  [[nodiscard]] bool idle(uint32_t r, uint32_t stream = 0) { return queue(r, stream).empty(); }
  [[nodiscard]] uint32_t ranks() const { return n_; }
  void time_calls() {
    for (Setup& setup : setups_) setup.times_calls = true;
  }
  Watch& watch(uint32_t r) { return *watches_[r]; }
  Executor& executor(uint32_t r) { return *executors_[r]; }
  Messenger& messenger(uint32_t r) { return *messengers_[r]; }
  Board& board(uint32_t r) { return *boards_[r]; }
  [[nodiscard]] std::vector<std::byte> bytes_of_board(uint32_t r) const {
    const auto* bytes = reinterpret_cast<const std::byte*>(boards_[r]);
    return {bytes, bytes + board_layout(n_, scratch_).bytes};
  }

  /// Resumes streams in a random order until all tasks have ended.
  void run(uint32_t seed) {
    std::mt19937 random(seed);
    const auto busy = [](const auto& tasks) { return !tasks.empty(); };
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (std::any_of(streams_.begin(), streams_.end(), busy)) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "stuck";
      for (uint32_t i = 0; i < 64; ++i) {
        const auto stream = static_cast<uint32_t>(random() % streams_.size());
        ASSERT_LE(step(stream / kStreams, stream % kStreams), 0) << last_task_error;
      }
    }
  }

  /// The same with one thread per stream.
  void run_on_threads() {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    std::vector<std::string> failures(streams_.size());
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < streams_.size(); ++i) {
      threads.emplace_back([&, i] {
        while (!streams_[i].empty()) {
          const int32_t result = step(i / kStreams, i % kStreams);
          if (result > 0) failures[i] = last_task_error;
          if (result == WEFT_TASK_AGAIN) std::this_thread::yield();
          if (std::chrono::steady_clock::now() > deadline) return;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (uint32_t i = 0; i < streams_.size(); ++i) {
      EXPECT_TRUE(streams_[i].empty()) << "stuck";
      EXPECT_EQ(failures[i], "");
    }
  }

 private:
  std::deque<weft_task*>& queue(uint32_t r, uint32_t stream) {
    return streams_[size_t{r} * kStreams + stream];
  }

  ExecPlan& make_plan(uint32_t r, const weft_algorithm& algorithm, uint64_t count) {
    ExecPlan& plan = plans_.emplace_back();
    plan.key.op = static_cast<uint8_t>(algorithm.op);
    plan.key.count = count;
    plan.key.type = HCCL_DATA_TYPE_INT32;
    const schedule::Schedule steps =
        schedule::emit(algorithm, algorithm.name, {algorithm.op, n_, r, 0}, {});
    const auto bind = has_lengths(algorithm.op) ? schedule::bind_blocks : schedule::bind;
    plan.plan = bind(steps, {count, 4, scratch_});
    plan.fingerprint = static_cast<uint32_t>(count * 31 + algorithm.name[0]);
    plan.synchronises = depends_on_all(algorithm.op);
    return plan;
  }

  Task& launch(uint32_t r, ExecPlan& plan, const int32_t* in, int32_t* out, uint32_t stream) {
    Task& task = tasks_.emplace_back();
    task.base = {&Executor::run, &Executor::drop, nullptr, nullptr, 0, 0};
    task.executor = executors_[r].get();
    task.plan = &plan;
    task.in = in;
    task.out = out;
    task.first_call = next_call_[r] + 1;
    task.last_call = next_call_[r] = next_call_[r] + plan.plan.pieces;
    task.pieces = plan.plan.pieces;
    task.fingerprint = plan.fingerprint;
    task.key = plan.key;
    submit(r, task.base, stream);
    return task;
  }

  const uint32_t n_;
  const uint64_t scratch_;
  const weft_transport transport_;
  std::vector<std::unique_ptr<void, void (*)(void*)>> memory_;
  std::vector<Board*> boards_;
  std::deque<Setup> setups_;
  std::vector<std::unique_ptr<Watch>> watches_;
  std::vector<std::unique_ptr<Executor>> executors_;
  std::vector<std::unique_ptr<Messenger>> messengers_;
  std::deque<ExecPlan> plans_;
  std::deque<Task> tasks_;
  std::vector<std::deque<weft_task*>> streams_;
  std::vector<uint64_t> next_call_;
};

inline int32_t value(uint32_t rank, uint32_t call, uint64_t i) {
  return static_cast<int32_t>(rank * 1000003 + call * 7919 + i * 31);
}

}  // namespace weft::exec
