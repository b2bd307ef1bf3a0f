// SPDX-License-Identifier: Apache-2.0
// A transport for ranks that are threads of one process: every address is good for all of them. It
// has the direct engine: the core's executor runs as a resumable task on the caller's stream and
// moves data by the functions `copy` and `reduce` below. weft/transport.h says what each entry
// owes.
#include <acl/acl_host.h>
#include <acl/acl_rt.h>
#include <hccl/hccl_types.h>
#include <sys/random.h>

#include <cstdio>
#include <cstring>
#include <new>

#include "weft/sdk.hpp"

namespace {

struct Context {  // one for the process; it is never freed
  const weft_host* host;
  uint64_t process;  // random, so it differs from that of any other process
};

struct Endpoint {  // one rank of one communicator
  Context* context;
  uint32_t ranks;
  int32_t device;
};

// Keeps the reason that goes with a code.
int32_t fail(const Context& context, int32_t code, const char* text) {
  context.host->fail(text, std::strlen(text));
  return code;
}

int32_t done(const Context& context, aclError error, const char* what) {
  if (error == ACL_SUCCESS) return WEFT_OK;
  return fail(context, error == ACL_ERROR_RT_MEMORY_ALLOCATION ? WEFT_E_OOM : WEFT_E_RUNTIME, what);
}

int32_t open_context(const weft_host* host, void** context) {
  // The library may be of another version than these headers (P6).
  if (host->head.major != WEFT_ABI_MAJOR || !WEFT_HAS(host, weft_host, fail)) {
    return WEFT_E_NOT_SUPPORT;
  }
  auto* made = new (std::nothrow) Context{host, 0};
  if (made == nullptr) return WEFT_E_OOM;
  if (getrandom(&made->process, sizeof made->process, 0) != sizeof made->process) {
    return fail(*made, WEFT_E_RUNTIME, "the system gives no random number");
  }
  *context = made;
  return WEFT_OK;
}

int32_t get_device(void* context, int32_t* device) {
  return done(*static_cast<Context*>(context), aclrtGetDevice(device), "no device is set");
}
int32_t set_device(void* context, int32_t device) {
  return done(*static_cast<Context*>(context), aclrtSetDevice(device), "the device cannot be set");
}
int32_t reset_device(void* context, int32_t device) {
  return done(*static_cast<Context*>(context), aclrtResetDevice(device), "it cannot be reset");
}
int32_t physical_device(void* context, int32_t device, int32_t* physical) {
  return done(*static_cast<Context*>(context), aclrtGetPhyDevIdByUserDevId(device, physical),
              "there is no such device");
}

int32_t endpoint_open(void* context, const weft_endpoint_params* params, void** endpoint) {
  auto* made =
      new (std::nothrow) Endpoint{static_cast<Context*>(context), params->ranks, params->device};
  *endpoint = made;
  return made == nullptr ? WEFT_E_OOM : WEFT_OK;
}
void endpoint_close(void* endpoint) { delete static_cast<Endpoint*>(endpoint); }

int32_t enter(void* endpoint, void** previous) {
  if (aclrtGetCurrentContext(previous) != ACL_SUCCESS) *previous = nullptr;  // there is none
  const auto& me = *static_cast<Endpoint*>(endpoint);
  return set_device(me.context, me.device);
}
void leave(void* endpoint, void* previous) {
  aclrtResetDevice(static_cast<Endpoint*>(endpoint)->device);
  if (previous != nullptr) aclrtSetCurrentContext(previous);
}

// Device memory stays mapped in this process when it is free, as peers need it.
int32_t allocate(void* endpoint, uint64_t bytes, void** address) {
  const aclError error = aclrtMalloc(address, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
  return done(*static_cast<Endpoint*>(endpoint)->context, error,
              "the device has not enough memory");
}
void release(void*, void* address) { aclrtFree(address); }

// All that peers must know: whose address space this is.
int32_t describe(void* endpoint, void* blob, uint64_t* length) {
  const Context& context = *static_cast<Endpoint*>(endpoint)->context;
  if (blob != nullptr) std::memcpy(blob, &context.process, sizeof context.process);
  *length = sizeof context.process;
  return WEFT_OK;
}

int32_t connect(void* endpoint, const void* const* blobs, const uint64_t* lengths,
                weft_peer_view* views, weft_endpoint_info* info) {
  const auto& me = *static_cast<Endpoint*>(endpoint);
  for (uint32_t rank = 0; rank < me.ranks; ++rank) {
    const uint64_t& mine = me.context->process;
    if (lengths[rank] != sizeof mine || std::memcmp(blobs[rank], &mine, sizeof mine) != 0) {
      char text[96];
      std::snprintf(text, sizeof text,
                    "rank %u is in another process; this transport reaches threads of one", rank);
      return fail(*me.context, WEFT_E_UNAVAIL, text);
    }
    views[rank].delta = 0;
  }
  info->all_local = 1;
  return WEFT_OK;
}

// What a stream reports for a code of the core.
int32_t fault_of(int32_t code) {
  switch (code) {
    case HCCL_E_PARA:
      return ACL_ERROR_RT_PARAM_INVALID;
    case HCCL_E_TIMEOUT:
      return ACL_ERROR_RT_TASK_TIMEOUT;
    case HCCL_E_REMOTE:
      return ACL_ERROR_RT_SUSPECT_REMOTE_ERROR;
    default:
      return ACL_ERROR_RT_TS_ERROR;
  }
}

int32_t run(void* raw) {
  auto* task = static_cast<weft_task*>(raw);
  const int32_t result = task->run(task);
  return result <= 0 ? result : fault_of(result);
}
void drop(void* raw) {
  auto* task = static_cast<weft_task*>(raw);
  task->drop(task);
}

int32_t submit(void* endpoint, void* stream, weft_task* task) {
  return done(*static_cast<Endpoint*>(endpoint)->context,
              aclhostLaunchTask(stream, run, drop, task, task->flags & WEFT_TASK_BRIEF),
              "the stream takes no task");
}
int32_t synchronize(void* endpoint, void* stream) {
  return done(*static_cast<Endpoint*>(endpoint)->context, aclrtSynchronizeStream(stream),
              "the stream has failed");
}
void set_error(const char* text) { aclhostSetErrorText(text); }

// For WEFT_CHECK=memory; the core asks the kernel about what is of no known kind.
int32_t look_up(void*, const void*, weft_place* place) {
  place->kind = WEFT_PLACE_OTHER;
  place->device = -1;
  place->base = place->bytes = 0;
  return WEFT_OK;
}

void copy(void* dst, const void* src, uint64_t bytes, uint32_t) { std::memmove(dst, src, bytes); }

// What `reduce` can combine; the core refuses calls that need anything else.
int32_t reduces(int32_t type, int32_t op) {
  const bool known_type = type == HCCL_DATA_TYPE_FP32 || type == HCCL_DATA_TYPE_FP64;
  return known_type && (op == HCCL_REDUCE_SUM || op == HCCL_REDUCE_PROD) ? 1 : 0;
}

template <typename T>
void reduce_as(void* const* dsts, uint64_t dst_count, const void* const* srcs, uint64_t src_count,
               uint64_t count, int32_t op) {
  for (uint64_t i = 0; i < count; ++i) {
    T all = static_cast<const T*>(srcs[0])[i];
    for (uint64_t s = 1; s < src_count; ++s) {
      const T next = static_cast<const T*>(srcs[s])[i];
      all = op == HCCL_REDUCE_SUM ? all + next : all * next;
    }
    for (uint64_t d = 0; d < dst_count; ++d) static_cast<T*>(dsts[d])[i] = all;
  }
}

void reduce(void* const* dsts, uint64_t dst_count, const void* const* srcs, uint64_t src_count,
            uint64_t count, int32_t type, int32_t op, uint32_t) {
  const auto as = type == HCCL_DATA_TYPE_FP32 ? reduce_as<float> : reduce_as<double>;
  as(dsts, dst_count, srcs, src_count, count, op);
}

constexpr weft_transport make_table() {
  weft_transport t{};
  t.head = WEFT_HEAD(weft_transport);
  t.engines = WEFT_ENGINE_DIRECT;
  t.reach = WEFT_REACH_PROCESS;
  t.open = open_context;
  t.get_device = get_device;
  t.set_device = set_device;
  t.reset_device = reset_device;
  t.physical_device = physical_device;
  t.endpoint_open = endpoint_open;
  t.endpoint_close = endpoint_close;
  t.enter = enter;
  t.leave = leave;
  t.allocate = allocate;
  t.release = release;
  t.describe = describe;
  t.connect = connect;
  t.submit = submit;
  t.synchronize = synchronize;
  t.task_error = set_error;
  t.call_error = set_error;
  t.look_up = look_up;
  t.copy = copy;
  t.reduce = reduce;
  t.reduces = reduces;
  return t;
}
constinit const weft_transport table = make_table();

}  // namespace

WEFT_TRANSPORT_PLUGIN("my_transport", "1.0.0", "ranks that are threads of one process", table);
