// SPDX-License-Identifier: Apache-2.0
// The rules of zero-copy ranges, between ranks that are threads and processes, without the core.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "memory_group.hpp"
#include "ranks.hpp"
#include "vmm.hpp"

namespace weft::test {
namespace {

constexpr size_t kUnit = kPhysicalUnit;
constexpr uint32_t kNets = 3;

/// What a rank works with.
struct Here {
  Rank& rank;
  Net* nets;
  MemoryPlugin& plugin = memory_plugin("mem-zerocopy.so");

  std::unique_ptr<Group> join(uint32_t net = 0) const {
    return std::make_unique<Group>(plugin, nets[net], rank.rank(), rank.ranks(), rank.device());
  }
  /// A group of the first `count` ranks, for those.
  std::unique_ptr<Group> join_first(uint32_t net, uint32_t count) const {
    if (rank.rank() >= count) return nullptr;
    return std::make_unique<Group>(plugin, nets[net], rank.rank(), count, rank.device());
  }
  int32_t set(Group& group, void* base, uint64_t bytes, uint64_t alignment = 0,
              uint64_t flags = 1) const {
    return plugin.table->range_set(group.member(), base, bytes, alignment, flags);
  }
  int32_t unset(Group& group, void* base) const {
    return plugin.table->range_unset(group.member(), base);
  }
  int32_t activate(Group& group, void* address, const Physical& memory, uint64_t offset = 0,
                   uint64_t flags = 0) const {
    return plugin.table->range_activate(group.member(), address, memory.size(), offset,
                                        memory.handle(), flags);
  }
  int32_t deactivate(Group& group, void* address) const {
    return plugin.table->range_deactivate(group.member(), address);
  }
};

void good(int32_t code, const std::source_location& where = std::source_location::current()) {
  check(code == WEFT_OK, "code " + std::to_string(code) + ": " + last_reason(), where);
}

void bad(int32_t code, int32_t wanted, const std::string& part,
         const std::source_location& where = std::source_location::current()) {
  check(code == wanted && contains(last_reason(), part),
        "code " + std::to_string(code) + ": " + last_reason(), where);
}

/// Physical memory mapped at an address, as a program grows its own.
struct Grown {
  explicit Grown(void* at, size_t bytes = kUnit) : memory(bytes), address(at) {
    memory.map(address);
  }
  void shrink() {
    ok(aclrtUnmapMem(address));
    memory.free();
  }

  Physical memory;
  void* address;
};

/// Where the other ranks' things are. Atomic since the thread sanitizer does not see how ranks of
/// different processes wait for each other.
struct Told {
  std::atomic<void*> base[Net::kMaxRanks];
};

class ZeroCopy : public testing::TestWithParam<Layout> {
 protected:
  ZeroCopy() : nets_(Net::create(kNets)), told_(Net::create(1)) {}
  ~ZeroCopy() override {
    Net::destroy(nets_, kNets);
    Net::destroy(told_, 1);
  }

  void run(uint32_t ranks, const std::function<void(const Here&)>& body) {
    run_ranks(ranks, GetParam(), [&](Rank& rank) {
      body({rank, nets_});
      rank.sync();
    });
  }
  /// Ranks of a process: each shows the blocks of all of them as its own.
  static size_t per_process(uint32_t ranks) {
    if (GetParam() == Layout::kThreads) return ranks;
    return GetParam() == Layout::kPairs ? 2 : 1;
  }
  /// Every rank tells an address and gets everybody's.
  std::vector<unsigned char*> tell(const Here& here, void* address) {
    auto& told = *reinterpret_cast<Told*>(told_);
    told.base[here.rank.rank()] = address;
    here.rank.sync();
    std::vector<unsigned char*> all;
    for (uint32_t r = 0; r < here.rank.ranks(); ++r) {
      all.push_back(static_cast<unsigned char*>(told.base[r].load()));
    }
    here.rank.sync();
    return all;
  }

