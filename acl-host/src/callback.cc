// SPDX-License-Identifier: Apache-2.0
// User functions in stream order: host functions, and callbacks on a subscribed thread.
#include "callback.hpp"

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "context.hpp"
#include "stream.hpp"

namespace weft::acl {
namespace {

constexpr size_t kMaxSubscribers = 1024;

/// A user function, and what its stream is told when it has returned.
struct Call {
  void (*function)(void*);
  void* argument;
  Stream* stream;     // nullptr: nobody waits
  uint64_t position;  // of the task that waits
};

// The flag lets functions that would deadlock the thread refuse.
void run_host_function(void (*function)(void*), void* argument) noexcept {
  t_thread.in_host_function = true;
  function(argument);
  t_thread.in_host_function = false;
}

void report_return(const Call& call) noexcept {
  if (call.stream == nullptr) return;
  // The slot may belong to another stream by now: positions only grow.
  uint64_t newest = call.stream->host_done.load();
  while (newest < call.position &&
         !call.stream->host_done.compare_exchange_weak(newest, call.position)) {
  }
}

/// Calls that wait for their thread.
struct CallQueue {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Call> calls;
  bool ended = false;  // nothing comes any more
  size_t streams = 0;  // of a subscriber: bound streams
};

using SharedQueue = std::shared_ptr<CallQueue>;

/// All threads that run user functions.
struct Threads {
  std::mutex mutex;
  std::map<const Context*, SharedQueue> of_contexts;
  std::map<uint64_t, SharedQueue> subscribers;  // by thread id
};

Threads& threads() {
  static auto& all = *new Threads;  // never destroyed: threads may still run during exit
  return all;
}

void push(CallQueue& queue, const Call& call) {
  {
    const std::lock_guard lock(queue.mutex);
    queue.calls.push_back(call);
  }
  queue.changed.notify_one();
}

void serve_context(Context* context, const SharedQueue& queue) {
  bind_context(*context);
  std::unique_lock lock(queue->mutex);
  for (;;) {
    queue->changed.wait(lock, [&] { return queue->ended || !queue->calls.empty(); });
    if (queue->calls.empty()) return;
    const Call call = queue->calls.front();
    queue->calls.pop_front();
    lock.unlock();
    run_host_function(call.function, call.argument);
    report_return(call);
    lock.lock();
  }
}

// The queue of the context's own thread, which is started with the first call.
SharedQueue context_queue(Context* context) {
  Threads& all = threads();
  const std::lock_guard lock(all.mutex);
  SharedQueue& queue = all.of_contexts[context];
  if (queue == nullptr) {
    auto made = std::make_shared<CallQueue>();
    std::thread(serve_context, context, made).detach();
    queue = std::move(made);
  }
  return queue;
}

SharedQueue subscriber(uint64_t thread) {
  Threads& all = threads();
  const std::lock_guard lock(all.mutex);
  const auto it = all.subscribers.find(thread);
  return it == all.subscribers.end() ? nullptr : it->second;
}

struct HostFunction {
  aclrtHostFunc function;
  void* argument;
  bool handed_over;  // to the context's thread
};

struct Callback {
  aclrtCallback function;
  void* argument;
  uint64_t thread;
  bool block;
  bool handed_over;
};

uint64_t front_position(const Stream& stream) noexcept {
  return stream.done.load(std::memory_order_relaxed) + 1;
}

int32_t result_of_call(const Stream& stream) noexcept {
  return stream.host_done.load(std::memory_order_acquire) >= front_position(stream) ? kDone
                                                                                    : kAgain;
}

// The function may block for as long as it likes: whoever only helps must not run it.
int32_t step_host_function(Stream& stream, Task& task, Runner runner) noexcept {
  auto& a = task.arguments<HostFunction>();
  if (runner == Runner::kDiscard) return kDone;
  if (a.handed_over) return result_of_call(stream);
  if (runner == Runner::kOwner) {
    run_host_function(a.function, a.argument);
    return kDone;
  }
  const aclError error = guarded("aclrtLaunchHostFunc", [&] {
    push(*context_queue(stream.context), {a.function, a.argument, &stream, front_position(stream)});
    a.handed_over = true;
    return ACL_SUCCESS;
  });
  return error == ACL_SUCCESS ? kAgain : error;
}

int32_t step_callback(Stream& stream, Task& task, Runner runner) noexcept {
  auto& a = task.arguments<Callback>();
  if (runner == Runner::kDiscard) return kDone;
  if (a.handed_over) return result_of_call(stream);
  return guarded("aclrtLaunchCallback", [&]() -> int32_t {
    const SharedQueue queue = subscriber(a.thread);
    if (queue == nullptr) {
      return fail(ACL_ERROR_RT_STREAM_NO_CB_REG,
                  "aclrtLaunchCallback: the thread of stream %d was unsubscribed before the "
                  "callback ran; synchronise first",
                  stream.id);
    }
    a.handed_over = true;
    push(*queue, {a.function, a.argument, a.block ? &stream : nullptr, front_position(stream)});
    return a.block ? kAgain : kDone;
  });
}

aclError subscribe(uint64_t thread, Stream& stream, const char* where) {
  if (stream.had_host_function) {
    return fail(ACL_ERROR_RT_STREAM_SUBSCRIBE,
                "%s: stream %d runs host functions; use another stream for callbacks", where,
                stream.id);
  }
  Threads& all = threads();
  const std::lock_guard lock(all.mutex);
  if (stream.subscriber != 0) {
    return fail(ACL_ERROR_RT_STREAM_SUBSCRIBE,
                "%s: stream %d has a subscribed thread; call aclrtUnSubscribeReport first", where,
                stream.id);
  }
  if (!all.subscribers.contains(thread) && all.subscribers.size() >= kMaxSubscribers) {
    return fail(ACL_ERROR_RT_THREAD_SUBSCRIBE,
                "%s: %zu threads are subscribed, no more are allowed", where, kMaxSubscribers);
  }
  SharedQueue& queue = all.subscribers[thread];
  if (queue == nullptr) queue = std::make_shared<CallQueue>();
  ++queue->streams;
  stream.subscriber = thread;
  return ACL_SUCCESS;
}

// The caller holds the lock.
void unbind(Threads& all, std::map<uint64_t, SharedQueue>::iterator it, Stream& stream) {
  stream.subscriber = 0;
  if (--it->second->streams == 0) all.subscribers.erase(it);
}

aclError unsubscribe(uint64_t thread, Stream& stream, const char* where) {
  Threads& all = threads();
  const std::lock_guard lock(all.mutex);
  const auto it = all.subscribers.find(thread);
  if (it == all.subscribers.end() || stream.subscriber != thread) {
    return fail(
        it == all.subscribers.end() ? ACL_ERROR_RT_THREAD_SUBSCRIBE : ACL_ERROR_RT_STREAM_SUBSCRIBE,
        "%s: thread %llu is not subscribed to stream %d", where,
        static_cast<unsigned long long>(thread), stream.id);
  }
  unbind(all, it, stream);
  return ACL_SUCCESS;
}

aclError process(int32_t timeout, const char* where) {
  const SharedQueue queue = subscriber(static_cast<uint64_t>(pthread_self()));
  if (queue == nullptr) {
    return fail(ACL_ERROR_RT_THREAD_SUBSCRIBE,
                "%s: this thread is not subscribed; call aclrtSubscribeReport with its id", where);
  }
  std::deque<Call> batch;
  {
    std::unique_lock lock(queue->mutex);
    const auto filled = [&] { return !queue->calls.empty(); };
    if (timeout < 0) {
      queue->changed.wait(lock, filled);
    } else {
      queue->changed.wait_until(
          lock, std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout), filled);
    }
    batch.swap(queue->calls);
  }
  if (batch.empty()) {
    return fail(ACL_ERROR_RT_REPORT_TIMEOUT, "%s: no callback came within %d ms", where, timeout);
  }
  for (const Call& call : batch) {
    call.function(call.argument);
    report_return(call);
  }
  return ACL_SUCCESS;
}

}  // namespace

