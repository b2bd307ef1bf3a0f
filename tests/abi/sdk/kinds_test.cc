// SPDX-License-Identifier: Apache-2.0
// Plugins of all kinds at work: my_algorithm over my_transport, on memory of my_memory. The folder
// WEFT_TEST_KINDS has them: built with the frozen SDK, or as `weft new` writes them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "hccl/hccl_comm.h"
#include "hccl/hccl_sym_win.h"
#include "policy_file.hpp"
#include "ranks.hpp"
#include "weft/comm.h"

namespace weft::test {
namespace {

constexpr uint64_t kCount = 10007;
constexpr const char* kTransport = "[transport]\nuse = \"my_transport\"\n";
constexpr const char* kMemory = "[memory]\norder = [\"my_memory\", \"heap\"]\n";

/// Runs the ranks with a policy that uses the plugins.
void run(uint32_t ranks, Layout layout, const std::string& rest,
         const std::function<void(Rank&)>& body) {
  const char* folder = std::getenv("WEFT_TEST_KINDS");
  ASSERT_NE(folder, nullptr) << "set WEFT_TEST_KINDS to the folder of the plugins";
  const PolicyFile policy(policy_text({{"all_reduce", "my_algorithm.all_reduce"}}, rest));
  GroupOptions options;
  options.environment = policy.environment();
  options.environment["WEFT_PLUGIN_PATH"] = folder;
  run_ranks(ranks, layout, body, options);
}

weft_call_info last_call(HcclComm comm) {
  weft_call_info info{};
  info.head = WEFT_HEAD(weft_call_info);
  ok(weft_comm_last_call(comm, &info));
  return info;
}

float element(uint32_t rank, uint64_t i) { return static_cast<float>(rank + i % 1000); }

void check_sums(const float* sums, uint64_t count, uint32_t ranks) {
  for (uint64_t i = 0; i < count; ++i) {
    float sum = 0;
    for (uint32_t r = 0; r < ranks; ++r) sum += element(r, i);
    check(sums[i] == sum, "element " + std::to_string(i));
  }
}

void all_reduce(Rank& rank, HcclComm comm, const Stream& stream, float* in, float* out,
                uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) in[i] = element(rank.rank(), i);
  ok(HcclAllReduce(in, out, count, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream));
  stream.synchronize();
  check_sums(out, count, rank.ranks());
  check(std::string(last_call(comm).algorithm) == "my_algorithm.all_reduce", "the algorithm");
}

class Kinds : public testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Kinds, testing::Values(2, 3, 5), testing::PrintToStringParamName());

TEST_P(Kinds, AllReduceOverAllThree) {
  run(GetParam(), Layout::kThreads, std::string(kTransport) + kMemory, [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    void* memory = nullptr;
    const uint64_t bytes = 2 * kCount * sizeof(float);
    ok(HcommMemAlloc(&memory, bytes));
    HcclCommSymWindow window = nullptr;
    ok(HcclCommSymWinRegister(comm, memory, bytes, &window, 1));
    auto* in = static_cast<float*>(memory);
    float* out = in + kCount;
    for (const uint64_t count : {uint64_t{1}, uint64_t{1000}, kCount}) {
      all_reduce(rank, comm, stream, in, out, count);
      check(last_call(comm).in_way == WEFT_WAY_WINDOW, "the input is found in the window");
      check(last_call(comm).out_way == WEFT_WAY_WINDOW, "the output is found in the window");
      all_reduce(rank, comm, stream, out, out, count);
    }

    HcclCommSymWindow found = nullptr;
    size_t offset = 0;
    ok(HcclCommSymWinGet(comm, out, 4, &found, &offset));
    check(found == window && offset == kCount * sizeof(float), "window and offset");
    const uint32_t next = (rank.rank() + 1) % rank.ranks();
    in[0] = element(rank.rank(), 7);
    rank.sync();
    void* peer = nullptr;
    ok(HcclSymWinGetPeerPointer(window, 0, next, &peer));
    check(*static_cast<float*>(peer) == element(next, 7), "what a peer wrote");
    refused(HcclSymWinGetPeerPointer(window, bytes, next, &peer), HCCL_E_PARA, {"no such byte"});
    rank.sync();
    ok(HcclCommSymWinDeregister(window));
    refused(HcclCommSymWinGet(comm, out, 4, &found, &offset), HCCL_E_NOT_FOUND, {"no window"});
    rank.sync();
    ok(HcommMemFree(memory));
    refused(HcommMemFree(memory), HCCL_E_PARA, {"HcommMemAlloc"});
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(Kinds, AnyMemoryOfAThreadIsGoodForAll) {
  run(GetParam(), Layout::kThreads, kTransport, [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    std::vector<float> in(kCount);
    std::vector<float> out(kCount);
    all_reduce(rank, comm, stream, in.data(), out.data(), kCount);
    check(last_call(comm).in_way == WEFT_WAY_LOCAL, "nothing is copied");
    std::vector<float> all(rank.ranks());
    in[0] = element(rank.rank(), 1);
    ok(HcclAllGather(in.data(), all.data(), 1, HCCL_DATA_TYPE_FP32, comm, stream));
    stream.synchronize();
    for (uint32_t r = 0; r < rank.ranks(); ++r) check(all[r] == element(r, 1), "all-gather");
    ok(HcclBarrier(comm, stream));
    stream.synchronize();
    ok(HcclCommDestroy(comm));
  });
}

TEST(KindsRefuse, WhatTheTransportCannotCombine) {
  run(2, Layout::kThreads, kTransport, [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    std::vector<int32_t> data(8);
    refused(HcclAllReduce(data.data(), data.data(), 8, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm,
                          stream),
            HCCL_E_NOT_SUPPORT);
    ok(HcclCommDestroy(comm));
  });
}

TEST(KindsRefuse, RanksOfOtherProcesses) {
  run(2, Layout::kProcesses, kTransport, [](Rank& rank) {
    const HcclRootInfo root = rank.share_root();
    HcclComm comm = nullptr;
    const HcclResult code = HcclCommInitRootInfo(rank.ranks(), &root, rank.rank(), &comm);
    const std::string text = weft_last_error();
    // Who is late sees the others gone.
    check(code == HCCL_E_UNAVAIL || code == HCCL_E_REMOTE, text);
    if (code == HCCL_E_UNAVAIL) {
      check(contains(text, "is in another process"), text);
      rank.event(0);
    }
    rank.sync();
    check(rank.counted(0) > 0, "a rank knows why");
  });
  run(2, Layout::kProcesses, kMemory, [](Rank& rank) {
    HcclComm comm = rank.join();
    std::vector<char> memory(64);
    HcclCommSymWindow window = nullptr;
    refused(HcclCommSymWinRegister(comm, memory.data(), memory.size(), &window, 1), HCCL_E_UNAVAIL,
            {"is in another process"});
    ok(HcclCommDestroy(comm));
  });
}

TEST(KindsRefuse, WindowsOfDifferentSizes) {
  run(3, Layout::kThreads, kMemory, [](Rank& rank) {
    HcclComm comm = rank.join();
    std::vector<char> memory(128);
    HcclCommSymWindow window = nullptr;
    refused(HcclCommSymWinRegister(comm, memory.data(), rank.rank() == 1 ? 64 : 128, &window, 1),
            HCCL_E_PARA, {"rank 1 has another size than rank 0"});
    ok(HcclCommSymWinRegister(comm, memory.data(), 128, &window, 1));
    ok(HcclCommDestroy(comm));  // closes it
  });
}

}  // namespace
}  // namespace weft::test