  Net* nets_;
  Net* told_;
};

unsigned char sample(uint32_t rank, size_t i) {
  return static_cast<unsigned char>(rank * 67 + i * 13 + i / 251);
}

TEST_P(ZeroCopy, GrowsByBlocksThatAllPeersMap) {
  run(4, [&](const Here& here) {
    const uint32_t me = here.rank.rank();
    const auto group = here.join();
    const Reserved room(8 * kUnit);
    good(here.set(*group, room.base(), room.size()));
    std::vector<Grown> blocks;
    for (size_t i = 0; i < 3; ++i) {
      Grown& block = blocks.emplace_back(room.base() + i * kUnit);
      memset(block.address, sample(me, i), kUnit);
      good(here.activate(*group, block.address, block.memory));
    }
    check(group->own(room.base(), 3 * kUnit) == reinterpret_cast<uint64_t>(room.base()), "own");
    const auto all = tell(here, room.base());
    for (uint32_t r = 0; r < 4; ++r) {
      if (r == me) continue;
      const auto there = group->peer(r, all[r] + 7, 3 * kUnit - 9);
      check(there.has_value(), "a peer's blocks adjoin here, too");
      const auto* bytes = reinterpret_cast<unsigned char*>(*there) - 7;
      for (size_t i = 0; i < 3; ++i) {
        check(bytes[i * kUnit + 7] == sample(r, i), "a peer's bytes");
      }
      check(!group->peer(r, all[r], 4 * kUnit), "no more than was activated");
    }
    here.rank.sync();
    for (Grown& block : blocks) {
      good(here.deactivate(*group, block.address));
      check(!group->own(block.address, 1), "gone here");
      block.shrink();
    }
    good(here.unset(*group, room.base()));
    here.rank.sync();
    for (uint32_t r = 0; r < 4; ++r) check(group->peer_places(r) == 0, "gone at the peers");
  });
}

TEST_P(ZeroCopy, GivesEverythingBack) {
  run(2, [&](const Here& here) {
    const auto group = here.join();
    here.rank.sync();
    size_t addresses = 0;
    const size_t memory = free_memory();
    for (int round = 0; round < 3; ++round) {
      Reserved room(64 * kUnit);
      good(here.set(*group, room.base(), room.size()));
      Grown block(room.base() + kUnit);
      good(here.activate(*group, block.address, block.memory));
      here.rank.sync();
      good(here.deactivate(*group, block.address));
      block.shrink();
      good(here.unset(*group, room.base()));
      here.rank.sync();
      room.release();
      check(free_memory() == memory, "memory of the device");
      here.rank.sync();
      // Threads and allocators settle in the first round; a shadow has 128 MiB.
      if (round == 0) addresses = address_space();
      check(address_space() < addresses + 64 * kUnit, "addresses");
      here.rank.sync();
    }
  });
}

TEST_P(ZeroCopy, RefusesBadArgumentsOfSet) {
  run(2, [&](const Here& here) {
    const auto group = here.join();
    const Reserved room(4 * kUnit);
    // At once, on one rank alone.
    bad(here.set(*group, room.base(), 0), WEFT_E_PARA, "size is 0");
    bad(here.set(*group, room.base(), kUnit, 1), WEFT_E_PARA, "alignment is 1");
    bad(here.set(*group, room.base(), kUnit, 0, 2), WEFT_E_PARA, "flags are 0x2");
    bad(here.set(*group, room.base(), SIZE_MAX), WEFT_E_PARA, "beyond 48-bit");
    good(here.set(*group, room.base(), 3 * kUnit, 0, here.rank.rank()));
    bad(here.set(*group, room.base(), kUnit), WEFT_E_PARA, "overlap the range");
    bad(here.set(*group, room.base() + kUnit, kUnit), WEFT_E_PARA, "overlap the range");
    bad(here.set(*group, room.base() + 1, kUnit), WEFT_E_PARA, "not the start of a reservation");
    void* heap = nullptr;
    ok(aclrtMalloc(&heap, 4 * kUnit, ACL_MEM_MALLOC_HUGE_FIRST));
    auto* aligned =
        reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(heap) + kUnit - 1) / kUnit * kUnit);
    bad(here.set(*group, aligned, kUnit), WEFT_E_PARA, "not made of physical memory");
    ok(aclrtFree(heap));
  });
}

TEST_P(ZeroCopy, NeedsASetOnTheCommunicatorFirst) {
  run(2, [&](const Here& here) {
    const auto group = here.join();
    const Mapped block(kUnit);
    bad(here.unset(*group, block.data()), WEFT_E_PARA, "no range was set through this");
    bad(here.deactivate(*group, block.data()), WEFT_E_PARA, "no range was set through this");
    bad(here.plugin.table->range_activate(group->member(), block.data(), kUnit, 0, block.handle(),
                                          0),
        WEFT_E_PARA, "no range was set through this");
  });
}

