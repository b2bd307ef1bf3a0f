// SPDX-License-Identifier: Apache-2.0
// The engine of the streams: queueing, executing, waiting, faults. Launch and synchronise of one
// host task touch three cache lines, and make a system call only to wake a worker that sleeps.
#include "stream.hpp"

#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "callback.hpp"
#include "context.hpp"
#include "worker.hpp"

namespace weft::acl {

constinit Pool<Stream, (1U << 16)> g_streams;

namespace {

constexpr int32_t kSyncStyle = 4;    // tasks a helper must run before a stream counts as async
constexpr uint64_t kHelpTasks = 16;  // tasks in one try of a thread that must look around
constexpr int64_t kElsewhereNs =
    100'000;  // between queueing and synchronising: it did other things

void lock_producer(Stream& stream) noexcept {
  for (unsigned spins = 0; stream.producer_lock.exchange(1, std::memory_order_acquire) != 0;) {
    while (stream.producer_lock.load(std::memory_order_relaxed) != 0) {
      if (++spins % 64 == 0) sched_yield();
    }
  }
}

void unlock_producer(Stream& stream) noexcept {
  stream.producer_lock.store(0, std::memory_order_release);
}

bool full(const Stream& stream) noexcept {
  return stream.tail.load(std::memory_order_relaxed) -
             stream.done.load(std::memory_order_acquire) >=
         kQueueTasks;
}

// The first fault stays until it is reported; a later one is dropped with its text.
void record_fault(Stream& stream, int32_t result, bool has_text) noexcept {
  const aclError code = result > 0 ? result : ACL_ERROR_RT_INTERNAL_ERROR;
  char text[sizeof stream.fault_text] = "";
  if (has_text) take_newest_text(text, sizeof text);
  if (text[0] == '\0') {
    std::snprintf(text, sizeof text, "stream %d of device %d: a task failed with code %d",
                  stream.id, stream.device.load(), code);
  }
  const std::lock_guard lock(stream.fault_mutex);
  if (stream.fault.load(std::memory_order_relaxed) == 0) {
    std::snprintf(stream.fault_text, sizeof stream.fault_text, "%s", text);
    stream.fault.store(code, std::memory_order_relaxed);
  }
  if (stream.context.load()->stop_on_failure.load(std::memory_order_relaxed)) {
    aclError none = 0;
    stream.stopped.compare_exchange_strong(none, code);
  }
}

/// What a stream counts as whose synchroniser finds work to do. Who did other things since it
/// queued tasks that take long has a worker do them, the next time.
int32_t style_of_synchroniser(Stream& stream) noexcept {
  if (stream.queued_at.load(std::memory_order_relaxed) == 0) return kSyncStyle;
  const int64_t queued_at = stream.queued_at.exchange(0, std::memory_order_relaxed);
  if (now_ns() - queued_at <= kElsewhereNs) return kSyncStyle;
  stream.sync_style.store(0, std::memory_order_relaxed);  // also if a helper does the rest
  return 0;
}

// One try by a thread that waits for this stream. True if the position is reached.
inline bool try_reach(Stream& stream, uint64_t position, Runner runner, int32_t style) noexcept {
  if (stream.try_execute()) {
    uint64_t limit = position;
    if (runner == Runner::kHelper) {
      limit = std::min(limit, stream.done.load(std::memory_order_relaxed) + kHelpTasks);
    }
    const Progress progress = execute(stream, limit, runner);
    if (progress.moved) stream.sync_style.store(style, std::memory_order_relaxed);
    stream.end_execute();
  }
  return stream.done.load(std::memory_order_acquire) >= position;
}

[[gnu::noinline]] bool keep_trying(Stream& stream, uint64_t position, Deadline deadline,
                                   Runner runner, int32_t style) noexcept {
  bool reached = true;
  stream.synchronisers.fetch_add(1, std::memory_order_relaxed);
  while (!try_reach(stream, position, runner, style)) {
    help_others(&stream);
    if (deadline.expired()) {
      reached = stream.done.load(std::memory_order_acquire) >= position;
      break;
    }
    sched_yield();
  }
  stream.synchronisers.fetch_sub(1, std::memory_order_relaxed);
  return reached;
}

bool prepare_slot(Stream& stream) noexcept {
  if (stream.tasks != nullptr) return true;
  void* memory = mmap(nullptr, kQueueTasks * sizeof(Task), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  stream.tasks = static_cast<Task*>(memory);
  return true;
}

struct HostTask {
  aclhostTask task;
  aclhostDiscard discard;
  void* argument;
  aclhostBegin begin;  // null if it has no group
};

int32_t step_host_task(Stream&, Task& task, Runner runner) noexcept {
  const auto& a = task.arguments<HostTask>();
  if (runner == Runner::kEarly) {
    a.begin(a.argument);
    return kAgain;
  }
  if (runner == Runner::kDiscard) {
    if (a.discard != nullptr) a.discard(a.argument);
    return kDone;
  }
  const int32_t result = a.task(a.argument);
  return result == kMore ? ACL_ERROR_RT_INTERNAL_ERROR : result;
}

}  // namespace

int64_t now_ns() noexcept {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

Deadline Deadline::after_ms(int64_t ms) noexcept {
  return ms < 0 ? Deadline{} : Deadline{now_ns() + ms * 1000000};
}

bool Deadline::expired() const noexcept { return !unlimited() && now_ns() >= at; }

Stream* create_stream(Context& context, uint32_t priority, uint32_t flags, bool is_default,
                      const char* where, aclError* error) noexcept {
  Device& device = device_at(context.device);
  if (device.streams.fetch_add(1) >= kStreamsPerDevice) {
    device.streams.fetch_sub(1);
    *error = fail(ACL_ERROR_RT_NO_STREAM_RESOURCE,
                  "%s: all %zu streams of device %d are in use; destroy some", where,
                  kStreamsPerDevice, context.device);
    return nullptr;
  }
  Stream* stream = g_streams.acquire();
  if (stream == nullptr || !prepare_slot(*stream)) {
    if (stream != nullptr) g_streams.release(stream);
    device.streams.fetch_sub(1);
    *error = fail(ACL_ERROR_RT_NO_STREAM_RESOURCE,
                  "%s: no room for another stream in this process; destroy some", where);
    return nullptr;
  }
  stream->context = &context;
  stream->device = context.device;
  stream->id = static_cast<int32_t>(g_streams.index(stream));
  stream->flags = flags;
  stream->priority = std::min(priority, kLowestPriority);
  stream->is_default = is_default;
  stream->failure_mode_set = false;
  stream->had_host_function = false;
  stream->subscriber = 0;
  stream->overflow_switch = 0;
  stream->custom_tag = 0;
  stream->cache_op_info = 0;
  stream->sync_style = 0;
  stream->queued_at = 0;
  stream->fault = 0;
  stream->stopped = 0;
  stream->aborted = false;
  stream->life_state.store(Life::kLive, std::memory_order_release);
  return stream;
}

void destroy_stream(Stream& stream, bool discard) noexcept {
  if (!discard) reach(stream, stream.tail.load(std::memory_order_acquire), Deadline{});
  while (!stream.try_execute()) sched_yield();
  execute(stream, stream.tail.load(std::memory_order_acquire), Runner::kDiscard);
  forget_subscriber(stream, discard);
  device_at(stream.device).streams.fetch_sub(1);
  g_streams.release(&stream);
  stream.end_execute();
}

void abort_stream(Stream& stream) noexcept {
  while (!stream.try_execute()) sched_yield();
  if (!stream.aborted.load(std::memory_order_relaxed)) {
    stream.abort_floor = stream.done.load(std::memory_order_relaxed);
    const std::lock_guard lock(stream.fault_mutex);
    if (stream.fault.load(std::memory_order_relaxed) == 0) {
      std::snprintf(stream.fault_text, sizeof stream.fault_text,
                    "stream %d of device %d was aborted: its tasks were dropped", stream.id,
                    stream.device.load());
      stream.fault.store(ACL_ERROR_RT_STREAM_ABORT, std::memory_order_relaxed);
    }
    stream.aborted.store(true, std::memory_order_release);
  }
  execute(stream, stream.tail.load(std::memory_order_acquire), Runner::kDiscard);
  stream.end_execute();
}

aclError begin_task(Stream& stream, const char* where) noexcept {
  if (const aclError stopped = stream.stopped.load(std::memory_order_relaxed)) {
    return fail(stopped,
                "%s: stream %d of device %d stopped at a failure with code %d and takes no more "
                "tasks; destroy it",
                where, stream.id, stream.device.load(), stopped);
  }
  lock_producer(stream);
  while (full(stream)) {
    unlock_producer(stream);
    if (t_thread.in_host_function) {
      return fail(ACL_ERROR_RT_STREAM_TASK_FULL,
                  "%s: stream %d is full and a host function must not wait; launch less from it",
                  where, stream.id);
    }
    Progress progress;
    help(stream, &progress);
    if (!progress.moved) {
      help_others(&stream);
      sched_yield();
    }
    lock_producer(stream);
  }
  return ACL_SUCCESS;
}

void commit_task(Stream& stream, Start start, const void* group) noexcept {
  const uint64_t tail = stream.tail.load(std::memory_order_relaxed);
  if (group != stream.group) {
    stream.group = group;
    stream.group_since = tail;
  }
  if (start == Start::kLater) stream.queued_at.store(now_ns(), std::memory_order_relaxed);
  const uint64_t since = group == nullptr ? tail : stream.group_since;
  // The lock comes before the task is published, or somebody else might begin it.
  const bool begins = start == Start::kAtOnce && !t_thread.in_host_function &&
                      stream.done.load(std::memory_order_acquire) >= since && stream.try_execute();
  if (!begins) {
    stream.tail.store(tail + 1,
                      std::memory_order_seq_cst);  // before the look at the worker's state
    unlock_producer(stream);
  } else {
    stream.tail.store(tail + 1, std::memory_order_release);
    unlock_producer(stream);
    if (stream.done.load(std::memory_order_acquire) == tail) {
      execute(stream, tail + 1, Runner::kHelper);
    } else if (stream.stopped.load() == 0 && !stream.aborted.load()) {
      Task& task = stream.tasks[tail % kQueueTasks];
      task.step(stream, task, Runner::kEarly);
    }
    stream.end_execute();
    if (stream.done.load(std::memory_order_acquire) > tail) return;
    stream.tail.fetch_add(0, std::memory_order_seq_cst);  // for the order only, as above
  }
  notify_worker(stream.sync_style.load(std::memory_order_relaxed) > 0);
}

Progress execute(Stream& stream, uint64_t position, Runner runner) noexcept {
  Progress progress;
  const aclError last_error = t_thread.last_error;  // the tasks' faults are the stream's
  uint32_t texts = t_thread.texts;
  uint64_t done = stream.done.load(std::memory_order_relaxed);
  while (done < position) {
    Task& task = stream.tasks[done % kQueueTasks];
    const bool stopped = stream.stopped.load(std::memory_order_relaxed) != 0 ||
                         stream.aborted.load(std::memory_order_relaxed);
    const int32_t result = task.step(stream, task, stopped ? Runner::kDiscard : runner);
    if (result == kAgain) {
      progress.again = true;
      break;
    }
    progress.moved = true;
    if (result == kMore) {
      if (runner == Runner::kOwner) continue;
      break;
    }
    if (result != kDone) {
      record_fault(stream, result, t_thread.texts != texts);
      texts = t_thread.texts;
    }
    stream.done.store(++done, std::memory_order_release);
  }
  t_thread.last_error = last_error;
  return progress;
}

bool reach(Stream& stream, uint64_t position, Deadline deadline) noexcept {
  if (stream.done.load(std::memory_order_acquire) >= position) return true;
  const Runner runner = deadline.unlimited() ? Runner::kOwner : Runner::kHelper;
  const int32_t style = style_of_synchroniser(stream);
  return try_reach(stream, position, runner, style) ||
         keep_trying(stream, position, deadline, runner, style);
}

bool help(Stream& stream, Progress* progress) noexcept {
  if (stream.idle() || stream.synchronisers.load(std::memory_order_relaxed) > 0 ||
      !stream.try_execute()) {
    return false;
  }
  const uint64_t limit = stream.done.load(std::memory_order_relaxed) + kHelpTasks;
  *progress = execute(stream, std::min(limit, stream.tail.load(std::memory_order_acquire)),
                      Runner::kHelper);
  const int32_t style = stream.sync_style.load(std::memory_order_relaxed);
  if (progress->moved && style > 0) {
    stream.sync_style.store(style - 1, std::memory_order_relaxed);
  }
  stream.end_execute();
  return true;
}

void help_others(const Stream* mine) noexcept {
  g_streams.for_each([mine](Stream& other) {
    Progress progress;
    if (&other != mine) help(other, &progress);
  });
}

aclError refuse_in_host_function(const char* where) noexcept {
  if (!t_thread.in_host_function) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
              "%s: called from a host function, which must not wait for streams; call it elsewhere",
              where);
}

aclError take_fault(Stream& stream) noexcept {
  if (stream.fault.load(std::memory_order_acquire) == 0) return ACL_SUCCESS;
  char text[sizeof stream.fault_text];
  aclError code;
  {
    const std::lock_guard lock(stream.fault_mutex);
    code = stream.fault.exchange(0);
    std::copy_n(stream.fault_text, sizeof text, text);
  }
  if (code == ACL_SUCCESS) return ACL_SUCCESS;
  store_text(text);
  return fail_silently(code);
}

aclError find_stream(aclrtStream handle, const char* where, Stream** stream) noexcept {
  Context* context = need_context(where);
  if (context == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
  *stream = handle == nullptr ? context->default_stream : g_streams.find(handle);
  if (*stream != nullptr) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_INVALID_HANDLE, "%s: %p is no stream, or it was destroyed", where,
              handle);
}

aclError find_own_stream(aclrtStream handle, const char* where, Stream** stream) noexcept {
  if (const aclError error = find_stream(handle, where, stream)) return error;
  if (handle == nullptr || (*stream)->context.load(std::memory_order_relaxed) == current_context())
    return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_STREAM_CONTEXT,
              "%s: stream %d belongs to another context (device %d) than the thread's current one; "
              "call aclrtSetDevice or aclrtSetCurrentContext first",
              where, (*stream)->id, (*stream)->device.load());
}

}  // namespace weft::acl

