// SPDX-License-Identifier: Apache-2.0
// Stands before libhccl.so and misbehaves as FAULT says; on the rank FAULT_RANK where one is to
// blame. What is not wrong is done by the real library.
#include <dlfcn.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

#define HCOMM_WEAK_SYMBOL
#include "hccl/hccl.h"

namespace {

bool fault(const char* name) {
  const char* wanted = std::getenv("FAULT");
  return wanted != nullptr && std::strcmp(wanted, name) == 0;
}

bool blamed(HcclComm comm) {
  uint32_t rank = 0;
  return HcclGetRankId(comm, &rank) == HCCL_SUCCESS && rank == 1;
}

template <typename Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

// "lazy": the second half stays behind. "error", "dead", "gone", "stuck": rank 1 returns an error,
// is killed, exits without a word, says so and waits for ever.
__attribute__((visibility("default"))) HcclResult HcclBroadcast(void* buf, uint64_t count,
                                                                HcclDataType type, uint32_t root,
                                                                HcclComm comm, aclrtStream stream) {
  if (fault("lazy")) count /= 2;
  if (fault("error") && blamed(comm)) return HCCL_E_MEMORY;
  if (fault("dead") && blamed(comm)) std::raise(SIGKILL);
  if (fault("gone") && blamed(comm)) _exit(1);
  if (fault("stuck") && blamed(comm)) {
    [[maybe_unused]] const ssize_t said = write(STDOUT_FILENO, "stuck\n", 6);
    for (;;) pause();
  }
  return real<decltype(HcclBroadcast)>("HcclBroadcast")(buf, count, type, root, comm, stream);
}

// "hasty": every other time, nobody waits for anybody.
__attribute__((visibility("default"))) HcclResult HcclBarrier(HcclComm comm, aclrtStream stream) {
  thread_local uint64_t calls = 0;
  if (fault("hasty") && calls++ % 2 == 1) return HCCL_SUCCESS;
  return real<decltype(HcclBarrier)>("HcclBarrier")(comm, stream);
}

// "spill": a result for all, not only for the root.
__attribute__((visibility("default"))) HcclResult HcclReduce(void* sendBuf, void* recvBuf,
                                                             uint64_t count, HcclDataType type,
                                                             HcclReduceOp op, uint32_t root,
                                                             HcclComm comm, aclrtStream stream) {
  if (fault("spill")) return HcclAllReduce(sendBuf, recvBuf, count, type, op, comm, stream);
  return real<decltype(HcclReduce)>("HcclReduce")(sendBuf, recvBuf, count, type, op, root, comm,
                                                  stream);
}

// "spill": the first byte of the buffer is written, in the gap before the first block.
__attribute__((visibility("default"))) HcclResult HcclAllGatherV(void* sendBuf, uint64_t count,
                                                                 void* recvBuf, const void* counts,
                                                                 const void* displacements,
                                                                 HcclDataType type, HcclComm comm,
                                                                 aclrtStream stream) {
  if (fault("spill") && aclrtMemsetAsync(recvBuf, 1, 0, 1, stream) != ACL_SUCCESS) {
    return HCCL_E_RUNTIME;
  }
  return real<decltype(HcclAllGatherV)>("HcclAllGatherV")(sendBuf, count, recvBuf, counts,
                                                          displacements, type, comm, stream);
}

// "error": rank 1 returns one.
__attribute__((visibility("default"))) HcclResult HcclRecv(void* buf, uint64_t count,
                                                           HcclDataType type, uint32_t source,
                                                           HcclComm comm, aclrtStream stream) {
  if (fault("error") && blamed(comm)) return HCCL_E_MEMORY;
  return real<decltype(HcclRecv)>("HcclRecv")(buf, count, type, source, comm, stream);
}

}  // extern "C"
