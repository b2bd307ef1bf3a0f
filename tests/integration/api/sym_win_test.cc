// SPDX-License-Identifier: Apache-2.0
// Symmetric windows through the HCCL API: as programs use them, between threads and processes.
#include "sym_win.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

namespace weft::test {
namespace {

class SymWin : public testing::TestWithParam<Shape> {
 protected:
  static void run(const std::function<void(Rank&)>& body) {
    run_ranks(GetParam().ranks, GetParam().layout, body);
  }
};

INSTANTIATE_TEST_SUITE_P(, SymWin,
                         testing::Values(Shape{2, Layout::kProcesses}, Shape{3, Layout::kThreads},
                                         Shape{3, Layout::kProcesses}, Shape{4, Layout::kPairs},
                                         Shape{8, Layout::kThreads}),
                         shape_name);

TEST_P(SymWin, MemoryAllocatedInOneCallCanBeRegistered) {
  run([](Rank& rank) {
    HcclComm comm = join_with_windows(rank, 1);
    const Stream stream;
    const size_t before = free_memory();
    void* memory = nullptr;
    ok(HcommMemAlloc(&memory, kUnit + 1));
    check(before - free_memory() == 2 * kUnit, "rounded up to whole units");
    HcclCommSymWindow window = open_window(comm, memory, kUnit + 1);
    auto* values = static_cast<int32_t*>(memory);
    for (uint64_t i = 0; i < 1000; ++i) values[i] = element(rank.rank(), i);
    ok(HcclAllReduce(values, values + 1024, 1000, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm,
                     stream));
    stream.synchronize();
    for (uint64_t i = 0; i < 1000; ++i) {
      int32_t sum = 0;
      for (uint32_t r = 0; r < rank.ranks(); ++r) sum += element(r, i);
      check(values[1024 + i] == sum, "element " + std::to_string(i));
    }
    refused(HcommMemFree(memory), HCCL_E_PARA, {"is in window", "deregister"});
    rank.sync();
    ok(HcclCommSymWinDeregister(window));
    ok(HcommMemFree(memory));
    refused(HcommMemFree(memory), HCCL_E_PARA, {"not from HcommMemAlloc"});
    refused(HcommMemFree(&rank), HCCL_E_PARA, {"not from HcommMemAlloc"});
    ok(HcommMemFree(nullptr));
    refused(HcommMemAlloc(nullptr, 1), HCCL_E_PARA, {"null"});
    refused(HcommMemAlloc(&memory, 0), HCCL_E_PARA, {"size is 0"});
    refused(HcommMemAlloc(&memory, size_t{1} << 45), HCCL_E_OOM, {"bytes"});
    refused(HcommMemAlloc(&memory, SIZE_MAX), HCCL_E_OOM, {"bytes"});
    rank.sync();
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(SymWin, TheDocumentedSequenceWorks) {
  run([](Rank& rank) {
    HcclComm comm = join_with_windows(rank, 1);
    const Stream stream;
    size_t unit = 0;
    aclrtPhysicalMemProp prop{ACL_MEM_HANDLE_TYPE_NONE,
                              ACL_MEM_ALLOCATION_TYPE_PINNED,
                              ACL_HBM_MEM_HUGE,
                              {static_cast<uint32_t>(rank.device()), ACL_MEM_LOCATION_TYPE_DEVICE},
                              0};
    ok(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED, &unit));
    const size_t bytes = 8 * unit;
    void* base = nullptr;
    ok(aclrtReserveMemAddress(&base, bytes, 0, nullptr, 1));
    aclrtDrvMemHandle handle = nullptr;
    ok(aclrtMallocPhysical(&handle, bytes, &prop, 0));
    ok(aclrtMapMem(base, bytes, 0, handle, 0));
    HcclCommSymWindow window = open_window(comm, base, bytes);

    constexpr uint64_t kCount = 10007;
    auto* send = reinterpret_cast<int32_t*>(static_cast<char*>(base) + 4096);
    auto* received = reinterpret_cast<int32_t*>(static_cast<char*>(base) + unit + 64);
    for (uint64_t i = 0; i < kCount; ++i) send[i] = element(rank.rank(), i);
    ok(HcclAllGather(send, received, kCount, HCCL_DATA_TYPE_INT32, comm, stream));
    stream.synchronize();
    went_by(comm, WEFT_WAY_WINDOW);
    for (uint32_t r = 0; r < rank.ranks(); ++r) {
      for (uint64_t i = 0; i < kCount; ++i) {
        check(received[r * kCount + i] == element(r, i), "an element of the result");
      }
    }
    HcclCommSymWindow found = nullptr;
    size_t offset = 0;
    ok(HcclCommSymWinGet(comm, received, 4 * kCount, &found, &offset));
    check(found == window && offset == unit + 64, "window and offset");

    ok(HcclCommSymWinDeregister(window));
    ok(aclrtUnmapMem(base));
    ok(aclrtFreePhysical(handle));
    ok(aclrtReleaseMemAddress(base));
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(SymWin, PeersReadAndWriteEachOthersMemory) {
  run([](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    Mapped first(kUnit);
    Mapped second({kUnit, 2 * kUnit});  // one window over two pieces
    HcclCommSymWindow windows[] = {open_window(comm, first), open_window(comm, second)};
    const Mapped* memories[] = {&first, &second};
    const uint32_t n = rank.ranks();
    for (size_t w = 0; w < 2; ++w) {
      // Every rank has a stripe in every other rank's memory, over the edge between the pieces.
      const uint64_t at = kUnit / 2 + 100 * rank.rank();
      const uint64_t bytes = w == 0 ? 100 : kUnit;
      const uint64_t step = w == 0 ? 1 : kUnit - 1;
      for (uint32_t r = 0; r < n; ++r) {
        unsigned char* place = peer_pointer(windows[w], r, at);
        for (uint64_t i = 0; i < bytes; i += step) {
          place[i] = static_cast<unsigned char>(1 + 10 * rank.rank() + r);
        }
      }
      barrier(comm, stream);
      for (uint32_t writer = 0; writer < n; ++writer) {
        const unsigned char* stripe = memories[w]->data() + kUnit / 2 + 100 * writer;
        for (uint64_t i = 0; i < bytes; i += step) {
          check(stripe[i] == 1 + 10 * writer + rank.rank(), "what a peer wrote");
        }
        // The same through the window of a third rank.
        const uint32_t third = (rank.rank() + 1) % n;
        check(*peer_pointer(windows[w], third, kUnit / 2 + 100 * writer) == 1 + 10 * writer + third,
              "what a peer wrote to another one");
      }
      barrier(comm, stream);
    }
    for (HcclCommSymWindow window : windows) ok(HcclCommSymWinDeregister(window));
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(SymWin, PeerPointersServeCopiesAndOperators) {
  run([](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    Mapped memory(kUnit);
    HcclCommSymWindow window = open_window(comm, memory);
    auto* own = reinterpret_cast<int32_t*>(memory.data());
    own[0] = element(rank.rank(), 5);
    barrier(comm, stream);
    const uint32_t right = (rank.rank() + 1) % rank.ranks();
    int32_t value = 0;
    ok(aclrtMemcpy(&value, 4, peer_pointer(window, right), 4, ACL_MEMCPY_DEVICE_TO_HOST));
    check(value == element(right, 5), "a copy from a peer");
    // Each rank's part in the sum is the value of its right neighbour.
    ok(HcclAllReduce(peer_pointer(window, right), own + 64, 1, HCCL_DATA_TYPE_INT32,
                     HCCL_REDUCE_SUM, comm, stream));
    stream.synchronize();
    int32_t sum = 0;
    for (uint32_t r = 0; r < rank.ranks(); ++r) sum += element(r, 5);
    check(own[64] == sum, "a sum of peers' values");
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(SymWin, AWindowHasManyPieces) {
  run([](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    Mapped memory(std::vector<size_t>(300, kUnit));
    HcclCommSymWindow window = open_window(comm, memory);
    for (size_t piece = 0; piece < 300; ++piece) {
      memory.data()[piece * kUnit + 3] = static_cast<unsigned char>(piece * 7 + rank.rank());
    }
    barrier(comm, stream);
    const uint32_t right = (rank.rank() + 1) % rank.ranks();
    for (size_t piece = 0; piece < 300; ++piece) {
      const auto wanted = static_cast<unsigned char>(piece * 7 + right);
      check(*peer_pointer(window, right, piece * kUnit + 3) == wanted, "a byte of a piece");
    }
    barrier(comm, stream);
    ok(HcclCommSymWinDeregister(window));
    ok(HcclCommDestroy(comm));
  });
}

using Call = std::function<HcclResult(void*, void*, HcclComm, aclrtStream)>;

/// All operators with one number of elements for a block.
std::vector<Call> calls(uint64_t count, uint32_t last) {
  constexpr auto kType = HCCL_DATA_TYPE_FP32;
  return {[=](void* in, void* out, HcclComm comm, aclrtStream stream) {
            return HcclAllReduce(in, out, count, kType, HCCL_REDUCE_SUM, comm, stream);
          },
          [=](void* in, void* out, HcclComm comm, aclrtStream stream) {
            return HcclReduceScatter(in, out, count, kType, HCCL_REDUCE_SUM, comm, stream);
          },
          [=](void* in, void* out, HcclComm comm, aclrtStream stream) {
            return HcclAllGather(in, out, count, kType, comm, stream);
          },
          [=](void* in, void* out, HcclComm comm, aclrtStream stream) {
            return HcclAlltoAll(in, count, kType, out, count, kType, comm, stream);
          },
          [=](void* in, void*, HcclComm comm, aclrtStream stream) {
            return HcclBroadcast(in, count, kType, last, comm, stream);
          },
          [=](void* in, void* out, HcclComm comm, aclrtStream stream) {
            return HcclReduce(in, out, count, kType, HCCL_REDUCE_MAX, last, comm, stream);
          },
          [=](void* in, void*, HcclComm comm, aclrtStream stream) {  // in place
            return HcclAllReduce(in, in, count, kType, HCCL_REDUCE_PROD, comm, stream);
          }};
}

void fill(void* memory, uint64_t elements, uint32_t rank) {
  auto* values = static_cast<float*>(memory);
  for (uint64_t i = 0; i < elements; ++i) {
    values[i] = 1.0F + static_cast<float>(element(rank, i) % 1009) / 1024.0F;
  }
}

TEST_P(SymWin, OperatorsGiveTheSameBitsAsWithDeviceMemory) {
  run([](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    const uint32_t n = rank.ranks();
    constexpr uint64_t kMost = 30011;
    const uint64_t room = kMost * n * sizeof(float);
    const uint64_t units = 2 * room / kUnit + 1;
    Mapped memory(std::vector<size_t>(units, kUnit));  // so that buffers lie across pieces
    HcclCommSymWindow window = open_window(comm, memory);
    void* device[2];
    for (void*& buffer : device) ok(aclrtMalloc(&buffer, room, ACL_MEM_MALLOC_HUGE_FIRST));
    for (const uint64_t count : {uint64_t{1}, uint64_t{17}, uint64_t{1000}, kMost}) {
      for (const Call& call : calls(count, n - 1)) {
        void* mine[2] = {memory.data(), memory.data() + memory.size() - room};
        for (void** buffers : {mine, static_cast<void**>(device)}) {
          fill(buffers[0], count * n, rank.rank());
          std::memset(buffers[1], 0x5A, room);
          ok(call(buffers[0], buffers[1], comm, stream));
          stream.synchronize();
          went_by(comm, buffers == mine ? WEFT_WAY_WINDOW : WEFT_WAY_HEAP);
        }
        check(std::memcmp(mine[0], device[0], count * n * sizeof(float)) == 0, "the inputs' bits");
        check(std::memcmp(mine[1], device[1], room) == 0, "the results' bits");
      }
    }
    ok(HcclCommSymWinDeregister(window));
    for (void* buffer : device) ok(aclrtFree(buffer));
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(SymWin, BuffersMayLieInTwoWindowsOrOutside) {
  run([](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    Mapped first(kUnit);
    Mapped second(kUnit);
    Mapped outside(kUnit);
    open_window(comm, first);
    HcclCommSymWindow window = open_window(comm, second);
    int32_t sum = 0;
    for (uint32_t r = 0; r < rank.ranks(); ++r) sum += element(r, 1);
    const auto check_sum = [&](const Mapped& in, const Mapped& out, uint32_t way) {
      const int32_t value = element(rank.rank(), 1);
      std::memcpy(in.data() + 64, &value, sizeof value);
      ok(HcclAllReduce(in.data() + 64, out.data() + 128, 1, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                       comm, stream));
      stream.synchronize();
      check(std::memcmp(out.data() + 128, &sum, sizeof sum) == 0, "the sum");
      const weft_call_info info = call_info(comm);
      check(info.in_way == WEFT_WAY_WINDOW, "the input is in a window");
      check((info.out_way == WEFT_WAY_WINDOW) == (way == WEFT_WAY_WINDOW), "the output's way");
      const bool told = contains(info.out_why, "outside every window of this communicator");
      check(told == (way != WEFT_WAY_WINDOW), std::string("the reason: ") + info.out_why);
    };
    check_sum(first, second, WEFT_WAY_WINDOW);
    check_sum(first, outside, WEFT_WAY_NONE);
    ok(HcclCommSymWinDeregister(window));
    check_sum(first, second, WEFT_WAY_NONE);
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(SymWin, MemoryRegisteredAgainStaysUntilTheLastWindow) {
  run([](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    Mapped memory({kUnit, kUnit});
    auto* values = reinterpret_cast<int32_t*>(memory.data() + kUnit);
    const auto call = [&](uint32_t way) {
      ok(HcclAllReduce(values, values, 100, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm, stream));
      stream.synchronize();
      if (way == WEFT_WAY_WINDOW) went_by(comm, way);
    };
    HcclCommSymWindow all = open_window(comm, memory);
    HcclCommSymWindow part = open_window(comm, values + 5, 8);
    check(all != part && peer_pointer(part, 0) == peer_pointer(all, 0, kUnit + 20), "one place");
    ok(HcclCommSymWinDeregister(all));
    call(WEFT_WAY_WINDOW);
    ok(HcclCommSymWinDeregister(part));
    call(WEFT_WAY_NONE);
    HcclCommSymWindow again = open_window(comm, memory);
    call(WEFT_WAY_WINDOW);
    ok(HcclCommSymWinDeregister(again));
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(SymWin, CommunicatorsOverOneBufferEndInAnyOrder) {
  run([](Rank& rank) {
    Mapped memory(kUnit);
    const Stream stream;
    auto* values = reinterpret_cast<int32_t*>(memory.data());
    const auto call = [&](HcclComm comm) {
      for (int i = 0; i < 100; ++i) values[i] = 1;
      ok(HcclAllReduce(values, values + 128, 100, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm,
                       stream));
      stream.synchronize();
      went_by(comm, WEFT_WAY_WINDOW);
      check(values[227] == static_cast<int32_t>(rank.ranks()), "the sum");
    };
    for (const bool older_first : {true, false}) {
      HcclComm comms[] = {rank.join(), rank.join()};
      HcclCommSymWindow windows[] = {open_window(comms[0], memory), open_window(comms[1], memory)};
      for (HcclComm comm : comms) call(comm);
      const int first = older_first ? 0 : 1;
      ok(HcclCommDestroy(comms[first]));
      refused(HcclCommSymWinDeregister(windows[first]), HCCL_E_PARA, {"HcclCommSymWinDeregister"});
      call(comms[1 - first]);
      ok(HcclCommSymWinDeregister(windows[1 - first]));
      ok(HcclCommDestroy(comms[1 - first]));
    }
  });
}

TEST_P(SymWin, DestroyingACommunicatorWithWindowsGivesEverythingBack) {
  run([](Rank& rank) {
    // Together the windows are larger than the device's memory. What a communicator itself had may
    // stay for the next one.
    for (int i = 0; i < 10; ++i) {
      HcclComm comm = rank.join();
      Mapped memory(size_t{512} << 20);
      HcclCommSymWindow window = open_window(comm, memory);
      open_window(comm, memory.data() + 7, 1);
      ok(HcclCommDestroy(comm));
      void* pointer = nullptr;
      refused(HcclSymWinGetPeerPointer(window, 0, 0, &pointer), HCCL_E_PARA);
      memory.free();
      rank.sync();
    }
  });
}

TEST_P(SymWin, CyclesLeaveNothingBehind) {
  // Between two processes thousands, and with WEFT_TEST_SOAK as many as 100,000.
  const bool two = GetParam().ranks == 2;
  const bool soak = two && std::getenv("WEFT_TEST_SOAK") != nullptr;
  const int cycles = soak ? 100'000 : two ? 2'000 : 200;
  GroupOptions options;
  options.deadline = std::chrono::seconds(soak ? 3000 : 100);
  run_ranks(
      GetParam().ranks, GetParam().layout,
      [&](Rank& rank) {
        HcclComm comm = rank.join();
        Mapped kept(kUnit);
        const auto cycle = [&] {
          HcclCommSymWindow window = open_window(comm, kept);
          Mapped fresh(kUnit);  // memory that the plugin has never seen
          HcclCommSymWindow other = open_window(comm, fresh);
          check(peer_pointer(other, 0) - peer_pointer(window, 0) == kUnit, "side by side");
          ok(HcclCommSymWinDeregister(other));
          ok(HcclCommSymWinDeregister(window));
        };
        for (int i = 0; i < 70; ++i) cycle();  // until tables and pools have grown
        rank.sync();
        const size_t files = open_descriptors();
        const size_t addresses = address_space();
        const size_t memory = free_memory();
        rank.sync();
        for (int i = 0; i < cycles; ++i) {
          if (i % 1000 == 0) rank.note("cycle " + std::to_string(i));
          cycle();
        }
        rank.sync();
        check(open_descriptors() <= files + rank.ranks(), "files");  // which counting opens, too
        check(address_space() <= addresses + (4U << 20), "addresses");
        check(free_memory() == memory, "memory");
        rank.sync();
        ok(HcclCommDestroy(comm));
      },
      options);
}

TEST(SymWinMany, SixtyFourThreadsShareWindows) {
  run_ranks(64, Layout::kThreads, [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    Mapped memory(kUnit);
    HcclCommSymWindow window = open_window(comm, memory);
    auto* values = reinterpret_cast<int32_t*>(memory.data());
    values[0] = element(rank.rank(), 0);
    ok(HcclAllGather(values, values + 64, 1, HCCL_DATA_TYPE_INT32, comm, stream));
    stream.synchronize();
    went_by(comm, WEFT_WAY_WINDOW);
    for (uint32_t r = 0; r < 64; ++r) {
      check(values[64 + r] == element(r, 0), "gathered");
      int32_t direct = 0;
      std::memcpy(&direct, peer_pointer(window, r), sizeof direct);
      check(direct == element(r, 0), "read directly");
    }
    barrier(comm, stream);
    ok(HcclCommSymWinDeregister(window));
    ok(HcclCommDestroy(comm));
  });
}

}  // namespace
}  // namespace weft::test
