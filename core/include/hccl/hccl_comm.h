/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Communicators: making and freeing them, their options and state, groups of calls, and memory
 * that is shared with peers ahead of time. Written for C99 and for C++11 and later.
 *
 * A function returns HCCL_E_PTR for a NULL pointer unless its comment says otherwise. Pointers
 * are borrowed for the call only, except inside a group. A communicator belongs to the device that
 * is current in the thread that makes it. Unless said otherwise a call is local and does not block.
 */
#ifndef HCCL_COMM_H_
#define HCCL_COMM_H_

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "acl/acl.h"
#include "hccl/hccl_types.h"

/*
 * A weak reference to a function that the loaded library lacks is NULL, so a caller may test
 * "if (HcclCommSuspend)" before the call. Define the macro as empty to get strong references.
 */
#ifndef HCOMM_WEAK_SYMBOL
#define HCOMM_WEAK_SYMBOL __attribute__((weak))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Answer of HcclConfigGetInfo. Not numbered like the member of HcclCommConfig. */
typedef enum {
  HCCL_OP_EXPANSION_MODE_INVALID = -1,
  HCCL_OP_EXPANSION_MODE_AI_CPU = 0,
  HCCL_OP_EXPANSION_MODE_AIV = 1,
  HCCL_OP_EXPANSION_MODE_HOST = 2,
  HCCL_OP_EXPANSION_MODE_HOST_TS = 3,
  HCCL_OP_EXPANSION_MODE_CCU_MS = 4,
  HCCL_OP_EXPANSION_MODE_CCU_SCHED = 5,
  HCCL_OP_EXPANSION_AIV_ONLY = 6
} HcclOpExpansionMode;

typedef HcclOpExpansionMode HcclConfigTypeOpExpansionMode;

/* What HcclConfigGetInfo can tell. */
typedef enum {
  HCCL_CONFIG_TYPE_INVALID = -1,
  HCCL_CONFIG_TYPE_OP_EXPANSION_MODE = 0,
  HCCL_CONFIG_TYPE_HCCL_ALGO = 1
} HcclConfigType;

/* The meaning of a result code in words. Never fails; the string is static. Any thread. */
extern const char* HcclGetErrorString(HcclResult code) HCOMM_WEAK_SYMBOL;

/* ---- Making a communicator ---- */

/*
 * Joins the ranks of a rank table file (JSON, path of at most 4096 bytes with the NUL) as rank
 * `rank`, which must be on the current device. Blocks until the table's status is "completed", 30
 * minutes at most, and until every rank has joined, HCCL_E_TIMEOUT after HCCL_CONNECT_TIMEOUT and
 * 20 more seconds. The name is "hccl_world_group". Errors, in this order:
 *   HCCL_E_PTR       an argument is NULL
 *   HCCL_E_INTERNAL  the file cannot be read, or is not JSON
 *   HCCL_E_UNAVAIL   this device has such a communicator already; or, later, another device
 *   HCCL_E_PARA      the name is in use; or, later, a value of the table, or the rank
 *   HCCL_E_NOT_SUPPORT, HCCL_E_NOT_FOUND  the table's version; something required is missing
 */
extern HcclResult HcclCommInitClusterInfo(const char* clusterInfo, uint32_t rank,
                                          HcclComm* comm) HCOMM_WEAK_SYMBOL;
/* The same with options, which must be equal on all ranks. A wrong config: HCCL_E_PARA. */
extern HcclResult HcclCommInitClusterInfoConfig(const char* clusterInfo, uint32_t rank,
                                                HcclCommConfig* config,
                                                HcclComm* comm) HCOMM_WEAK_SYMBOL;

/*
 * Starts the meeting point of a new communicator in this process and describes it in *rootInfo.
 * Call it on one rank, which then must join too; copy the bytes to the other ranks by any means.
 */
extern HcclResult HcclGetRootInfo(HcclRootInfo* rootInfo) HCOMM_WEAK_SYMBOL;

