/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types, codes and constants of the HCCL C API. Sizes, offsets and values are ABI and never change.
 * Written for C99 and for C++11 and later.
 */
#ifndef HCCL_TYPES_H_
#define HCCL_TYPES_H_

#include <stdint.h>

/*
 * Constants are typed objects in C++. C99 accepts no object as an array bound, so there a bound is
 * an enumerator and every other constant is a static object.
 */
#ifdef __cplusplus
#define HCCL_DEFINE_CONST_(type, name, value) const type name = value
#define HCCL_DEFINE_BOUND_(name, value) const uint32_t name = value
extern "C" {
#else
#define HCCL_DEFINE_CONST_(type, name, value) static const type name __attribute__((unused)) = value
#define HCCL_DEFINE_BOUND_(name, value) enum { name = value }
#endif

/* What every function of the API returns. */
typedef enum {
  HCCL_SUCCESS = 0,
  HCCL_E_PARA = 1,        /* an argument, option or environment value is wrong */
  HCCL_E_PTR = 2,         /* a pointer is NULL */
  HCCL_E_MEMORY = 3,      /* memory could not be got or copied */
  HCCL_E_INTERNAL = 4,    /* an error inside the library */
  HCCL_E_NOT_SUPPORT = 5, /* no such feature here */
  HCCL_E_NOT_FOUND = 6,   /* a named resource does not exist */
  HCCL_E_UNAVAIL = 7,     /* a resource is taken or not ready */
  HCCL_E_SYSCALL = 8,     /* the operating system refused a call */
  HCCL_E_TIMEOUT = 9,     /* a peer did not answer within the time limit */
  HCCL_E_OPEN_FILE_FAILURE = 10,
  HCCL_E_TCP_CONNECT = 11,
  HCCL_E_ROCE_CONNECT = 12,
  HCCL_E_TCP_TRANSFER = 13,
  HCCL_E_ROCE_TRANSFER = 14,
  HCCL_E_RUNTIME = 15, /* the device runtime refused a call */
  HCCL_E_DRV = 16,
  HCCL_E_PROFILING = 17,
  HCCL_E_CCE = 18,
  HCCL_E_NETWORK = 19,
  HCCL_E_AGAIN = 20,      /* busy: call again later */
  HCCL_E_REMOTE = 21,     /* a peer failed */
  HCCL_E_SUSPENDING = 22, /* the communicator is suspended */
  HCCL_E_OPRETRY_FAIL = 23,
  HCCL_E_OOM = 24,
  HCCL_E_IN_STATUS = 1041, /* the detail is in a status object */
  HCCL_E_RESERVED = 1042   /* one past the last code */
} HcclResult;

/* A communicator: made by an Init or Create function, freed by HcclCommDestroy. */
typedef void* HcclComm;
/* Reserved: no function takes one. */
typedef void* HcclConn;
/* A window of symmetric memory: made and freed by HcclCommSymWinRegister and ...Deregister. */
typedef void* HcclCommSymWindow;

/* How ranks are combined. */
typedef enum {
  HCCL_REDUCE_SUM = 0,
  HCCL_REDUCE_PROD = 1,
  HCCL_REDUCE_MAX = 2,
  HCCL_REDUCE_MIN = 3,
  HCCL_REDUCE_RESERVED = 255
} HcclReduceOp;

/* The type of one element, its size in bytes beside it. 13 is not assigned. */
typedef enum {
  HCCL_DATA_TYPE_INT8 = 0,     /* 1 */
  HCCL_DATA_TYPE_INT16 = 1,    /* 2 */
  HCCL_DATA_TYPE_INT32 = 2,    /* 4 */
  HCCL_DATA_TYPE_FP16 = 3,     /* 2 */
  HCCL_DATA_TYPE_FP32 = 4,     /* 4 */
  HCCL_DATA_TYPE_INT64 = 5,    /* 8 */
  HCCL_DATA_TYPE_UINT64 = 6,   /* 8 */
  HCCL_DATA_TYPE_UINT8 = 7,    /* 1 */
  HCCL_DATA_TYPE_UINT16 = 8,   /* 2 */
  HCCL_DATA_TYPE_UINT32 = 9,   /* 4 */
  HCCL_DATA_TYPE_FP64 = 10,    /* 8 */
  HCCL_DATA_TYPE_BFP16 = 11,   /* 2 */
  HCCL_DATA_TYPE_INT128 = 12,  /* 16 */
  HCCL_DATA_TYPE_HIF8 = 14,    /* 1 */
  HCCL_DATA_TYPE_FP8E4M3 = 15, /* 1 */
  HCCL_DATA_TYPE_FP8E5M2 = 16, /* 1 */
  HCCL_DATA_TYPE_FP8E8M0 = 17, /* 1 */
  HCCL_DATA_TYPE_RESERVED = 255
} HcclDataType;

/* Process-wide settings of HcclSetConfig and HcclGetConfig. */
typedef enum { HCCL_DETERMINISTIC = 0, HCCL_CONFIG_RESERVED = 1 } HcclConfig;

/* The value of one HcclConfig. Named as "union HcclConfigValue" in C. */
union HcclConfigValue {
  int32_t value;
};

HCCL_DEFINE_BOUND_(HCCL_ROOT_INFO_BYTES, 4108);

/* Where the ranks of a new communicator meet. Plain bytes: copy them to all ranks by any means. */
typedef struct HcclRootInfoDef {
  char internal[HCCL_ROOT_INFO_BYTES];
} HcclRootInfo;

typedef enum { HCCL_SEND = 0, HCCL_RECV = 1, HCCL_SEND_RECV_RESERVED = 2 } HcclSendRecvType;

/* One transfer of HcclBatchSendRecv. */
typedef struct HcclSendRecvItemDef {
  HcclSendRecvType sendRecvType;
  void* buf;      /* device memory of the caller */
  uint64_t count; /* elements */
  HcclDataType dataType;
  uint32_t remoteRank;
} HcclSendRecvItem;

HCCL_DEFINE_BOUND_(HCCL_COMM_CONFIG_INFO_BYTES, 24);
HCCL_DEFINE_CONST_(uint32_t, HCCL_COMM_CONFIG_MAGIC_WORD, 0xf0f0f0f0);
HCCL_DEFINE_CONST_(uint32_t, HCCL_COMM_CONFIG_VERSION, 11);
HCCL_DEFINE_CONST_(uint32_t, HCCL_COMM_DEFAULT_BUFFSIZE, 200); /* MB */
HCCL_DEFINE_CONST_(uint32_t, HCCL_COMM_BUFFSIZE_CONFIG_NOT_SET, 0xffffffff);
HCCL_DEFINE_CONST_(uint32_t, HCCL_COMM_DEFAULT_DETERMINISTIC, 0);
HCCL_DEFINE_CONST_(uint32_t, HCCL_COMM_DETERMINISTIC_CONFIG_NOT_SET, 0xffffffff);
HCCL_DEFINE_BOUND_(COMM_NAME_MAX_LENGTH, 128); /* bytes with the final NUL, as all lengths here */
HCCL_DEFINE_BOUND_(BUFFER_NAME_MAX_LENGTH, 128);
HCCL_DEFINE_BOUND_(UDI_MAX_LENGTH, 128);
HCCL_DEFINE_BOUND_(HCCL_COMM_ALGO_MAX_LENGTH, 1600);
HCCL_DEFINE_BOUND_(HCCL_COMM_RETRY_ENABLE_MAX_LENGTH, 50);
HCCL_DEFINE_BOUND_(HCCL_COMM_RETRY_PARAMS_MAX_LENGTH, 128);
HCCL_DEFINE_CONST_(uint32_t, HCCL_COMM_DEFAULT_OP_EXPANSION_MODE, 0);
HCCL_DEFINE_CONST_(uint32_t, HCCL_COMM_TRAFFIC_CLASS_CONFIG_NOT_SET, 0xffffffff);
HCCL_DEFINE_CONST_(uint32_t, HCCL_COMM_SERVICE_LEVEL_CONFIG_NOT_SET, 0xffffffff);
HCCL_DEFINE_CONST_(int32_t, HCCL_COMM_EXECTIMEOUT_CONFIG_NOT_SET, -1);
HCCL_DEFINE_CONST_(uint32_t, HCCL_COMM_QOS_CONFIG_NOT_SET, 0xffffffff);
HCCL_DEFINE_CONST_(uint32_t, HCCL_COMM_SQ_DEPTH_CONFIG_NOT_SET, 0xffffffff);
HCCL_DEFINE_CONST_(uint64_t, HCCL_DEFAULT_SYMMETRIC_MEMORY_STRIDE, 16); /* GB */

/*
 * Options of one communicator. Fill it with HcclCommConfigInit first, then set single members.
 * Strings end with a NUL and are empty when not set.
 */
typedef struct HcclCommConfigDef {
  char reserved[HCCL_COMM_CONFIG_INFO_BYTES]; /* size, magic, version: HcclCommConfigInit's own */
  uint32_t hcclBufferSize;                    /* MB */
  uint32_t hcclDeterministic;
  char hcclCommName[COMM_NAME_MAX_LENGTH];
  char hcclUdi[UDI_MAX_LENGTH];
  uint32_t hcclOpExpansionMode; /* not numbered like HcclOpExpansionMode */
  uint32_t hcclRdmaTrafficClass;
  uint32_t hcclRdmaServiceLevel;
  uint32_t hcclWorldRankID;
  uint64_t hcclJobID;
  uint8_t aclGraphZeroCopyEnable;
  int32_t hcclExecTimeOut; /* seconds */
  char hcclAlgo[HCCL_COMM_ALGO_MAX_LENGTH];
  char hcclRetryEnable[HCCL_COMM_RETRY_ENABLE_MAX_LENGTH];
  char hcclRetryParams[HCCL_COMM_RETRY_PARAMS_MAX_LENGTH];
  char hcclBufferName[BUFFER_NAME_MAX_LENGTH];
  uint32_t hcclQos;
  uint64_t hcclSymWinMaxMemSizePerRank; /* GB */
  uint32_t hcclChannelSqDepth;
} HcclCommConfig;

/* A bit number in the answer of HcclGetCommConfigCapability. */
typedef enum {
  HCCL_COMM_CONFIG_BUFFER_SIZE = 0,
  HCCL_COMM_CONFIG_DETERMINISTIC = 1,
  HCCL_COMM_CONFIG_COMM_NAME = 2,
  HCCL_COMM_CONFIG_OP_EXPANSION_MODE = 3,
  HCCL_COMM_CONFIG_SUPPORT_INIT_BY_ENV = 4,
  HCCL_COMM_CONFIG_WORLD_RANKID = 5,
  HCCL_COMM_CONFIG_JOBID = 6,
  HCCL_COMM_CONFIG_ACLGRAPH_ZEROCOPY_ENABLE = 7,
  HCCL_COMM_CONFIG_EXEC_TIMEOUT = 8,
  HCCL_COMM_CONFIG_ALGO = 9,
  HCCL_COMM_CONFIG_RETRY = 10,
  HCCL_COMM_CONFIG_BUFFER_NAME = 11,
  HCCL_COMM_CONFIG_RESERVED = 12
} HcclCommConfigCapability;

typedef enum {
  HCCL_COMM_STATUS_READY = 0,
  HCCL_COMM_STATUS_SUSPENDING = 1,
  HCCL_COMM_STATUS_INVALID = 254,
  HCCL_COMM_STATUS_RESERVED = 255
} HcclCommStatus;

/* When a HcclCommStateCallback is called. */
typedef enum {
  HCCL_COMM_STATE_PHASE_INVALID = -1,
  HCCL_COMM_STATE_PHASE_DESTROY_PRE = 0,
  HCCL_COMM_STATE_PHASE_DESTROY_POST = 1,
  HCCL_COMM_STATE_PHASE_RESUME_PRE = 2,
  HCCL_COMM_STATE_PHASE_RESUME_POST = 3
} HcclCommStatePhase;

/* args is the pointer given at registration; it stays the caller's. */
typedef HcclResult (*HcclCommStateCallback)(HcclComm comm, HcclCommStatePhase state, void* args);

/* Kinds of operations. 19 is not assigned. */
typedef enum {
  HCCL_CMD_INVALID = 0,
  HCCL_CMD_BROADCAST = 1,
  HCCL_CMD_ALLREDUCE = 2,
  HCCL_CMD_REDUCE = 3,
  HCCL_CMD_SEND = 4,
  HCCL_CMD_RECEIVE = 5,
  HCCL_CMD_ALLGATHER = 6,
  HCCL_CMD_REDUCE_SCATTER = 7,
  HCCL_CMD_ALLTOALLV = 8,
  HCCL_CMD_ALLTOALLVC = 9,
  HCCL_CMD_ALLTOALL = 10,
  HCCL_CMD_GATHER = 11,
  HCCL_CMD_SCATTER = 12,
  HCCL_CMD_BATCH_SEND_RECV = 13,
  HCCL_CMD_BATCH_PUT = 14,
  HCCL_CMD_BATCH_GET = 15,
  HCCL_CMD_ALLGATHER_V = 16,
  HCCL_CMD_REDUCE_SCATTER_V = 17,
  HCCL_CMD_BATCH_WRITE = 18,
  HCCL_CMD_HALF_ALLTOALLV = 20,
  HCCL_CMD_ALL = 21,
  HCCL_CMD_FINALIZE = 100,
  HCCL_CMD_INTER_GROUP_SYNC = 101,
  HCCL_CMD_INIT = 102,
  HCCL_CMD_BARRIER = 103,
  HCCL_CMD_MAX = 104
} HcclCMDType;

#ifdef __cplusplus
}
#endif

#undef HCCL_DEFINE_CONST_
#undef HCCL_DEFINE_BOUND_

#endif