TEST_P(ZeroCopy, RefusesBadBlocksAndAddresses) {
  run(2, [&](const Here& here) {
    const auto group = here.join();
    const Reserved room(8 * kUnit);
    good(here.set(*group, room.base(), 4 * kUnit));
    Grown block(room.base() + 2 * kUnit, 2 * kUnit);
    Grown outside(room.base() + 4 * kUnit);
    const auto try_activate = [&](void* address, uint64_t bytes, uint64_t offset, uint64_t flags) {
      return here.plugin.table->range_activate(group->member(), address, bytes, offset,
                                               block.memory.handle(), flags);
    };
    bad(try_activate(block.address, 0, 0, 0), WEFT_E_PARA, "size is 0");
    bad(try_activate(block.address, 2 * kUnit, 4096, 0), WEFT_E_PARA, "offset is 4096");
    bad(try_activate(block.address, 2 * kUnit, 0, 2), WEFT_E_PARA, "flags are 0x2");
    bad(try_activate(block.address, 3 * kUnit, 0, 0), WEFT_E_PARA, "do not lie in one range");
    bad(try_activate(block.address, SIZE_MAX, 0, 0), WEFT_E_PARA, "do not lie in one range");
    bad(try_activate(block.address, kUnit, 0, 0), WEFT_E_PARA, "activate the whole of it");
    bad(try_activate(room.base(), 2 * kUnit, 0, 0), WEFT_E_PARA, "no mapping begins at");
    bad(here.activate(*group, outside.address, outside.memory), WEFT_E_PARA, "do not lie in one");
    bad(here.plugin.table->range_activate(group->member(), block.address, 2 * kUnit, 0,
                                          outside.memory.handle(), 0),
        WEFT_E_PARA, "is a mapping of handle");
    good(try_activate(block.address, 2 * kUnit, 0, 1));
    bad(try_activate(block.address, 2 * kUnit, 0, 0), WEFT_E_PARA, "overlap the active block");
    bad(here.unset(*group, room.base()), WEFT_E_PARA, "has 1 active blocks");
    bad(here.unset(*group, room.base() + kUnit), WEFT_E_PARA, "no range is set at");
    bad(here.deactivate(*group, room.base() + 3 * kUnit), WEFT_E_PARA, "inside of the active");
    bad(here.deactivate(*group, room.base()), WEFT_E_PARA, "no block is active");
    good(here.deactivate(*group, block.address));
    bad(here.deactivate(*group, block.address), WEFT_E_PARA, "no block is active");
    good(here.unset(*group, room.base()));
    bad(here.unset(*group, room.base()), WEFT_E_PARA, "no range is set at");
    here.rank.sync();
    block.shrink();
    outside.shrink();
  });
}

TEST_P(ZeroCopy, DoesNothingInAGroupOfOne) {
  run(2, [&](const Here& here) {
    const auto group = here.rank.rank() == 0 ? here.join_first(0, 1) : nullptr;
    if (group == nullptr) return;
    const Mapped block(kUnit);
    good(here.set(*group, block.data(), 0));
    good(here.plugin.table->range_activate(group->member(), block.data(), 1, 2, nullptr, 3));
    good(here.deactivate(*group, block.data()));
    good(here.unset(*group, block.data()));
    check(group->own_places() == 0, "nothing is shown");
    check(contains(group->explain(block.data(), 1), "one rank"), "explained");
  });
}

TEST_P(ZeroCopy, FirstSetFailsOnAllRanksWhereOneFails) {
  run(3, [&](const Here& here) {
    const auto group = here.join();
    const Reserved room(4 * kUnit);
    const bool faulty = here.rank.rank() == 1;
    const int32_t code = here.set(*group, room.base() + (faulty ? 4096 : 0), kUnit);
    if (faulty) {
      bad(code, WEFT_E_PARA, "not the start of a reservation");
    } else {
      bad(code, WEFT_E_INTERNAL, "rank 1 failed");
      bad(code, WEFT_E_INTERNAL, "not the start of a reservation");
    }
    bad(here.unset(*group, room.base()), WEFT_E_PARA, "no range was set through this");
    here.rank.sync();
    good(here.set(*group, room.base(), kUnit));
    good(here.unset(*group, room.base()));
  });
}

