// SPDX-License-Identifier: Apache-2.0
// The rules of zero-copy ranges, between ranks that are threads and processes, without the core.
#include <cstring>
#include <optional>

#include "zerocopy_support.hpp"

namespace weft::test {
namespace {

TEST_P(ZeroCopy, GrowsByBlocksThatAllPeersMap) {
  run(4, [&](const Here& here) {
    const uint32_t me = here.rank.rank();
    const auto group = here.join();
    const Reserved room(8 * kUnit);
    good(here.set(*group, room.base(), room.size()));
    std::vector<Grown> blocks;
    for (size_t i = 0; i < 3; ++i) {
      Grown& block = blocks.emplace_back(room.base() + i * kUnit);
      memset(block.address, pattern(me, i), kUnit);
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
        check(bytes[i * kUnit + 7] == pattern(r, i), "a peer's bytes");
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

INSTANTIATE_TEST_SUITE_P(Layouts, ZeroCopy,
                         testing::Values(Layout::kThreads, Layout::kProcesses, Layout::kPairs),
                         [](const testing::TestParamInfo<Layout>& test) {
                           return layout_name(test.param);
                         });

}  // namespace
}  // namespace weft::test
