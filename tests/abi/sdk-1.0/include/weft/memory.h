/* SPDX-License-Identifier: Apache-2.0
 * Memory plugins: the parts of the HCCL API by which a program makes memory of its own known to all
 * ranks before it is used - symmetric windows and zero-copy ranges. A plugin owns the rules of its
 * functions; the core checks the communicator, gives the plugin a way to talk to the other ranks,
 * and keeps the map of what was made known, which operators look into on every call. C99.
 *
 * The map. Every rank knows a place of its own memory under its address and tells it to others as a
 * *token*, 48 bits that mean something to this plugin on all ranks. `show_own` says how an address
 * becomes a token, `show_peer` how the token of a peer becomes an address here. A call whose buffer
 * lies in what `show_own` named travels under its token, and no peer is asked. So: all peers must
 * have shown a place before its owner does, and the owner must hide it before any of them.
 *
 * All functions return WEFT_OK or an HcclResult code with the reason given to host->fail, unless
 * said otherwise. Addresses are those of the calling process. */
#ifndef WEFT_MEMORY_H_
#define WEFT_MEMORY_H_

#include "weft/abi.h"
#include "weft/host.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Families of functions that a plugin may offer. */
enum { WEFT_MEMORY_WINDOWS = 1u << 0, WEFT_MEMORY_RANGES = 1u << 1 };

/* weft_group.window_bytes if the caller left it to the plugin. */
#define WEFT_NOT_CONFIGURED UINT64_MAX

/* Tokens are below this. */
#define WEFT_TOKEN_LIMIT (1ull << 48)

/* Receives one rank's part of an all_gather; borrowed for the call. */
typedef void (*weft_gathered)(void* arg, uint32_t rank, const void* bytes, uint64_t length);

/* One rank of one communicator, as the core lends it to a plugin from attach to detach. */
typedef struct weft_group {
  weft_head head;
  void* self; /* first argument of the functions */
  uint32_t rank;
  uint32_t ranks;
  int32_t device;
  uint32_t reserved;
  /* hcclSymWinMaxMemSizePerRank in bytes, unchecked; WEFT_NOT_CONFIGURED: the plugin chooses. */
  uint64_t window_bytes;
  /* By rank: equal for two ranks exactly if they are in one process. */
  const uint64_t* processes;

  /* Every rank gives bytes, the lengths may differ, and gets everybody's, by rank, own included.
   * Collective: the same order on every rank. Blocks until all have called, at most the time-out of
   * connecting: then HCCL_E_TIMEOUT on all, naming who is missing; HCCL_E_REMOTE if one is gone. */
  int32_t (*all_gather)(void* self, const void* mine, uint64_t length, weft_gathered each,
                        void* arg);
  /* Has every other rank that is still a member answer a question (weft_memory.answer). Not
   * collective: peers answer on a thread of the core. Blocks until all have; the first code that is
   * not WEFT_OK, with the peer's reason. A rank that has left or died makes it HCCL_E_REMOTE, after
   * all others have answered. At most 64 KiB. Not to be called by `answer`, nor while holding a
   * lock that `answer` takes: two ranks that ask each other would wait for ever. */
  int32_t (*ask)(void* self, const void* question, uint64_t length);

  /* Addresses [address, address + bytes) of this rank are [token, token + bytes) to the others.
   * WEFT_E_PARA if it overlaps what is shown. Neighbours whose tokens go on become one place. */
  int32_t (*show_own)(void* self, uint64_t address, uint64_t bytes, uint64_t token);
  /* No later call uses it. All of it must be shown. */
  void (*hide_own)(void* self, uint64_t address, uint64_t bytes);
  /* Tokens [token, token + bytes) of `peer` are [address, address + bytes) here. */
  int32_t (*show_peer)(void* self, uint32_t peer, uint64_t token, uint64_t bytes, uint64_t address);
  /* No later call uses it. All of it must be shown. */
  void (*hide_peer)(void* self, uint32_t peer, uint64_t token, uint64_t bytes);
  /* 1 while a call of this rank whose own buffer overlaps [address, address + bytes) has not ended;
   * whatever way it travels. Never blocks. */
  int32_t (*own_in_use)(void* self, uint64_t address, uint64_t bytes);
  /* 1 while a call of this rank that found a buffer of `peer` through this plugin has not ended:
   * what hide_peer hid may still be in use. Never blocks. An `answer` must not wait for it without
   * end: the call may need a rank whose question waits for an answer of this one. */
  int32_t (*peer_in_use)(void* self, uint32_t peer);
} weft_group;

typedef struct weft_memory {
  weft_head head;
  uint32_t families; /* WEFT_MEMORY_* offered: the functions of the others may be null */
  uint32_t reach;    /* WEFT_REACH_* */

  /* Once per process, before anything else. `host` lives for ever. */
  int32_t (*open)(const weft_host* host, void** context);

  /* For each rank of each communicator, when it is created and destroyed; local, takes nothing up.
   * A single rank has a group of one. `group` lives until detach, which no call of the communicator
   * and no answer outlives; peers may already be gone. */
  int32_t (*attach)(void* context, const weft_group* group, void** member);
  void (*detach)(void* member);

  /* Why [address, address + bytes) is not in what this rank shows, for people: writes at most
   * `room` bytes, NUL included. Any thread; may take locks. */
  void (*explain)(void* member, const void* address, uint64_t bytes, char* text, uint64_t room);

  /* Windows: the HCCL functions of the same names, with the rules of each. The communicator is good
   * and current is its device; null pointers are checked by the core. */
  int32_t (*window_register)(void* member, void* address, uint64_t bytes, uint32_t flag,
                             void** window);
  /* HCCL_E_NOT_FOUND if the handle is not one of this plugin. */
  int32_t (*window_deregister)(void* context, void* window);
  int32_t (*window_find)(void* member, void* address, uint64_t bytes, void** window,
                         uint64_t* offset);
  /* HCCL_E_NOT_FOUND if the handle is not one of this plugin. */
  int32_t (*window_peer)(void* context, void* window, uint64_t offset, uint32_t peer,
                         void** pointer);

  /* HcommMemAlloc and HcommMemFree: memory that can be registered, on the device that is current.
   * HCCL_E_NOT_FOUND if the pointer is not one of this plugin. */
  int32_t (*memory_alloc)(void* context, uint64_t bytes, void** pointer);
  int32_t (*memory_free)(void* context, void* pointer);

  /* Ranges: HcclCommSetMemoryRange, Unset, Activate, Deactivate. */
  int32_t (*range_set)(void* member, void* base, uint64_t bytes, uint64_t alignment,
                       uint64_t flags);
  int32_t (*range_unset)(void* member, void* base);
  int32_t (*range_activate)(void* member, void* address, uint64_t bytes, uint64_t offset,
                            void* handle, uint64_t flags);
  int32_t (*range_deactivate)(void* member, void* address);

  /* Answers what `peer` asks by weft_group.ask, on a thread of the core whose current device is the
   * communicator's; one question at a time, in the order asked by one peer. Must not wait for other
   * ranks. Null if the plugin never asks. */
  int32_t (*answer)(void* member, uint32_t peer, const void* question, uint64_t length);
} weft_memory;

#ifdef __cplusplus
}
#endif

#endif /* WEFT_MEMORY_H_ */
