// SPDX-License-Identifier: Apache-2.0
// Streams: bounded queues of small tasks. Whoever holds a stream's executor lock runs its tasks:
// the thread that synchronises it, a thread that waits for something else, or the worker.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>
#include <type_traits>

#include "acl/acl.h"
#include "acl/acl_host.h"
#include "error.hpp"
#include "pool.hpp"

namespace weft::acl {

struct Stream;
struct Task;

/// Who executes a step, which matters to tasks that run user code or own something.
enum class Runner {
  kOwner,    ///< a thread that synchronises this stream without a limit: the step may block
  kHelper,   ///< any other thread: the step must not block, nor work for long
  kEarly,    ///< the launching thread, before the task's turn: it may begin, and answers kAgain
  kDiscard,  ///< nobody: the task is dropped and gives back what it owns
};

/// Result of a step: kDone, kAgain (waits for something), kMore (got on, but is not finished) or a
/// positive aclError.
using Step = int32_t (*)(Stream& stream, Task& task, Runner runner) noexcept;
constexpr int32_t kDone = ACLHOST_DONE;
constexpr int32_t kAgain = ACLHOST_AGAIN;
constexpr int32_t kMore = -2;

/// One queued task: a step function and its arguments.
struct alignas(64) Task {
  Step step;
  alignas(8) std::byte storage[56];

  template <class A>
  A& arguments() noexcept {
    return *std::launder(reinterpret_cast<A*>(storage));
  }
};

constexpr uint64_t kQueueTasks = 1024;   // bound of tasks waiting in one stream
constexpr size_t kHelpBytes = 4U << 20;  // a helper's step works on this much, then says kMore
constexpr size_t kStreamsPerDevice = 1984;
constexpr uint32_t kLowestPriority = 7;

/// Positions count the tasks ever queued in the slot and never go back, not even when the slot
/// becomes another stream: "done >= position" stays true once it is.
struct alignas(1024) Stream {
  // Constant while the stream lives, or rarely written.
  std::atomic<Life> life_state{Life::kDead};
  Stream* next_free = nullptr;
  std::atomic<Context*> context{nullptr};
  Task* tasks = nullptr;           // ring of kQueueTasks, kept for the slot's next stream
  std::atomic<int32_t> device{0};  // atomic where those who walk over all streams look
  std::atomic<uint32_t> flags{0};
  int32_t id = 0;
  uint32_t priority = 0;
  bool is_default = false;
  std::atomic<bool> failure_mode_set{false};
  std::atomic<bool> had_host_function{false};
  std::atomic<uint64_t> subscriber{0};  // thread that runs the callbacks; see callback.cc
  std::atomic<uint32_t> overflow_switch{0};
  std::atomic<uint32_t> custom_tag{0};
  std::atomic<uint32_t> cache_op_info{0};

  // Written by those who queue tasks.
  alignas(64) std::atomic<uint32_t> producer_lock{0};
  std::atomic<uint64_t> tail{0};  // position after the newest task
  const void* group = nullptr;    // of the newest task; null if it has none
  uint64_t group_since = 0;       // all tasks from this position on are of that group
  // When the newest task that takes long was queued, until somebody synchronises; 0: none was.
  std::atomic<int64_t> queued_at{0};

  // Written by those who execute tasks.
  alignas(64) std::atomic<uint32_t> executor_lock{0};
  std::atomic<int32_t> synchronisers{0};  // threads that wait for this stream and keep trying it
  std::atomic<uint64_t> done{0};          // position after the newest finished task
  std::atomic<int32_t> sync_style{0};     // > 0: its last tasks were run by a synchroniser
  std::atomic<aclError> fault{0};         // first fault not yet reported
  std::atomic<aclError> stopped{0};       // fault that ended a stop-on-failure stream
  // Until somebody synchronises it, an aborted stream drops its tasks, and what waits on another
  // stream for a position above the floor stays blocked.
  std::atomic<bool> aborted{false};
  std::atomic<uint64_t> abort_floor{0};
  std::atomic<uint64_t> host_done{0};     // position of the newest host function that has returned
  std::atomic<uint64_t> host_dropped{0};  // ... of the newest callback that can no longer run
  uint64_t seen_by_worker = 0;            // the worker's own: `done` at its last look

