/* SPDX-License-Identifier: Apache-2.0
 * Transport plugins: how ranks reach each other's memory, and how a plan gets onto a stream. C99.
 *
 * The direct engine: memory of peers can be loaded and stored by the CPU. The core's executor is
 * one resumable task on the stream; it moves data by `copy` and `reduce` and signals by stores into
 * memory that `allocate` returned.
 *
 * The tasks engine: the stream does all the work. When a call is issued, the core puts copies,
 * reductions, records of flags and waits for flags on the stream, by the functions of weft_tasks;
 * the CPU touches no device memory.
 *
 * All functions return WEFT_OK or an HcclResult code with the reason given to host->fail, unless
 * said otherwise. */
#ifndef WEFT_TRANSPORT_H_
#define WEFT_TRANSPORT_H_

#include "weft/abi.h"
#include "weft/host.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { WEFT_ENGINE_DIRECT = 1u << 0, WEFT_ENGINE_TASKS = 1u << 1 };

/* A resumable task, the first member of the core's own struct. `run` is called on some thread, one
 * call at a time, until it does not answer WEFT_TASK_AGAIN (it would have to wait); anything above
 * 0 is an HcclResult code that ends it. */
enum { WEFT_TASK_DONE = 0, WEFT_TASK_AGAIN = -1 };
/* weft_task.flags. */
enum {
  /* `run` takes no longer than a thread of the runtime needs to come for it, some 50 us: if the
   * stream is idle, `submit` may call it once before it returns. */
  WEFT_TASK_BRIEF = 1
};
typedef struct weft_task {
  int32_t (*run)(struct weft_task* self);
  /* Called once instead, if the stream drops the task: it was destroyed by force, or stopped by an
   * earlier failure. */
  void (*drop)(struct weft_task* self);
  /* Null, or: what the task can do before its turn, without waiting; then it is WEFT_TASK_BRIEF.
   * `submit` may call it once, before it returns, if all tasks ahead of it in the stream are of the
   * same group, never together with a `run` of one of them. */
  void (*begin)(struct weft_task* self);
  const void* group; /* any address; not looked at without `begin` */
  uint32_t flags;    /* WEFT_TASK_* */
  uint32_t reserved;
} weft_task;

/* What one rank tells the others so that they can reach it. Opaque to the core; at most
 * WEFT_BLOB_BYTES in the direct engine. */
#define WEFT_BLOB_BYTES 512u

typedef struct weft_endpoint_params {
  weft_head head;
  uint32_t rank;
  uint32_t ranks;
  int32_t device;
  uint32_t engine; /* the one of WEFT_ENGINE_* that the endpoint is for; 0: direct */
  /* Of the tasks engine. */
  uint32_t flags; /* that each peer can record here, and as many of this rank at each peer */
  uint32_t marks;
} weft_endpoint_params;

/* How this rank sees the memory of one peer: address here = address there + delta. */
typedef struct weft_peer_view {
  int64_t delta;
} weft_peer_view;

/* What an endpoint knows once it is connected. */
typedef struct weft_endpoint_info {
  weft_head head;
  uint64_t
      window_base; /* [base, base + size): memory of this rank that every peer can reach directly */
  uint64_t window_size;
  uint32_t all_local; /* 1: all ranks are threads of this process, any address is visible to all */
  uint32_t reserved;
} weft_endpoint_info;

/* Kinds of memory that an address may be in. */
enum {
  WEFT_PLACE_OTHER = 0,  /* none of these: host memory that the runtime never saw, or nothing */
  WEFT_PLACE_PINNED = 1, /* host memory that was registered, or allocated, with the runtime */
  WEFT_PLACE_DEVICE = 2, /* an allocation of device memory */
  WEFT_PLACE_MAPPED = 3, /* physical memory of a device, mapped at a reserved address */
  WEFT_PLACE_FREED = 4   /* addresses of device memory that nobody has allocated (any more) */
};

/* What the runtime knows of the memory at an address. */
typedef struct weft_place {
  weft_head head;
  uint32_t kind;  /* WEFT_PLACE_* */
  int32_t device; /* that owns it; -1: none */
  /* Of PINNED, DEVICE and MAPPED: the block that contains the address, as large as the runtime made
   * it. Otherwise 0. */
  uint64_t base;
  uint64_t bytes;
} weft_place;

/* On which side of a copy a caller's buffer is. */
enum { WEFT_SIDE_DEVICE = 0, WEFT_SIDE_HOST = 1 };

/* The tasks engine. Each function that takes a stream appends to it and returns; a call on a stream
 * of another device than the endpoint's fails. The endpoint's device is current on the calling
 * thread.
 *
 * A flag is one bit. It belongs to the rank that waits for it and only one peer records it. A wait
 * clears it; a second record before that is lost, so the core never does it. */
