// SPDX-License-Identifier: Apache-2.0
// User functions in stream order: host functions, and callbacks on a subscribed thread.
#include "callback.hpp"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "context.hpp"
#include "stream.hpp"

namespace weft::acl {
namespace {

constexpr size_t kMaxSubscribers = 1024;

/// A user function, and what its stream is told when it has returned.
struct Call {
  void (*function)(void*);
  void* argument;
  Stream* stream;
  uint64_t position;  // of its task
  bool awaited;       // the task waits for the function
};

// The flag lets functions that would deadlock the thread refuse.
void run_host_function(void (*function)(void*), void* argument) noexcept {
  const bool nested = std::exchange(t_thread.in_host_function, true);
  function(argument);
  t_thread.in_host_function = nested;
}

// The slot may belong to another stream by now: positions only grow.
void raise(std::atomic<uint64_t>& newest, uint64_t position) noexcept {
  uint64_t known = newest.load();
  while (known < position && !newest.compare_exchange_weak(known, position)) {
  }
}

void report_return(const Call& call) noexcept {
  if (!call.awaited) return;
  raise(call.stream->host_done, call.position);
  call.stream->host_done.notify_all();
}

void run(const Call& call) noexcept {
  if (call.awaited) {
    run_host_function(call.function, call.argument);
  } else {
    call.function(call.argument);
  }
  report_return(call);
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

// False if the queue has ended: the call will never run.
bool push(CallQueue& queue, const Call& call) {
  {
    const std::lock_guard lock(queue.mutex);
    if (queue.ended) return false;
    queue.calls.push_back(call);
  }
  queue.changed.notify_one();
  return true;
}

// Runs the oldest call. The caller holds the lock, which is released meanwhile.
void run_oldest(CallQueue& queue, std::unique_lock<std::mutex>& lock) {
  const Call call = queue.calls.front();
  queue.calls.pop_front();
  lock.unlock();
  run(call);
  lock.lock();
}

void serve_context(Context* context, const SharedQueue& queue) {
  bind_context(*context);
  std::unique_lock lock(queue->mutex);
  for (;;) {
    queue->changed.wait(lock, [&] { return queue->ended || !queue->calls.empty(); });
    if (queue->calls.empty()) return;
    run_oldest(*queue, lock);
  }
}

// The queue of the context's own thread, which is started with the first call; nullptr after
// reporting.
SharedQueue context_queue(Context* context, const char* where) {
  Threads& all = threads();
  const std::lock_guard lock(all.mutex);
  const auto known = all.of_contexts.find(context);
  if (known != all.of_contexts.end()) return known->second;
  const auto made = std::make_shared<CallQueue>();
  const auto place = all.of_contexts.emplace(context, made).first;
  try {
    std::thread(serve_context, context, made).detach();
  } catch (const std::system_error& error) {
    all.of_contexts.erase(place);
    fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: no thread for the host functions of a context: %s",
         where, explain_no_thread(error.code().value()).c_str());
    return nullptr;
  }
  return made;
}

template <class Key>
SharedQueue find_queue(const std::map<Key, SharedQueue>& queues, const Key& key) {
  const std::lock_guard lock(threads().mutex);
  const auto it = queues.find(key);
  return it == queues.end() ? nullptr : it->second;
}

SharedQueue subscriber(uint64_t thread) { return find_queue(threads().subscribers, thread); }

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

bool call_returned(const Stream& stream) noexcept {
  return stream.host_done.load(std::memory_order_acquire) >= front_position(stream);
}

// Takes the front task's call back from its queue; if it already runs, blocks until it has
// returned.
int32_t withdraw(const Stream& stream, const SharedQueue& queue) noexcept {
  const uint64_t position = front_position(stream);
  if (queue != nullptr) {
    const std::lock_guard lock(queue->mutex);
    const auto mine = [&](const Call& call) {
      return call.stream == &stream && call.position == position;
    };
    if (std::erase_if(queue->calls, mine) != 0) return kDone;
  }
  for (uint64_t newest = 0; (newest = stream.host_done.load()) < position;) {
    stream.host_done.wait(newest);
  }
  return kDone;
}

// The function may block for as long as it likes: whoever only helps must not run it.
int32_t step_host_function(Stream& stream, Task& task, Runner runner) noexcept {
  auto& a = task.arguments<HostFunction>();
  if (runner == Runner::kDiscard) {
    if (!a.handed_over) return kDone;
    const Context* context = stream.context;
    return withdraw(stream, find_queue(threads().of_contexts, context));
  }
  if (a.handed_over) return call_returned(stream) ? kDone : kAgain;
  if (runner == Runner::kOwner) {
    run_host_function(a.function, a.argument);
    return kDone;
  }
  constexpr const char* kWhere = "aclrtLaunchHostFunc";
  const aclError error = guarded(kWhere, [&]() -> aclError {
    const SharedQueue queue = context_queue(stream.context, kWhere);
    if (queue == nullptr) return ACL_ERROR_RT_RESOURCE_ALLOC_FAIL;
    a.handed_over = push(*queue, {a.function, a.argument, &stream, front_position(stream), true});
    return ACL_SUCCESS;
  });
  return error == ACL_SUCCESS ? kAgain : error;
}

aclError unsubscribed_too_early(const Stream& stream) noexcept {
  return fail(ACL_ERROR_RT_STREAM_NO_CB_REG,
              "aclrtLaunchCallback: the thread of stream %d was unsubscribed before the callback "
              "ran; synchronise first",
              stream.id);
}

int32_t step_callback(Stream& stream, Task& task, Runner runner) noexcept {
  auto& a = task.arguments<Callback>();
  if (runner == Runner::kDiscard) {
    return a.handed_over ? withdraw(stream, subscriber(a.thread)) : kDone;
  }
  if (a.handed_over) {
    if (!call_returned(stream)) return kAgain;
    return stream.host_dropped == front_position(stream) ? unsubscribed_too_early(stream) : kDone;
  }
  return guarded("aclrtLaunchCallback", [&]() -> int32_t {
    const SharedQueue queue = subscriber(a.thread);
    a.handed_over = queue != nullptr && push(*queue, {a.function, a.argument, &stream,
                                                      front_position(stream), a.block});
    if (!a.handed_over) return unsubscribed_too_early(stream);
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

// Ends a subscriber's queue: its thread stops waiting, and streams no longer wait for its calls.
void end_subscriber(CallQueue& queue) {
  std::deque<Call> dropped;
  {
    const std::lock_guard lock(queue.mutex);
    queue.ended = true;
    dropped.swap(queue.calls);
  }
  queue.changed.notify_all();
  for (const Call& call : dropped) {
    if (call.awaited) raise(call.stream->host_dropped, call.position);
    report_return(call);
  }
}

// The caller holds the lock.
void unbind(Threads& all, std::map<uint64_t, SharedQueue>::iterator it, Stream& stream) {
  stream.subscriber = 0;
  if (--it->second->streams != 0) return;
  end_subscriber(*it->second);
  all.subscribers.erase(it);
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

aclError not_subscribed(const char* where) noexcept {
  return fail(ACL_ERROR_RT_THREAD_SUBSCRIBE,
              "%s: this thread is not subscribed, or no longer; call aclrtSubscribeReport with its "
              "id",
              where);
}

// Runs what is queued, but nothing that comes meanwhile.
aclError process(int32_t timeout, const char* where) {
  const SharedQueue queue = subscriber(static_cast<uint64_t>(pthread_self()));
  if (queue == nullptr) return not_subscribed(where);
  std::unique_lock lock(queue->mutex);
  const auto ready = [&] { return queue->ended || !queue->calls.empty(); };
  if (timeout < 0) {
    queue->changed.wait(lock, ready);
  } else {
    queue->changed.wait_until(
        lock, std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout), ready);
  }
  if (queue->calls.empty()) {
    if (queue->ended) return not_subscribed(where);
    return fail(ACL_ERROR_RT_REPORT_TIMEOUT, "%s: no callback came within %d ms", where, timeout);
  }
  for (size_t left = queue->calls.size(); left > 0 && !queue->calls.empty(); --left) {
    run_oldest(*queue, lock);
  }
  return ACL_SUCCESS;
}

}  // namespace

void forget_subscriber(Stream& stream, bool discard) noexcept {
  if (stream.subscriber == 0) return;
  Threads& all = threads();
  const std::lock_guard lock(all.mutex);
  const auto it = all.subscribers.find(stream.subscriber);
  if (it == all.subscribers.end()) return;
  if (discard) {
    const std::lock_guard calls_lock(it->second->mutex);
    std::erase_if(it->second->calls, [&](const Call& call) { return call.stream == &stream; });
  }
  unbind(all, it, stream);
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
  if (const aclError error = check_timeout(timeout, kWhere)) return error;
  return guarded(kWhere, [&] { return process(timeout, kWhere); });
}
