/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of ranks by name, as the Python package `hccl` uses them. C99 and C++11 and later.
 *
 * The world group is called "hccl_world_group"; where `group` may be NULL, NULL means it. Other
 * names have 1..127 characters, else HCCL_E_PARA. A group belongs to the device that is current in
 * the calling thread, and its name is that of a communicator (HcclCommGetHandleWithName). A group
 * of that device that does not exist is HCCL_E_NOT_FOUND, a NULL output HCCL_E_PTR. All is local
 * and does not block, unless a comment says otherwise.
 */
#ifndef HCCL_HCOM_H_
#define HCCL_HCOM_H_

#include <stdint.h>

#include "hccl/hccl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Makes the world group of a rank table file (as HcclCommInitClusterInfo, whose errors it has).
 * identify: this rank's number in decimal, else HCCL_E_PARA. Blocks until every rank has joined.
 */
extern HcclResult HcomInitByFile(const char* rankTablePath, const char* identify);
/*
 * Destroys the groups and the world group of the current device. Waits for nobody. HCCL_E_AGAIN
 * while a call on one of them is unfinished: then call it again. Without a world it does nothing.
 */
extern HcclResult HcomDestroy(void);

/*
 * Makes a group of `rankNum` ranks of the world; only its members call this. rankIds is an array of
 * the caller; in whatever order they stand there, group ranks follow the order of world ranks.
 * Waits for nobody: the group's first operator waits for its members. The world must come from
 * HcomInitByFile: HCCL_E_PTR without a world, HCCL_E_INTERNAL if it was made otherwise. HCCL_E_PARA
 * for a wrong or repeated id and a name in use; HCCL_E_NOT_FOUND if this rank is not listed.
 */
extern HcclResult HcomCreateGroup(const char* group, uint32_t rankNum, uint32_t* rankIds);
/* HCCL_E_PARA for the world group. HCCL_E_AGAIN while a call on it is unfinished. */
extern HcclResult HcomDestroyGroup(const char* group);

/* These two also know communicators that were made otherwise, by their name. */
extern HcclResult HcomGetRankSize(const char* group, uint32_t* rankSize);
extern HcclResult HcomGetRankId(const char* group, uint32_t* rankId);
/* Ranks on one server: the group's size by its number of servers, rounded down. */
extern HcclResult HcomGetLocalRankSize(const char* group, uint32_t* localRankSize);
/* The rank modulo the local size. */
extern HcclResult HcomGetLocalRankId(const char* group, uint32_t* localRankId);
/* HCCL_E_PARA if the group has no such rank. */
extern HcclResult HcomGetWorldRankFromGroupRank(const char* group, uint32_t groupRank,
                                                uint32_t* worldRank);
/* HCCL_E_PARA if that rank of the world is no member. */
extern HcclResult HcomGetGroupRankFromWorldRank(uint32_t worldRank, const char* group,
                                                uint32_t* groupRank);

/*
 * How the gradients of a group are cut into segments: IdxList has the number of the last gradient
 * of each, ascending; sizeList the share of each in percent of all bytes, 100 together. Arrays of
 * segmentNum entries, which are copied; 0 entries or wrong ones: HCCL_E_PARA. A second list takes
 * the place of the first, of whichever kind they are.
 */
extern HcclResult HcomSetGradFusionByIndex(const char* group, uint32_t segmentNum,
                                           const uint32_t* IdxList);
extern HcclResult HcomSetGradFusionBySize(const char* group, uint32_t segmentNum,
                                          const float* sizeList);

#ifdef __cplusplus
}
#endif

#endif
