/* SPDX-License-Identifier: Apache-2.0 */
/* Calls every operator once on a communicator of one rank, with nothing but the prototypes at hand.
 * In the language that C99 and C++11 have in common; prints what went wrong. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "acl/acl.h"
#include "hccl/hccl.h"

#define N 4 /* elements of a call */

static int failures = 0;

static void expect(const char* what, int code) {
  if (code != 0) {
    printf("%s: code %d\n", what, code);
    ++failures;
  }
}

/* Buffers of one call after the other. */
static float* send_buffer;
static float* receive_buffer;
static aclrtStream stream;
static HcclComm comm;

static void prepare(void) {
  int i;
  for (i = 0; i < N; ++i) {
    send_buffer[i] = (float)(i + 1);
    receive_buffer[i] = 0.0f;
  }
}

/* The call is done and has copied the one buffer to the other. */
static void verify(const char* what, HcclResult code) {
  expect(what, (int)code);
  expect(what, (int)aclrtSynchronizeStream(stream));
  if (memcmp(send_buffer, receive_buffer, N * sizeof(float)) != 0) {
    printf("%s: wrong result\n", what);
    ++failures;
  }
  prepare();
}

#define COPIES(name, arguments) verify(#name, name arguments)

static void equal_blocks(void) {
  const HcclDataType type = HCCL_DATA_TYPE_FP32;
  COPIES(HcclAllReduce, (send_buffer, receive_buffer, N, type, HCCL_REDUCE_SUM, comm, stream));
  COPIES(HcclReduce, (send_buffer, receive_buffer, N, type, HCCL_REDUCE_MAX, 0, comm, stream));
  COPIES(HcclReduceScatter, (send_buffer, receive_buffer, N, type, HCCL_REDUCE_MIN, comm, stream));
  COPIES(HcclScatter, (send_buffer, receive_buffer, N, type, 0, comm, stream));
  COPIES(HcclAllGather, (send_buffer, receive_buffer, N, type, comm, stream));
  COPIES(HcclAlltoAll, (send_buffer, N, type, receive_buffer, N, type, comm, stream));
  expect("HcclBroadcast", (int)HcclBroadcast(send_buffer, N, type, 0, comm, stream));
  expect("HcclBarrier", (int)HcclBarrier(comm, stream));
  expect("aclrtSynchronizeStream", (int)aclrtSynchronizeStream(stream));
}

static void arrays(void) {
  const HcclDataType type = HCCL_DATA_TYPE_FP32;
  const uint64_t counts[1] = {N};
  const uint64_t displacements[1] = {0};
  COPIES(HcclAllGatherV,
         (send_buffer, N, receive_buffer, counts, displacements, type, comm, stream));
  COPIES(HcclReduceScatterV, (send_buffer, counts, displacements, receive_buffer, N, type,
                              HCCL_REDUCE_PROD, comm, stream));
  COPIES(HcclAlltoAllV, (send_buffer, counts, displacements, type, receive_buffer, counts,
                         displacements, type, comm, stream));
  COPIES(HcclAlltoAllVC, (send_buffer, counts, type, receive_buffer, type, comm, stream));
}

static void transfers(void) {
  const HcclDataType type = HCCL_DATA_TYPE_FP32;
  bool enabled = false;
  HcclSendRecvItem items[2];
  items[0].sendRecvType = HCCL_SEND;
  items[0].buf = send_buffer;
  items[0].count = N;
  items[0].dataType = type;
  items[0].remoteRank = 0;
  items[1] = items[0];
  items[1].sendRecvType = HCCL_RECV;
  items[1].buf = receive_buffer;
  COPIES(HcclBatchSendRecv, (items, 2, comm, stream));

  expect("HcclGroupStart", (int)HcclGroupStart());
  expect("HcclGroupStatusGet", (int)HcclGroupStatusGet(&enabled));
  expect("a group is open", enabled ? 0 : 1);
  expect("HcclSend", (int)HcclSend(send_buffer, N, type, 0, comm, stream));
  expect("HcclRecv", (int)HcclRecv(receive_buffer, N, type, 0, comm, stream));
  verify("HcclGroupEnd", HcclGroupEnd());
}

int main(void) {
  HcclRootInfo root;
  void* memory = NULL;
  expect("aclInit", (int)aclInit(NULL));
  expect("aclrtSetDevice", (int)aclrtSetDevice(0));
  expect("aclrtCreateStream", (int)aclrtCreateStream(&stream));
  expect("aclrtMalloc",
         (int)aclrtMalloc(&memory, 2 * N * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST));
  expect("HcclGetRootInfo", (int)HcclGetRootInfo(&root));
  expect("HcclCommInitRootInfo", (int)HcclCommInitRootInfo(1, &root, 0, &comm));
  if (failures != 0) return 1;
  send_buffer = (float*)memory;
  receive_buffer = send_buffer + N;
  prepare();
  equal_blocks();
  arrays();
  transfers();
  expect("HcclCommDestroy", (int)HcclCommDestroy(comm));
  expect("aclrtFree", (int)aclrtFree(memory));
  expect("aclrtDestroyStream", (int)aclrtDestroyStream(stream));
  expect("aclrtResetDevice", (int)aclrtResetDevice(0));
  expect("aclFinalize", (int)aclFinalize());
  return failures == 0 ? 0 : 1;
}
