/* SPDX-License-Identifier: Apache-2.0
 * A memory plugin in C that moves nothing. As it stands it is good; each macro makes one thing of
 * it wrong. */
#include <stddef.h>
#include <string.h>

#include "weft/memory.h"

#ifndef FAULT_SIZE
#define FAULT_SIZE sizeof(weft_memory)
#endif
#ifndef FAULT_MAJOR
#define FAULT_MAJOR WEFT_ABI_MAJOR
#endif
#ifndef FAULT_FAMILIES
#define FAULT_FAMILIES (WEFT_MEMORY_WINDOWS | WEFT_MEMORY_RANGES)
#endif
#ifndef FAULT_EXPLAIN
#define FAULT_EXPLAIN explain
#endif
#ifndef FAULT_WINDOW_FIND
#define FAULT_WINDOW_FIND window_find
#endif
#ifndef FAULT_RANGE_UNSET
#define FAULT_RANGE_UNSET range_unset
#endif

static int32_t open_context(const weft_host* host, void** context) {
  if (host->head.major != WEFT_ABI_MAJOR || !WEFT_HAS(host, weft_host, fail)) {
    return WEFT_E_NOT_SUPPORT;
  }
  *context = NULL;
  return WEFT_OK;
}

static int32_t attach(void* context, const weft_group* group, void** member) {
  (void)context;
  (void)group;
  *member = NULL;
  return WEFT_OK;
}

static void detach(void* member) { (void)member; }

static void explain(void* member, const void* address, uint64_t bytes, char* text, uint64_t room) {
  (void)member;
  (void)address;
  (void)bytes;
  if (room > 0) text[0] = '\0';
}

static int32_t window_register(void* member, void* address, uint64_t bytes, uint32_t flag,
                               void** window) {
  (void)member;
  (void)address;
  (void)bytes;
  (void)flag;
  (void)window;
  return WEFT_E_UNAVAIL;
}

static int32_t window_deregister(void* context, void* window) {
  (void)context;
  (void)window;
  return WEFT_E_NOT_FOUND;
}

static int32_t window_find(void* member, void* address, uint64_t bytes, void** window,
                           uint64_t* offset) {
  (void)member;
  (void)address;
  (void)bytes;
  (void)window;
  (void)offset;
  return WEFT_E_NOT_FOUND;
}

static int32_t memory_alloc(void* context, uint64_t bytes, void** pointer) {
  (void)context;
  (void)bytes;
  (void)pointer;
  return WEFT_E_OOM;
}

static int32_t memory_free(void* context, void* pointer) {
  (void)context;
  (void)pointer;
  return WEFT_E_NOT_FOUND;
}

static int32_t window_peer(void* context, void* window, uint64_t offset, uint32_t peer,
                           void** pointer) {
  (void)context;
  (void)window;
  (void)offset;
  (void)peer;
  (void)pointer;
  return WEFT_E_NOT_FOUND;
}

static int32_t range_set(void* member, void* base, uint64_t bytes, uint64_t alignment,
                         uint64_t flags) {
  (void)member;
  (void)base;
  (void)bytes;
  (void)alignment;
  (void)flags;
  return WEFT_E_UNAVAIL;
}

static int32_t range_unset(void* member, void* base) {
  (void)member;
  (void)base;
  return WEFT_E_PARA;
}

static int32_t range_activate(void* member, void* address, uint64_t bytes, uint64_t offset,
                              void* handle, uint64_t flags) {
  (void)member;
  (void)address;
  (void)bytes;
  (void)offset;
  (void)handle;
  (void)flags;
  return WEFT_E_PARA;
}

/* Referenced also where a fault keeps them out of the table. */
typedef void (*function)(void);
extern const function weft_fault_functions[3];
const function weft_fault_functions[3] = {(function)explain, (function)window_find,
                                          (function)range_unset};

static const weft_memory kTable = {
    {(uint32_t)(FAULT_SIZE), FAULT_MAJOR, WEFT_ABI_MINOR},
    FAULT_FAMILIES,
    0,
    open_context,
    attach,
    detach,
    FAULT_EXPLAIN,
    window_register,
    window_deregister,
    FAULT_WINDOW_FIND,
    window_peer,
    memory_alloc,
    memory_free,
    range_set,
    FAULT_RANGE_UNSET,
    range_activate,
    range_unset,
    NULL, /* it never asks */
};

static const weft_plugin_desc kDesc = {WEFT_HEAD(weft_plugin_desc),
                                       WEFT_PLUGIN_MAGIC,
                                       WEFT_KIND_MEMORY,
                                       "nowhere-memory",
                                       "0.1.0",
                                       "makes nothing known",
                                       &kTable};

WEFT_EXPORT const weft_plugin_desc* weft_plugin(void);
WEFT_EXPORT const weft_plugin_desc* weft_plugin(void) { return &kDesc; }