/*
 * Joins `nRanks` ranks at the meeting point as rank `rank`. Collective: blocks until every rank has
 * joined, HCCL_E_TIMEOUT after HCCL_CONNECT_TIMEOUT and 20 more seconds. HCCL_E_PARA if rank >=
 * nRanks.
 */
extern HcclResult HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo* rootInfo, uint32_t rank,
                                       HcclComm* comm) HCOMM_WEAK_SYMBOL;
/* The same with options, which must be equal on all ranks. A wrong or NULL config: HCCL_E_PARA. */
extern HcclResult HcclCommInitRootInfoConfig(uint32_t nRanks, const HcclRootInfo* rootInfo,
                                             uint32_t rank, const HcclCommConfig* config,
                                             HcclComm* comm) HCOMM_WEAK_SYMBOL;

/*
 * Makes a communicator of `ndev` ranks inside this process: comms[i] is rank i, on devices[i].
 * Both arrays have ndev entries. Blocks until it is complete; on failure every entry of comms is
 * NULL, and HCCL_E_INTERNAL comes with the first reason. HCCL_E_PARA if a device is listed twice.
 * The thread's current device stays as it was.
 */
extern HcclResult HcclCommInitAll(uint32_t ndev, int32_t* devices,
                                  HcclComm* comms) HCOMM_WEAK_SYMBOL;

/*
 * Makes a communicator of `rankNum` ranks of *comm, which may itself be one of these: rankIds[i]
 * becomes rank i, this rank is subCommRankId. All members pass the same array, id and options.
 * subCommId is part of the default name. A rank that is no member need not call, or passes rankIds
 * NULL and subCommId 0xFFFFFFFF: *subComm stays.
 * Waits for nobody: the first operator, or other use beside HcclGetRankSize, HcclGetRankId,
 * HcclGetCommName, HcclCommGetStatus and HcclGetCommAsyncError, waits until all members have made
 * it, HCCL_E_TIMEOUT after HCCL_CONNECT_TIMEOUT and 20 more seconds, and tells if they passed
 * different things. Until then HcclCommDestroy(*comm) is HCCL_E_AGAIN, and what is destroyed itself
 * keeps its HCCL buffer: the others count on it.
 * HCCL_E_PARA: a wrong or repeated rank id, a name in use, a current device that is not that of
 * *comm, or a member that waits for this one with other rankIds. HCCL_E_NOT_FOUND: rankIds is
 * without this rank. HCCL_E_REMOTE: a member is gone.
 */
extern HcclResult HcclCreateSubCommConfig(HcclComm* comm, uint32_t rankNum, uint32_t* rankIds,
                                          uint64_t subCommId, uint32_t subCommRankId,
                                          HcclCommConfig* config,
                                          HcclComm* subComm) HCOMM_WEAK_SYMBOL;

/*
 * Frees a communicator; the handle is dead afterwards. Local: never waits for peers to do the same.
 * NULL is fine.
 * HCCL_E_AGAIN while a call on it is unfinished or being issued. If another thread goes on issuing,
 * its next call waits while those before it end, up to 250 ms for the next one and 8 s in all.
 * HCCL_E_PARA for a handle that is none (any more), as in all functions. Any thread, whatever its
 * device. One that is destroyed or resumed on another thread is waited for, at most 10 s.
 */
extern HcclResult HcclCommDestroy(HcclComm comm) HCOMM_WEAK_SYMBOL;

/* ---- Asking a communicator ---- */

extern HcclResult HcclGetRankSize(HcclComm comm, uint32_t* rankSize) HCOMM_WEAK_SYMBOL;
extern HcclResult HcclGetRankId(HcclComm comm, uint32_t* rank) HCOMM_WEAK_SYMBOL;
/* commName: at least COMM_NAME_MAX_LENGTH bytes of the caller; receives a string with its NUL. */
extern HcclResult HcclGetCommName(HcclComm comm, char* commName) HCOMM_WEAK_SYMBOL;
/* The communicator of that name on the current device, or HCCL_E_PARA. Takes no reference. */
extern HcclResult HcclCommGetHandleWithName(const char* commName, HcclComm* comm);
/* A feature of HcclCommConfigCapability is there if its number is below the answer. */
extern uint32_t HcclGetCommConfigCapability(void) HCOMM_WEAK_SYMBOL;
/*
 * What went wrong in earlier calls, HCCL_SUCCESS if nothing: HCCL_E_REMOTE for a dead peer,
 * HCCL_E_PARA for calls that differ between ranks, HCCL_E_TIMEOUT. To be suspended is no error.
 */
