// SPDX-License-Identifier: Apache-2.0
// The end of communicators: while they are busy, with memory that they know, by many threads, not
// at all; handles that are none (any more); and that nothing of them stays behind.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "cases.hpp"
#include "sym_win.hpp"
#include "zero_copy.hpp"

namespace weft::test {
namespace {

/// A function that takes a handle, with arguments that are good otherwise.
struct Taker {
  std::string name;
  std::function<HcclResult(HcclComm)> call;
};

/// What the arguments of takers point to.
struct Things {
  uint32_t number = 0;
  uint32_t ranks[1] = {0};
  bool backup[1] = {false};
  char text[HCCL_COMM_ALGO_MAX_LENGTH] = {};
  HcclResult state = HCCL_SUCCESS;
  HcclConfigValue value{};
  HcclCommSymWindow window = nullptr;
  size_t offset = 0;
  void* handle = nullptr;
  weft_call_info info{};
  weft_comm_counters counters{};
  Stream stream;
  Mapped memory{kUnit};
};

std::vector<Taker> takers(Things& t) {
  t.info.head = WEFT_HEAD(weft_call_info);
  t.counters.head = WEFT_HEAD(weft_comm_counters);
  void* memory = t.memory.data();
  return {
      {"HcclGetRankSize", [&](HcclComm c) { return HcclGetRankSize(c, &t.number); }},
      {"HcclGetRankId", [&](HcclComm c) { return HcclGetRankId(c, &t.number); }},
      {"HcclGetCommName", [&](HcclComm c) { return HcclGetCommName(c, t.text); }},
      {"HcclGetCommAsyncError", [&](HcclComm c) { return HcclGetCommAsyncError(c, &t.state); }},
      {"HcclConfigGetInfo",
       [&](HcclComm c) {
         return HcclConfigGetInfo(c, HCCL_CONFIG_TYPE_HCCL_ALGO, sizeof t.text, t.text);
       }},
      {"HcclBarrier", [&](HcclComm c) { return HcclBarrier(c, t.stream); }},
      {"HcclSetCommConfig",
       [&](HcclComm c) { return HcclSetCommConfig(c, HCCL_DETERMINISTIC, t.value); }},
      {"HcclGetCommConfig",
       [&](HcclComm c) { return HcclGetCommConfig(c, HCCL_DETERMINISTIC, &t.value); }},
      {"HcclCommSuspend", [](HcclComm c) { return HcclCommSuspend(c); }},
      {"HcclCommResume", [](HcclComm c) { return HcclCommResume(c); }},
      {"HcclCommWorkingDevNicSet",
       [&](HcclComm c) { return HcclCommWorkingDevNicSet(c, t.ranks, t.backup, 1); }},
      {"HcclCommSetMemoryRange",
       [&, memory](HcclComm c) { return HcclCommSetMemoryRange(c, memory, kUnit, 0, 0); }},
      {"HcclCommActivateCommMemory",
       [&, memory](HcclComm c) {
         return HcclCommActivateCommMemory(c, memory, kUnit, 0, t.memory.handle(), 0);
       }},
      {"HcclCommDeactivateCommMemory",
       [memory](HcclComm c) { return HcclCommDeactivateCommMemory(c, memory); }},
      {"HcclCommUnsetMemoryRange",
       [memory](HcclComm c) { return HcclCommUnsetMemoryRange(c, memory); }},
      {"HcclCommSymWinRegister",
       [&, memory](HcclComm c) { return HcclCommSymWinRegister(c, memory, kUnit, &t.window, 1); }},
      {"HcclCommSymWinGet",
       [&, memory](HcclComm c) {
         return HcclCommSymWinGet(c, memory, kUnit, &t.window, &t.offset);
       }},
      {"HcclCommRegister",
       [&, memory](HcclComm c) { return HcclCommRegister(c, memory, kUnit, &t.handle, 0); }},
      {"HcclCommExchangeMem",
       [&](HcclComm c) {
         return HcclCommExchangeMem(c, t.handle == nullptr ? &t : t.handle, t.ranks, 1);
       }},
      {"HcclCommDeregister",
       [&](HcclComm c) { return HcclCommDeregister(c, t.handle == nullptr ? &t : t.handle); }},
      {"weft_comm_last_call", [&](HcclComm c) { return weft_comm_last_call(c, &t.info); }},
      {"weft_comm_get_counters",
       [&](HcclComm c) { return weft_comm_get_counters(c, &t.counters); }},
      {"HcclCommDestroy", [](HcclComm c) { return HcclCommDestroy(c); }},
  };
}

/// A handle that was one until now.
HcclComm dead_handle(Rank& rank) {
  HcclComm comm = rank.join();
  ok(HcclCommDestroy(comm));
  return comm;
}

TEST(Handles, EveryFunctionRefusesAHandleThatIsNone) {
  with_fixture([](const Fixture& f) {
    Things things;
    const std::vector<Taker> all = takers(things);
    for (const Taker& taker : all) {
      if (taker.name != "HcclCommDestroy") {
        refused(taker.call(nullptr), HCCL_E_PTR, {taker.name, "comm"});
      }
    }
    ok(HcclCommDestroy(nullptr));
    auto* good = static_cast<std::byte*>(f.comm);
    const HcclComm wrong[] = {&things,
                              good + 1,
                              good + 8 * 1000,
                              good + (size_t{1} << 40),
                              reinterpret_cast<void*>(1),
                              reinterpret_cast<void*>(UINTPTR_MAX)};
    for (const HcclComm none : wrong) {
      for (const Taker& taker : all) refused(taker.call(none), HCCL_E_PARA, {taker.name, "comm"});
      for (const Function function : all_functions()) {
        Arguments arguments(f);
        arguments.comm = none;
        refused(call(function, arguments), HCCL_E_PARA, {names_of(function).function, "comm"});
      }
    }
    for (const Taker& taker : all) {  // what was refused is the handle
      if (taker.name == "HcclCommDestroy") continue;
      const HcclResult code = taker.call(f.comm);
      // A single rank has no windows to be found.
      if (code != HCCL_E_NOT_FOUND || taker.name != "HcclCommSymWinGet") ok(code);
    }
  });
}

TEST(Handles, EveryFunctionRefusesADestroyedCommunicator) {
  run_alone([](Rank& rank) {
    const HcclComm dead = dead_handle(rank);
    const Fixture f(rank);  // a later communicator
    Things things;
    for (const Taker& taker : takers(things)) {
      refused(taker.call(dead), HCCL_E_PARA, {taker.name, "destroyed"});
    }
    for (const Function function : all_functions()) {
      Arguments arguments(f);
      arguments.comm = dead;
      refused(call(function, arguments), HCCL_E_PARA, {names_of(function).function, "destroyed"});
      if (function == Function::kBatchSendRecv) continue;  // acts at once
      ok(HcclGroupStart());
      const HcclResult queued = call(function, arguments);
      const HcclResult ended = HcclGroupEnd();
      check(queued == HCCL_E_PARA || ended == HCCL_E_PARA,
            names_of(function).function + " of a group takes a destroyed communicator");
    }
    expect_working(f.comm, 1);
  });
}

TEST(Handles, ACommunicatorDestroyedBehindItsQueuedCallsIsNoticed) {
  run_alone([](Rank& rank) {
    auto f = std::make_unique<Fixture>(rank);
    const Arguments arguments(*f);
    ok(HcclGroupStart());
    ok(call(Function::kAllReduce, arguments));
    std::thread([&] { ok(HcclCommDestroy(f->comm)); }).join();  // not of this thread's group
    refused(HcclGroupEnd(), HCCL_E_PARA, {"HcclGroupEnd", "destroyed"});
  });
}

class Ending : public testing::TestWithParam<Layout> {};
std::string ending_layout(const testing::TestParamInfo<Layout>& given) {
  return layout_name(given.param);
}
INSTANTIATE_TEST_SUITE_P(, Ending, testing::Values(Layout::kThreads, Layout::kProcesses),
                         ending_layout);

TEST_P(Ending, ACommunicatorIsBusyWithMessagesAndCollectives) {
  run_ranks(2, GetParam(), [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    Arena arena(Memory::kDevice, 64);
    std::byte* data = arena.lend(64);
    if (rank.rank() == 0) {
      ok(HcclRecv(data, 64, HCCL_DATA_TYPE_INT8, 1, comm, stream));
      refused(HcclCommDestroy(comm), HCCL_E_AGAIN, {"HcclCommDestroy", "synchronise"});
      ok(HcclAllReduce(data, data, 64, HCCL_DATA_TYPE_INT8, HCCL_REDUCE_SUM, comm, stream));
      refused(HcclCommDestroy(comm), HCCL_E_AGAIN, {"HcclCommDestroy", "synchronise"});
      uint32_t number = 9;
      ok(HcclGetRankId(comm, &number));
      check(number == 0, "the communicator is as it was");
      rank.event(0);
    } else {
      rank.await(0, 1);
      std::fill_n(data, 64, std::byte{2});
      ok(HcclSend(data, 64, HCCL_DATA_TYPE_INT8, 0, comm, stream));
      ok(HcclAllReduce(data, data, 64, HCCL_DATA_TYPE_INT8, HCCL_REDUCE_SUM, comm, stream));
    }
    stream.synchronize();
    check(data[0] == std::byte{4} && data[63] == std::byte{4}, "wrong data");
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(Ending, WindowsRangesAndRegistrationsEndWithIt) {
  run_ranks(2, GetParam(), [](Rank& rank) {
    const size_t before = free_memory();
    {
      HcclComm comm = join_with_windows(rank, 1);
      Mapped memory(kUnit);
      HcclCommSymWindow window = open_window(comm, memory);
      RangeOf range(comm, 2 * kUnit);
      Block block(comm, range.at(0));
      void* handle = nullptr;
      ok(HcclCommRegister(comm, memory.data(), kUnit, &handle, 0));
      rank.sync();
      ok(HcclCommDestroy(comm));
      void* pointer = nullptr;
      refused(HcclSymWinGetPeerPointer(window, 0, 0, &pointer), HCCL_E_PARA, {"winHandle"});
      refused(HcclCommSymWinDeregister(window), HCCL_E_PARA, {"winHandle"});
      refused(HcclCommDeregister(comm, handle), HCCL_E_PARA, {"destroyed"});
      refused(HcclCommDeactivateCommMemory(comm, block.address()), HCCL_E_PARA, {"destroyed"});
      memory.data()[0] = 1;  // the memory is the caller's
      block.unmap();
      HcclComm next = join_with_windows(rank, 1);
      window = open_window(next, memory);
      ok(HcclCommSymWinDeregister(window));
      expect_working(next, 2);
      rank.sync();
      ok(HcclCommDestroy(next));
    }
    // The last communicators keep their memory for peers that may still look at it.
    for (int i = 0; i < 4; ++i) {
      HcclCommConfig config;
      HcclCommConfigInit(&config);
      config.hcclBufferSize = 1;
      HcclComm small = rank.join(&config);
      rank.sync();
      ok(HcclCommDestroy(small));
    }
    eventually([&] { return free_memory() + (64U << 20) >= before; }, "memory is given back");
  });
}

TEST(End, OfManyThreadsOneDestroys) {
  run_alone([](Rank& rank) {
    for (int round = 0; round < 20; ++round) {
      HcclComm comm = rank.join();
      std::atomic<int> destroyed{0};
      std::atomic<int> others{0};
      std::vector<std::thread> threads;
      for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
          const HcclResult code = HcclCommDestroy(comm);
          if (code == HCCL_SUCCESS) ++destroyed;
          if (code != HCCL_SUCCESS && code != HCCL_E_PARA) ++others;
        });
      }
      for (std::thread& thread : threads) thread.join();
      check(destroyed == 1 && others == 0, "destroyed " + std::to_string(destroyed.load()) +
                                               " times, with " + std::to_string(others.load()) +
                                               " other codes");
    }
  });
}

TEST(End, WhileAnOperatorIsBeingCalledWaitsForIt) {
  run_alone([](Rank& rank) {
    for (int round = 0; round < 50; ++round) {
      HcclComm comm = rank.join();
      std::atomic<bool> called{false};
      std::thread caller([&] {
        ok(aclrtSetDevice(rank.device()));
        const Stream stream;
        Arena arena(Memory::kDevice, 8);
        std::byte* data = arena.lend(8);
        HcclResult code = HCCL_SUCCESS;
        for (uint64_t count = 1; code == HCCL_SUCCESS; ++count) {
          code = HcclAllReduce(data, data, 1 + count % 8, HCCL_DATA_TYPE_INT8, HCCL_REDUCE_SUM,
                               comm, stream);
          stream.synchronize();
          called = true;
        }
        check(code == HCCL_E_PARA, "it ended with " + std::to_string(code));
      });
      while (!called) std::this_thread::yield();
      HcclResult code = HCCL_E_AGAIN;
      while (code == HCCL_E_AGAIN) code = HcclCommDestroy(comm);
      caller.join();
      check(code == HCCL_SUCCESS, "destroying ended with " + std::to_string(code));
    }
  });
}

TEST(End, InAForkedChildIsNoConcernOfItsParent) {
  run_ranks(2, Layout::kProcesses, [](Rank& rank) {
    HcclComm comm = rank.join();
    expect_working(comm, 2);
    const pid_t child = fork();
    if (child == 0) {
      HcclResult state = HCCL_SUCCESS;
      const bool right =
          HcclGetCommAsyncError(comm, &state) == HCCL_SUCCESS && state == HCCL_E_UNAVAIL;
      _exit(right ? 0 : 1);
    }
    int end = -1;
    check(waitpid(child, &end, 0) == child, "there is no child");
    check(end == 0, "the child ended with " + std::to_string(end));
    expect_working(comm, 2);
    rank.sync();
    ok(HcclCommDestroy(comm));
  });
}

/// A process that ends with communicators that know memory, are suspended, or were used last.
void leave_open(Rank& rank, const std::vector<std::pair<int32_t, HcclComm>>& comms) {
  static bool told = false;
  ok(HcclCommRegCommStateCallback(
      "open",
      [](HcclComm, HcclCommStatePhase, void*) {
        told = true;
        return HCCL_SUCCESS;
      },
      nullptr));
  for (const auto& [device, comm] : comms) {
    ok(aclrtSetDevice(device));
    void* memory = nullptr;
    void* handle = nullptr;
    ok(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    ok(HcclCommRegister(comm, memory, 64, &handle, 0));
    ok(HcclCommSuspend(comm));
  }
  check(!told, "nothing was destroyed");
  rank.exit_process();
}

TEST(Open, RanksOfOneProcessMayStayOpenAtItsEnd) {
  run_alone([](Rank& rank) {
    int32_t devices[] = {0, 1, 2};
    HcclComm comms[3] = {};
    ok(HcclCommInitAll(3, devices, comms));
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&, i] {
        ok(aclrtSetDevice(devices[i]));
        expect_working(comms[i], 3);
      });
    }
    for (std::thread& thread : threads) thread.join();
    leave_open(rank, {{0, comms[0]}, {1, comms[1]}, {2, comms[2]}});
  });
}

