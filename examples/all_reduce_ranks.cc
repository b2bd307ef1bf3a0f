// SPDX-License-Identifier: Apache-2.0
// All-reduce with one process per rank, which find each other by a rank table:
//   weft run -n 4 -- ./all_reduce_ranks [count]
#include <acl/acl.h>
#include <hccl/hccl.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

void need(bool fine, const char* what) {
  if (fine) return;
  const char* text = aclGetRecentErrMsg();
  std::printf("failed: %s %s\n", what, text != nullptr ? text : "");
  std::exit(1);
}
#define CHECK(call) need((call) == 0, #call)
int main(int argc, char** argv) {
  const char *rank_id = std::getenv("RANK_ID"), *table = std::getenv("RANK_TABLE_FILE");
  const char* device = std::getenv("ASCEND_DEVICE_ID");
  need(rank_id && device && table, "start the ranks with: weft run -n N -- PROGRAM");
  const size_t count = argc > 1 ? std::atoll(argv[1]) : 1024, bytes = count * sizeof(float);
  const uint32_t rank = std::atoi(rank_id);
  CHECK(aclInit(nullptr));
  CHECK(aclrtSetDevice(std::atoi(device)));
  HcclComm comm;
  CHECK(HcclCommInitClusterInfo(table, rank, &comm));
  uint32_t ranks;
  CHECK(HcclGetRankSize(comm, &ranks));
  aclrtStream stream;
  CHECK(aclrtCreateStream(&stream));
  std::vector<float> data(count);
  for (size_t i = 0; i < count; ++i) data[i] = static_cast<float>(rank + i % 100);
  void* buffer;  // both input and output
  CHECK(aclrtMalloc(&buffer, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtMemcpy(buffer, bytes, data.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
  CHECK(HcclAllReduce(buffer, buffer, count, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream));
  CHECK(aclrtSynchronizeStream(stream));
  CHECK(aclrtMemcpy(data.data(), bytes, buffer, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
  size_t wrong = 0;
  for (size_t i = 0; i < count; ++i) wrong += data[i] != ranks * (2 * (i % 100) + ranks - 1) / 2;
  std::printf("rank %u of %u: %zu sums, %zu wrong\n", rank, ranks, count, wrong);
  CHECK(HcclCommDestroy(comm));
  CHECK(aclrtFree(buffer));
  CHECK(aclrtDestroyStream(stream));
  return aclFinalize() == 0 && wrong == 0 ? 0 : 1;
}
