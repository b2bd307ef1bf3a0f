// SPDX-License-Identifier: Apache-2.0
// Contexts, and the functions that bind threads to devices.
#include "context.hpp"

#include <cstring>

#include "callback.hpp"
#include "heap.hpp"

namespace weft::acl {

constinit Pool<Context, 4096> g_contexts;
std::atomic<int32_t> g_default_device{-1};

namespace {

std::atomic<uint64_t> g_serial{0};
std::atomic<int64_t> g_sys_params[kSysParams] = {kSysParamUnset, kSysParamUnset, kSysParamUnset,
                                                 kSysParamUnset};

aclError no_context(const char* where) noexcept {
  return fail(ACL_ERROR_RT_CONTEXT_NULL,
              "%s: the thread has no context; call aclrtSetDevice or aclrtSetCurrentContext first",
              where);
}

aclError reset_device(int32_t device, bool force, const char* where) noexcept {
  if (const aclError error = check_device(device, where)) return error;
  if (const aclError error = refuse_in_host_function(where)) return error;
  Device& state = device_at(device);
  Context* ended = nullptr;
  {
    const std::lock_guard lock(state.mutex);
    if (state.uses == 0) {
      return fail(ACL_ERROR_RT_CONTEXT_RELEASE_ERROR,
                  "%s: device %d is not set; pair it with aclrtSetDevice", where, device);
    }
    state.uses = force ? 0 : state.uses - 1;
    if (state.uses == 0) std::swap(ended, state.primary);
  }
  if (ended != nullptr) destroy_context(*ended);
  return ACL_SUCCESS;
}

aclError check_sys_param(aclSysParamOpt option, const char* where) noexcept {
  if (option >= 0 && static_cast<size_t>(option) < kSysParams) return ACL_SUCCESS;
  return fail(ACL_ERROR_INVALID_PARAM, "%s: parameter %d does not exist", where, option);
}

aclError get_sys_param(const std::atomic<int64_t>* params, aclSysParamOpt option, int64_t* value,
                       const char* where) noexcept {
  const int64_t stored = params[option].load();
  if (stored == kSysParamUnset) {
    return fail(ACL_ERROR_RT_SYSPARAMOPT_NOT_SET, "%s: parameter %d was never set", where, option);
  }
  *value = stored;
  return ACL_SUCCESS;
}

}  // namespace

Context* need_context(const char* where) noexcept {
  if (Context* context = current_context()) return context;
  const int32_t device = g_default_device.load(std::memory_order_relaxed);
  if (device >= 0 && set_device(device, where) == ACL_SUCCESS) return current_context();
  no_context(where);
  return nullptr;
}

void bind_context(Context& context) noexcept {
  t_thread.context = &context;
  t_thread.context_serial = context.serial.load(std::memory_order_acquire);
}

Context* create_context(int32_t device, bool is_primary, const char* where,
                        aclError* error) noexcept {
  Context* context = g_contexts.acquire();
  if (context == nullptr) {
    *error = fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL,
                  "%s: no room for another context in this process; destroy some", where);
    return nullptr;
  }
  context->device = device;
  context->is_primary = is_primary;
  context->stop_on_failure = false;
  for (auto& param : context->sys_params) param = kSysParamUnset;
  context->default_stream = create_stream(*context, 0, 0, true, where, error);
  if (context->default_stream == nullptr) {
    g_contexts.release(context);
    return nullptr;
  }
  context->serial.store(++g_serial, std::memory_order_release);
  context->life_state.store(Life::kLive, std::memory_order_release);
  return context;
}

void destroy_context(Context& context) noexcept {
  g_streams.for_each([&context](Stream& stream) {
    // One that is claimed is being destroyed by its owner.
    if (stream.context.load(std::memory_order_relaxed) == &context && g_streams.claim(&stream)) {
      destroy_stream(stream, false);
    }
  });
  retire_host_thread(context);
  context.serial.store(0, std::memory_order_release);
  g_contexts.release(&context);
}

aclError set_device(int32_t device, const char* where) noexcept {
  if (const aclError error = check_device(device, where)) return error;
  if (heap_of(device, where, ACL_ERROR_RT_DEV_SETUP_ERROR) == nullptr) {
    return ACL_ERROR_RT_DEV_SETUP_ERROR;
  }
  Device& state = device_at(device);
  const std::lock_guard lock(state.mutex);
  if (state.primary == nullptr) {
    aclError error = ACL_SUCCESS;
    state.primary = create_context(device, true, where, &error);
    if (state.primary == nullptr) return error;
  }
  ++state.uses;
  bind_context(*state.primary);
  return ACL_SUCCESS;
}

}  // namespace weft::acl

using namespace weft::acl;

aclError aclrtSetDevice(int32_t deviceId) { return set_device(deviceId, "aclrtSetDevice"); }

aclError aclrtResetDevice(int32_t deviceId) {
  return reset_device(deviceId, false, "aclrtResetDevice");
}