typedef struct weft_tasks {
  weft_head head;

  /* 1 if `reduce` can combine this type with this op. */
  int32_t (*reduces)(int32_t type, int32_t op);

  /* Once, before `describe`: memory of this rank that its peers reach when they are connected.
   * Freed with the endpoint. */
  int32_t (*share)(void* endpoint, uint64_t bytes, void** address);
  /* A stream of the transport's own, freed with the endpoint. */
  int32_t (*stream)(void* endpoint, void** stream);
  /* Whether copies can use a caller's buffer as it is, and where that is: WEFT_SIDE_*. WEFT_E_PARA
   * with a reason if not. */
  int32_t (*locate)(void* endpoint, const void* address, uint64_t bytes, uint32_t* side);

  /* dst = src, of any size. `side`: the caller's side of it, or WEFT_SIDE_DEVICE. */
  int32_t (*copy)(void* endpoint, void* stream, void* dst, const void* src, uint64_t bytes,
                  uint32_t side);
  /* dst[i] = dst[i] op src[i], of any size; `count` in elements. */
  int32_t (*reduce)(void* endpoint, void* stream, void* dst, const void* src, uint64_t count,
                    int32_t type, int32_t op);

  /* Sets flag `index` that `peer` has for this rank. / Waits for flag `index` that this rank has
   * for `peer` and clears it; after so many seconds it fails, 0: never. */
  int32_t (*record)(void* endpoint, void* stream, uint32_t peer, uint32_t index);
  int32_t (*wait)(void* endpoint, void* stream, uint32_t peer, uint32_t index, uint32_t seconds);

  /* Marks [0, params.marks): points of streams. `mark` sets one after all that is on the stream;
   * `follow` makes a stream wait for it. */
  int32_t (*mark)(void* endpoint, void* stream, uint32_t mark);
  int32_t (*follow)(void* endpoint, void* stream, uint32_t mark);
  /* 1 once the stream is past the mark, or was aborted; any thread, no device need be current. */
  int32_t (*passed)(void* endpoint, uint32_t mark);

  /* Ends what the stream does and drops all that is on it, and what is put on it until it is
   * synchronised, which then fails. What follows marks of it waits on. */
  int32_t (*abort)(void* endpoint, void* stream);
} weft_tasks;

typedef struct weft_transport {
  weft_head head;
  uint32_t engines; /* WEFT_ENGINE_* offered */
  uint32_t reach;   /* WEFT_REACH_* */

  /* Once per process, before anything else. `host` lives for ever. */
  int32_t (*open)(const weft_host* host, void** context);

  /* Device that is current on the calling thread; WEFT_E_RUNTIME if none is set. */
  int32_t (*get_device)(void* context, int32_t* device);
  /* Makes `device` current on the calling thread / takes that back (pairs). */
  int32_t (*set_device)(void* context, int32_t device);
  int32_t (*reset_device)(void* context, int32_t device);
  /* The number that `device` has on the host, whatever devices this process may use: what rank
   * tables name. */
  int32_t (*physical_device)(void* context, int32_t device, int32_t* physical);

  /* An endpoint is one rank of one communicator. Opened on a thread whose current device is
   * params->device. */
  int32_t (*endpoint_open)(void* context, const weft_endpoint_params* params, void** endpoint);
  /* Frees what the endpoint holds, its imports included. Peers may already be gone. */
  void (*endpoint_close)(void* endpoint);

  /* Makes the endpoint's device current on the calling thread, so that its streams can be used;
   * *previous takes what was current. / Makes `previous` current again, if there was one (pairs).
   */
  int32_t (*enter)(void* endpoint, void** previous);
  void (*leave)(void* endpoint, void* previous);

  /* Memory that peers can reach, taken up as it is touched: not zeroed, aligned to 4096 bytes.
   * `release`: peers may read it until they close their endpoints, so it must stay mapped. */
  int32_t (*allocate)(void* endpoint, uint64_t bytes, void** address);
  void (*release)(void* endpoint, void* address);

  /* Writes this rank's blob; *length in: room, out: bytes used. With `blob` null only the length.
   */
  int32_t (*describe)(void* endpoint, void* blob, uint64_t* length);
  /* Blobs of all ranks, own included, by rank: pointers and lengths. Fills views[ranks] and info.
   * WEFT_E_UNAVAIL with a reason if a peer cannot be reached by this transport. */
  int32_t (*connect)(void* endpoint, const void* const* blobs, const uint64_t* lengths,
                     weft_peer_view* views, weft_endpoint_info* info);

  /* Appends a task to a stream; `task` stays the caller's and must live until it has ended. Hot: no
   * allocation, no lock held while tasks run. */
  int32_t (*submit)(void* endpoint, void* stream, weft_task* task);
  /* Waits until all tasks of a stream have ended; helps if it can. The code of what failed. */
  int32_t (*synchronize)(void* endpoint, void* stream);
  /* Gives the text that goes with a code which a task is about to return, for the thread that
   * synchronises. */
  void (*task_error)(const char* text);
  /* The same for a call that fails at once on this thread. Works before `open` too. */
  void (*call_error)(const char* text);

  /* Looks an address up in the runtime's books, for checks: not for the way of every call. Any
   * address but null; it is not read. The caller has set place->head. */
  int32_t (*look_up)(void* endpoint, const void* address, weft_place* place);

  /* dst = src. No overlap unless equal. After return, a release store publishes the data.
   * `sharers`: ranks of this host that move as much at the same time, this one included; what they
   * touch together may decide how. */
  void (*copy)(void* dst, const void* src, uint64_t bytes, uint32_t sharers);
  /* Each dst[i] = srcs[0][i] op srcs[1][i] op ...; `type` and `op` are HcclDataType and
   * HcclReduceOp values. A dst may equal a source. One source: a copy to several destinations. */
  void (*reduce)(void* const* dsts, uint64_t dst_count, const void* const* srcs, uint64_t src_count,
                 uint64_t count, int32_t type, int32_t op, uint32_t sharers);
  /* 1 if reduce can combine this type with this op. */
  int32_t (*reduces)(int32_t type, int32_t op);

  /* Required of a transport that offers WEFT_ENGINE_TASKS. */
  const weft_tasks* tasks;
} weft_transport;

#ifdef __cplusplus
}
#endif

#endif /* WEFT_TRANSPORT_H_ */
