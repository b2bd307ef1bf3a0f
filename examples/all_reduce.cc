// SPDX-License-Identifier: Apache-2.0
// All-reduce with one thread per rank: ./all_reduce [ranks [count]]. After `source set_env.sh`:
//   g++ all_reduce.cc -I$ASCEND_HOME_PATH/include -L$ASCEND_HOME_PATH/lib64 -lhccl -lascendcl
#include <acl/acl.h>
#include <hccl/hccl.h>

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

void check(int code) {
  if (code == 0) return;
  const char* text = aclGetRecentErrMsg();
  std::printf("error %d: %s\n", code, text != nullptr ? text : "no text");
  std::exit(1);
}

void run(uint32_t rank, uint32_t ranks, int32_t device, size_t count, const HcclRootInfo& root) {
  check(aclrtSetDevice(device));
  aclrtStream stream;
  check(aclrtCreateStream(&stream));
  HcclComm comm;
  check(HcclCommInitRootInfo(ranks, &root, rank, &comm));
  void* buffer;  // both input and output
  const size_t bytes = count * sizeof(float);
  check(aclrtMalloc(&buffer, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  std::vector<float> data(count);
  for (size_t i = 0; i < count; ++i) data[i] = static_cast<float>(rank + i % 100);
  check(aclrtMemcpy(buffer, bytes, data.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
  check(HcclAllReduce(buffer, buffer, count, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream));
  check(aclrtSynchronizeStream(stream));
  check(aclrtMemcpy(data.data(), bytes, buffer, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
  size_t wrong = 0;
  for (size_t i = 0; i < count; ++i)
    wrong += data[i] != static_cast<float>(ranks * (2 * (i % 100) + ranks - 1) / 2);
  std::printf("rank %u of %u: %zu sums, %zu wrong\n", rank, ranks, count, wrong);
  check(HcclCommDestroy(comm));
  check(aclrtFree(buffer));
  check(aclrtDestroyStream(stream));
  check(aclrtResetDevice(device));
  if (wrong != 0) std::exit(1);
}

int main(int argc, char** argv) {
  const uint32_t ranks = argc > 1 ? static_cast<uint32_t>(std::atoi(argv[1])) : 4;
  const size_t count = argc > 2 ? static_cast<size_t>(std::atoll(argv[2])) : 1024;
  uint32_t devices;
  check(aclInit(nullptr));
  check(aclrtGetDeviceCount(&devices));
  check(aclrtSetDevice(0));
  HcclRootInfo root;
  check(HcclGetRootInfo(&root));
  std::vector<std::thread> threads;
  for (uint32_t r = 0; r < ranks; ++r)
    threads.emplace_back(run, r, ranks, r % devices, count, root);
  for (std::thread& thread : threads) thread.join();
  check(aclrtResetDevice(0));
  check(aclFinalize());
}
