// SPDX-License-Identifier: Apache-2.0
// The direct engine: every rank maps the device memory of every other, so an address there becomes
// an address here by adding a constant, and a plan runs as one resumable task on the stream. And
// what both engines have in common.
#include "endpoint.hpp"

#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <vector>

#include "acl/acl_host.h"
#include "acl/acl_rt.h"
#include "context.hpp"
#include "kernels/kernels.hpp"

// Only the direct engine needs them: another ACL runtime has none, and gets the tasks engine alone.
#pragma weak aclhostGetHeap
#pragma weak aclhostLaunchGroupTask
#pragma weak aclhostLaunchTask
#pragma weak aclhostSetErrorText

namespace weft::hccs {
namespace {

bool on_acl_host() noexcept {
  return &aclhostGetHeap != nullptr && &aclhostLaunchGroupTask != nullptr &&
         &aclhostLaunchTask != nullptr && &aclhostSetErrorText != nullptr;
}

// HcclResult values that a task of the core may end with.
constexpr int32_t kHcclPara = 1;
constexpr int32_t kHcclTimeout = 9;
constexpr int32_t kHcclRemote = 21;

int32_t get_device(void* raw, int32_t* device) {
  const Context& context = *static_cast<Context*>(raw);
  const aclError error = aclrtGetDevice(device);
  if (error == ACL_SUCCESS) return WEFT_OK;
  return guarded([&] { return context.fail_acl(error, "aclrtGetDevice"); });
}

int32_t set_device(void* raw, int32_t device) {
  const Context& context = *static_cast<Context*>(raw);
  const aclError error = aclrtSetDevice(device);
  if (error == ACL_SUCCESS) return WEFT_OK;
  return guarded(
      [&] { return context.fail_acl(error, fmt::format("aclrtSetDevice({})", device)); });
}

int32_t reset_device(void* raw, int32_t device) {
  const Context& context = *static_cast<Context*>(raw);
  const aclError error = aclrtResetDevice(device);
  if (error == ACL_SUCCESS) return WEFT_OK;
  return guarded(
      [&] { return context.fail_acl(error, fmt::format("aclrtResetDevice({})", device)); });
}

int32_t physical_device(void* raw, int32_t device, int32_t* physical) {
  const Context& context = *static_cast<Context*>(raw);
  const aclError error = aclrtGetPhyDevIdByUserDevId(device, physical);
  if (error == ACL_SUCCESS) return WEFT_OK;
  return guarded([&] {
    return context.fail_acl(error, fmt::format("aclrtGetPhyDevIdByUserDevId({})", device));
  });
}

int32_t endpoint_open(void* raw, const weft_endpoint_params* params, void** endpoint) {
  return guarded([&]() -> int32_t {
    Context& context = *static_cast<Context*>(raw);
    auto made = std::make_unique<Endpoint>();
    made->context = &context;
    made->params = *params;
    if (params->engine == WEFT_ENGINE_TASKS) {
      made->tasks = std::make_unique<TaskState>(context, *params);
      if (const int32_t code = made->tasks->open(); code != WEFT_OK) return code;
      *endpoint = made.release();
      return WEFT_OK;
    }
    const aclError error = aclhostGetHeap(params->device, &made->heap_base, &made->heap_size);
    if (error != ACL_SUCCESS) return context.fail_acl(error, "finding the device's memory");
    *endpoint = made.release();
    return WEFT_OK;
  });
}

void endpoint_close(void* raw) {
  const std::unique_ptr<Endpoint> endpoint(static_cast<Endpoint*>(raw));
  endpoint->tasks.reset();  // its streams first: what they use is imported memory
  for (const std::string& key : endpoint->imported) endpoint->context->imports.close(key);
}

int32_t allocate(void* raw, uint64_t bytes, void** address) {
  return guarded([&]() -> int32_t {
    const Endpoint& endpoint = *static_cast<Endpoint*>(raw);
    int32_t current = -1;
    // The memory must come from the endpoint's device, whatever is current on the calling thread.
    const bool other = aclrtGetDevice(&current) != ACL_SUCCESS || current != endpoint.params.device;
    if (other) {
      return endpoint.context->fail(
          WEFT_E_RUNTIME,
          fmt::format("device {} of this communicator is not current on this thread",
                      endpoint.params.device));
    }
    const aclError error = aclrtMalloc(address, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
    if (error != ACL_SUCCESS) {
      const int32_t code = error == ACL_ERROR_RT_MEMORY_ALLOCATION ? WEFT_E_OOM : WEFT_E_RUNTIME;
      endpoint.context->fail_acl(error, fmt::format("aclrtMalloc of {} bytes", bytes));
      return code;
    }
    return WEFT_OK;
  });
}

void release(void* raw, void* address) {
  (void)raw;
  aclrtFree(address);
}

/// The key of a device's memory, exported once per process.
int32_t export_heap(const Endpoint& endpoint, std::string* key) {
  Context& context = *endpoint.context;
  const std::lock_guard lock(context.exports_mutex);
  std::string& known = context.exports[endpoint.params.device];
  if (known.empty()) {
    char text[sizeof(Blob::key)] = {};
    // Peers prove themselves at the rendezvous, by the token of the root info, before they get the
    // key.
    const aclError error =
        aclrtIpcMemGetExportKey(endpoint.heap_base, endpoint.heap_size, text, sizeof text,
                                ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION);
    if (error != ACL_SUCCESS) return context.fail_acl(error, "exporting the device's memory");
    known = text;
  }
  *key = known;
  return WEFT_OK;
}

int32_t describe(void* raw, void* bytes, uint64_t* length) {
  return guarded([&]() -> int32_t {
    const Endpoint& endpoint = *static_cast<Endpoint*>(raw);
    if (endpoint.tasks != nullptr) return endpoint.tasks->describe(bytes, length);
    if (bytes == nullptr) {
      *length = sizeof(Blob);
      return WEFT_OK;
    }
    std::string key;
    if (endpoint.params.ranks > 1) {
      if (const int32_t code = export_heap(endpoint, &key); code != WEFT_OK) return code;
    }
    Blob blob{};
    blob.host = endpoint.context->host_id;
    blob.process = endpoint.context->process_id;
    blob.heap_base = reinterpret_cast<uint64_t>(endpoint.heap_base);
    blob.heap_size = endpoint.heap_size;
    key.copy(blob.key, sizeof blob.key - 1);
    std::memcpy(bytes, &blob, sizeof blob);
    *length = sizeof blob;
    return WEFT_OK;
  });
}

int32_t connect_peer(Endpoint& endpoint, uint32_t rank, const Blob& blob, weft_peer_view* view) {
  Context& context = *endpoint.context;
  if (blob.host != context.host_id) {
    return context.fail(
        WEFT_E_UNAVAIL,
        fmt::format("rank {} is on another host; this transport reaches ranks of one host", rank));
  }
  if (blob.process == context.process_id) {
    view->delta = 0;
    return WEFT_OK;
  }
  const std::string key(blob.key, strnlen(blob.key, sizeof blob.key));
  void* base = nullptr;
  const aclError error = context.imports.open(key, &base);
  if (error != ACL_SUCCESS) {
    return context.fail_acl(error, fmt::format("mapping the device memory of rank {}", rank));
  }
  endpoint.imported.push_back(key);
  view->delta = static_cast<int64_t>(reinterpret_cast<uint64_t>(base) - blob.heap_base);
  return WEFT_OK;
}

int32_t connect_tasks(Endpoint& endpoint, const void* const* blobs, const uint64_t* lengths,
                      weft_peer_view* views, weft_endpoint_info* info) {
  info->all_local = 1;
  for (uint32_t r = 0; r < endpoint.params.ranks; ++r) {
    const int32_t code =
        endpoint.tasks->connect_peer(r, blobs[r], lengths[r], &views[r], endpoint.imported, info);
    if (code != WEFT_OK) return code;
  }
  return WEFT_OK;
}

int32_t connect(void* raw, const void* const* blobs, const uint64_t* lengths, weft_peer_view* views,
                weft_endpoint_info* info) {
  return guarded([&]() -> int32_t {
    Endpoint& endpoint = *static_cast<Endpoint*>(raw);
    if (endpoint.tasks != nullptr) return connect_tasks(endpoint, blobs, lengths, views, info);
    info->all_local = 1;
    for (uint32_t r = 0; r < endpoint.params.ranks; ++r) {
      Blob blob{};
      if (lengths[r] != sizeof blob) {
        return endpoint.context->fail(
            WEFT_E_UNAVAIL,
            fmt::format("rank {} does not use this transport or another version of it", r));
      }
      std::memcpy(&blob, blobs[r], sizeof blob);
      if (const int32_t code = connect_peer(endpoint, r, blob, &views[r]); code != WEFT_OK) {
        return code;
      }
      if (blob.process != endpoint.context->process_id) info->all_local = 0;
    }
    info->window_base = reinterpret_cast<uint64_t>(endpoint.heap_base);
    info->window_size = endpoint.heap_size;
    return WEFT_OK;
  });
}

/// The fault that a stream reports for a code of the core.
int32_t to_acl(int32_t code) {
  switch (code) {
    case kHcclPara:
      return ACL_ERROR_RT_PARAM_INVALID;
    case kHcclTimeout:
      return ACL_ERROR_RT_TASK_TIMEOUT;
    case kHcclRemote:
      return ACL_ERROR_RT_SUSPECT_REMOTE_ERROR;
    default:
      return ACL_ERROR_RT_TS_ERROR;
  }
}

int32_t run_task(void* raw) {
  auto* task = static_cast<weft_task*>(raw);
  const int32_t result = task->run(task);
  return result <= 0 ? result : to_acl(result);
}

void drop_task(void* raw) {
  auto* task = static_cast<weft_task*>(raw);
  task->drop(task);
}

void begin_task(void* raw) {
  auto* task = static_cast<weft_task*>(raw);
  task->begin(task);
}

static_assert(static_cast<int>(WEFT_TASK_DONE) == static_cast<int>(ACLHOST_DONE) &&
              static_cast<int>(WEFT_TASK_AGAIN) == static_cast<int>(ACLHOST_AGAIN));

int32_t submit(void* raw, void* stream, weft_task* task) {
  static_assert(static_cast<int>(WEFT_TASK_BRIEF) == static_cast<int>(ACLHOST_BRIEF));
  const aclError error =
      task->begin != nullptr
          ? aclhostLaunchGroupTask(stream, run_task, begin_task, drop_task, task, task->group)
          : aclhostLaunchTask(stream, run_task, drop_task, task, task->flags & WEFT_TASK_BRIEF);
  if (error == ACL_SUCCESS) return WEFT_OK;
  return guarded([&] {
    return static_cast<Endpoint*>(raw)->context->fail_acl(error, "putting a task on the stream");
  });
}

int32_t enter(void* raw, void** previous) {
  const Endpoint& endpoint = *static_cast<Endpoint*>(raw);
  if (aclrtGetCurrentContext(previous) != ACL_SUCCESS) *previous = nullptr;  // there is none
  return set_device(endpoint.context, endpoint.params.device);
}

void leave(void* raw, void* previous) {
  const Endpoint& endpoint = *static_cast<Endpoint*>(raw);
  aclrtResetDevice(endpoint.params.device);
  if (previous != nullptr) aclrtSetCurrentContext(previous);
}

int32_t synchronize(void* raw, void* stream) {
  const aclError error = aclrtSynchronizeStream(stream);
  if (error == ACL_SUCCESS) return WEFT_OK;
  return guarded([&] {
    return static_cast<Endpoint*>(raw)->context->fail_acl(error, "synchronising the stream");
  });
}

void set_error(const char* text) {
  if (on_acl_host()) aclhostSetErrorText(text);
}

int32_t look_up(void* raw, const void* address, weft_place* place) {
  const Endpoint& endpoint = *static_cast<Endpoint*>(raw);
  return hccs::look_up(endpoint.heap_base, endpoint.heap_size, address, place);
}

void copy(void* dst, const void* src, uint64_t bytes, uint32_t sharers) {
  kernels::copy(dst, src, bytes, sharers);
}

void reduce(void* const* dsts, uint64_t dst_count, const void* const* srcs, uint64_t src_count,
            uint64_t count, int32_t type, int32_t op, uint32_t sharers) {
  kernels::reduce(dsts, dst_count, srcs, src_count, count, type, op, sharers);
}

int32_t reduces(int32_t type, int32_t op) { return kernels::supported(type, op) ? 1 : 0; }

}  // namespace

weft_transport transport_table() noexcept {
  weft_transport table{};
  table.head = WEFT_HEAD(weft_transport);
  table.engines = WEFT_ENGINE_TASKS;
  if (on_acl_host()) table.engines |= WEFT_ENGINE_DIRECT;
  table.reach = WEFT_REACH_HOST;
  table.open = open_context;
  table.get_device = get_device;
  table.set_device = set_device;
  table.reset_device = reset_device;
  table.physical_device = physical_device;
  table.endpoint_open = endpoint_open;
  table.endpoint_close = endpoint_close;
  table.enter = enter;
  table.leave = leave;
  table.allocate = allocate;
  table.release = release;
  table.describe = describe;
  table.connect = connect;
  table.submit = submit;
  table.synchronize = synchronize;
  table.task_error = set_error;
  table.call_error = set_error;
  table.look_up = look_up;
  table.copy = copy;
  table.reduce = reduce;
  table.reduces = reduces;
  table.tasks = &kTasksTable;
  return table;
}

}  // namespace weft::hccs
