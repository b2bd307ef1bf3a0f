/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The 14 communication operators. Written for C99 and for C++11 and later.
 *
 * An operator checks its arguments, puts its work on `stream` and returns; the data is there when
 * the stream has reached the end of the work. Buffers are device memory of the caller and must live
 * until then. Counts and displacements are in elements; arrays of them are host arrays of uint64_t,
 * read during the call, or at HcclGroupEnd inside a group. n is the number of ranks.
 *
 * All ranks issue the operators of a communicator in the same order, with equal count, type, op and
 * root. Calls of several threads on one communicator must be ordered by the caller.
 *
 * Errors: nothing to do is HCCL_SUCCESS before anything else is looked at; then HCCL_E_PTR for
 * NULL, HCCL_E_PARA for a count above 2^35 - 1 or a rank that does not exist, HCCL_E_NOT_SUPPORT
 * for a data type or reduction that cannot be done, HCCL_E_SUSPENDING on a suspended communicator.
 * Later errors show at the stream's synchronisation and in HcclGetCommAsyncError.
 */
#ifndef HCCL_H_
#define HCCL_H_

#include "acl/acl.h"
#include "hccl/hccl_comm.h"
#include "hccl/hccl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every rank gets the reduction of all send buffers, `count` elements. In place: same buffer. */
extern HcclResult HcclAllReduce(void* sendBuf, void* recvBuf, uint64_t count, HcclDataType dataType,
                                HcclReduceOp op, HcclComm comm, aclrtStream stream);

/* `count` elements of root's buf come into every other rank's buf. */
extern HcclResult HcclBroadcast(void* buf, uint64_t count, HcclDataType dataType, uint32_t root,
                                HcclComm comm, aclrtStream stream);

/*
 * Of n blocks of `recvCount` elements in every sendBuf, rank i gets the reduction of block i.
 * In place: recvBuf is sendBuf or the rank's own block in it.
 */
extern HcclResult HcclReduceScatter(void* sendBuf, void* recvBuf, uint64_t recvCount,
                                    HcclDataType dataType, HcclReduceOp op, HcclComm comm,
                                    aclrtStream stream);

/*
 * The same with blocks of sendCounts[i] elements at sendDispls[i], n entries, equal on all ranks.
 * recvCount is the rank's own entry, else HCCL_E_PARA. The buffers must differ.
 */
extern HcclResult HcclReduceScatterV(void* sendBuf, const void* sendCounts, const void* sendDispls,
                                     void* recvBuf, uint64_t recvCount, HcclDataType dataType,
                                     HcclReduceOp op, HcclComm comm, aclrtStream stream);

/* Of n blocks of `recvCount` elements in root's sendBuf, rank i gets block i. NULL off root. */
extern HcclResult HcclScatter(void* sendBuf, void* recvBuf, uint64_t recvCount,
                              HcclDataType dataType, uint32_t root, HcclComm comm,
                              aclrtStream stream);

/*
 * Every rank gets all send buffers, `sendCount` elements each, one after the other in rank order.
 * In place: sendBuf is the rank's own block in recvBuf.
 */
extern HcclResult HcclAllGather(void* sendBuf, void* recvBuf, uint64_t sendCount,
                                HcclDataType dataType, HcclComm comm, aclrtStream stream);

/*
 * The same with rank i's recvCounts[i] elements at recvDispls[i], n entries, equal on all ranks.
 * sendCount is the rank's own entry, else HCCL_E_PARA. Gaps stay as they are. The buffers differ.
 */
extern HcclResult HcclAllGatherV(void* sendBuf, uint64_t sendCount, void* recvBuf,
                                 const void* recvCounts, const void* recvDispls,
                                 HcclDataType dataType, HcclComm comm, aclrtStream stream);

/*
 * The k-th Send to a peer meets the k-th Recv there; count and type are equal. Both streams wait
 * for each other, so two ranks that both send first need a group or HcclBatchSendRecv.
 */
extern HcclResult HcclSend(void* sendBuf, uint64_t count, HcclDataType dataType, uint32_t destRank,
                           HcclComm comm, aclrtStream stream);
extern HcclResult HcclRecv(void* recvBuf, uint64_t count, HcclDataType dataType, uint32_t srcRank,
                           HcclComm comm, aclrtStream stream);

/*
 * Block j of sendBuf goes to rank j, block i of recvBuf (which is written in spite of its const)
 * comes from rank i; n blocks of sendCount elements. HCCL_E_PARA if the counts or types differ or
 * the buffers are the same.
 */
extern HcclResult HcclAlltoAll(const void* sendBuf, uint64_t sendCount, HcclDataType sendType,
                               const void* recvBuf, uint64_t recvCount, HcclDataType recvType,
                               HcclComm comm, aclrtStream stream);

/*
 * The same with blocks of own length and place: four arrays of n entries. What i sends to j is what
 * j receives from i. A buffer may be NULL if its counts are all 0. Always collective.
 */
extern HcclResult HcclAlltoAllV(const void* sendBuf, const void* sendCounts, const void* sdispls,
                                HcclDataType sendType, const void* recvBuf, const void* recvCounts,
                                const void* rdispls, HcclDataType recvType, HcclComm comm,
                                aclrtStream stream);

/*
 * The same with packed blocks: entry [i * n + j] of the n x n matrix, equal on all ranks, is the
 * number of elements from rank i to rank j.
 */
extern HcclResult HcclAlltoAllVC(const void* sendBuf, const void* sendCountMatrix,
                                 HcclDataType sendType, const void* recvBuf, HcclDataType recvType,
                                 HcclComm comm, aclrtStream stream);

/* Root gets the reduction of all send buffers. recvBuf is never NULL but written on root only. */
extern HcclResult HcclReduce(void* sendBuf, void* recvBuf, uint64_t count, HcclDataType dataType,
                             HcclReduceOp op, uint32_t root, HcclComm comm, aclrtStream stream);

/*
 * A set of sends and receives of this rank that do not wait for one another. Items between two
 * ranks meet in the order of their lists. Sends to itself meet receives from itself.
 */
extern HcclResult HcclBatchSendRecv(HcclSendRecvItem* sendRecvInfo, uint32_t itemNum, HcclComm comm,
                                    aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
