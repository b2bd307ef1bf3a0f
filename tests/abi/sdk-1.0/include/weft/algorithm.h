/* SPDX-License-Identifier: Apache-2.0
 * Algorithm plugins: pure functions that write a schedule for one rank. C99; authors use
 * weft/sdk.hpp.
 *
 * A schedule is a list of steps in program order for one rank. Its operands are chunks: symbolic
 * pieces of a rank's In, Out or Scratch. It never sees counts, addresses, data types or transports;
 * the core binds those later.
 *
 * Geometry. Let L be the number of elements of one block (the count argument of the HCCL call:
 * count, sendCount or recvCount). In and Out are arrays of blocks of L elements:
 *
 *   operation         In blocks   Out blocks
 *   all_reduce        1           1
 *   broadcast         1           1           (both are the user's buffer; the root's In counts)
 *   reduce            1           1           (Out on the root only)
 *   scatter           n           1           (In on the root only)
 *   all_gather        1           n
 *   reduce_scatter    n           1
 *   all_to_all        n           n
 *   barrier           0           0
 *   all_gather_v      1           n           (In of rank r and Out[r] have length r)
 *   reduce_scatter_v  n           1           (In[b] and Out of rank b have length b)
 *   all_to_all_v      n           n           (In[j] of rank i is as long as Out[i] of rank j)
 *
 * In the operations that end in _v blocks have lengths of their own, which a schedule does not know
 * either. There, blocks are not cut into parts; all chunks of In and Out in one step must be
 * equally long by the rules above; a step names at least one such chunk, since Scratch takes its
 * length from them. In all_to_all_v ranks do not know each other's lengths: of a peer a rank may
 * only name In[own rank] and Out[own rank], and there is no Scratch.
 *
 * Scratch is an array of as many blocks of L elements as the schedule mentions. Every block may be
 * cut into `parts` parts; part i of p covers elements [min(L, i*q), min(L, (i+1)*q)) with q =
 * ceil(L/p) rounded up to a cache line. A part can be empty: its steps then move nothing, its
 * signals stay.
 *
 * Scratch of one call is never that of the call before: the core alternates two areas, and begins a
 * call that uses Scratch only when all ranks have ended the call before the last one. All ranks
 * must name the same number of blocks. A rank may touch another rank's In or Out only after a wait
 * for a signal of that rank in the same call: that signal carries the addresses. */
#ifndef WEFT_ALGORITHM_H_
#define WEFT_ALGORITHM_H_

#include "weft/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { WEFT_SPACE_IN = 0, WEFT_SPACE_OUT = 1, WEFT_SPACE_SCRATCH = 2, WEFT_SPACE_COUNT = 3 };

/* Part `part` of `parts` of block `block` in `space` of rank `rank`. */
typedef struct weft_chunk {
  uint32_t space;
  uint32_t rank;
  uint32_t block;
  uint32_t part;
  uint32_t parts; /* >= 1 */
} weft_chunk;

enum {
  /* dsts = src, 1 source. */
  WEFT_VERB_COPY = 1,
  /* every dst = srcs[0] op srcs[1] op ... in this order. A dst may be equal to a source. */
  WEFT_VERB_REDUCE = 2,
  /* Tell `peer` that all my steps so far are done. Never blocks. */
  WEFT_VERB_SIGNAL = 3,
  /* Wait for the next signal of `peer`; what it did before that signal is visible afterwards. */
  WEFT_VERB_WAIT = 4
};

typedef struct weft_step {
  weft_head head;
  uint32_t verb;
  uint32_t peer;      /* signal, wait; else 0 */
  uint32_t dst_count; /* copy, reduce: >= 1 */
  uint32_t src_count; /* copy: 1; reduce: >= 1 */
  uint32_t stride;    /* sizeof(weft_chunk) of the writer */
  uint32_t reserved;
  const weft_chunk* dsts;
  const weft_chunk* srcs;
} weft_step;

/* Where a schedule is written to; made by the core. */
typedef struct weft_builder {
  weft_head head;
  void* self;
  /* Appends a step (operands are copied). WEFT_OK, or WEFT_E_PARA with the reason kept: stop
   * emitting then. */
  int32_t (*append)(void* self, const weft_step* step);
  /* Says that all ranks together name `blocks` blocks of Scratch: for a schedule whose steps on
   * some rank name fewer. Answers as append does. */
  int32_t (*reserve)(void* self, uint32_t blocks);
} weft_builder;

/* The question to an algorithm: the shape of a call, seen from one rank. */
typedef struct weft_problem {
  weft_head head;
  uint32_t op; /* WEFT_OP_* */
  uint32_t ranks;
  uint32_t rank;
  uint32_t root;        /* broadcast, reduce, scatter; else 0 */
  uint32_t param_count; /* as declared by the algorithm, defaults filled in */
  uint32_t reserved;
  const int64_t* params; /* in the order of weft_algorithm.params */
} weft_problem;

/* What the value of a parameter means; it always travels as an int64_t. */
enum {
  WEFT_PARAM_INTEGER = 0,
  WEFT_PARAM_BOOLEAN = 1, /* 0 is false, 1 is true: min 0, max 1 */
  WEFT_PARAM_CHOICE = 2   /* the index of one of `choices`: min 0, max the last of them */
};

/* A parameter that a policy rule may set. */
typedef struct weft_param {
  weft_head head;
  const char* name; /* unique in its algorithm: [a-z0-9_]+ */
  const char* help; /* one line */
  int64_t def;
  int64_t min;
  int64_t max;
  uint32_t type; /* WEFT_PARAM_* */
  uint32_t reserved;
  const char* const* choices; /* of WEFT_PARAM_CHOICE: max + 1 names, each [a-z0-9_]+; else null */
} weft_param;

enum {
  /* Every element is summed in rank order 0..n-1 on every rank: needed when a deterministic result
     is asked for. */
  WEFT_ALGORITHM_RANK_ORDER = 1u << 0,
  /* Some step writes to or reduces into a peer's memory, not only reads it. */
  WEFT_ALGORITHM_REMOTE_WRITE = 1u << 1
};

typedef struct weft_algorithm {
  weft_head head;
  const char* name;    /* unique in its plugin: [a-z0-9_]+; full name "plugin.name" */
  const char* summary; /* one line: idea, rounds, bytes on the wire */
  uint32_t op;         /* WEFT_OP_* */
  uint32_t flags;      /* WEFT_ALGORITHM_* */
  uint32_t min_ranks;  /* >= 2: the core itself does a single rank */
  uint32_t max_ranks;  /* 0 = no limit */
  uint32_t param_count;
  uint32_t param_stride; /* sizeof(weft_param) of the writer */
  const weft_param* params;
  /* Writes the schedule of problem->rank. Pure: same problem, same schedule. WEFT_OK or a code.
   * Does not throw (P8). */
  int32_t (*emit)(const weft_problem* problem, const weft_builder* builder);
  /* The algorithm name in HCCL_ALGO that this one answers to: "ring", "pipeline", "fullmesh",
   * "H-D_R", "pairwise", "NHR", "NHR_V1", "NB", "AHC" or "AHC_BROKE". Null: none. */
  const char* hccl_algo;
} weft_algorithm;

/* Table of a plugin of kind WEFT_KIND_ALGORITHMS. */
typedef struct weft_algorithms {
  weft_head head;
  uint32_t count;
  uint32_t reserved;
  const weft_algorithm* const* items; /* pointers: each algorithm may be of its own size */
} weft_algorithms;

#ifdef __cplusplus
}
#endif

#endif /* WEFT_ALGORITHM_H_ */
