// SPDX-License-Identifier: Apache-2.0
// Creation, recording and waiting of events.
#include "event.hpp"

#include <atomic>
#include <utility>

#include "context.hpp"
#include "soc.hpp"

namespace weft::acl {

constinit Pool<Event, (1U << 20)> g_events;

namespace {

constexpr uint32_t kKnownFlags = ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS |
                                 ACL_EVENT_TIME_LINE | ACL_EVENT_DEVICE_USE_ONLY |
                                 ACL_EVENT_EXTERNAL | ACL_EVENT_IPC;
constexpr uint32_t kLegacyFlags =
    ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS | ACL_EVENT_TIME_LINE;

std::atomic<uint32_t> g_wait_timeout_s{0};

struct TimeStamp {
  Event* event;
  uint64_t record;
};

struct Wait {
  Record record;
  Event* event;
  uint64_t life;
  int64_t timeout_ns;  // 0: none
  int64_t deadline;    // set when the stream reaches the task
};

struct Clear {
  Event* event;
  uint64_t record;
};

int32_t step_time_stamp(Stream&, Task& task, Runner runner) noexcept {
  if (runner == Runner::kDiscard) return kDone;
  const auto& a = task.arguments<TimeStamp>();
  const std::lock_guard lock(a.event->mutex);
  if (a.event->record == a.record) a.event->time_ns = now_ns();
  return kDone;
}

int32_t step_clear(Stream&, Task& task, Runner runner) noexcept {
  if (runner == Runner::kDiscard) return kDone;
  const auto& a = task.arguments<Clear>();
  const std::lock_guard lock(a.event->mutex);
  if (a.event->record == a.record) a.event->recorded = false;
  return kDone;
}

void end_wait(const Wait& wait) noexcept {
  const std::lock_guard lock(wait.event->mutex);
  if (wait.event->life == wait.life) --wait.event->waits;
}

int32_t step_wait(Stream& stream, Task& task, Runner runner) noexcept {
  auto& a = task.arguments<Wait>();
  if (runner != Runner::kDiscard && !a.record.reached()) {
    if (a.timeout_ns == 0) return kAgain;
    const int64_t now = now_ns();
    if (a.deadline == 0) a.deadline = now + a.timeout_ns;
    if (now < a.deadline) return kAgain;
    end_wait(a);
    return fail(ACL_ERROR_RT_TASK_TIMEOUT,
                "aclrtStreamWaitEvent: stream %d of device %d has waited %lld s for a record on "
                "stream %d; look at what that stream waits for, or raise the timeout",
                stream.id, stream.device.load(),
                static_cast<long long>(a.timeout_ns / 1'000'000'000), a.record.stream->id);
  }
  end_wait(a);
  return kDone;
}

aclError create(aclrtEvent* output, uint32_t flags, EventForm form, const char* where) noexcept {
  if (output == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "%s: event is NULL", where);
  constexpr uint32_t kAlone = ACL_EVENT_DEVICE_USE_ONLY | ACL_EVENT_EXTERNAL | ACL_EVENT_IPC;
  const bool alone = (flags & kAlone) == 0 || (flags & (flags - 1)) == 0;
  if ((flags & ~kKnownFlags) != 0 || !alone) {
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "%s: flag 0x%x has unknown bits, or DEVICE_USE_ONLY, EXTERNAL or IPC beside others",
                where, flags);
  }
  const bool shared = flags == ACL_EVENT_IPC;
  if (shared && (form != EventForm::kEx || soc_is("Ascend950DT"))) {
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s: %s", where,
                form != EventForm::kEx
                    ? "create events with ACL_EVENT_IPC by aclrtCreateEventExWithFlag"
                    : "Ascend950DT does not share events between processes");
  }
  const Context* context = need_context(where);
  if (context == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
  SharedEvent* page = nullptr;
  if (shared) {
    const aclError error = guarded(where, [&] { return create_shared(where, &page); });
    if (error != ACL_SUCCESS) return error;
  }
  return make_event(*context, flags, form, page, where, output);
}

aclError record(aclrtEvent handle, aclrtStream stream_handle, const char* where) noexcept {
  aclError event_error = ACL_SUCCESS;
  Event* event = find_event(handle, where, &event_error);
  if (event == nullptr) return event_error;
  Stream* stream = nullptr;
  if (const aclError error = find_own_stream(stream_handle, where, &stream)) return error;
  if (const SharedUse shared{event}) return record_shared(*shared, *stream, where);
  uint64_t position = 0;
  uint64_t number = 0;
  bool timed = false;
  {
    const std::lock_guard lock(event->mutex);
    number = ++event->record;
    timed = (event->flags & ACL_EVENT_TIME_LINE) != 0;
    event->time_ns = 0;
    if (!timed) {
      event->stream = stream;
      event->position = stream->tail.load(std::memory_order_acquire);
      event->recorded = true;
    }
  }
  if (!timed) return ACL_SUCCESS;
  const TimeStamp stamp{event, number};
  if (const aclError error = enqueue(*stream, where, step_time_stamp, stamp, &position)) {
    return error;
  }
  const std::lock_guard lock(event->mutex);
  if (event->record == number) {
    event->stream = stream;
    event->position = position;
    event->recorded = true;
  }
  return ACL_SUCCESS;
}

aclError check_flag(uint32_t flag, uint32_t external, const char* where) noexcept {
  if (flag == 0) return ACL_SUCCESS;
  if (flag == external) {
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                "%s: external records and waits belong to capture, which a plain host lacks",
                where);
  }
  return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: flag 0x%x does not exist; use 0", where, flag);
}

aclError no_sync(const char* where) noexcept {
  return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
              "%s: the event was created without ACL_EVENT_SYNC; create it with that flag", where);
}

aclError stream_wait(aclrtStream stream_handle, aclrtEvent handle, uint32_t timeout_s,
                     const char* where) noexcept {
  aclError event_error = ACL_SUCCESS;
  Event* event = find_event(handle, where, &event_error);
  if (event == nullptr) return event_error;
  Stream* stream = nullptr;
  if (const aclError error = find_own_stream(stream_handle, where, &stream)) return error;
  if (const SharedUse shared{event}) return wait_shared(*shared, *stream, timeout_s, where);
  Wait wait{};
  {
    const std::lock_guard lock(event->mutex);
    if ((event->flags & ACL_EVENT_SYNC) == 0) return no_sync(where);
    if (!event->recorded) {
      if (event->form != EventForm::kLegacy) return ACL_SUCCESS;
      return fail(ACL_ERROR_RT_PARAM_INVALID,
                  "%s: the event was never recorded; call aclrtRecordEvent first", where);
    }
    wait.record = {event->stream, event->position};
    if (event->stream == stream || wait.record.reached()) return ACL_SUCCESS;
    wait.event = event;
    wait.life = event->life;
    wait.timeout_ns = timeout_s * INT64_C(1000000000);
    ++event->waits;
  }
  const aclError error = enqueue(*stream, where, step_wait, wait);
  if (error != ACL_SUCCESS) end_wait(wait);
  return error;
}

}  // namespace