aclError aclrtResetDeviceForce(int32_t deviceId) {
  return reset_device(deviceId, true, "aclrtResetDeviceForce");
}

aclError aclrtGetDevice(int32_t* deviceId) {
  if (deviceId == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtGetDevice: deviceId is NULL");
  }
  const Context* context = current_context();
  const int32_t device = context != nullptr ? context->device : g_default_device.load();
  if (device < 0) return fail_silently(ACL_ERROR_RT_CONTEXT_NULL);  // a usual way to ask
  *deviceId = device;
  return ACL_SUCCESS;
}

aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId) {
  constexpr const char* kWhere = "aclrtCreateContext";
  if (context == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "%s: context is NULL", kWhere);
  if (const aclError error = check_device(deviceId, kWhere)) return error;
  if (heap_of(deviceId, kWhere, ACL_ERROR_RT_DEV_SETUP_ERROR) == nullptr) {
    return ACL_ERROR_RT_DEV_SETUP_ERROR;
  }
  aclError error = ACL_SUCCESS;
  Context* created = create_context(deviceId, false, kWhere, &error);
  if (created == nullptr) return error;
  bind_context(*created);
  *context = created;
  return ACL_SUCCESS;
}

aclError aclrtDestroyContext(aclrtContext context) {
  if (context == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtDestroyContext: context is NULL");
  }
  Context* found = g_contexts.find(context);
  if (found == nullptr) {
    return fail(ACL_ERROR_RT_INVALID_HANDLE,
                "aclrtDestroyContext: %p is no context, or it was destroyed", context);
  }
  if (found->is_primary) {
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "aclrtDestroyContext: this is the primary context of device %d; use "
                "aclrtResetDevice",
                found->device);
  }
  if (const aclError error = refuse_in_host_function("aclrtDestroyContext")) return error;
  if (!g_contexts.claim(found)) {
    return fail(ACL_ERROR_RT_INVALID_HANDLE,
                "aclrtDestroyContext: another thread destroys %p; destroy each context once",
                context);
  }
  destroy_context(*found);
  return ACL_SUCCESS;
}

aclError aclrtSetCurrentContext(aclrtContext context) {
  if (context == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtSetCurrentContext: context is NULL");
  }
  if (const aclError error = refuse_after_fork("aclrtSetCurrentContext")) return error;
  Context* found = g_contexts.find(context);
  if (found == nullptr) {
    return fail(ACL_ERROR_RT_INVALID_HANDLE,
                "aclrtSetCurrentContext: %p is no context, or it was destroyed", context);
  }
  bind_context(*found);
  return ACL_SUCCESS;
}

aclError aclrtGetCurrentContext(aclrtContext* context) {
  if (context == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtGetCurrentContext: context is NULL");
  }
  Context* current = need_context("aclrtGetCurrentContext");
  if (current == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
  *context = current;
  return ACL_SUCCESS;
}

aclError aclrtCtxGetCurrentDefaultStream(aclrtStream* stream) {
  if (stream == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtCtxGetCurrentDefaultStream: stream is NULL");
  }
  const Context* current = need_context("aclrtCtxGetCurrentDefaultStream");
  if (current == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
  *stream = current->default_stream;
  return ACL_SUCCESS;
}

aclError aclrtGetPrimaryCtxState(int32_t deviceId, uint32_t* flags, int32_t* active) {
  constexpr const char* kWhere = "aclrtGetPrimaryCtxState";
  if (active == nullptr || flags != nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: active must be given, and flags must be NULL",
                kWhere);
  }
  if (const aclError error = check_device(deviceId, kWhere)) return error;
  Device& state = device_at(deviceId);
  const std::lock_guard lock(state.mutex);
  *active = state.primary != nullptr ? 1 : 0;
  return ACL_SUCCESS;
}

aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  constexpr const char* kWhere = "aclrtCtxSetSysParamOpt";
  if (const aclError error = check_sys_param(opt, kWhere)) return error;
  Context* context = need_context(kWhere);
  if (context == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
  context->sys_params[opt] = value;
  return ACL_SUCCESS;
}

aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
  constexpr const char* kWhere = "aclrtCtxGetSysParamOpt";
  if (value == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "%s: value is NULL", kWhere);
  if (const aclError error = check_sys_param(opt, kWhere)) return error;
  const Context* context = need_context(kWhere);
  if (context == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
  return get_sys_param(context->sys_params, opt, value, kWhere);
}

aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  if (const aclError error = check_sys_param(opt, "aclrtSetSysParamOpt")) return error;
  g_sys_params[opt] = value;
  return ACL_SUCCESS;
}

aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
  constexpr const char* kWhere = "aclrtGetSysParamOpt";
  if (value == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "%s: value is NULL", kWhere);
  if (const aclError error = check_sys_param(opt, kWhere)) return error;
  return get_sys_param(g_sys_params, opt, value, kWhere);
}