extern HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult* asyncError) HCOMM_WEAK_SYMBOL;
/*
 * READY or SUSPENDING of the communicator of that name on the current device, INVALID if it has
 * failed. HCCL_E_PARA if there is none.
 */
extern HcclResult HcclCommGetStatus(const char* commId, HcclCommStatus* status);
/*
 * One setting in force. infoLen is in bytes: exactly 4 for OP_EXPANSION_MODE (a
 * HcclOpExpansionMode), at least HCCL_COMM_ALGO_MAX_LENGTH for HCCL_ALGO (a string, the rest is
 * zeros). HCCL_E_PARA for another length or cfgType.
 */
extern HcclResult HcclConfigGetInfo(HcclComm comm, HcclConfigType cfgType, uint32_t infoLen,
                                    void* info);

/* ---- Using and steering a communicator ---- */

/*
 * Holds the stream of every rank, not the host, until all ranks have issued it: as other operators,
 * no longer than the execution time-out.
 */
extern HcclResult HcclBarrier(HcclComm comm, aclrtStream stream) HCOMM_WEAK_SYMBOL;

/*
 * HCCL_DETERMINISTIC: 0 off, 1 on, 2 strict; others HCCL_E_PARA. Process-wide: for communicators
 * that are made later, unless their configuration says something, and from their next call on for
 * those of the calling thread's device. To be called alike by all ranks, between the same calls.
 * Without effect if the environment variable of that name exists. Other configurations have no
 * effect, and Get leaves *configValue as it is.
 */
extern HcclResult HcclSetConfig(HcclConfig config,
                                union HcclConfigValue configValue) HCOMM_WEAK_SYMBOL;
extern HcclResult HcclGetConfig(HcclConfig config,
                                union HcclConfigValue* configValue) HCOMM_WEAK_SYMBOL;
/*
 * The same for one communicator, whatever the environment says: for its later calls, on all ranks
 * alike.
 */
extern HcclResult HcclSetCommConfig(HcclComm comm, HcclConfig config,
                                    union HcclConfigValue configValue) HCOMM_WEAK_SYMBOL;
extern HcclResult HcclGetCommConfig(HcclComm comm, HcclConfig config,
                                    union HcclConfigValue* configValue) HCOMM_WEAK_SYMBOL;

/*
 * Operators return HCCL_E_SUSPENDING from Suspend to Resume, and nothing of them is issued; what
 * was issued before goes on. Local. Not beside an operator's call. Suspending twice is as once;
 * Resume without Suspend does nothing. A communicator that has failed, as by calls that were
 * aborted, cannot be resumed: its code.
 */
extern HcclResult HcclCommSuspend(HcclComm comm) HCOMM_WEAK_SYMBOL;
extern HcclResult HcclCommResume(HcclComm comm) HCOMM_WEAK_SYMBOL;

/*
 * Moves the listed ranks to their backup (true) or default (false) network port. Both arrays have
 * nRanks entries. All ranks call it alike, with no operator unfinished. The ranks of a host have no
 * such ports: it checks its arguments and changes nothing. HCCL_E_PARA for a rank that is none or
 * is there twice; with level 2 of hcclRetryEnable also before the first operator.
 */
extern HcclResult HcclCommWorkingDevNicSet(HcclComm comm, uint32_t* ranks, bool* useBackup,
                                           uint32_t nRanks) HCOMM_WEAK_SYMBOL;

