// SPDX-License-Identifier: Apache-2.0
// One-sided registration of memory, and its exchange between ranks.
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "cases.hpp"
#include "own_memory.hpp"

namespace weft::test {
namespace {

void* registered(HcclComm comm, void* memory, uint64_t bytes) {
  void* handle = nullptr;
  ok(HcclCommRegister(comm, memory, bytes, &handle, 0));
  return handle;
}

HcclResult exchange_with(HcclComm comm, void* handle, std::vector<uint32_t> peers) {
  return HcclCommExchangeMem(comm, handle, peers.data(), static_cast<uint32_t>(peers.size()));
}

class Registration : public testing::TestWithParam<Layout> {};
std::string registration_layout(const testing::TestParamInfo<Layout>& given) {
  return layout_name(given.param);
}
INSTANTIATE_TEST_SUITE_P(, Registration, testing::Values(Layout::kThreads, Layout::kProcesses),
                         registration_layout);

TEST_P(Registration, HandlesAreDistinctAndOfTheirCommunicator) {
  run_ranks(2, GetParam(), [](Rank& rank) {
    HcclComm first = rank.join();
    HcclComm second = rank.join();
    Arena arena(Memory::kDevice, 64);
    std::byte* memory = arena.lend(64);
    std::set<void*> handles;
    for (int i = 0; i < 50; ++i) handles.insert(registered(first, memory, 64));
    check(handles.size() == 50, "a handle was given twice");
    void* other = registered(second, memory, 64);
    check(!handles.contains(other), "another communicator has the same handle");
    refused(HcclCommDeregister(first, other), HCCL_E_PARA, {"HcclCommDeregister", "handle"});
    refused(exchange_with(first, other, {0}), HCCL_E_PARA, {"HcclCommExchangeMem", "handle"});
    for (void* handle : handles) ok(HcclCommDeregister(first, handle));
    check(!handles.contains(registered(first, memory, 64)), "a dead handle lives again");
    rank.sync();
    ok(HcclCommDestroy(first));
    ok(HcclCommDestroy(second));
  });
}

TEST_P(Registration, AnExchangeWaitsForThePeers) {
  run_ranks(3, GetParam(), [](Rank& rank) {
    HcclComm comm = rank.join();
    int data = 0;
    void* handle = registered(comm, &data, sizeof data);
    const uint32_t next = (rank.rank() + 1) % 3;
    const uint32_t previous = (rank.rank() + 2) % 3;
    for (uint32_t round = 1; round <= 20; ++round) {
      rank.event(0);
      ok(exchange_with(comm, handle, {next, rank.rank(), previous}));
      check(rank.counted(0) >= 3 * round, "it did not wait for all");
    }
    // Pairs need not know of the others.
    if (rank.rank() != 2) ok(exchange_with(comm, handle, {1 - rank.rank()}));
    // The other rank of a pair may come and go first.
    if (rank.rank() == 2) rank.await(1, 1);
    if (rank.rank() == 1) {
      std::thread late([&] { ok(exchange_with(comm, handle, {2})); });
      rank.event(1);
      late.join();
    }
    if (rank.rank() == 2) ok(exchange_with(comm, handle, {1}));
    expect_working(comm, 3);
    rank.sync();
    ok(HcclCommDeregister(comm, handle));
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(Registration, APeerThatLeavesOrHasLeftIsNamed) {
  run_ranks(3, GetParam(), [](Rank& rank) {
    HcclComm comm = rank.join();
    int data = 0;
    void* handle = registered(comm, &data, sizeof data);
    if (rank.rank() == 2) {
      ok(HcclCommDestroy(comm));
    } else {
      refused(exchange_with(comm, handle, {2}), HCCL_E_REMOTE, {"HcclCommExchangeMem", "rank 2"});
      refused(exchange_with(comm, handle, {1 - rank.rank()}), HCCL_E_REMOTE, {"earlier", "rank 2"});
    }
    rank.sync();
    if (rank.rank() != 2) ok(HcclCommDestroy(comm));
  });
}

TEST(RegistrationKilled, APeerIsNamed) {
  run_ranks(2, Layout::kProcesses, [](Rank& rank) {
    HcclComm comm = rank.join();
    int data = 0;
    void* handle = registered(comm, &data, sizeof data);
    rank.sync();
    if (rank.rank() == 1) rank.die();
    refused(exchange_with(comm, handle, {1}), HCCL_E_REMOTE, {"HcclCommExchangeMem", "rank 1"});
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(Registration, APeerThatNeverComesIsNamedAfterTheTimeoutAndHoldsUpTheEnd) {
  run_impatient(GetParam(), [](Rank& rank) {
    HcclComm comm = rank.join();
    int data = 0;
    void* handle = registered(comm, &data, sizeof data);
    if (rank.rank() == 0) {
      std::atomic<bool> over{false};
      std::thread waiting([&] {
        refused(exchange_with(comm, handle, {1, 2}), HCCL_E_TIMEOUT,
                {"HcclCommExchangeMem", "ranks 2 ", "3 s"});
        over = true;
      });
      rank.await(0, 1);
      const HcclResult code = HcclCommDestroy(comm);
      check(code == HCCL_E_AGAIN || over, "it was destroyed in the middle of an exchange");
      waiting.join();
      if (code != HCCL_SUCCESS) ok(HcclCommDestroy(comm));
    }
    if (rank.rank() == 1) {
      ok(exchange_with(comm, handle, {0}));
      rank.event(0);
    }
    rank.sync();
    if (rank.rank() != 0) ok(HcclCommDestroy(comm));
  });
}

}  // namespace
}  // namespace weft::test
