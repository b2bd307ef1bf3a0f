// SPDX-License-Identifier: Apache-2.0
// The stream functions of the ACL interface.
#include <algorithm>

#include "context.hpp"
#include "stream.hpp"

namespace weft::acl {
namespace {

constexpr uint32_t kKnownFlags = ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC |
                                 ACL_STREAM_PERSISTENT | ACL_STREAM_HUGE | ACL_STREAM_CPU_SCHEDULE |
                                 ACL_STREAM_DEVICE_USE_ONLY;
// The host does not follow the tasks of these: waiting for them and asking return at once.
constexpr uint32_t kUnfollowed =
    ACL_STREAM_PERSISTENT | ACL_STREAM_CPU_SCHEDULE | ACL_STREAM_DEVICE_USE_ONLY;

aclError synchronise(Stream& stream, Deadline deadline, const char* where) noexcept {
  if ((stream.flags & kUnfollowed) != 0) return ACL_SUCCESS;
  if (const aclError error = refuse_in_host_function(where)) return error;
  if (!reach(stream, stream.tail.load(std::memory_order_acquire), deadline)) {
    return fail(
        ACL_ERROR_RT_STREAM_SYNC_TIMEOUT,
        "%s: the tasks of stream %d of device %d are not finished in time; the stream keeps "
        "running",
        where, stream.id, stream.device.load());
  }
  // From here on the stream can be used again.
  stream.aborted.store(false, std::memory_order_release);
  return take_fault(stream);
}

// Waits for all streams of a device; the first fault is returned, every stream's fault is taken.
aclError synchronise_device(Deadline deadline, const char* where) noexcept {
  const Context* context = need_context(where);
  if (context == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
  const int32_t device = context->device;
  aclError first = ACL_SUCCESS;
  g_streams.for_each([&](Stream& stream) {
    if (stream.device != device) return;
    const aclError error = synchronise(stream, deadline, where);
    if (first == ACL_SUCCESS) first = error;
  });
  return first;
}

aclError create(aclrtStream* stream, uint32_t priority, uint32_t flags,
                const char* where) noexcept {
  if (stream == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: stream is NULL; pass where to store the handle",
                where);
  }
  Context* context = need_context(where);
  if (context == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
  aclError error = ACL_SUCCESS;
  Stream* created = create_stream(*context, priority, flags & kKnownFlags, false, where, &error);
  if (created != nullptr) *stream = created;
  return error;
}

aclError destroy(aclrtStream handle, bool discard, const char* where) noexcept {
  if (handle == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM,
                "%s: stream is NULL; the default stream cannot be destroyed", where);
  }
  Stream* stream = nullptr;
  if (const aclError error = find_own_stream(handle, where, &stream)) return error;
  if (stream->is_default) {
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "%s: stream %d is the default stream of its context and ends with it", where,
                stream->id);
  }
  if (const aclError error = refuse_in_host_function(where)) return error;
  if (!g_streams.claim(stream)) {
    return fail(ACL_ERROR_RT_INVALID_HANDLE,
                "%s: another thread destroys stream %d; destroy each stream once", where,
                stream->id);
  }
  destroy_stream(*stream, discard);
  return ACL_SUCCESS;
}

aclError set_failure_mode(Stream& stream, uint64_t mode, const char* where) noexcept {
  if (mode > ACL_STOP_ON_FAILURE) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: failure mode %llu does not exist; use 0 or 1",
                where, static_cast<unsigned long long>(mode));
  }
  if (stream.failure_mode_set.exchange(true)) {
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "%s: the failure mode of stream %d has been set before; it can be set once", where,
                stream.id);
  }
  if (mode == ACL_STOP_ON_FAILURE) stream.context.load()->stop_on_failure = true;
  return ACL_SUCCESS;
}