Event* find_event(aclrtEvent handle, const char* where, aclError* error) noexcept {
  if (handle == nullptr) {
    *error = fail(ACL_ERROR_INVALID_PARAM, "%s: event is NULL", where);
    return nullptr;
  }
  Event* event = g_events.find(handle);
  if (event == nullptr) {
    *error =
        fail(ACL_ERROR_RT_INVALID_HANDLE, "%s: %p is no event, or it was destroyed", where, handle);
  }
  return event;
}

aclError make_event(const Context& context, uint32_t flags, EventForm form, SharedEvent* shared,
                    const char* where, aclrtEvent* output) noexcept {
  Device& device = device_at(context.device);
  const bool counted = form != EventForm::kEx;
  Event* event = nullptr;
  if (!counted || device.events.fetch_add(1) < kEventsPerDevice) event = g_events.acquire();
  if (event == nullptr) {
    if (counted) device.events.fetch_sub(1);
    if (shared != nullptr) drop_shared(*shared);
    return fail(ACL_ERROR_RT_NO_EVENT_RESOURCE,
                "%s: all %zu events of device %d are in use; destroy some", where, kEventsPerDevice,
                context.device);
  }
  const std::lock_guard lock(event->mutex);
  event->form = form;
  event->flags = flags;
  event->device = context.device;
  ++event->life;
  ++event->record;
  event->recorded = false;
  event->time_ns = 0;
  event->waits = 0;
  event->shared = shared;
  event->life_state.store(Life::kLive, std::memory_order_release);
  *output = event;
  return ACL_SUCCESS;
}

}  // namespace weft::acl

