// SPDX-License-Identifier: Apache-2.0
// A symmetric window: memory of this program's own, known to all ranks. An all-gather works on
// parts of it, and one rank reads another's memory by itself. Ranks are threads, one per device:
//   ./symmetric_window [ranks]
#include <acl/acl.h>
#include <hccl/hccl.h>
#include <hccl/hccl_sym_win.h>

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

constexpr size_t kBytes = 4 << 20;   // of each rank's part: a multiple of 2 MiB
constexpr size_t kCount = 1000;      // floats that each rank gives
constexpr size_t kResult = 1 << 20;  // where in the window the result begins, in bytes

void run(int32_t device, uint32_t ranks, HcclComm comm) {
  CHECK(aclrtSetDevice(device));
  aclrtStream stream;
  CHECK(aclrtCreateStream(&stream));

  // Addresses, physical memory, and one mapped at the other.
  void* memory;
  aclrtDrvMemHandle physical;
  aclrtPhysicalMemProp prop{};
  prop.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.id = static_cast<uint32_t>(device);
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  CHECK(aclrtReserveMemAddress(&memory, kBytes, 0, nullptr, 0));
  CHECK(aclrtMallocPhysical(&physical, kBytes, &prop, 0));
  CHECK(aclrtMapMem(memory, kBytes, 0, physical, 0));

  HcclCommSymWindow window;  // all ranks register together
  CHECK(HcclCommSymWinRegister(comm, memory, kBytes, &window, 1));

  uint32_t rank;
  CHECK(HcclGetRankId(comm, &rank));
  char* base = static_cast<char*>(memory);
  std::vector<float> mine(kCount, static_cast<float>(rank + 1)), all(kCount * ranks), peer(kCount);
  const size_t bytes = kCount * sizeof(float);
  CHECK(aclrtMemcpy(base, bytes, mine.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
  CHECK(HcclAllGather(base, base + kResult, kCount, HCCL_DATA_TYPE_FP32, comm, stream));
  CHECK(aclrtSynchronizeStream(stream));
  CHECK(aclrtMemcpy(all.data(), bytes * ranks, base + kResult, bytes * ranks,
                    ACL_MEMCPY_DEVICE_TO_HOST));

  void* next;  // the first bytes of the next rank's part, here
  CHECK(HcclSymWinGetPeerPointer(window, 0, (rank + 1) % ranks, &next));
  CHECK(aclrtMemcpy(peer.data(), bytes, next, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
  size_t wrong = 0;
  for (size_t i = 0; i < all.size(); ++i) wrong += all[i] != i / kCount + 1;
  for (const float each : peer) wrong += each != (rank + 1) % ranks + 1;
  std::printf("rank %u of %u: %zu wrong\n", rank, ranks, wrong);

  CHECK(HcclBarrier(comm, stream));  // nobody reads any more
  CHECK(aclrtSynchronizeStream(stream));
  CHECK(HcclCommSymWinDeregister(window));
  CHECK(aclrtUnmapMem(memory));
  CHECK(aclrtFreePhysical(physical));
  CHECK(aclrtReleaseMemAddress(memory));
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