TEST_P(ZeroCopy, FirstSetFailsOnAllRanksWhereOneHasNoRoomForAPeer) {
  if (GetParam() != Layout::kProcesses) return;  // ranges of one process may not overlap
  run(4, [&](const Here& here) {
    const auto group = here.join();
    const Reserved room(kUnit);
    // Half of all addresses: nobody can reserve that much for the peer that says it has it.
    const bool huge = here.rank.rank() == 0;
    const int32_t code = here.set(*group, room.base(), huge ? 1ULL << 47 : kUnit);
    if (huge) {
      bad(code, WEFT_E_INTERNAL, "rank 1 failed: reserving");
    } else {
      bad(code, WEFT_E_RUNTIME, "reserving 140737488355328 bytes");
    }
    here.rank.sync();
    good(here.set(*group, room.base(), kUnit));
    Grown block(room.base());
    good(here.activate(*group, block.address, block.memory));
    here.rank.sync();
    good(here.deactivate(*group, block.address));
    block.shrink();
    good(here.unset(*group, room.base()));
  });
}

TEST_P(ZeroCopy, FirstSetEndsInTimeWhereARankDoesNotCome) {
  run(2, [&](const Here& here) {
    const auto group = here.join();
    const Reserved room(kUnit);
    group->gather_seconds = 1;
    if (here.rank.rank() == 0) {
      bad(here.set(*group, room.base(), kUnit), WEFT_E_TIMEOUT, "missing");
    }
    here.rank.sync();
    group->gather_seconds = 20;
    good(here.set(*group, room.base(), kUnit));
  });
}

TEST_P(ZeroCopy, LaterSetsNeedNoPeersAtTheSameTime) {
  run(2, [&](const Here& here) {
    const auto group = here.join();
    const Reserved first(kUnit);
    good(here.set(*group, first.base(), kUnit));
    here.rank.sync();
    const Reserved second(2 * kUnit);
    void* shown = nullptr;
    std::optional<Grown> block;
    if (here.rank.rank() == 0) {
      good(here.set(*group, second.base(), 2 * kUnit));
      block.emplace(second.base() + kUnit);
      good(here.activate(*group, block->address, block->memory));
      shown = block->address;
    }
    const auto all = tell(here, shown);
    if (here.rank.rank() == 1) check(group->peer(0, all[0], kUnit).has_value(), "seen");
    here.rank.sync();
    if (block) {
      good(here.deactivate(*group, block->address));
      block->shrink();
      good(here.unset(*group, second.base()));
    }
  });
}

TEST_P(ZeroCopy, UndoesWhatAPeerCannotMap) {
  run(4, [&](const Here& here) {
    const auto group = here.join();
    const Reserved room(2 * kUnit);
    good(here.set(*group, room.base(), room.size()));
    Grown block(room.base());
    here.rank.sync();
    if (here.rank.rank() == 3) group->peer_shows_until_fault = 1;
    here.rank.sync();
    if (here.rank.rank() == 0) {
      bad(here.activate(*group, block.address, block.memory), WEFT_E_OOM, "ordered fault");
      check(group->own_places() == 0, "not shown by its owner");
    }
    here.rank.sync();
    for (uint32_t r = 0; r < 4; ++r) check(group->peer_places(r) == 0, "shown by nobody");
    here.rank.sync();
    good(here.activate(*group, block.address, block.memory));
    here.rank.sync();
    good(here.deactivate(*group, block.address));
    block.shrink();
    good(here.unset(*group, room.base()));
  });
}

TEST_P(ZeroCopy, UndoesWhatItCannotShow) {
  run(2, [&](const Here& here) {
    const auto group = here.join();
    const Reserved room(2 * kUnit);
    good(here.set(*group, room.base(), room.size()));
    Grown block(room.base());
    here.rank.sync();
    if (here.rank.rank() == 0) {
      group->shows_until_fault = 1;
      bad(here.activate(*group, block.address, block.memory), WEFT_E_OOM, "ordered fault");
    }
    here.rank.sync();
    check(group->peer_places(1 - here.rank.rank()) == 0, "let go of");
    here.rank.sync();
    good(here.activate(*group, block.address, block.memory));
    here.rank.sync();
    good(here.deactivate(*group, block.address));
    block.shrink();
  });
}

