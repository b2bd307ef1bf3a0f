// SPDX-License-Identifier: Apache-2.0
// Symmetric windows through the HCCL API: codes, and ranks that fail, differ, die or do not come.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "sym_win.hpp"

namespace weft::test {
namespace {

constexpr uint64_t kGb = uint64_t{1} << 30;

class SymWinFaults : public testing::TestWithParam<Layout> {
 protected:
  static void run(const std::function<void(Rank&)>& body) { run_ranks(3, GetParam(), body); }
};

INSTANTIATE_TEST_SUITE_P(, SymWinFaults, testing::Values(Layout::kThreads, Layout::kProcesses),
                         [](const testing::TestParamInfo<Layout>& one) {
                           return layout_name(one.param);
                         });

TEST_P(SymWinFaults, WrongArgumentsHaveTheirCodes) {
  run([](Rank& rank) {
    HcclComm comm = rank.join();
    Mapped memory(kUnit);
    unsigned char* data = memory.data();
    HcclCommSymWindow none = nullptr;
    const char* enter = "HcclCommSymWinRegister";
    refused(HcclCommSymWinRegister(nullptr, data, 8, &none, 1), HCCL_E_PTR, {enter, "comm"});
    refused(HcclCommSymWinRegister(comm, nullptr, 8, &none, 1), HCCL_E_PTR, {enter, "addr"});
    refused(HcclCommSymWinRegister(comm, data, 8, nullptr, 1), HCCL_E_PTR, {enter, "winHandle"});
    refused(HcclCommSymWinRegister(comm, data, 0, &none, 1), HCCL_E_PARA, {enter, "size is 0"});
    refused(HcclCommSymWinRegister(comm, data, 8, &none, 0), HCCL_E_PARA, {enter, "flag 0"});
    refused(HcclCommSymWinRegister(comm, data, 8, &none, 3), HCCL_E_PARA, {enter, "flag 3"});

    HcclCommSymWindow window = open_window(comm, memory);
    size_t offset = 0;
    const char* get = "HcclCommSymWinGet";
    refused(HcclCommSymWinGet(nullptr, data, 8, &none, &offset), HCCL_E_PTR, {get, "comm"});
    refused(HcclCommSymWinGet(comm, nullptr, 8, &none, &offset), HCCL_E_PTR, {get, "ptr"});
    refused(HcclCommSymWinGet(comm, data, 8, nullptr, &offset), HCCL_E_PTR, {get, "winHandle"});
    refused(HcclCommSymWinGet(comm, data, 8, &none, nullptr), HCCL_E_PTR, {get, "offset"});
    refused(HcclCommSymWinGet(comm, data, 0, &none, &offset), HCCL_E_PARA, {get, "size is 0"});
    refused(HcclCommSymWinGet(comm, data + 1, kUnit, &none, &offset), HCCL_E_NOT_FOUND, {get});

    void* pointer = nullptr;
    const char* peer = "HcclSymWinGetPeerPointer";
    refused(HcclSymWinGetPeerPointer(nullptr, 0, 0, &pointer), HCCL_E_PTR, {peer, "winHandle"});
    refused(HcclSymWinGetPeerPointer(window, 0, 0, nullptr), HCCL_E_PTR, {peer, "ptr"});
    refused(HcclSymWinGetPeerPointer(window, 0, 3, &pointer), HCCL_E_PARA, {peer, "rank 3"});
    refused(HcclSymWinGetPeerPointer(window, kUnit, 0, &pointer), HCCL_E_PARA, {peer, "offset"});

    refused(HcclCommSymWinDeregister(nullptr), HCCL_E_PTR, {"winHandle"});
    ok(HcclCommSymWinDeregister(window));
    refused(HcclCommSymWinDeregister(window), HCCL_E_PARA, {"HcclCommSymWinDeregister"});
    refused(HcclCommSymWinDeregister(data), HCCL_E_PARA, {"HcclCommSymWinDeregister"});
    refused(HcclSymWinGetPeerPointer(window, 0, 0, &pointer), HCCL_E_PARA, {peer});
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(SymWinFaults, RoomForWindowsIsChecked) {
  run([](Rank& rank) {
    Mapped memory(kUnit);
    HcclCommSymWindow none = nullptr;
    for (const uint64_t gigabytes : {uint64_t{0}, uint64_t{1} << 20, UINT64_MAX}) {
      HcclComm comm = join_with_windows(rank, gigabytes);
      refused(HcclCommSymWinRegister(comm, memory.data(), kUnit, &none, 1), HCCL_E_PARA,
              {"hcclSymWinMaxMemSizePerRank"});
      ok(HcclCommDestroy(comm));
    }
    HcclComm comm = join_with_windows(rank, 1 + rank.rank());
    refused(HcclCommSymWinRegister(comm, memory.data(), kUnit, &none, 1), HCCL_E_INTERNAL,
            {"rank 0 has 1073741824", "rank 1 has 2147483648", "hcclSymWinMaxMemSizePerRank"});
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(SymWinFaults, SpaceIsLimitedAndUsedAgain) {
  run([](Rank& rank) {
    HcclComm comm = join_with_windows(rank, 1);
    std::vector<std::unique_ptr<Mapped>> memories;
    std::vector<HcclCommSymWindow> windows;
    for (int i = 0; i < 4; ++i) {
      memories.push_back(std::make_unique<Mapped>(kGb / 4));
      windows.push_back(open_window(comm, *memories.back()));
    }
    Mapped more(kGb / 4);
    HcclCommSymWindow none = nullptr;
    refused(HcclCommSymWinRegister(comm, more.data(), more.size(), &none, 1), HCCL_E_MEMORY,
            {"no room", "1073741824 of 1073741824"});
    const unsigned char* second = peer_pointer(windows[1], 2);
    ok(HcclCommSymWinDeregister(windows[1]));
    check(peer_pointer(open_window(comm, more), 2) == second, "the space of the second window");
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(SymWinFaults, ARankThatFailsIsNamedToTheOthers) {
  run([](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    Mapped memory(kUnit);
    std::vector<char> plain(64);
    void* wrong[] = {plain.data(), memory.data()};
    uint64_t sizes[] = {64, kUnit + 1};
    HcclCommSymWindow none = nullptr;
    for (int i = 0; i < 2; ++i) {
      if (rank.rank() == 1) {
        refused(HcclCommSymWinRegister(comm, wrong[i], sizes[i], &none, 1), HCCL_E_PARA,
                {"mapped"});
      } else {
        refused(HcclCommSymWinRegister(comm, memory.data(), kUnit, &none, 1), HCCL_E_INTERNAL,
                {"rank 1", "mapped"});
      }
    }
    {
      Mapped longer(rank.rank() == 2 ? 2 * kUnit : kUnit);
      refused(HcclCommSymWinRegister(comm, longer.data(), kUnit, &none, 1), HCCL_E_INTERNAL,
              {"rank 0 has 2097152", "rank 2 has 4194304"});
    }
    open_window(comm, memory);
    barrier(comm, stream);
    ok(HcclCommDestroy(comm));
  });
}

TEST(SymWinFork, AForkedChildHasNoWindows) {
  run_ranks(2, Layout::kProcesses, [](Rank& rank) {
    HcclComm comm = join_with_windows(rank, 1);
    Mapped memory(kUnit);
    HcclCommSymWindow window = open_window(comm, memory);
    const pid_t child = fork();
    if (child == 0) _exit(HcclCommSymWinDeregister(window) == HCCL_E_PARA ? 0 : 1);
    int status = -1;
    check(waitpid(child, &status, 0) == child && status == 0, "the child's answer");
    rank.sync();
    ok(HcclCommSymWinDeregister(window));
    rank.sync();
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(SymWinFaults, ARankThatNeverComesIsNamedAfterTheTimeout) {
  run_impatient(GetParam(), [](Rank& rank) {
    HcclComm comm = rank.join();
    Mapped memory(kUnit);
    HcclCommSymWindow none = nullptr;
    if (rank.rank() != 2) {
      refused(HcclCommSymWinRegister(comm, memory.data(), kUnit, &none, 1), HCCL_E_TIMEOUT,
              {"HcclCommSymWinRegister", "rank 2"});
      check(none == nullptr, "no window");
    }
    rank.sync();
    ok(HcclCommDestroy(comm));
  });
}

TEST(SymWinKilled, ARankThatIsKilledIsNamed) {
  run_ranks(3, Layout::kProcesses, [](Rank& rank) {
    HcclComm comm = rank.join();
    Mapped kept(kUnit);
    HcclCommSymWindow window = open_window(comm, kept);
    *peer_pointer(window, 1, 5) = 77;
    rank.sync();
    if (rank.rank() == 1) rank.die();
    Mapped memory(kUnit);
    HcclCommSymWindow none = nullptr;
    refused(HcclCommSymWinRegister(comm, memory.data(), kUnit, &none, 1), HCCL_E_REMOTE,
            {"rank 1"});
    check(*peer_pointer(window, 1, 5) == 77, "its memory stays as long as the window");
    rank.event(0);
    rank.await(0, 2);
    ok(HcclCommSymWinDeregister(window));
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(SymWinFaults, WindowsOfCallsThatHaveNotEndedStay) {
  run([](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    Mapped memory(kUnit);
    HcclCommSymWindow window = open_window(comm, memory);
    auto* values = reinterpret_cast<int32_t*>(memory.data());
    values[0] = 1;
    // By the way of the alias, too, which operators take for any memory.
    auto* alias = reinterpret_cast<int32_t*>(peer_pointer(window, rank.rank()));
    const auto call = [&] {
      int32_t* base = rank.rank() == 1 ? alias : values;
      ok(HcclAllReduce(base, base + 64, 1, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm, stream));
    };
    if (rank.rank() != 0) {
      call();  // cannot end before rank 0 calls
      refused(HcclCommSymWinDeregister(window), HCCL_E_AGAIN, {"synchronise the streams"});
      check(peer_pointer(window, 0) != nullptr, "it is still there");
      rank.event(0);
    } else {
      rank.await(0, 2);
      call();
    }
    stream.synchronize();
    check(values[64] == 3, "the sum");
    ok(HcclCommSymWinDeregister(window));
    ok(HcclCommDestroy(comm));
  });
}

TEST(SymWinAlone, ASingleRankHasWindows) {
  run_alone([](Rank& rank) {
    HcclComm comm = rank.join();
    Mapped memory(kUnit);
    HcclCommSymWindow window = open_window(comm, memory);
    check(peer_pointer(window, 0, 9) == memory.data() + 9, "its own memory");
    HcclCommSymWindow found = nullptr;
    size_t offset = 0;
    refused(HcclCommSymWinGet(comm, memory.data(), 1, &found, &offset), HCCL_E_NOT_FOUND);
    ok(HcclCommSymWinDeregister(window));
    refused(HcclCommSymWinDeregister(window), HCCL_E_PARA);
    ok(HcclCommDestroy(comm));
  });
}

TEST(SymWinAlone, OtherChipsHaveNoWindows) {
  run_on_other_chip([](Rank& rank) {
    HcclComm comm = rank.join();
    Mapped memory(kUnit);
    HcclCommSymWindow none = nullptr;
    refused(HcclCommSymWinRegister(comm, memory.data(), kUnit, &none, 1), HCCL_E_NOT_SUPPORT,
            {"Ascend910B1"});
    ok(HcclCommDestroy(comm));
  });
}

}  // namespace
}  // namespace weft::test
