// SPDX-License-Identifier: Apache-2.0
// A zero-copy range: addresses that a program fills with memory as it grows. Operators use what is
// active without copying it elsewhere. Ranks are threads, one per device:
//   ./zero_copy [ranks]
#include <acl/acl.h>
#include <hccl/hccl.h>

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

void need(bool fine, const char* what) {
  if (fine) return;
  const char* text = aclGetRecentErrMsg();
  std::printf("failed: %s %s\n", what, text != nullptr ? text : "");
  std::exit(1);
}
#define CHECK(call) need((call) == 0, #call)

constexpr size_t kBlock = 2 << 20;  // physical memory comes in multiples of this
constexpr size_t kBlocks = 4;

/// Memory for block `index` of the range, active for all communicators of this process.
aclrtDrvMemHandle grow(HcclComm comm, char* base, size_t index, int32_t device) {
  aclrtDrvMemHandle physical;
  aclrtPhysicalMemProp prop{};
  prop.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.id = static_cast<uint32_t>(device);
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  char* block = base + index * kBlock;
  CHECK(aclrtMallocPhysical(&physical, kBlock, &prop, 0));
  CHECK(aclrtMapMem(block, kBlock, 0, physical, 0));
  CHECK(HcclCommActivateCommMemory(comm, block, kBlock, 0, physical, 0));
  return physical;
}

void run(int32_t device, uint32_t ranks, HcclComm comm) {
  CHECK(aclrtSetDevice(device));
  aclrtStream stream;
  CHECK(aclrtCreateStream(&stream));
  void* range;
  CHECK(aclrtReserveMemAddress(&range, kBlocks * kBlock, 0, nullptr, 0));
  // The first call on a communicator is made by all ranks together; the rest needs no peers.
  CHECK(HcclCommSetMemoryRange(comm, range, kBlocks * kBlock, 0, 0));

  uint32_t rank;
  CHECK(HcclGetRankId(comm, &rank));
  char* base = static_cast<char*>(range);
  aclrtDrvMemHandle blocks[kBlocks];
  for (size_t used = 1; used <= kBlocks; ++used) {
    blocks[used - 1] = grow(comm, base, used - 1, device);
    // One buffer over all blocks so far, both input and output.
    const size_t bytes = used * kBlock, count = bytes / sizeof(float);
    std::vector<float> data(count);
    for (size_t i = 0; i < count; ++i) data[i] = static_cast<float>(rank + i % 100);
    CHECK(aclrtMemcpy(base, bytes, data.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    CHECK(HcclAllReduce(base, base, count, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream));
    CHECK(aclrtSynchronizeStream(stream));
    CHECK(aclrtMemcpy(data.data(), bytes, base, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
    size_t wrong = 0;
    for (size_t i = 0; i < count; ++i) wrong += data[i] != ranks * (2 * (i % 100) + ranks - 1) / 2;
    if (used == kBlocks) std::printf("rank %u of %u: %zu wrong\n", rank, ranks, wrong);
  }

  for (size_t i = 0; i < kBlocks; ++i) {
    CHECK(HcclCommDeactivateCommMemory(comm, base + i * kBlock));
    CHECK(aclrtUnmapMem(base + i * kBlock));
    CHECK(aclrtFreePhysical(blocks[i]));
  }
  CHECK(HcclCommUnsetMemoryRange(comm, range));
  CHECK(HcclBarrier(comm, stream));  // the others were asked to let go, too
  CHECK(aclrtSynchronizeStream(stream));
  CHECK(aclrtReleaseMemAddress(range));
  CHECK(aclrtDestroyStream(stream));
  CHECK(HcclCommDestroy(comm));
}

int main(int argc, char** argv) {
  const int ranks = argc > 1 ? std::atoi(argv[1]) : 4;
  std::vector<int32_t> devices(ranks);
  for (int i = 0; i < ranks; ++i) devices[i] = i;
  std::vector<HcclComm> comms(ranks);
  CHECK(aclInit(nullptr));
  CHECK(aclrtSetDevice(0));
  CHECK(HcclCommInitAll(ranks, devices.data(), comms.data()));
  std::vector<std::thread> threads;
  for (int i = 0; i < ranks; ++i) threads.emplace_back(run, devices[i], ranks, comms[i]);
  for (std::thread& each : threads) each.join();
  return aclFinalize();
}