TEST_P(ZeroCopy, CannotShareWhatIsExportedElsewhere) {
  if (GetParam() == Layout::kThreads) return;  // nothing is exported there
  run(4, [&](const Here& here) {
    const auto group = here.join();
    const Reserved room(2 * kUnit);
    good(here.set(*group, room.base(), room.size()));
    Grown block(room.base());
    uint64_t shareable = 0;
    ok(aclrtMemExportToShareableHandle(block.memory.handle(), ACL_MEM_HANDLE_TYPE_NONE, 0,
                                       &shareable));
    bad(here.activate(*group, block.address, block.memory), WEFT_E_RUNTIME, "has exported");
    block.shrink();
    good(here.unset(*group, room.base()));
  });
}

TEST_P(ZeroCopy, ActivatesTheSameMemoryAgainElsewhere) {
  run(2, [&](const Here& here) {
    const auto group = here.join();
    const Reserved room(4 * kUnit);
    good(here.set(*group, room.base(), room.size()));
    const Physical memory(kUnit);
    for (size_t i = 0; i < 4; ++i) {
      memory.map(room.base() + i * kUnit);
      good(here.activate(*group, room.base() + i * kUnit, memory));
      here.rank.sync();
      good(here.deactivate(*group, room.base() + i * kUnit));
      ok(aclrtUnmapMem(room.base() + i * kUnit));
    }
  });
}

TEST_P(ZeroCopy, KeepsBlocksThatACallUses) {
  run(2, [&](const Here& here) {
    const auto group = here.join();
    const Reserved room(kUnit);
    good(here.set(*group, room.base(), kUnit));
    Grown block(room.base());
    good(here.activate(*group, block.address, block.memory));
    group->own_busy = true;
    here.rank.sync();
    bad(here.deactivate(*group, block.address), WEFT_E_AGAIN, "synchronise");
    check(group->own(block.address, kUnit).has_value(), "nothing changed");
    here.rank.sync();
    group->own_busy = false;
    here.rank.sync();
    good(here.deactivate(*group, block.address));
    block.shrink();
  });
}

TEST_P(ZeroCopy, DeactivatingDoesNotWaitForEverForPeersThatAreBusy) {
  run(2, [&](const Here& here) {
    const auto group = here.join();
    const Reserved room(kUnit);
    good(here.set(*group, room.base(), kUnit));
    Grown block(room.base());
    if (here.rank.rank() == 0) good(here.activate(*group, block.address, block.memory));
    const auto all = tell(here, block.address);
    if (here.rank.rank() == 1) {
      check(group->peer(0, all[0], kUnit).has_value(), "seen");
      group->peers_busy = true;
      here.rank.sync();
      eventually([&] { return group->asked_in_use.load(); }, "the owner lets go");
      check(!group->peer(0, all[0], kUnit), "no later call finds it");
    } else {
      here.rank.sync();
      good(here.deactivate(*group, block.address));
    }
    here.rank.sync();
    block.shrink();
  });
}

TEST_P(ZeroCopy, GoesOnWithoutAPeerThatHasLeft) {
  run(3, [&](const Here& here) {
    auto group = here.join();
    const Reserved room(2 * kUnit);
    good(here.set(*group, room.base(), room.size()));
    Grown block(room.base());
    Grown late(room.base() + kUnit);
    good(here.activate(*group, block.address, block.memory));
    here.rank.sync();
    if (here.rank.rank() == 2) group.reset();
    here.rank.sync();
    if (group) {
      bad(here.activate(*group, late.address, late.memory), WEFT_E_REMOTE, "rank 2");
      check(!group->own(late.address, 1), "undone");
      const size_t lines = log_lines();
      good(here.deactivate(*group, block.address));
      good(here.unset(*group, room.base()));
      check(log_lines() >= lines + 2, "said in the log");
    }
    block.shrink();
    late.shrink();
  });
}

