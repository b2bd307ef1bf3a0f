/* SPDX-License-Identifier: Apache-2.0
 * What weft tells beside the HCCL API: how the last call of a communicator was carried out. C99,
 * libhccl.so. */
#ifndef WEFT_COMM_H_
#define WEFT_COMM_H_

#include "hccl/hccl_types.h"
#include "weft/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a buffer gets from one rank to another, from fast to slow; docs/memory.md explains them. */
enum {
  WEFT_WAY_NONE = 0,   /* the call has no such buffer, or there is one rank */
  WEFT_WAY_WINDOW = 1, /* a symmetric window of this communicator */
  WEFT_WAY_RANGE = 2,  /* active memory of a zero-copy range */
  WEFT_WAY_HEAP = 3,   /* device memory of aclrtMalloc, which all ranks map */
  WEFT_WAY_LOCAL = 4,  /* any memory: all ranks are threads of this process */
  WEFT_WAY_OWN = 5,    /* any memory: no other rank touches the buffer in this algorithm */
  WEFT_WAY_STAGED = 6, /* copied through memory that all ranks map */
  WEFT_WAY_COUNT = 7
};

typedef struct weft_call_info {
  weft_head head;     /* fill with WEFT_HEAD(weft_call_info) before the call */
  char algorithm[64]; /* "mesh.two_shot"; "copy" for a single rank */
  char source[256];   /* what chose it: "/etc/weft/policy.toml:12", "HCCL_ALGO level0:ring" */
  uint32_t pieces;    /* the call was cut into so many pieces because Scratch is smaller */
  uint32_t in_way;    /* WEFT_WAY_* of the input; of a batch of messages the slowest */
  uint32_t out_way;   /* of the output */
  uint32_t reserved;
  char in_why[256]; /* why not the first way in the policy's order; "" if it is that */
  char out_why[256];
} weft_call_info;

/* The last operator issued on this communicator by this rank. Local, does not block; call it
 * between operators. HCCL_E_PTR: a null argument; HCCL_E_PARA: no such communicator;
 * HCCL_E_NOT_FOUND: no operator yet. */
HcclResult weft_comm_last_call(HcclComm comm, weft_call_info* info);

typedef struct weft_comm_counters {
  weft_head head; /* fill with WEFT_HEAD(weft_comm_counters) before the call */
  /* Operators and batches of messages that this rank issued, by the slowest way that one of their
   * buffers took. */
  uint64_t calls_by_way[WEFT_WAY_COUNT];
  /* A call of a new shape (operator, count, type, reduction, root) is planned; up to 512 plans are
   * kept, the least recently used one makes room. */
  uint64_t plans_made;
  uint64_t plans_evicted;
} weft_comm_counters;

/* Counts since the communicator was made. Local, does not block; call it between operators. Errors
 * as above. */
HcclResult weft_comm_get_counters(HcclComm comm, weft_comm_counters* counters);

/* An algorithm that takes part in an experiment of the policy. Times are of a call on this rank,
 * from its issue, or the end of the call before it if that is later, to its end. */
typedef struct weft_arm_result {
  char algorithm[128]; /* "ring.broadcast { pieces = 16 }" */
  char off[128];       /* why it took no part in some calls; "" if it always did */
  uint64_t calls;      /* that have ended */
  double median_us;    /* of the means of blocks; 0: no block is complete */
  double mean_us;
  double mean_half_width_us; /* of its interval of 95 % confidence */
  double ratio;              /* its time by that of the first arm, median over rounds; 1 at first */
  double ratio_low;          /* 95 % confidence */
  double ratio_high;
} weft_arm_result;

#define WEFT_MOST_ARMS 8

typedef struct weft_experiment_result {
  weft_head head; /* fill with WEFT_HEAD(weft_experiment_result) before the call */
  char name[64];
  uint32_t arms;
  uint32_t fastest; /* 0: no verdict (yet); else 1 + the arm that is faster than all others */
  uint64_t rounds;  /* that were compared */
  weft_arm_result arm[WEFT_MOST_ARMS];
} weft_experiment_result;

/* What the experiment with this index, from 0 in the order of their first calls, has found so far
 * on this communicator by the times of this rank (docs/policy.md). Local, does not block; any
 * thread. Of arms that are equally fast it ever calls one the fastest with a probability of at most
 * 3 %, however often it is asked. HCCL_E_PTR, HCCL_E_PARA: as above. HCCL_E_NOT_FOUND: there are
 * not so many. Other ranks may come to another answer: let one rank decide for all. */
HcclResult weft_comm_experiment(HcclComm comm, uint32_t index, weft_experiment_result* result);

/* How the gradients of a group are cut into segments (hccl/hcom.h). */
enum {
  WEFT_FUSION_DEFAULT = 0, /* nothing was set: 96.54 % and 3.46 % of the bytes */
  WEFT_FUSION_BY_INDEX = 1,
  WEFT_FUSION_BY_SIZE = 2
};

/* The strategy in force for a group of the current device, NULL: the world. Writes one of
 * WEFT_FUSION_*, and the number of segments; with `room` entries of the caller's in the list of
 * that kind, also the list: the number of the last gradient, or percent. HCCL_E_PARA: room is not 0
 * and too small. HCCL_E_NOT_FOUND: no such group. */
HcclResult weft_grad_fusion(const char* group, uint32_t room, uint32_t* kind, uint32_t* segments,
                            uint32_t* indices, float* sizes);

/* "window", "range", "heap", "local", "own", "staged"; "none" for anything else. */
const char* weft_way_name(uint32_t way);

/* The text of the calling thread's last error of an HCCL or weft function, "" if there was none;
 * valid until the next one. The same text goes to aclGetRecentErrMsg() where a runtime is loaded.
 */
const char* weft_last_error(void);

#ifdef __cplusplus
}
#endif

#endif /* WEFT_COMM_H_ */
