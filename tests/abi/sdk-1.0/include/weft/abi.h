/* SPDX-License-Identifier: Apache-2.0
 * The contract between the core and a plugin: one exported symbol, a descriptor, and the rules for
 * every struct. Rules P1..P12 are in docs/abi.md; the names in comments below refer to them. C99.
 */
#ifndef WEFT_ABI_H_
#define WEFT_ABI_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A different major is refused at load (P4); minors only append fields (P3). */
#define WEFT_ABI_MAJOR 1u
#define WEFT_ABI_MINOR 0u

/* First member of every table and parameter struct (P2). size = sizeof of the struct as its writer
 * knew it. */
typedef struct weft_head {
  uint32_t size;
  uint16_t major;
  uint16_t minor;
} weft_head;

#define WEFT_HEAD(type) \
  { (uint32_t)sizeof(type), WEFT_ABI_MAJOR, WEFT_ABI_MINOR }

/* True if the writer of `object` knew `field` (P3). */
#define WEFT_HAS(object, type, field) \
  ((object)->head.size >= offsetof(type, field) + sizeof(((const type*)0)->field))

/* Results are HcclResult values (hccl/hccl_types.h); the ones a plugin returns itself: */
#define WEFT_OK 0
#define WEFT_E_PARA 1
#define WEFT_E_PTR 2
#define WEFT_E_MEMORY 3
#define WEFT_E_INTERNAL 4
#define WEFT_E_NOT_SUPPORT 5
#define WEFT_E_NOT_FOUND 6
#define WEFT_E_UNAVAIL 7
#define WEFT_E_TIMEOUT 9
#define WEFT_E_RUNTIME 15
#define WEFT_E_AGAIN 20
#define WEFT_E_REMOTE 21
#define WEFT_E_OOM 24

/* Operations. A stable number of our own: plugins do not need the HCCL headers. */
enum {
  WEFT_OP_ALL_REDUCE = 1,
  WEFT_OP_BROADCAST = 2,
  WEFT_OP_ALL_GATHER = 3,
  WEFT_OP_REDUCE_SCATTER = 4,
  WEFT_OP_ALL_TO_ALL = 5,
  WEFT_OP_BARRIER = 6,
  WEFT_OP_REDUCE = 7,
  WEFT_OP_SCATTER = 8,
  WEFT_OP_ALL_GATHER_V = 9,
  WEFT_OP_REDUCE_SCATTER_V = 10,
  WEFT_OP_ALL_TO_ALL_V = 11, /* HcclAlltoAllV and HcclAlltoAllVC */
  WEFT_OP_COUNT = 12
};

/* Kinds of plugins. */
enum { WEFT_KIND_ALGORITHMS = 1, WEFT_KIND_TRANSPORT = 2, WEFT_KIND_MEMORY = 3 };

/* How far apart ranks may be that a transport or memory plugin serves. Shown to people; whether it
 * serves certain ranks, the plugin says when they connect or register. */
enum {
  WEFT_REACH_UNSAID = 0,
  WEFT_REACH_PROCESS = 1, /* threads of one process */
  WEFT_REACH_HOST = 2,    /* processes of one host */
  WEFT_REACH_HOSTS = 3    /* several hosts */
};

#define WEFT_PLUGIN_MAGIC 0x54464557u /* "WEFT" in memory, little endian */
#define WEFT_PLUGIN_SYMBOL "weft_plugin"

/* What a plugin says about itself. Static and constant: describing does nothing (P9). */
typedef struct weft_plugin_desc {
  weft_head head;
  uint32_t magic;      /* WEFT_PLUGIN_MAGIC */
  uint32_t kind;       /* WEFT_KIND_* */
  const char* name;    /* short, unique among loaded plugins: [a-z0-9_-]+ (P12) */
  const char* version; /* of the plugin, for people: "1.0.0" */
  const char* summary; /* one line */
  const void* table;   /* weft_algorithms, weft_transport or weft_memory, by kind */
} weft_plugin_desc;

typedef const weft_plugin_desc* (*weft_plugin_fn)(void);

#if defined(__GNUC__)
#define WEFT_EXPORT __attribute__((visibility("default")))
#else
#define WEFT_EXPORT
#endif

#ifdef __cplusplus
}
#endif

#endif /* WEFT_ABI_H_ */