TEST_P(ZeroCopy, ShowsARangeToAllCommunicatorsOfTheSameProcesses) {
  run(4, [&](const Here& here) {
    const uint32_t me = here.rank.rank();
    const auto first = here.join(0);
    const auto early = here.join(1);
    const Reserved room(kUnit);
    good(here.set(*first, room.base(), kUnit));
    Grown block(room.base());
    good(here.activate(*first, block.address, block.memory));
    const auto all = tell(here, block.address);
    const auto late = here.join(2);
    here.rank.sync();
    for (const Group* group : {first.get(), early.get(), late.get()}) {
      check(group->own(block.address, kUnit).has_value(), "own");
      for (uint32_t r = 0; r < 4; ++r) {
        check(r == me || group->peer(r, all[r], kUnit).has_value(), "peers");
      }
    }
    here.rank.sync();
    bad(here.deactivate(*late, block.address), WEFT_E_PARA, "no range was set through this");
    const Reserved other(kUnit);
    here.rank.sync();
    good(here.set(*late, other.base(), kUnit));
    here.rank.sync();
    early->own_busy = true;
    here.rank.sync();
    bad(here.deactivate(*late, block.address), WEFT_E_AGAIN, "synchronise");
    here.rank.sync();
    early->own_busy = false;
    here.rank.sync();
    good(here.deactivate(*late, block.address));
    good(here.unset(*late, room.base()));
    here.rank.sync();
    for (const Group* group : {first.get(), early.get(), late.get()}) {
      check(group->own_places() == 0, "own ones are gone");
      for (uint32_t r = 0; r < 4; ++r) check(group->peer_places(r) == 0, "peers' are gone");
    }
    here.rank.sync();
    block.shrink();
  });
}

TEST_P(ZeroCopy, DoesNotShowBlocksThatNotAllProcessesHave) {
  run(4, [&](const Here& here) {
    const auto all = here.join(0);
    const auto few = here.join_first(1, 2);
    const Reserved room(2 * kUnit);
    Grown block(room.base());
    if (few) {
      good(here.set(*few, room.base(), room.size()));
      good(here.activate(*few, block.address, block.memory));
    }
    here.rank.sync();
    if (few) {
      check(few->own(block.address, kUnit).has_value(), "where it was activated");
      const bool one_process = GetParam() == Layout::kThreads;
      check(all->own(block.address, kUnit).has_value() == one_process, "in the greater one");
      const std::string why = all->explain(block.address, kUnit);
      check(contains(why, one_process ? "is active" : "whose processes do not cover this one"),
            why);
      check(contains(few->explain(block.address, 2 * kUnit), "but not activated at 0x"), "part");
      check(contains(few->explain(block.address, 9 * kUnit), "beyond the end"), "too long");
      check(contains(few->explain(&block, 1), "outside every range"), "outside");
    }
    here.rank.sync();
    if (few) good(here.deactivate(*few, block.address));
    block.shrink();
  });
}

TEST_P(ZeroCopy, DestroyingACommunicatorEndsItsRanges) {
  run(4, [&](const Here& here) {
    const size_t memory = free_memory();
    auto first = here.join(0);
    const auto second = here.join(1);
    Reserved room(kUnit);
    good(here.set(*first, room.base(), kUnit));
    Grown block(room.base());
    good(here.activate(*first, block.address, block.memory));
    const auto all = tell(here, room.base());
    first.reset();
    here.rank.sync();
    check(second->own_places() == 0, "hidden everywhere");
    check(contains(second->explain(block.address, 1), "no range is set"), "forgotten");
    here.rank.sync();
    // Set again through another one, where peers may still have what was before.
    good(here.set(*second, room.base(), kUnit));
    good(here.activate(*second, block.address, block.memory));
    here.rank.sync();
    for (uint32_t r = 0; r < 4; ++r) {
      check(r == here.rank.rank() || second->peer(r, all[r], kUnit).has_value(), "peers");
      check(second->peer_places(r) <= per_process(4), "nothing is left from before");
    }
    here.rank.sync();
    good(here.deactivate(*second, block.address));
    block.shrink();
    good(here.unset(*second, room.base()));
    here.rank.sync();
    check(free_memory() == memory, "memory of the device");
    here.rank.sync();
  });
}

TEST_P(ZeroCopy, ImportsStayWhileAnotherCommunicatorNeedsThem) {
  run(4, [&](const Here& here) {
    const uint32_t me = here.rank.rank();
    auto first = here.join(0);
    auto second = here.join(1);
    const Reserved room(kUnit);
    good(here.set(*first, room.base(), kUnit));
    Grown block(room.base());
    memset(block.address, sample(me, 0), kUnit);
    good(here.activate(*first, block.address, block.memory));
    const auto all = tell(here, room.base());
    if (me >= 2) first.reset();  // in one process, or in both of a pair
    here.rank.sync();
    if (me >= 2) {
      const auto there = second->peer(0, all[0], kUnit);
      check(there.has_value(), "still shown");
      check(*reinterpret_cast<unsigned char*>(*there) == sample(0, 0), "and mapped");
    }
    here.rank.sync();
    if (me < 2) good(here.deactivate(*first, block.address));
    here.rank.sync();
    block.shrink();
  });
}