aclError set_attribute(Stream& stream, aclrtStreamAttr attribute, const aclrtStreamAttrValue& value,
                       const char* where) noexcept {
  switch (attribute) {
    case ACL_STREAM_ATTR_FAILURE_MODE:
      return set_failure_mode(stream, value.failureMode, where);
    case ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK:
      stream.overflow_switch = value.overflowSwitch;
      return ACL_SUCCESS;
    case ACL_STREAM_ATTR_USER_CUSTOM_TAG:
      stream.custom_tag = value.userCustomTag;
      return ACL_SUCCESS;
    case ACL_STREAM_ATTR_CACHE_OP_INFO:
      stream.cache_op_info = value.cacheOpInfoSwitch;
      return ACL_SUCCESS;
    case ACL_STREAM_ATTR_PRIORITY:
      return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                  "%s: a stream keeps the priority it was created with; use "
                  "aclrtCreateStreamWithConfig",
                  where);
  }
  return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: attribute %d does not exist", where, attribute);
}

aclError get_attribute(const Stream& stream, aclrtStreamAttr attribute, aclrtStreamAttrValue& value,
                       const char* where) noexcept {
  switch (attribute) {
    case ACL_STREAM_ATTR_FAILURE_MODE:
      value.failureMode =
          stream.context.load()->stop_on_failure ? ACL_STOP_ON_FAILURE : ACL_CONTINUE_ON_FAILURE;
      return ACL_SUCCESS;
    case ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK:
      value.overflowSwitch = stream.overflow_switch;
      return ACL_SUCCESS;
    case ACL_STREAM_ATTR_USER_CUSTOM_TAG:
      value.userCustomTag = stream.custom_tag;
      return ACL_SUCCESS;
    case ACL_STREAM_ATTR_CACHE_OP_INFO:
      value.cacheOpInfoSwitch = stream.cache_op_info;
      return ACL_SUCCESS;
    case ACL_STREAM_ATTR_PRIORITY:
      value.streamPriority = stream.priority;
      return ACL_SUCCESS;
  }
  return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: attribute %d does not exist", where, attribute);
}

}  // namespace
}  // namespace weft::acl

using namespace weft::acl;

aclError aclrtCreateStream(aclrtStream* stream) {
  return create(stream, 0, 0, "aclrtCreateStream");
}

aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flag) {
  return create(stream, priority, flag, "aclrtCreateStreamWithConfig");
}

aclError aclrtDestroyStream(aclrtStream stream) {
  return destroy(stream, false, "aclrtDestroyStream");
}

aclError aclrtDestroyStreamForce(aclrtStream stream) {
  return destroy(stream, true, "aclrtDestroyStreamForce");
}

aclError aclrtSynchronizeStream(aclrtStream stream) {
  Stream* target = nullptr;
  if (const aclError error = find_stream(stream, "aclrtSynchronizeStream", &target)) return error;
  return synchronise(*target, Deadline{}, "aclrtSynchronizeStream");
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
  constexpr const char* kWhere = "aclrtSynchronizeStreamWithTimeout";
  Stream* target = nullptr;
  if (const aclError error = check_timeout(timeout, kWhere)) return error;
  if (const aclError error = find_stream(stream, kWhere, &target)) return error;
  return synchronise(*target, Deadline::after_ms(timeout), kWhere);
}

aclError aclrtSynchronizeDevice() {
  return synchronise_device(Deadline{}, "aclrtSynchronizeDevice");
}

aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout) {
  constexpr const char* kWhere = "aclrtSynchronizeDeviceWithTimeout";
  if (const aclError error = check_timeout(timeout, kWhere)) return error;
  return synchronise_device(Deadline::after_ms(timeout), kWhere);
}