using namespace weft::acl;

aclError aclrtCreateEvent(aclrtEvent* event) {
  return create(event, kLegacyFlags, EventForm::kLegacy, "aclrtCreateEvent");
}

aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag) {
  return create(event, flag, EventForm::kWithFlag, "aclrtCreateEventWithFlag");
}

aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag) {
  return create(event, flag, EventForm::kEx, "aclrtCreateEventExWithFlag");
}

aclError aclrtDestroyEvent(aclrtEvent event) {
  aclError event_error = ACL_SUCCESS;
  Event* found = find_event(event, "aclrtDestroyEvent", &event_error);
  if (found == nullptr) return event_error;
  if (const SharedUse shared{found}) {
    if (const aclError error = refuse_after_fork("aclrtDestroyEvent")) return error;
  }
  if (!g_events.claim(found)) {
    return fail(ACL_ERROR_RT_INVALID_HANDLE,
                "aclrtDestroyEvent: another thread destroys %p; destroy each event once", event);
  }
  SharedEvent* shared = nullptr;
  {
    const std::lock_guard lock(found->mutex);
    shared = std::exchange(found->shared, nullptr);
    if (found->form != EventForm::kEx) device_at(found->device).events.fetch_sub(1);
    ++found->life;  // waits that are still queued no longer count
    ++found->record;
  }
  if (shared != nullptr) drop_shared(*shared);
  g_events.release(found);
  return ACL_SUCCESS;
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
  return record(event, stream, "aclrtRecordEvent");
}

aclError aclrtRecordEventWithFlag(aclrtEvent event, aclrtStream stream, uint32_t flag) {
  constexpr const char* kWhere = "aclrtRecordEventWithFlag";
  if (const aclError error = check_flag(flag, ACL_EVENT_RECORD_EXTERNAL, kWhere)) return error;
  return record(event, stream, kWhere);
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
  return stream_wait(stream, event, g_wait_timeout_s.load(), "aclrtStreamWaitEvent");
}

aclError aclrtStreamWaitEventWithTimeout(aclrtStream stream, aclrtEvent event, int32_t timeout) {
  constexpr const char* kWhere = "aclrtStreamWaitEventWithTimeout";
  if (timeout < 0) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: timeout %d is negative; 0 is no limit", kWhere,
                timeout);
  }
  return stream_wait(stream, event, static_cast<uint32_t>(timeout), kWhere);
}

aclError aclrtStreamWaitEventWithFlag(aclrtStream stream, aclrtEvent event, uint32_t timeout,
                                      uint32_t flag) {
  constexpr const char* kWhere = "aclrtStreamWaitEventWithFlag";
  if (const aclError error = check_flag(flag, ACL_EVENT_WAIT_EXTERNAL, kWhere)) return error;
  return stream_wait(stream, event, timeout, kWhere);
}

aclError aclrtSetOpWaitTimeout(uint32_t timeout) {
  g_wait_timeout_s.store(timeout);
  return ACL_SUCCESS;
}

aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
  constexpr const char* kWhere = "aclrtResetEvent";
  aclError event_error = ACL_SUCCESS;
  Event* found = find_event(event, kWhere, &event_error);
  if (found == nullptr) return event_error;
  Stream* target = nullptr;
  if (const aclError error = find_own_stream(stream, kWhere, &target)) return error;
  Clear clear{found, 0};
  {
    const std::lock_guard lock(found->mutex);
    if (found->form != EventForm::kWithFlag) {
      return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                  "%s: only events of aclrtCreateEventWithFlag can be reset", kWhere);
    }
    if ((found->flags & ACL_EVENT_SYNC) == 0) return no_sync(kWhere);
    clear.record = found->record;
  }
  return enqueue(*target, kWhere, step_clear, clear);
}
