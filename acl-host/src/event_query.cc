// SPDX-License-Identifier: Apache-2.0
// Questions of the host to events: status, waiting, time.
#include "context.hpp"
#include "event.hpp"

namespace weft::acl {
namespace {

/// An event as it is at one moment.
struct State {
  EventForm form = EventForm::kLegacy;
  uint32_t flags = 0;
  bool recorded = false;
  bool complete = false;  // its newest record is reached; false if there is none
  Record record{};
  int64_t time_ns = 0;
  uint32_t waits = 0;
};

aclError look(aclrtEvent handle, const char* where, State* state) noexcept {
  aclError error = ACL_SUCCESS;
  Event* event = find_event(handle, where, &error);
  if (event == nullptr) return error;
  const std::lock_guard lock(event->mutex);
  const Record record{event->stream, event->position};
  *state = {event->form, event->flags,   event->recorded, event->recorded && record.passed(),
            record,      event->time_ns, event->waits};
  return ACL_SUCCESS;
}

aclError refuse_ex(const State& state, const char* where) noexcept {
  if (state.form != EventForm::kEx) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
              "%s: not for events of aclrtCreateEventExWithFlag; use aclrtQueryEventStatus", where);
}

aclError refuse_shared(const State& state, const char* where) noexcept {
  if ((state.flags & ACL_EVENT_IPC) == 0) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
              "%s: not for events with ACL_EVENT_IPC, which take no time and have no id", where);
}

aclError synchronise(aclrtEvent handle, Deadline deadline, const char* where) noexcept {
  if (const SharedUse shared{g_events.find(handle)}) {
    return synchronise_shared(*shared, deadline, where);
  }
  State state;
  if (const aclError error = look(handle, where, &state)) return error;
  if ((state.flags & ACL_EVENT_EXTERNAL) != 0) {
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                "%s: the host cannot wait for an ACL_EVENT_EXTERNAL event", where);
  }
  if (!state.recorded || state.complete) return ACL_SUCCESS;
  if (const aclError error = refuse_in_host_function(where)) return error;
  if (reach(*state.record.stream, state.record.position, deadline)) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT,
              "%s: stream %d has not reached the event in time; it keeps running", where,
              state.record.stream->id);
}

// Time of a completed record of a timed event.
aclError time_of(aclrtEvent handle, const char* where, const char* name, int64_t* time) noexcept {
  State state;
  if (const aclError error = look(handle, where, &state)) return error;
  if (const aclError error = refuse_shared(state, where)) return error;
  if (!state.recorded) {
    return fail(ACL_ERROR_RT_INTERNAL_ERROR,
                "%s: the %s event was never recorded; call aclrtRecordEvent first", where, name);
  }
  if ((state.flags & ACL_EVENT_TIME_LINE) == 0) {
    return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID,
                "%s: the %s event takes no time; create it with ACL_EVENT_TIME_LINE", where, name);
  }
  if (!state.complete || state.time_ns == 0) {
    return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID,
                "%s: the %s event is not complete; call aclrtSynchronizeEvent first", where, name);
  }
  *time = state.time_ns;
  return ACL_SUCCESS;
}

}  // namespace
}  // namespace weft::acl

using namespace weft::acl;

aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status) {
  constexpr const char* kWhere = "aclrtQueryEvent";
  if (status == nullptr) return null_output(kWhere, "status");
  State state;
  if (const aclError error = look(event, kWhere, &state)) return error;
  if (const aclError error = refuse_ex(state, kWhere)) return error;
  *status = state.complete ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
  return ACL_SUCCESS;
}

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
  constexpr const char* kWhere = "aclrtQueryEventStatus";
  if (status == nullptr) return null_output(kWhere, "status");
  State state;
  if (const aclError error = look(event, kWhere, &state)) return error;
  bool complete = state.recorded ? state.complete : state.form == EventForm::kEx;
  if (const SharedUse shared{g_events.find(event)}) {
    if (const aclError error = query_shared(*shared, kWhere, &complete)) return error;
  }
  *status = complete ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
  return ACL_SUCCESS;
}

aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus* status) {
  constexpr const char* kWhere = "aclrtQueryEventWaitStatus";
  if (status == nullptr) return null_output(kWhere, "status");
  State state;
  if (const aclError error = look(event, kWhere, &state)) return error;
  if (const aclError error = refuse_ex(state, kWhere)) return error;
  *status = state.waits == 0 ? ACL_EVENT_WAIT_STATUS_COMPLETE : ACL_EVENT_WAIT_STATUS_NOT_READY;
  return ACL_SUCCESS;
}

aclError aclrtSynchronizeEvent(aclrtEvent event) {
  return synchronise(event, Deadline{}, "aclrtSynchronizeEvent");
}

aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout) {
  constexpr const char* kWhere = "aclrtSynchronizeEventWithTimeout";
  if (const aclError error = check_timeout(timeout, kWhere)) return error;
  return synchronise(event, Deadline::after_ms(timeout), kWhere);
}

aclError aclrtEventElapsedTime(float* ms, aclrtEvent startEvent, aclrtEvent endEvent) {
  constexpr const char* kWhere = "aclrtEventElapsedTime";
  if (ms == nullptr) return null_output(kWhere, "ms");
  int64_t start = 0;
  int64_t end = 0;
  if (const aclError error = time_of(startEvent, kWhere, "start", &start)) return error;
  if (const aclError error = time_of(endEvent, kWhere, "end", &end)) return error;
  if (end < start) {
    return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL,
                "%s: the end event came before the start event; exchange them", kWhere);
  }
  *ms = static_cast<float>(static_cast<double>(end - start) / 1e6);
  return ACL_SUCCESS;
}

aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t* timestamp) {
  constexpr const char* kWhere = "aclrtEventGetTimestamp";
  if (timestamp == nullptr) return null_output(kWhere, "timestamp");
  int64_t time = 0;
  if (const aclError error = time_of(event, kWhere, "given", &time)) return error;
  *timestamp = static_cast<uint64_t>(time / 1000);
  return ACL_SUCCESS;
}

aclError aclrtGetEventId(aclrtEvent event, uint32_t* eventId) {
  constexpr const char* kWhere = "aclrtGetEventId";
  if (eventId == nullptr) return null_output(kWhere, "eventId");
  State state;
  if (const aclError error = look(event, kWhere, &state)) return error;
  if (const aclError error = refuse_shared(state, kWhere)) return error;
  *eventId = static_cast<uint32_t>(g_events.index(static_cast<Event*>(event)));
  return ACL_SUCCESS;
}

aclError aclrtGetEventAvailNum(uint32_t* eventCount) {
  constexpr const char* kWhere = "aclrtGetEventAvailNum";
  if (eventCount == nullptr) return null_output(kWhere, "eventCount");
  const Context* context = need_context(kWhere);
  if (context == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
  const size_t used = device_at(context->device).events.load();
  *eventCount = static_cast<uint32_t>(used < kEventsPerDevice ? kEventsPerDevice - used : 0);
  return ACL_SUCCESS;
}
