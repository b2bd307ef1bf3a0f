/* SPDX-License-Identifier: Apache-2.0
 * A transport plugin in C that moves nothing. As it stands it is good; each macro makes one thing
 * of it wrong. */
#include <string.h>

#include "weft/transport.h"

#ifndef FAULT_SIZE
#define FAULT_SIZE sizeof(weft_transport)
#endif
#ifndef FAULT_MAJOR
#define FAULT_MAJOR WEFT_ABI_MAJOR
#endif
#ifndef FAULT_ENGINES
#define FAULT_ENGINES (WEFT_ENGINE_DIRECT | WEFT_ENGINE_TASKS)
#endif
#ifndef FAULT_TASKS
#define FAULT_TASKS &kTasks
#endif
#ifndef FAULT_TASKS_MAJOR
#define FAULT_TASKS_MAJOR WEFT_ABI_MAJOR
#endif
#ifndef FAULT_RECORD
#define FAULT_RECORD task_record
#endif
#ifndef FAULT_REDUCE
#define FAULT_REDUCE reduce
#endif

static int32_t open_context(const weft_host* host, void** context) {
  if (host->head.major != WEFT_ABI_MAJOR || !WEFT_HAS(host, weft_host, fail)) {
    return WEFT_E_NOT_SUPPORT;
  }
  *context = NULL;
  host->fail("no devices", strlen("no devices"));
  return WEFT_E_UNAVAIL;
}

static int32_t get_device(void* context, int32_t* device) {
  (void)context;
  *device = 0;
  return WEFT_OK;
}

static int32_t set_device(void* context, int32_t device) {
  (void)context;
  (void)device;
  return WEFT_OK;
}

static int32_t physical_device(void* context, int32_t device, int32_t* physical) {
  (void)context;
  *physical = device;
  return WEFT_OK;
}

static int32_t endpoint_open(void* context, const weft_endpoint_params* params, void** endpoint) {
  (void)context;
  (void)params;
  (void)endpoint;
  return WEFT_E_UNAVAIL;
}

static void endpoint_close(void* endpoint) { (void)endpoint; }

static int32_t allocate(void* endpoint, uint64_t bytes, void** address) {
  (void)endpoint;
  (void)bytes;
  (void)address;
  return WEFT_E_OOM;
}

static void release(void* endpoint, void* address) {
  (void)endpoint;
  (void)address;
}

static int32_t describe(void* endpoint, void* blob, uint64_t* length) {
  (void)endpoint;
  (void)blob;
  *length = 0;
  return WEFT_OK;
}

static int32_t connect_peers(void* endpoint, const void* const* blobs, const uint64_t* lengths,
                             weft_peer_view* views, weft_endpoint_info* info) {
  (void)endpoint;
  (void)blobs;
  (void)lengths;
  (void)views;
  (void)info;
  return WEFT_E_UNAVAIL;
}

static int32_t enter(void* endpoint, void** previous) {
  (void)endpoint;
  (void)previous;
  return WEFT_E_NOT_SUPPORT;
}

static void leave(void* endpoint, void* previous) {
  (void)endpoint;
  (void)previous;
}

static int32_t synchronize(void* endpoint, void* stream) {
  (void)endpoint;
  (void)stream;
  return WEFT_E_NOT_SUPPORT;
}

static int32_t submit(void* endpoint, void* stream, weft_task* task) {
  (void)endpoint;
  (void)stream;
  (void)task;
  return WEFT_E_UNAVAIL;
}

static void take_error(const char* text) { (void)text; }

static int32_t look_up(void* endpoint, const void* address, weft_place* place) {
  (void)endpoint;
  (void)address;
  (void)place;
  return WEFT_E_NOT_SUPPORT;
}

static void copy(void* dst, const void* src, uint64_t bytes, uint32_t sharers) {
  (void)sharers;
  memmove(dst, src, bytes);
}

static void reduce(void* const* dsts, uint64_t dst_count, const void* const* srcs,
                   uint64_t src_count, uint64_t count, int32_t type, int32_t op, uint32_t sharers) {
  (void)sharers;
  (void)dsts;
  (void)dst_count;
  (void)srcs;
  (void)src_count;
  (void)count;
  (void)type;
  (void)op;
}