/*
 * Calls `cb` at state changes of every communicator of the process. regName has 1..159 bytes, else
 * HCCL_E_PARA; a second registration of a name replaces the first. args is handed on and may be
 * NULL. The changes: HcclCommDestroy, before the communicator goes and, with the dead handle,
 * after (HCCL_E_AGAIN may come in between, from what `cb` has called); HcclCommResume of a
 * suspended one, before and after. `cb` runs on the thread of that call
 * and may call any function, but for the change itself: HCCL_E_AGAIN. What it returns is logged.
 */
extern HcclResult HcclCommRegCommStateCallback(const char* regName, HcclCommStateCallback cb,
                                               void* args);

/* ---- Groups: calls of one thread that are executed together ---- */

/*
 * Calls between Start and the outermost End of a thread are queued and executed at that End.
 * Everything they point to, arrays of counts included, must live until then. Groups nest. A group
 * holds either operators or the creation and destruction of communicators; the call that mixes
 * them is HCCL_E_PARA. HcclBatchSendRecv, HcclBarrier and HcclCommInitAll act at once.
 * A queued operator is checked for null pointers, and HcclSend and HcclRecv for their count.
 */
extern HcclResult HcclGroupStart(void);
/*
 * At the outermost level executes all that is queued and returns the first error. Of each
 * communicator, first its sends and receives, as one batch on the stream of the first; then its
 * collectives, long ones first, those with arrays of counts last. Then waits for the streams of the
 * collectives. What fails to start ends what the group holds for its communicator; the others go
 * on. HCCL_E_NOT_SUPPORT without a Start.
 */
extern HcclResult HcclGroupEnd(void);
/* True inside a group of the calling thread. */
extern HcclResult HcclGroupStatusGet(bool* isGroupEnabled);

/* ---- Memory shared ahead of time: reserved ranges. All sizes are bytes ---- */

/*
 * Announces a reserved address range for zero copy. The first call on a communicator is collective.
 * size 0 or an overlap with another range: HCCL_E_PARA. alignment is 0, flags 0 or 1.
 */
extern HcclResult HcclCommSetMemoryRange(HcclComm comm, void* baseVirPtr, size_t size,
                                         size_t alignment, uint64_t flags) HCOMM_WEAK_SYMBOL;
/* HCCL_E_PARA unless it is the exact start of a range in which nothing is active. */
extern HcclResult HcclCommUnsetMemoryRange(HcclComm comm, void* baseVirPtr) HCOMM_WEAK_SYMBOL;
/* Activates memory mapped inside an announced range; `handle` is its physical memory. */
extern HcclResult HcclCommActivateCommMemory(HcclComm comm, void* virPtr, size_t size,
                                             size_t offset, aclrtDrvMemHandle handle,
                                             uint64_t flags) HCOMM_WEAK_SYMBOL;
/* virPtr is the exact start of an activated block. Call it before the memory is unmapped. */
extern HcclResult HcclCommDeactivateCommMemory(HcclComm comm, void* virPtr) HCOMM_WEAK_SYMBOL;

/* ---- Memory shared ahead of time: symmetric windows. All sizes are bytes ---- */

/*
 * Collective: each rank offers `size` bytes, equal on all, at its own mapped `addr`; flag is 1.
 * The memory stays the caller's; the window is closed by Deregister or with the communicator.
 */
extern HcclResult HcclCommSymWinRegister(HcclComm comm, void* addr, uint64_t size,
                                         HcclCommSymWindow* winHandle, uint32_t flag);
/*
 * Documented as collective: all ranks close a window. Here it closes this rank's side and waits for
 * nobody. HCCL_E_PARA for an unknown window; HCCL_E_AGAIN while a call uses it.
 */
extern HcclResult HcclCommSymWinDeregister(HcclCommSymWindow winHandle);
/* The window that holds [ptr, ptr + size), and the offset of ptr in it; else HCCL_E_NOT_FOUND. */
extern HcclResult HcclCommSymWinGet(HcclComm comm, void* ptr, size_t size,
                                    HcclCommSymWindow* winHandle, size_t* offset);