void forget_subscriber(Stream& stream) noexcept {
  if (stream.subscriber == 0) return;
  Threads& all = threads();
  const std::lock_guard lock(all.mutex);
  const auto it = all.subscribers.find(stream.subscriber);
  if (it != all.subscribers.end()) unbind(all, it, stream);
}

void retire_host_thread(Context& context) noexcept {
  Threads& all = threads();
  SharedQueue queue;
  {
    const std::lock_guard lock(all.mutex);
    const auto it = all.of_contexts.find(&context);
    if (it == all.of_contexts.end()) return;
    queue = std::move(it->second);
    all.of_contexts.erase(it);
  }
  {
    const std::lock_guard lock(queue->mutex);
    queue->ended = true;
  }
  queue->changed.notify_one();
}

}  // namespace weft::acl

using namespace weft::acl;

aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void* args) {
  constexpr const char* kWhere = "aclrtLaunchHostFunc";
  if (fn == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "%s: fn is NULL", kWhere);
  Stream* target = nullptr;
  if (const aclError error = find_own_stream(stream, kWhere, &target)) return error;
  if (target->subscriber != 0) {
    return fail(ACL_ERROR_RT_STREAM_SUBSCRIBE,
                "%s: stream %d has a subscribed thread; use aclrtLaunchCallback or another stream",
                kWhere, target->id);
  }
  target->had_host_function = true;
  return enqueue(*target, kWhere, step_host_function, HostFunction{fn, args, false});
}

aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream) {
  constexpr const char* kWhere = "aclrtSubscribeReport";
  Stream* target = nullptr;
  if (threadId == 0) return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: threadId is 0", kWhere);
  if (const aclError error = find_stream(stream, kWhere, &target)) return error;
  return guarded(kWhere, [&] { return subscribe(threadId, *target, kWhere); });
}

aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream) {
  constexpr const char* kWhere = "aclrtUnSubscribeReport";
  Stream* target = nullptr;
  if (const aclError error = find_stream(stream, kWhere, &target)) return error;
  return guarded(kWhere, [&] { return unsubscribe(threadId, *target, kWhere); });
}

aclError aclrtLaunchCallback(aclrtCallback fn, void* userData, aclrtCallbackBlockType blockType,
                             aclrtStream stream) {
  constexpr const char* kWhere = "aclrtLaunchCallback";
  if (fn == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "%s: fn is NULL", kWhere);
  if (blockType != ACL_CALLBACK_NO_BLOCK && blockType != ACL_CALLBACK_BLOCK) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: blockType %d does not exist", kWhere, blockType);
  }
  Stream* target = nullptr;
  if (const aclError error = find_own_stream(stream, kWhere, &target)) return error;
  const uint64_t thread = target->subscriber;
  if (thread == 0) {
    return fail(ACL_ERROR_RT_STREAM_NO_CB_REG,
                "%s: stream %d has no subscribed thread; call aclrtSubscribeReport first", kWhere,
                target->id);
  }
  return enqueue(*target, kWhere, step_callback,
                 Callback{fn, userData, thread, blockType == ACL_CALLBACK_BLOCK, false});
}

aclError aclrtProcessReport(int32_t timeout) {
  constexpr const char* kWhere = "aclrtProcessReport";
  if (timeout != -1 && timeout <= 0) {
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "%s: timeout %d is neither -1 (no limit) nor a positive number of milliseconds",
                kWhere, timeout);
  }
  return guarded(kWhere, [&] { return process(timeout, kWhere); });
}