TEST(Open, RanksOfManyProcessesMayStayOpenAtTheirEnd) {
  run_ranks(3, Layout::kProcesses, [](Rank& rank) {
    HcclComm first = rank.join();
    HcclComm second = rank.join();
    expect_working(second, 3);
    rank.sync();
    leave_open(rank, {{rank.device(), first}, {rank.device(), second}});
  });
}

size_t lines_of(const char* file) {
  std::ifstream stream(file);
  return static_cast<size_t>(
      std::count(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>(), '\n'));
}

size_t threads_of_process() {
  const std::filesystem::directory_iterator all("/proc/self/task");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

size_t resident_bytes() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm").ignore(64, ' ') >> pages;
  return pages * 4096;
}

// The sanitizers keep what was freed.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t kAllocator = size_t{1} << 30;
#else
constexpr size_t kAllocator = 4U << 20;
#endif

/// What a process has.
struct Inventory {
  size_t files = open_descriptors();
  size_t threads = threads_of_process();
  size_t mappings = lines_of("/proc/self/maps");
  size_t resident = resident_bytes();
  size_t addresses = address_space();
  size_t free = free_memory();

  /// The allowances are for allocators, whatever the number of cycles.
  [[nodiscard]] std::string grown(const Inventory& before) const {
    const auto line = [](const char* what, size_t now, size_t then, size_t allowed) {
      if (now <= then + allowed) return std::string();
      return std::string(what) + " " + std::to_string(then) + " -> " + std::to_string(now) + "; ";
    };
    return line("files", files, before.files, 0) + line("threads", threads, before.threads, 0) +
           line("mappings", mappings, before.mappings, kAllocator >> 20) +
           line("resident bytes", resident, before.resident, kAllocator) +
           line("addresses", addresses, before.addresses, kAllocator) +
           line("device memory", before.free, free, 0);
  }
};

TEST_P(Ending, CyclesOfMakingAndDestroyingLeaveNothingBehind) {
  // With WEFT_TEST_SOAK 1,000 of them.
  const bool soak = std::getenv("WEFT_TEST_SOAK") != nullptr;
  const int cycles = soak ? 1000 : 60;
  GroupOptions options;
  options.deadline = std::chrono::seconds(soak ? 1200 : 60);
  run_ranks(
      2, GetParam(),
      [&](Rank& rank) {
        const auto cycle = [&] {
          HcclComm comm = rank.join();
          expect_working(comm, 2);
          rank.sync();  // else who is late counts as one that left in the middle of a call
          ok(HcclCommDestroy(comm));
        };
        for (int i = 0; i < 12; ++i) cycle();  // until tables and pools have grown
        rank.sync();
        const Inventory before;
        rank.sync();
        for (int i = 0; i < cycles; ++i) {
          rank.note("cycle " + std::to_string(i));
          cycle();
        }
        rank.sync();
        std::string grown;
        eventually(
            [&] {
              grown = Inventory().grown(before);
              rank.note(grown);
              return grown.empty();
            },
            "all is as before");
        rank.sync();
      },
      options);
}

}  // namespace
}  // namespace weft::test