static int32_t reduces(int32_t type, int32_t op) {
  (void)type;
  (void)op;
  return 0;
}

static int32_t task_stream(void* endpoint, void** stream) {
  (void)endpoint;
  (void)stream;
  return WEFT_E_UNAVAIL;
}

static int32_t task_locate(void* endpoint, const void* address, uint64_t bytes, uint32_t* place) {
  (void)endpoint;
  (void)address;
  (void)bytes;
  (void)place;
  return WEFT_E_PARA;
}

static int32_t task_copy(void* endpoint, void* stream, void* dst, const void* src, uint64_t bytes,
                         uint32_t place) {
  (void)endpoint;
  (void)stream;
  (void)dst;
  (void)src;
  (void)bytes;
  (void)place;
  return WEFT_E_UNAVAIL;
}

static int32_t task_reduce(void* endpoint, void* stream, void* dst, const void* src, uint64_t count,
                           int32_t type, int32_t op) {
  (void)endpoint;
  (void)stream;
  (void)dst;
  (void)src;
  (void)count;
  (void)type;
  (void)op;
  return WEFT_E_UNAVAIL;
}

static int32_t task_record(void* endpoint, void* stream, uint32_t peer, uint32_t index) {
  (void)endpoint;
  (void)stream;
  (void)peer;
  (void)index;
  return WEFT_E_UNAVAIL;
}

static int32_t task_wait(void* endpoint, void* stream, uint32_t peer, uint32_t index,
                         uint32_t seconds) {
  (void)seconds;
  return task_record(endpoint, stream, peer, index);
}

static int32_t task_mark(void* endpoint, void* stream, uint32_t mark) {
  return task_record(endpoint, stream, 0, mark);
}

static int32_t task_passed(void* endpoint, uint32_t mark) {
  (void)endpoint;
  (void)mark;
  return 1;
}

/* Referenced also where a fault keeps them out of their tables. */
extern void (*const weft_fault_reduce)(void* const*, uint64_t, const void* const*, uint64_t,
                                       uint64_t, int32_t, int32_t, uint32_t);
void (*const weft_fault_reduce)(void* const*, uint64_t, const void* const*, uint64_t, uint64_t,
                                int32_t, int32_t, uint32_t) = reduce;
extern int32_t (*const weft_fault_record)(void*, void*, uint32_t, uint32_t);
int32_t (*const weft_fault_record)(void*, void*, uint32_t, uint32_t) = task_record;
extern const weft_tasks* const weft_fault_tasks;

static const weft_tasks kTasks = {
    {sizeof(weft_tasks), FAULT_TASKS_MAJOR, WEFT_ABI_MINOR},
    reduces,
    allocate,
    task_stream,
    task_locate,
    task_copy,
    task_reduce,
    FAULT_RECORD,
    task_wait,
    task_mark,
    task_mark,
    task_passed,
    synchronize,
};
const weft_tasks* const weft_fault_tasks = &kTasks;

static const weft_transport kTable = {
    {(uint32_t)(FAULT_SIZE), FAULT_MAJOR, WEFT_ABI_MINOR},
    FAULT_ENGINES,
    0,
    open_context,
    get_device,
    set_device,
    set_device,
    physical_device,
    endpoint_open,
    endpoint_close,
    enter,
    leave,
    allocate,
    release,
    describe,
    connect_peers,
    submit,
    synchronize,
    take_error,
    take_error,
    look_up,
    copy,
    FAULT_REDUCE,
    reduces,
    FAULT_TASKS,
};

static const weft_plugin_desc kDesc = {WEFT_HEAD(weft_plugin_desc),
                                       WEFT_PLUGIN_MAGIC,
                                       WEFT_KIND_TRANSPORT,
                                       "nowhere",
                                       "0.1.0",
                                       "moves nothing",
                                       &kTable};

WEFT_EXPORT const weft_plugin_desc* weft_plugin(void);
WEFT_EXPORT const weft_plugin_desc* weft_plugin(void) { return &kDesc; }
