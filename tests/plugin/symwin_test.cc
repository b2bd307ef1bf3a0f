// SPDX-License-Identifier: Apache-2.0
// Windows of the plugin mem-symwin: what they show, where, and that they leave nothing behind.
#include <gtest/gtest.h>

#include <vector>

#include "symwin_support.hpp"

namespace weft::test {
namespace {

struct Case {
  uint32_t ranks;
  Layout layout;
};

class Symwin : public testing::TestWithParam<Case> {
 protected:
  void run(const std::function<void(Rank&)>& body) {
    run_ranks(GetParam().ranks, GetParam().layout, body);
  }
  Nets nets_;
};

INSTANTIATE_TEST_SUITE_P(, Symwin,
                         testing::Values(Case{2, Layout::kThreads}, Case{2, Layout::kProcesses},
                                         Case{3, Layout::kProcesses}, Case{4, Layout::kPairs},
                                         Case{5, Layout::kThreads}),
                         [](const testing::TestParamInfo<Case>& one) {
                           return std::to_string(one.param.ranks) + layout_name(one.param.layout);
                         });

TEST_P(Symwin, WindowsReachTheMemoryOfEveryRank) {
  run([&](Rank& self) {
    Comm comm(self, nets_);
    Mapped memory(2 * kUnit);
    fill(memory.data(), memory.size(), self.rank());
    void* window = comm.open(memory.data(), memory.size());
    for (uint32_t rank = 0; rank < self.ranks(); ++rank) {
      check_filled(comm.peer(window, rank), memory.size(), rank);
    }
    self.sync();
    // Every rank writes one byte of every rank, its own included, through the window.
    for (uint32_t rank = 0; rank < self.ranks(); ++rank) {
      *comm.peer(window, rank, memory.size() - 1 - self.rank()) =
          static_cast<unsigned char>(self.rank() + 1);
    }
    self.sync();
    for (uint32_t rank = 0; rank < self.ranks(); ++rank) {
      check(memory.data()[memory.size() - 1 - rank] == rank + 1, "a peer's byte");
    }
    check(comm.peer(window, self.rank()) != memory.data(), "the own part has an alias");
    expect(comm.close(window), WEFT_OK);
    comm.detach();
  });
}

TEST_P(Symwin, WindowsAreShownAtOneOffsetOfEverySlot) {
  run([&](Rank& self) {
    constexpr uint64_t kSlot = 64 * kUnit;
    Comm comm(self, nets_, kSlot);
    Mapped first(kUnit);
    Mapped second({2 * kUnit, kUnit});
    void* one = comm.open(first.data(), 1);
    void* two = comm.open(second.data() + kUnit, second.size() - kUnit);
    const auto at = [&](void* window, uint32_t rank) {
      return reinterpret_cast<uint64_t>(comm.peer(window, rank));
    };
    const uint64_t heap = at(one, 0);
    for (uint32_t rank = 0; rank < self.ranks(); ++rank) {
      check(at(one, rank) == heap + rank * kSlot, "the first window begins its slots");
      check(at(two, rank) == heap + rank * kSlot + 2 * kUnit, "the second follows it");
      if (rank == self.rank()) continue;
      check(comm.group.peer(rank, nullptr, 4 * kUnit) == heap + rank * kSlot, "peer shown");
      check(!comm.group.peer(rank, nullptr, 4 * kUnit + 1), "and no more");
    }
    check(comm.group.own(first.data(), kUnit) == 0, "own");
    check(comm.group.own(second.data(), 3 * kUnit) == kUnit, "all own pieces");
    check(comm.shows(2), "each at once");
    expect(comm.close(one), WEFT_OK);
    check(comm.shows(1), "one is hidden");
    check(comm.group.own(second.data(), 3 * kUnit) == kUnit, "it is the first");
    expect(comm.close(two), WEFT_OK);
    check(comm.shows(0), "both are");
  });
}

TEST_P(Symwin, PiecesMayBeDifferentOnEveryRank) {
  run([&](Rank& self) {
    Comm comm(self, nets_);
    const bool even = self.rank() % 2 == 0;
    Mapped memory(even ? std::vector<size_t>{2 * kUnit, 4 * kUnit}
                       : std::vector<size_t>{kUnit, kUnit, 3 * kUnit, kUnit});
    fill(memory.data(), memory.size(), self.rank());
    void* window = comm.open(memory.data(), memory.size());
    for (uint32_t rank = 0; rank < self.ranks(); ++rank) {
      check_filled(comm.peer(window, rank), memory.size(), rank);
    }
    self.sync();
  });
}

TEST_P(Symwin, OffsetsCountFromTheRegisteredAddressOfEachRank) {
  run([&](Rank& self) {
    Comm comm(self, nets_);
    Mapped memory(kUnit);
    fill(memory.data(), memory.size(), self.rank());
    const uint64_t start = 100 + 13 * self.rank();
    void* window = comm.open(memory.data() + start, 5000);
    for (uint32_t rank = 0; rank < self.ranks(); ++rank) {
      check_filled(comm.peer(window, rank, 7), 5000, rank, 100 + 13 * rank + 7);
      const uint64_t bytes = kUnit - 100 - 13 * std::max(rank, self.rank());
      expect(comm.peer_code(window, rank, bytes - 1), WEFT_OK);
      expect(comm.peer_code(window, rank, bytes), WEFT_E_PARA, {"beyond the window"});
    }
    expect(comm.peer_code(window, self.ranks(), 0), WEFT_E_PARA, {"peer rank"});
    self.sync();
  });
}

TEST_P(Symwin, FindGivesTheWindowOfTheLowestAddress) {
  run([&](Rank& self) {
    Comm comm(self, nets_);
    Mapped memory(kUnit);
    Mapped other(kUnit);
    unsigned char* data = memory.data();
    expect(comm.find(data, 1).code, WEFT_E_NOT_FOUND);
    void* high = comm.open(data + 1000, 10);
    void* low = comm.open(data + 500, 10);
    const auto check_found = [&](uint64_t at, uint64_t bytes, void* window, uint64_t offset) {
      const Comm::Found found = comm.find(data + at, bytes);
      expect(found.code, WEFT_OK);
      check(found.window == window && found.offset == offset, "window and offset");
    };
    check_found(500, 1, low, 0);
    check_found(1010, 17, low, 510);  // the whole allocation, not what was registered
    check_found(500, kUnit - 500, low, 0);
    expect(comm.find(data + 500, kUnit - 499).code, WEFT_E_NOT_FOUND);
    expect(comm.find(data + 499, 1).code, WEFT_E_NOT_FOUND);
    expect(comm.find(data + 500, UINT64_MAX - 400).code, WEFT_E_NOT_FOUND);
    expect(comm.find(other.data(), 1).code, WEFT_E_NOT_FOUND, {"no window"});
    expect(comm.find(data + 500, 0).code, WEFT_E_PARA);
    expect(comm.close(low), WEFT_OK);
    check_found(1010, 17, high, 10);
    expect(comm.find(data + 500, 1).code, WEFT_E_NOT_FOUND);
    self.sync();
  });
}

TEST_P(Symwin, MemoryMayBeRegisteredAgainAndIsShownOnce) {
  run([&](Rank& self) {
    Comm comm(self, nets_);
    Mapped memory({kUnit, kUnit});
    void* first = comm.open(memory.data(), memory.size());
    void* again = comm.open(memory.data(), memory.size());
    void* part = comm.open(memory.data() + kUnit + 5, 100);
    check(first != again && again != part, "handles differ");
    check(comm.peer(first, 0) == comm.peer(again, 0), "the place does not");
    check(comm.peer(part, 1) == comm.peer(first, 1, kUnit + 5), "nor does that of a part");
    check(comm.shows(1), "shown once");
    comm.group.peers_busy = true;
    expect(comm.close(first), WEFT_OK);  // others still cover the memory: calls may go on
    expect(comm.close(again), WEFT_OK);
    check(comm.shows(1), "still shown");
    expect(comm.close(part), WEFT_E_AGAIN);
    comm.group.peers_busy = false;
    expect(comm.close(part), WEFT_OK);
    check(comm.shows(0), "hidden with the last window");
    self.sync();
  });
}

TEST_P(Symwin, SpaceThatIsGivenBackIsUsedAgain) {
  run([&](Rank& self) {
    Comm comm(self, nets_, 8 * kUnit);
    std::vector<std::unique_ptr<Mapped>> memories;
    std::vector<void*> windows;
    const auto add = [&](uint64_t units) {
      memories.push_back(std::make_unique<Mapped>(units * kUnit));
      return comm.open(memories.back()->data(), memories.back()->size());
    };
    for (uint32_t i = 0; i < 4; ++i) windows.push_back(add(2));
    Mapped more(kUnit);
    void* window = nullptr;
    expect(comm.enter(more.data(), more.size(), &window), WEFT_E_MEMORY,
           {"no room", "hcclSymWinMaxMemSizePerRank"});
    unsigned char* second = comm.peer(windows[1], 0);
    expect(comm.close(windows[1]), WEFT_OK);
    check(comm.peer(add(1), 0) == second, "the first gap");
    check(comm.peer(add(1), 0) == second + kUnit, "all of it");
    expect(comm.enter(more.data(), more.size(), &window), WEFT_E_MEMORY);
    for (const uint32_t i : {0U, 2U, 3U}) expect(comm.close(windows[i]), WEFT_OK);
    check(comm.peer(add(4), 0) == second + 2 * kUnit, "gaps grow together");
    self.sync();
  });
}

TEST_P(Symwin, NothingIsLeftOfAClosedWindow) {
  run([&](Rank& self) {
    const size_t before = free_at_rest(self);
    Comm comm(self, nets_);
    Mapped memory({kUnit, kUnit});
    void* window = comm.open(memory.data(), memory.size());
    expect(comm.close(window), WEFT_OK);
    self.sync();
    memory.free();
    check(free_at_rest(self) == before, "the physical memory is free");
  });
}

TEST_P(Symwin, DetachingClosesAllWindows) {
  run([&](Rank& self) {
    const size_t before = free_at_rest(self);
    Comm comm(self, nets_);
    Mapped first(kUnit);
    Mapped second(kUnit);
    void* one = comm.open(first.data(), first.size());
    comm.open(second.data(), second.size());
    self.sync();
    comm.detach();
    expect(comm.close(one), WEFT_E_NOT_FOUND);
    first.free();
    second.free();
    check(free_at_rest(self) == before, "the physical memory is free");
  });
}

TEST_P(Symwin, TwoCommunicatorsShareMemoryAndEndInAnyOrder) {
  run([&](Rank& self) {
    Mapped memory(kUnit);
    fill(memory.data(), memory.size(), self.rank());
    for (const bool older_first : {true, false}) {
      auto older = std::make_unique<Comm>(self, nets_);
      auto newer = std::make_unique<Comm>(self, nets_);
      void* one = older->open(memory.data(), memory.size());
      void* two = newer->open(memory.data(), memory.size());
      const uint32_t right = (self.rank() + 1) % self.ranks();
      check(older->peer(one, right) != newer->peer(two, right), "each has its heap");
      (older_first ? older : newer)->detach();
      Comm& rest = older_first ? *newer : *older;
      check_filled(rest.peer(older_first ? two : one, right), memory.size(), right);
      self.sync();
      rest.detach();
    }
  });
}

TEST_P(Symwin, MemoryMayBeRegisteredAgainAfterItsHandleWasFreed) {
  run([&](Rank& self) {
    Comm comm(self, nets_);
    Reserved addresses(kUnit);
    Physical physical(kUnit);
    physical.map(addresses.base());
    physical.free();  // the mapping keeps the memory
    fill(addresses.base(), kUnit, self.rank());
    for (int round = 0; round < 100; ++round) {
      void* window = comm.open(addresses.base(), kUnit);
      if (round == 99) check_filled(comm.peer(window, 0), kUnit, 0);
      self.sync();
      expect(comm.close(window), WEFT_OK);
      // Enough other memory that the plugin looks for what is gone.
      Mapped other(kUnit);
      expect(comm.close(comm.open(other.data(), other.size())), WEFT_OK);
    }
    ok(aclrtUnmapMem(addresses.base()));
  });
}

TEST_P(Symwin, WindowsOutliveTheProgramsMapping) {
  run([&](Rank& self) {
    Comm comm(self, nets_);
    Mapped memory(kUnit);
    fill(memory.data(), memory.size(), self.rank());
    void* window = comm.open(memory.data(), memory.size());
    memory.free();
    self.sync();
    const uint32_t right = (self.rank() + 1) % self.ranks();
    check_filled(comm.peer(window, right), kUnit, right);
    self.sync();
    expect(comm.close(window), WEFT_OK);
  });
}

TEST_P(Symwin, ManyCyclesLeaveNothingBehind) {
  run([&](Rank& self) {
    Comm comm(self, nets_, 4 * kUnit);
    Mapped kept(kUnit);
    const auto cycle = [&] {
      Mapped fresh(kUnit);
      void* one = comm.open(kept.data(), kept.size());
      void* two = comm.open(fresh.data(), fresh.size());
      expect(comm.close(one), WEFT_OK);
      expect(comm.close(two), WEFT_OK);
    };
    for (int i = 0; i < 70; ++i) cycle();  // past the growth of any table
    self.sync();
    const size_t files = open_descriptors();
    const size_t space = address_space();
    self.sync();
    for (int i = 0; i < 100; ++i) cycle();
    self.sync();
    // Counting takes a file, too, on every thread.
    check(open_descriptors() <= files + self.ranks(), "no file is left open");
    check(address_space() < space + (1U << 20), "no addresses are left");
    self.sync();
  });
}

TEST(SymwinAlone, ASingleRankHasWindowsOfItsOwn) {
  Nets nets;
  run_alone([&](Rank& self) {
    Comm comm(self, nets);
    Mapped memory(kUnit);
    void* window = comm.open(memory.data() + 8, 100);
    check(comm.peer(window, 0, 99) == memory.data() + 107, "its own address");
    expect(comm.peer_code(window, 0, 100), WEFT_E_PARA);
    expect(comm.peer_code(window, 1, 0), WEFT_E_PARA);
    expect(comm.find(memory.data() + 8, 1).code, WEFT_E_NOT_FOUND);
    check(comm.group.gathers == 0 && comm.shows(0), "nobody is told");
    void* none = nullptr;
    expect(comm.enter(memory.data(), 0, &none), WEFT_E_PARA);
    expect(comm.enter(memory.data(), 8, &none, 0), WEFT_E_PARA);
    expect(comm.close(window), WEFT_OK);
    expect(comm.close(window), WEFT_E_NOT_FOUND, {"has been deregistered"});
  });
}

}  // namespace
}  // namespace weft::test
