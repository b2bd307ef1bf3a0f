// SPDX-License-Identifier: Apache-2.0
// All-reduce with one process per rank, which find each other by a file that rank 0 writes:
//   weft run -n 4 -- ./all_reduce_ranks /tmp/root_info [count]
#include <acl/acl.h>
#include <hccl/hccl.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <vector>

void need(bool fine, const char* what) {
  if (fine) return;
  const char* text = aclGetRecentErrMsg();
  std::printf("failed: %s %s\n", what, text != nullptr ? text : "");
  std::exit(1);
}
#define CHECK(call) need((call) == 0, #call)
int main(int argc, char** argv) {
  const char *rank_id = std::getenv("RANK_ID"), *rank_size = std::getenv("RANK_SIZE");
  const char *device = std::getenv("ASCEND_DEVICE_ID"), *table = std::getenv("RANK_TABLE_FILE");
  need(argc > 1 && rank_id && rank_size && device && table, "use: weft run -n N -- PROGRAM FILE");
  const size_t count = argc > 2 ? std::atoll(argv[2]) : 1024, bytes = count * sizeof(float);
  const uint32_t rank = std::atoi(rank_id), ranks = std::atoi(rank_size);
  CHECK(aclInit(nullptr));
  CHECK(aclrtSetDevice(std::atoi(device)));
  HcclRootInfo root;
  if (rank == 0) CHECK(HcclGetRootInfo(&root));
  need(rank || std::ofstream(argv[1]).write(root.internal, sizeof root).flush(), "cannot write");
  const auto written = [](const char* path) {  // when, in ns; 0 if it is not there
    struct stat file;
    return stat(path, &file) == 0 ? file.st_mtim.tv_sec * 1000000000 + file.st_mtim.tv_nsec : 0;
  };
  const auto end = std::time(nullptr) + 60;
  while (rank != 0 && (written(argv[1]) < written(table) ||  // of an earlier run
                       !std::ifstream(argv[1]).read(root.internal, sizeof root)))
    need(std::time(nullptr) < end, "rank 0 wrote no file within 60 s");
  HcclComm comm;
  CHECK(HcclCommInitRootInfo(ranks, &root, rank, &comm));
  if (rank == 0) std::remove(argv[1]);  // all have joined, so all have read it
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
