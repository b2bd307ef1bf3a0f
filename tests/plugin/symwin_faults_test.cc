// SPDX-License-Identifier: Apache-2.0
// What the plugin mem-symwin refuses, and that all ranks hear of it and nothing is half done.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "symwin_support.hpp"

namespace weft::test {
namespace {

/// Runs three ranks, once as threads and once as processes.
void run_both(const std::function<void(Rank&, Nets&)>& body) {
  for (const Layout layout : {Layout::kThreads, Layout::kProcesses}) {
    SCOPED_TRACE(layout_name(layout));
    Nets nets;
    run_ranks(3, layout, [&](Rank& self) { body(self, nets); });
  }
}

/// All ranks register; rank 1 shall get one code, the others HCCL_E_INTERNAL that names it.
void rank_1_fails(Rank& self, Comm& comm, void* address, uint64_t bytes, int32_t wanted,
                  const std::string& why) {
  void* window = nullptr;
  const int32_t code = comm.enter(address, bytes, &window);
  if (self.rank() == 1) {
    expect(code, wanted, {why});
  } else {
    expect(code, WEFT_E_INTERNAL, {"rank 1", why});
  }
  check(window == nullptr && comm.shows(0), "nothing is registered");
  self.sync();
}

/// The group still works.
void check_usable(Rank& self, Comm& comm) {
  Mapped memory(kUnit);
  fill(memory.data(), memory.size(), self.rank());
  void* window = comm.open(memory.data(), memory.size());
  check_filled(comm.peer(window, 2), kUnit, 2);
  self.sync();
  expect(comm.close(window), WEFT_OK);
}

TEST(SymwinFaults, WrongArgumentsAreRefusedWithoutAskingAnybody) {
  run_both([](Rank& self, Nets& nets) {
    Comm comm(self, nets);
    Mapped memory(kUnit);
    void* window = nullptr;
    expect(comm.enter(memory.data(), 0, &window), WEFT_E_PARA, {"size is 0"});
    expect(comm.enter(memory.data(), kUnit, &window, 0), WEFT_E_PARA, {"flag 0", "pass 1"});
    expect(comm.enter(memory.data(), kUnit, &window, 2), WEFT_E_PARA, {"flag 2"});
    check(comm.group.gathers == 0 && window == nullptr, "nobody is asked");
  });
}

TEST(SymwinFaults, MemoryThatIsNotMappedIsRefusedOnAllRanks) {
  run_both([](Rank& self, Nets& nets) {
    Comm comm(self, nets);
    Mapped good(kUnit);
    const bool bad = self.rank() == 1;
    Reserved reserved(kUnit);
    std::vector<unsigned char> plain(64);
    void* allocated = nullptr;
    ok(aclrtMalloc(&allocated, kUnit, ACL_MEM_MALLOC_HUGE_FIRST));
    for (void* address : std::initializer_list<void*>{plain.data(), allocated, reserved.base()}) {
      rank_1_fails(self, comm, bad ? address : good.data(), 64, WEFT_E_PARA,
                   "no physical memory is mapped");
    }
    rank_1_fails(self, comm, good.data(), kUnit + (bad ? 1 : 0), WEFT_E_PARA,
                 "beyond the mapped memory");
    rank_1_fails(self, comm, good.data(), bad ? UINT64_MAX : 1, WEFT_E_PARA,
                 "beyond the end of all memory");
    ok(aclrtFree(allocated));
    check(comm.group.gathers == 5, "one exchange for each");
    check_usable(self, comm);
  });
}

TEST(SymwinFaults, DifferentSizesAreRefusedOnAllRanks) {
  run_both([](Rank& self, Nets& nets) {
    Comm comm(self, nets);
    {
      Mapped memory(self.rank() == 2 ? 2 * kUnit : kUnit);
      void* window = nullptr;
      expect(comm.enter(memory.data(), kUnit, &window), WEFT_E_INTERNAL,
             {"rank 0 has 2097152", "rank 2 has 4194304", "map the same size"});
      check(comm.shows(0), "nothing is shown");
      self.sync();
    }
    check_usable(self, comm);
  });
}

TEST(SymwinFaults, DifferentOrdersAreRefusedOnAllRanks) {
  run_both([](Rank& self, Nets& nets) {
    Comm comm(self, nets);
    Mapped first(kUnit);
    Mapped second(kUnit);
    void* one = comm.open(first.data(), first.size());
    void* window = nullptr;
    const bool odd = self.rank() == 1;
    expect(comm.enter(odd ? first.data() : second.data(), kUnit, &window), WEFT_E_INTERNAL,
           {"rank 1 registers memory that a window of it covers already, and rank 0 does not"});
    self.sync();
    if (odd) expect(comm.close(one), WEFT_OK);
    expect(comm.enter(second.data(), kUnit, &window), WEFT_E_INTERNAL,
           {"rank 0 has 2097152 as the offset", "rank 1 has 0", "same order"});
    self.sync();
    if (!odd) expect(comm.close(one), WEFT_OK);
    check(window == nullptr && comm.shows(0), "nothing is left");
    check_usable(self, comm);
  });
}

TEST(SymwinFaults, SlotsMustFitTheDeviceAndItsUnit) {
  run_both([](Rank& self, Nets& nets) {
    Mapped memory(kUnit);
    void* window = nullptr;
    Comm large(self, nets, uint64_t{1} << 50);
    expect(large.enter(memory.data(), kUnit, &window), WEFT_E_PARA, {"the device has"});
    Comm none(self, nets, 0);
    expect(none.enter(memory.data(), kUnit, &window), WEFT_E_PARA, {"0 bytes", "multiple of"});
    Comm odd(self, nets, kUnit + 4096);
    expect(odd.enter(memory.data(), kUnit, &window), WEFT_E_PARA, {"multiple of 2097152"});
    Comm different(self, nets, (self.rank() + 1) * kUnit);
    expect(different.enter(memory.data(), kUnit, &window), WEFT_E_INTERNAL,
           {"rank 0 has 2097152 bytes for windows", "rank 1 has 4194304",
            "hcclSymWinMaxMemSizePerRank"});
    Comm small(self, nets, kUnit);
    Mapped longer({kUnit, kUnit});
    expect(small.enter(longer.data(), longer.size(), &window), WEFT_E_MEMORY, {"no room"});
    expect(small.close(small.open(longer.data(), kUnit)), WEFT_OK);
    self.sync();
  });
}

TEST(SymwinFaults, SlotsAreAsLargeAsTheDeviceUnlessConfigured) {
  run_both([](Rank& self, Nets& nets) {
    size_t free = 0;
    size_t total = 0;
    ok(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total));
    Mapped memory(kUnit);
    Comm comm(self, nets, WEFT_NOT_CONFIGURED);
    void* window = comm.open(memory.data(), memory.size());
    const auto slot = static_cast<uint64_t>(comm.peer(window, 1) - comm.peer(window, 0));
    check(slot == std::min<uint64_t>(total / kUnit * kUnit, uint64_t{16} << 30), "16 GiB, or less");
    self.sync();
  });
}

TEST(SymwinFaults, ARankThatCannotMapUndoesTheWindowOfAll) {
  run_both([](Rank& self, Nets& nets) {
    const size_t before = free_at_rest(self);
    Comm comm(self, nets);
    Mapped memory(kUnit);
    if (self.rank() == 1) comm.group.peer_shows_until_fault = 1;
    void* window = nullptr;
    const int32_t code = comm.enter(memory.data(), kUnit, &window);
    expect(code, self.rank() == 1 ? WEFT_E_OOM : WEFT_E_INTERNAL);
    if (self.rank() == 1) check(last_reason() == "an ordered fault of show_peer", "the core's own");
    if (self.rank() != 1) check(contains(last_reason(), "rank 1 cannot"), last_reason());
    check(comm.group.gathers == 2 && comm.shows(0), "undone");
    memory.free();
    check(free_at_rest(self) == before, "no memory is held");
    check_usable(self, comm);
  });
}

TEST(SymwinFaults, AFailedImportUndoesTheWindowOfAll) {
  Nets nets;
  run_ranks(3, Layout::kThreads, [&](Rank& self) {
    Comm comm(self, nets);
    // Memory of its own process cannot be imported.
    if (self.rank() == 1) comm.group.processes()[0] = ~comm.group.processes()[1];
    Mapped memory(kUnit);
    void* window = nullptr;
    const int32_t code = comm.enter(memory.data(), kUnit, &window);
    if (self.rank() == 1) {
      expect(code, WEFT_E_RUNTIME, {"memory of a peer cannot be imported"});
    } else {
      expect(code, WEFT_E_INTERNAL, {"rank 1"});
    }
    check(comm.shows(0), "undone");
    self.sync();
  });
}

TEST(SymwinFaults, WhatTheExchangeSaysIsPassedOn) {
  run_both([](Rank& self, Nets& nets) {
    Comm comm(self, nets);
    Mapped memory(kUnit);
    void* window = nullptr;
    for (const int32_t code : {WEFT_E_TIMEOUT, WEFT_E_REMOTE}) {
      for (const int which : {1, 2}) {
        comm.group.gathers_until_fault = which;
        comm.group.gather_fault = code;
        expect(comm.enter(memory.data(), kUnit, &window), code, {"fault of all_gather"});
        check(window == nullptr && comm.shows(0), "undone");
      }
    }
    check_usable(self, comm);
  });
}

TEST(SymwinFaults, TheCoresRefusalOfTheOwnMemoryUndoesTheWindow) {
  run_both([](Rank& self, Nets& nets) {
    Comm comm(self, nets);
    Mapped memory(kUnit);
    comm.group.shows_until_fault = 1;
    void* window = nullptr;
    expect(comm.enter(memory.data(), kUnit, &window), WEFT_E_OOM, {"fault of show_own"});
    expect(comm.find(memory.data(), 1).code, WEFT_E_NOT_FOUND);
    check_usable(self, comm);
  });
}

TEST(SymwinFaults, OtherMemoryBehindOrAroundAWindowIsRefused) {
  run_both([](Rank& self, Nets& nets) {
    Comm comm(self, nets);
    Reserved addresses(3 * kUnit);
    const Physical a(kUnit);
    const Physical b(kUnit);
    a.map(addresses.base());
    b.map(addresses.base() + kUnit);
    void* window = comm.open(addresses.base(), 1);
    void* none = nullptr;
    expect(comm.enter(addresses.base(), 2 * kUnit, &none), WEFT_E_PARA, {"they overlap"});
    ok(aclrtUnmapMem(addresses.base()));
    const Physical c(kUnit);
    c.map(addresses.base());
    expect(comm.enter(addresses.base(), kUnit, &none), WEFT_E_PARA, {"deregister that window"});
    expect(comm.close(window), WEFT_OK);
    window = comm.open(addresses.base(), 2 * kUnit);
    expect(comm.close(window), WEFT_OK);
    for (const uint64_t at : {uint64_t{0}, kUnit}) ok(aclrtUnmapMem(addresses.base() + at));
    self.sync();
  });
}

TEST(SymwinFaults, MemoryThatTheProgramHasExportedItselfIsRefused) {
  Nets nets;
  run_ranks(3, Layout::kProcesses, [&](Rank& self) {
    Comm comm(self, nets);
    Mapped memory(kUnit);
    uint64_t shareable = 0;
    if (self.rank() == 1) {
      ok(aclrtMemExportToShareableHandle(memory.handle(), ACL_MEM_HANDLE_TYPE_NONE, 0, &shareable));
    }
    rank_1_fails(self, comm, memory.data(), kUnit, WEFT_E_RUNTIME, "exported the handle before");
  });
}

TEST(SymwinFaults, WindowsInUseAreNotClosed) {
  run_both([](Rank& self, Nets& nets) {
    Comm comm(self, nets);
    Mapped memory(kUnit);
    void* window = comm.open(memory.data(), kUnit);
    const auto check_stays = [&] {
      expect(comm.close(window), WEFT_E_AGAIN, {"synchronise the streams", "try again"});
      check(comm.shows(1) && comm.find(memory.data(), 1).window == window, "unchanged");
    };
    for (const unsigned char* used : {memory.data(), memory.data() + kUnit - 1,
                                      comm.peer(window, 0), comm.peer(window, 2, kUnit - 1)}) {
      comm.group.use(used);
      check_stays();
    }
    comm.group.use(memory.data() + kUnit);
    comm.group.peers_busy = true;
    check_stays();
    comm.group.peers_busy = false;
    expect(comm.close(window), WEFT_OK);
    expect(comm.close(window), WEFT_E_NOT_FOUND, {"is no window"});
    expect(comm.close(memory.data()), WEFT_E_NOT_FOUND);
    expect(comm.peer_code(window, 0, 0), WEFT_E_NOT_FOUND);
    void* next = comm.open(memory.data(), kUnit);
    check(next != window, "handles are not used again");
    self.sync();
  });
}

TEST(SymwinFaults, ExplanationsNameTheNearestWindow) {
  run_both([](Rank& self, Nets& nets) {
    Comm comm(self, nets);
    Mapped memory(kUnit);
    Mapped other(kUnit);
    const std::string outside = "outside every window of this communicator";
    check(comm.group.explain(memory.data(), 8) == outside, "no window yet");
    void* window = comm.open(memory.data(), kUnit);
    check(comm.group.explain(other.data(), 8) == outside, comm.group.explain(other.data(), 8));
    const std::string partly = comm.group.explain(memory.data() + kUnit - 1, 2);
    check(contains(partly, "partly outside the window at 0x") &&
              contains(partly, " of 2097152 bytes"),
          partly);
    char text[8];
    symwin().explain(nullptr, nullptr, 0, text, 0);  // no room, nothing to write
    expect(comm.close(window), WEFT_OK);
    check(comm.group.explain(memory.data(), 8) == outside, "no window any more");
    self.sync();
  });
}

}  // namespace
}  // namespace weft::test