  alignas(64) std::mutex fault_mutex;  // guards the text, and changes of `fault`
  char fault_text[512] = {};

  bool idle() const noexcept {
    return done.load(std::memory_order_acquire) == tail.load(std::memory_order_acquire);
  }
  bool try_execute() noexcept {
    return executor_lock.load(std::memory_order_relaxed) == 0 &&
           executor_lock.exchange(1, std::memory_order_acquire) == 0;
  }
  void end_execute() noexcept { executor_lock.store(0, std::memory_order_release); }
};

extern constinit Pool<Stream, (1U << 16)> g_streams;

/// Point in time on the monotonic clock, in nanoseconds, up to which to wait.
struct Deadline {
  int64_t at = -1;  // -1: none

  static Deadline after_ms(int64_t ms) noexcept;  // -1: none
  bool unlimited() const noexcept { return at < 0; }
  bool expired() const noexcept;
};

int64_t now_ns() noexcept;

/// A new stream of the context; nullptr after reporting why not, in the name of `where`.
Stream* create_stream(Context& context, uint32_t priority, uint32_t flags, bool is_default,
                      const char* where, aclError* error) noexcept;

/// Ends a claimed stream: after its tasks, or discarding them.
void destroy_stream(Stream& stream, bool discard) noexcept;

/// Makes room for one task and takes the producer lock, or reports in the name of `where`.
aclError begin_task(Stream& stream, const char* where) noexcept;

/// When a task may begin: whenever somebody executes the stream, or on the launching thread if the
/// stream is idle.
enum class Start { kLater, kAtOnce };

/// Publishes the task at the tail and gives the lock back. A task that starts at once may also
/// begin while others of its group, if it has one, are ahead of it.
void commit_task(Stream& stream, Start start, const void* group = nullptr) noexcept;

/// Queues one task. `position`, if wanted, gets the stream position at which it is done.
template <class A>
aclError enqueue(Stream& stream, const char* where, Step step, const A& arguments,
                 uint64_t* position = nullptr, Start start = Start::kLater,
                 const void* group = nullptr) noexcept {
  static_assert(sizeof(A) <= sizeof(Task::storage) && std::is_trivially_copyable_v<A>);
  if (const aclError error = begin_task(stream, where)) return error;
  const uint64_t tail = stream.tail.load(std::memory_order_relaxed);
  Task& task = stream.tasks[tail % kQueueTasks];
  task.step = step;
  new (task.storage) A(arguments);
  if (position != nullptr) *position = tail + 1;
  commit_task(stream, start, group);
  return ACL_SUCCESS;
}

/// Drops the tasks of a stream, also those that come until it is synchronised.
void abort_stream(Stream& stream) noexcept;

/// Waits until the stream has reached `position`, executing tasks meanwhile. False on expiry.
bool reach(Stream& stream, uint64_t position, Deadline deadline) noexcept;

/// Executes what is ready at the front of a stream whose executor lock is held, up to `position`.
struct Progress {
  bool moved = false;  // something was done
  bool again = false;  // the front task waits for something
};
Progress execute(Stream& stream, uint64_t position, Runner runner) noexcept;

/// One try on behalf of a stream that nobody attends to; false if somebody does.
bool help(Stream& stream, Progress* progress) noexcept;

/// One try on every stream but `mine` that has tasks and that nobody attends to.
void help_others(const Stream* mine) noexcept;

/// Reports, in the name of `where`, that a host function must not wait, if one runs on this thread.
aclError refuse_in_host_function(const char* where) noexcept;

/// Takes the stream's fault: stores its text for the calling thread and returns its code, once.
aclError take_fault(Stream& stream) noexcept;

/// The stream behind a handle, NULL being the current context's default stream. Needs a current
/// context. `find_own_stream` also insists that the stream belongs to it.
aclError find_stream(aclrtStream handle, const char* where, Stream** stream) noexcept;
aclError find_own_stream(aclrtStream handle, const char* where, Stream** stream) noexcept;

}  // namespace weft::acl