using namespace weft::acl;

aclError aclhostLaunchTask(aclrtStream stream, aclhostTask task, aclhostDiscard discard, void* arg,
                           uint32_t flags) {
  Stream* target = nullptr;
  if (task == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM, "aclhostLaunchTask: task is NULL; pass a function");
  }
  if ((flags & ~uint32_t{ACLHOST_BRIEF}) != 0) {
    return fail(ACL_ERROR_INVALID_PARAM, "aclhostLaunchTask: unknown flags %#x", flags);
  }
  if (const aclError error = find_own_stream(stream, "aclhostLaunchTask", &target)) return error;
  const HostTask host_task{task, discard, arg, nullptr};
  if ((flags & ACLHOST_BRIEF) == 0) {
    return enqueue(*target, "aclhostLaunchTask", step_host_task, host_task);
  }
  return enqueue(*target, "aclhostLaunchTask", step_host_task, host_task, nullptr, Start::kAtOnce);
}

aclError aclhostLaunchGroupTask(aclrtStream stream, aclhostTask task, aclhostBegin begin,
                                aclhostDiscard discard, void* arg, const void* group) {
  constexpr const char* kName = "aclhostLaunchGroupTask";
  Stream* target = nullptr;
  if (task == nullptr || begin == nullptr || group == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: %s is NULL", kName,
                task == nullptr    ? "task"
                : begin == nullptr ? "begin"
                                   : "group");
  }
  if (const aclError error = find_own_stream(stream, kName, &target)) return error;
  return enqueue(*target, kName, step_host_task, HostTask{task, discard, arg, begin}, nullptr,
                 Start::kAtOnce, group);
}