aclError aclrtStreamAbort(aclrtStream stream) {
  Stream* target = nullptr;
  if (const aclError error = find_stream(stream, "aclrtStreamAbort", &target)) return error;
  abort_stream(*target);
  return ACL_SUCCESS;
}

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status) {
  if (status == nullptr) return null_output("aclrtStreamQuery", "status");
  Stream* target = nullptr;
  if (const aclError error = find_stream(stream, "aclrtStreamQuery", &target)) return error;
  const bool complete = (target->flags & kUnfollowed) != 0 || target->idle();
  *status = complete ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
  return ACL_SUCCESS;
}

aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode) {
  Stream* target = nullptr;
  if (const aclError error = find_stream(stream, "aclrtSetStreamFailureMode", &target)) {
    return error;
  }
  return set_failure_mode(*target, mode, "aclrtSetStreamFailureMode");
}

aclError aclrtSetStreamAttribute(aclrtStream stream, aclrtStreamAttr attr,
                                 aclrtStreamAttrValue* value) {
  if (value == nullptr) return null_output("aclrtSetStreamAttribute", "value");
  Stream* target = nullptr;
  if (const aclError error = find_stream(stream, "aclrtSetStreamAttribute", &target)) return error;
  return set_attribute(*target, attr, *value, "aclrtSetStreamAttribute");
}

aclError aclrtGetStreamAttribute(aclrtStream stream, aclrtStreamAttr attr,
                                 aclrtStreamAttrValue* value) {
  if (value == nullptr) return null_output("aclrtGetStreamAttribute", "value");
  Stream* target = nullptr;
  if (const aclError error = find_stream(stream, "aclrtGetStreamAttribute", &target)) return error;
  return get_attribute(*target, attr, *value, "aclrtGetStreamAttribute");
}

aclError aclrtSetStreamOverflowSwitch(aclrtStream stream, uint32_t flag) {
  Stream* target = nullptr;
  if (const aclError error = find_stream(stream, "aclrtSetStreamOverflowSwitch", &target)) {
    return error;
  }
  target->overflow_switch = flag;
  return ACL_SUCCESS;
}

aclError aclrtGetStreamOverflowSwitch(aclrtStream stream, uint32_t* flag) {
  if (flag == nullptr) return null_output("aclrtGetStreamOverflowSwitch", "flag");
  Stream* target = nullptr;
  if (const aclError error = find_stream(stream, "aclrtGetStreamOverflowSwitch", &target)) {
    return error;
  }
  *flag = target->overflow_switch;
  return ACL_SUCCESS;
}

aclError aclrtStreamGetId(aclrtStream stream, int32_t* streamId) {
  if (streamId == nullptr) return null_output("aclrtStreamGetId", "streamId");
  Stream* target = nullptr;
  if (const aclError error = find_stream(stream, "aclrtStreamGetId", &target)) return error;
  *streamId = target->id;
  return ACL_SUCCESS;
}

aclError aclrtStreamGetPriority(aclrtStream stream, uint32_t* priority) {
  if (priority == nullptr) return null_output("aclrtStreamGetPriority", "priority");
  Stream* target = nullptr;
  if (const aclError error = find_stream(stream, "aclrtStreamGetPriority", &target)) return error;
  *priority = target->priority;
  return ACL_SUCCESS;
}

aclError aclrtStreamGetFlags(aclrtStream stream, uint32_t* flags) {
  if (flags == nullptr) return null_output("aclrtStreamGetFlags", "flags");
  Stream* target = nullptr;
  if (const aclError error = find_stream(stream, "aclrtStreamGetFlags", &target)) return error;
  *flags = target->flags;
  return ACL_SUCCESS;
}

aclError aclrtGetStreamAvailableNum(uint32_t* streamCount) {
  constexpr const char* kWhere = "aclrtGetStreamAvailableNum";
  if (streamCount == nullptr) return null_output(kWhere, "streamCount");
  const Context* context = need_context(kWhere);
  if (context == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
  const size_t used = device_at(context->device).streams.load();
  *streamCount = static_cast<uint32_t>(kStreamsPerDevice - std::min(used, kStreamsPerDevice));
  return ACL_SUCCESS;
}