/*
 * Memory that can be registered, on the calling thread's device: reserved, allocated and mapped in
 * one call, rounded up to whole units of physical memory. HCCL_E_PARA for a null pointer or size 0;
 * HCCL_E_OOM if there is none.
 */
extern HcclResult HcommMemAlloc(void** ptr, size_t size) HCOMM_WEAK_SYMBOL;
/* Gives it back. NULL is fine; HCCL_E_PARA if it is not from HcommMemAlloc or still in a window. */
extern HcclResult HcommMemFree(void* ptr) HCOMM_WEAK_SYMBOL;

/* ---- Memory shared ahead of time: one-sided registration. All sizes are bytes ---- */

/*
 * Registers memory of the caller; *handle is freed by HcclCommDeregister or with the communicator.
 * HCCL_E_PARA for size 0. The flag is not looked at. Operators do not need it.
 */
extern HcclResult HcclCommRegister(HcclComm comm, void* addr, uint64_t size, void** handle,
                                   uint32_t flag) HCOMM_WEAK_SYMBOL;
/* HCCL_E_PARA for a handle that is none of this communicator. */
extern HcclResult HcclCommDeregister(HcclComm comm, void* handle) HCOMM_WEAK_SYMBOL;
/*
 * Exchanges a registration with 1..768 peers, listed in peerRanks, each once, else HCCL_E_PARA.
 * Blocks until each of them has called it with this rank: HCCL_E_TIMEOUT after HCCL_CONNECT_TIMEOUT
 * seconds, HCCL_E_REMOTE for one that is gone; then this rank can exchange nothing any more.
 */
extern HcclResult HcclCommExchangeMem(HcclComm comm, void* windowHandle, uint32_t* peerRanks,
                                      uint32_t peerRankNum) HCOMM_WEAK_SYMBOL;

/* ---- Options ---- */

/*
 * Makes *config valid with every option "not set". It is inline so that the size and version of
 * the caller's own header are recorded. Strings get their first byte only. NULL is ignored.
 */
static inline void HcclCommConfigInit(HcclCommConfig* config) {
  struct {
    size_t size;
    uint32_t magic;
    uint32_t version;
    uint64_t reserved;
  } info;

  if (!config) {
    return;
  }
  info.size = sizeof(HcclCommConfig);
  info.magic = HCCL_COMM_CONFIG_MAGIC_WORD;
  info.version = HCCL_COMM_CONFIG_VERSION;
  info.reserved = 0;
  memcpy(config->reserved, &info, sizeof(info));

  config->hcclBufferSize = HCCL_COMM_BUFFSIZE_CONFIG_NOT_SET;
  config->hcclDeterministic = HCCL_COMM_DETERMINISTIC_CONFIG_NOT_SET;
  config->hcclCommName[0] = '\0';
  config->hcclUdi[0] = '\0';
  config->hcclOpExpansionMode = HCCL_COMM_DEFAULT_OP_EXPANSION_MODE;
  config->hcclRdmaTrafficClass = HCCL_COMM_TRAFFIC_CLASS_CONFIG_NOT_SET;
  config->hcclRdmaServiceLevel = HCCL_COMM_SERVICE_LEVEL_CONFIG_NOT_SET;
  config->hcclWorldRankID = 0;
  config->hcclJobID = 0;
  config->aclGraphZeroCopyEnable = 0;
  config->hcclExecTimeOut = HCCL_COMM_EXECTIMEOUT_CONFIG_NOT_SET;
  config->hcclAlgo[0] = '\0';
  config->hcclRetryEnable[0] = '\0';
  config->hcclRetryParams[0] = '\0';
  config->hcclBufferName[0] = '\0';
  config->hcclQos = HCCL_COMM_QOS_CONFIG_NOT_SET;
  config->hcclSymWinMaxMemSizePerRank = HCCL_DEFAULT_SYMMETRIC_MEMORY_STRIDE;
  config->hcclChannelSqDepth = HCCL_COMM_SQ_DEPTH_CONFIG_NOT_SET;
}

#ifdef __cplusplus
}
#endif

#endif