TEST_P(ZeroCopy, APeerThatHasLeftIsNotTrustedInALaterCommunicator) {
  run(2, [&](const Here& here) {
    auto first = here.join(0);
    const Reserved room(kUnit);
    good(here.set(*first, room.base(), kUnit));
    Grown block(room.base());
    if (here.rank.rank() == 0) good(here.activate(*first, block.address, block.memory));
    here.rank.sync();
    if (here.rank.rank() == 1) first.reset();  // its process lets go of all it had
    here.rank.sync();
    const auto later = here.join(1);
    if (here.rank.rank() == 0) {
      check(first->own(block.address, kUnit).has_value(), "as before");
      check(!later->own(block.address, kUnit), "not in the later one");
      check(contains(later->explain(block.address, 1), "some rank has left"), "explained");
      good(here.deactivate(*first, block.address));
    }
    block.shrink();
    here.rank.sync();
  });
}

TEST_P(ZeroCopy, KeepsManyBlocksApart) {
  run(2, [&](const Here& here) {
    constexpr size_t kBlocks = 150;
    const auto group = here.join();
    const Reserved room(2 * kBlocks * kUnit);
    good(here.set(*group, room.base(), room.size()));
    std::vector<Grown> blocks;
    for (size_t i = 0; i < kBlocks; ++i) {  // from both ends, with gaps
      Grown& block = blocks.emplace_back(room.base() + (i % 2 == 0 ? i : 2 * kBlocks - i) * kUnit);
      good(here.activate(*group, block.address, block.memory));
    }
    here.rank.sync();
    check(group->own_places() == kBlocks * per_process(2), "own");
    check(group->peer_places(1 - here.rank.rank()) == kBlocks * per_process(2), "the peer's");
    here.rank.sync();
    for (Grown& block : blocks) {
      good(here.deactivate(*group, block.address));
      block.shrink();
    }
    here.rank.sync();
    check(group->peer_places(1 - here.rank.rank()) == 0, "all gone");
  });
}

TEST_P(ZeroCopy, AllRanksMayGrowAndShrinkAtOnce) {
  run(4, [&](const Here& here) {
    const auto first = here.join(0);
    const auto second = here.join(1);
    const Reserved room(8 * kUnit);
    const Reserved other(8 * kUnit);
    good(here.set(*first, room.base(), room.size()));
    good(here.set(*second, other.base(), other.size()));
    const auto grow = [&](Group& group, unsigned char* base) {
      try {
        ok(aclrtSetDevice(here.rank.device()));
        for (int round = 0; round < 10; ++round) {
          Grown block(base + static_cast<size_t>(round % 8) * kUnit);
          good(here.activate(group, block.address, block.memory));
          good(here.deactivate(group, block.address));
          block.shrink();
        }
      } catch (const Failure& failure) {
        ADD_FAILURE() << failure.what();
      }
    };
    std::thread together([&] { grow(*second, other.base()); });
    grow(*first, room.base());
    together.join();
    here.rank.sync();
    for (uint32_t r = 0; r < 4; ++r) {
      check(first->peer_places(r) == 0 && second->peer_places(r) == 0, "all gone");
    }
  });
}

TEST_P(ZeroCopy, RefusesQuestionsThatItDoesNotKnow) {
  run(2, [&](const Here& here) {
    const auto group = here.join();
    const char wild[64] = {77, 1};
    bad(group->ask(wild, sizeof wild), WEFT_E_INTERNAL, "one version on all ranks");
    bad(group->ask(wild, 3), WEFT_E_INTERNAL, "one version on all ranks");
    here.rank.sync();
  });
}

INSTANTIATE_TEST_SUITE_P(Layouts, ZeroCopy,
                         testing::Values(Layout::kThreads, Layout::kProcesses, Layout::kPairs),
                         [](const testing::TestParamInfo<Layout>& test) {
                           return layout_name(test.param);
                         });

}  // namespace
}  // namespace weft::test
