// SPDX-License-Identifier: Apache-2.0
// All-reduce with one process per rank, which find each other by a file:
//   weft run -n 4 -- ./all_reduce_ranks /tmp/root_info [count]
// The file must not exist; rank 0 writes it, and removes it when all have joined.
#include <acl/acl.h>
#include <hccl/hccl.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

void check(int code) {
  if (code == 0) return;
  const char* text = aclGetRecentErrMsg();
  std::printf("error %d: %s\n", code, text != nullptr ? text : "no text");
  std::exit(1);
}

uint32_t number_of(const char* variable) {
  const char* value = std::getenv(variable);
  if (value != nullptr) return static_cast<uint32_t>(std::atoi(value));
  std::printf("%s is not set: start this program with `weft run`\n", variable);
  std::exit(1);
}

void write_root(const HcclRootInfo& root, const std::string& path) {
  const std::string draft = path + ".draft";
  std::FILE* file = std::fopen(draft.c_str(), "wb");
  if (file == nullptr || std::fwrite(&root, sizeof root, 1, file) != 1 || std::fclose(file) != 0 ||
      std::rename(draft.c_str(), path.c_str()) != 0) {  // complete or not there
    std::printf("cannot write %s\n", path.c_str());
    std::exit(1);
  }
}

HcclRootInfo read_root(const std::string& path) {
  HcclRootInfo root;
  std::FILE* file;
  while ((file = std::fopen(path.c_str(), "rb")) == nullptr) std::this_thread::yield();
  if (std::fread(&root, sizeof root, 1, file) != 1) std::exit(1);
  std::fclose(file);
  return root;
}

int main(int argc, char** argv) {
  if (argc < 2) {
    std::printf("usage: all_reduce_ranks FILE [COUNT]\n");
    return 1;
  }
  const std::string path = argv[1];
  const size_t count = argc > 2 ? static_cast<size_t>(std::atoll(argv[2])) : 1024;
  const uint32_t rank = number_of("RANK_ID");
  const uint32_t ranks = number_of("RANK_SIZE");

  uint32_t devices;
  check(aclInit(nullptr));
  check(aclrtGetDeviceCount(&devices));
  const int32_t device = static_cast<int32_t>(rank % devices);
  check(aclrtSetDevice(device));
  HcclRootInfo root;
  if (rank == 0) {
    check(HcclGetRootInfo(&root));
    write_root(root, path);
  } else {
    root = read_root(path);
  }
  HcclComm comm;
  check(HcclCommInitRootInfo(ranks, &root, rank, &comm));
  if (rank == 0) std::remove(path.c_str());  // all have joined, so all have read it

  aclrtStream stream;
  check(aclrtCreateStream(&stream));
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
  check(aclFinalize());
  return wrong == 0 ? 0 : 1;
}
