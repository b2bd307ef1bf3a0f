// SPDX-License-Identifier: Apache-2.0
// Zero-copy ranges through the HCCL API: codes, and ranks that fail, die or do not come.
#include <gtest/gtest.h>

#include <deque>

#include "zero_copy.hpp"

namespace weft::test {
namespace {

TEST(ZeroCopyCodes, NullPointersAreRefused) {
  run_ranks(2, Layout::kProcesses, [](Rank& rank) {
    HcclComm comm = rank.join();
    Mapped memory(kUnit);
    void* at = memory.data();
    aclrtDrvMemHandle handle = memory.handle();
    refused(HcclCommSetMemoryRange(nullptr, at, kUnit, 0, 0), HCCL_E_PTR, {"comm"});
    refused(HcclCommSetMemoryRange(comm, nullptr, kUnit, 0, 0), HCCL_E_PTR, {"baseVirPtr"});
    refused(HcclCommUnsetMemoryRange(nullptr, at), HCCL_E_PTR, {"comm"});
    refused(HcclCommUnsetMemoryRange(comm, nullptr), HCCL_E_PTR, {"baseVirPtr"});
    refused(HcclCommActivateCommMemory(nullptr, at, kUnit, 0, handle, 0), HCCL_E_PTR, {"comm"});
    refused(HcclCommActivateCommMemory(comm, nullptr, kUnit, 0, handle, 0), HCCL_E_PTR, {"virPtr"});
    refused(HcclCommActivateCommMemory(comm, at, kUnit, 0, nullptr, 0), HCCL_E_PTR, {"handle"});
    refused(HcclCommDeactivateCommMemory(nullptr, at), HCCL_E_PTR, {"comm"});
    refused(HcclCommDeactivateCommMemory(comm, nullptr), HCCL_E_PTR, {"virPtr"});
    ok(HcclCommDestroy(comm));
  });
}

TEST(ZeroCopyCodes, BadArgumentsAreRefused) {
  run_ranks(2, Layout::kProcesses, [](Rank& rank) {
    HcclComm comm = rank.join();
    const Reserved room(8 * kUnit);
    unsigned char* at = room.base();
    refused(HcclCommUnsetMemoryRange(comm, at), HCCL_E_PARA, {"no range was set through this"});
    refused(HcclCommDeactivateCommMemory(comm, at), HCCL_E_PARA, {"no range was set through this"});
    refused(HcclCommSetMemoryRange(comm, at, 0, 0, 0), HCCL_E_PARA,
            {"HcclCommSetMemoryRange", "size is 0"});
    refused(HcclCommSetMemoryRange(comm, at, kUnit, 4, 0), HCCL_E_PARA, {"alignment is 4"});
    refused(HcclCommSetMemoryRange(comm, at, kUnit, 0, 2), HCCL_E_PARA, {"flags are 0x2"});
    rank.sync();
    ok(HcclCommSetMemoryRange(comm, at, 4 * kUnit, 0, 0));
    refused(HcclCommSetMemoryRange(comm, at, 4 * kUnit, 0, 0), HCCL_E_PARA, {"overlap"});
    refused(HcclCommSetMemoryRange(comm, at + kUnit, kUnit, 0, 0), HCCL_E_PARA, {"overlap"});
    refused(HcclCommUnsetMemoryRange(comm, at + kUnit), HCCL_E_PARA, {"no range is set at"});
    const auto activate = [&](unsigned char* place, size_t bytes, size_t offset, uint64_t flags,
                              const Physical& memory) {
      return HcclCommActivateCommMemory(comm, place, bytes, offset, memory.handle(), flags);
    };
    Physical memory(2 * kUnit);
    Physical other(kUnit);
    memory.map(at + kUnit);
    refused(activate(at + kUnit, 0, 0, 0, memory), HCCL_E_PARA, {"size is 0"});
    refused(activate(at + kUnit, 2 * kUnit, 1, 0, memory), HCCL_E_PARA, {"offset is 1"});
    refused(activate(at + kUnit, 2 * kUnit, 0, 2, memory), HCCL_E_PARA, {"flags are 0x2"});
    refused(activate(at + 3 * kUnit, 2 * kUnit, 0, 0, memory), HCCL_E_PARA, {"do not lie in one"});
    refused(activate(at + kUnit, kUnit, 0, 0, memory), HCCL_E_PARA, {"activate the whole"});
    refused(activate(at, 2 * kUnit, 0, 0, memory), HCCL_E_PARA, {"no mapping begins at"});
    refused(activate(at + kUnit, 2 * kUnit, 0, 0, other), HCCL_E_PARA, {"is a mapping of handle"});
    ok(activate(at + kUnit, 2 * kUnit, 0, 0, memory));
    refused(activate(at + kUnit, 2 * kUnit, 0, 0, memory), HCCL_E_PARA, {"overlap the active"});
    refused(HcclCommUnsetMemoryRange(comm, at), HCCL_E_PARA, {"1 active blocks"});
    refused(HcclCommDeactivateCommMemory(comm, at + 2 * kUnit), HCCL_E_PARA, {"pass its start"});
    ok(HcclCommDeactivateCommMemory(comm, at + kUnit));
    refused(HcclCommDeactivateCommMemory(comm, at + kUnit), HCCL_E_PARA, {"no block is active"});
    ok(HcclCommUnsetMemoryRange(comm, at));
    refused(HcclCommUnsetMemoryRange(comm, at), HCCL_E_PARA, {"no range is set at"});
    ok(aclrtUnmapMem(at + kUnit));
    rank.sync();
    ok(HcclCommDestroy(comm));
  });
}

TEST(ZeroCopyCodes, MemoryThatIsExportedElsewhereCannotBeShared) {
  run_ranks(2, Layout::kProcesses, [](Rank& rank) {
    HcclComm comm = rank.join();
    const RangeOf range(comm, kUnit);
    const Physical memory(kUnit);
    memory.map(range.at(0));
    uint64_t shareable = 0;
    ok(aclrtMemExportToShareableHandle(memory.handle(), ACL_MEM_HANDLE_TYPE_NONE, 0, &shareable));
    refused(HcclCommActivateCommMemory(comm, range.at(0), kUnit, 0, memory.handle(), 0),
            HCCL_E_RUNTIME, {"cannot be shared with other processes"});
    rank.sync();
    ok(aclrtUnmapMem(range.at(0)));
    ok(HcclCommDestroy(comm));
  });
}

TEST(ZeroCopyCodes, ASingleRankDoesNothingAndSucceeds) {
  run_alone([](Rank& rank) {
    HcclComm comm = rank.join();
    const Mapped memory(kUnit);
    ok(HcclCommSetMemoryRange(comm, memory.data(), 0, 7, 7));
    ok(HcclCommActivateCommMemory(comm, memory.data(), 0, 7, memory.handle(), 7));
    ok(HcclCommDeactivateCommMemory(comm, memory.data()));
    ok(HcclCommUnsetMemoryRange(comm, memory.data()));
    ok(HcclCommDestroy(comm));
  });
}

TEST(ZeroCopyCodes, OtherDevicesHaveNoRanges) {
  run_on_other_chip([](Rank& rank) {
    HcclComm comm = rank.join();
    const Reserved room(kUnit);
    refused(HcclCommSetMemoryRange(comm, room.base(), kUnit, 0, 0), HCCL_E_NOT_SUPPORT,
            {"Ascend910B1"});
    refused(HcclCommUnsetMemoryRange(comm, room.base()), HCCL_E_NOT_SUPPORT, {"Ascend910B1"});
    ok(HcclCommDestroy(comm));
  });
}

TEST(ZeroCopyFaults, FirstSetNamesTheRankThatFails) {
  for (const Layout layout : {Layout::kThreads, Layout::kProcesses}) {
    run_ranks(3, layout, [](Rank& rank) {
      HcclComm comm = rank.join();
      const Reserved room(2 * kUnit);
      const bool faulty = rank.rank() == 2;
      const HcclResult code =
          HcclCommSetMemoryRange(comm, room.base() + (faulty ? 4096 : 0), kUnit, 0, 0);
      if (faulty) {
        refused(code, HCCL_E_PARA, {"not the start of a reservation"});
      } else {
        refused(code, HCCL_E_INTERNAL, {"rank 2", "not the start of a reservation"});
      }
      rank.sync();
      ok(HcclCommSetMemoryRange(comm, room.base(), kUnit, 0, 0));
      rank.sync();
      ok(HcclCommDestroy(comm));
    });
  }
}

TEST(ZeroCopyFaults, FirstSetEndsWhereARankDoesNotCome) {
  run_impatient(Layout::kProcesses, [](Rank& rank) {
    HcclComm comm = rank.join();
    const Reserved room(kUnit);
    if (rank.rank() != 1) {
      refused(HcclCommSetMemoryRange(comm, room.base(), kUnit, 0, 0), HCCL_E_TIMEOUT, {"rank 1"});
    }
    rank.sync();
    ok(HcclCommDestroy(comm));
  });
}

TEST(ZeroCopyFaults, AKilledPeerIsNamedAndItsMemoryLetGoOf) {
  run_ranks(3, Layout::kProcesses, [](Rank& rank) {
    HcclComm comm = rank.join();
    RangeOf range(comm, 2 * kUnit);
    Block block(comm, range.at(0));
    Physical late(kUnit);
    late.map(range.at(1));
    rank.sync();
    if (rank.rank() == 1) rank.die();
    HcclResult code = HCCL_SUCCESS;
    eventually(
        [&] {
          code = HcclCommActivateCommMemory(comm, range.at(1), kUnit, 0, late.handle(), 0);
          if (code == HCCL_SUCCESS) ok(HcclCommDeactivateCommMemory(comm, range.at(1)));
          return code != HCCL_SUCCESS;
        },
        "the death of a peer");
    refused(code, HCCL_E_REMOTE, {"rank 1"});
    refused(HcclCommSetMemoryRange(comm, range.at(1), kUnit, 0, 0), HCCL_E_PARA, {"overlap"});
    ok(aclrtUnmapMem(range.at(1)));
    block.close(comm);  // what can be done here is done
    range.close(comm);
    ok(HcclCommDestroy(comm));
  });
}

TEST(ZeroCopyFaults, APeerThatDestroyedItsCommunicatorDoesNotHoldUp) {
  run_ranks(2, Layout::kProcesses, [](Rank& rank) {
    HcclComm comm = rank.join();
    RangeOf range(comm, 2 * kUnit);
    Block block(comm, range.at(0));
    const bool leaves = rank.rank() == 1;
    rank.sync();
    if (leaves) ok(HcclCommDestroy(comm));
    rank.sync();
    // The peer has let go of what it had, so a new communicator must not count on it.
    HcclComm later = rank.join();
    const Stream stream;
    sum_at(later, block.address(), rank.rank(), rank.ranks(), stream);
    went_by(later, WEFT_WAY_OWN);
    if (leaves) {
      block.unmap();
    } else {
      block.close(comm);
      range.close(comm);
      ok(HcclCommDestroy(comm));
    }
    rank.sync();
    ok(HcclCommDestroy(later));
  });
}

TEST(ZeroCopyFaults, TheRootMayEndWhileOthersCloseTheirRanges) {
  run_ranks(3, Layout::kProcesses, [](Rank& rank) {
    HcclComm comm = rank.join();
    RangeOf range(comm, 32 * kUnit);
    std::deque<Block> blocks;
    for (size_t i = 0; i < 32; ++i) blocks.emplace_back(comm, range.at(i));
    rank.sync();
    if (rank.rank() == 0) {
      ok(HcclCommDestroy(comm));
      rank.exit_process();  // with it goes the way of the others to each other
    }
    for (Block& block : blocks) block.close(comm);
    range.close(comm);
    ok(HcclCommDestroy(comm));
  });
}

TEST(ZeroCopyFaults, DestroyingWithLiveRangesGivesAllBack) {
  for (const Layout layout : {Layout::kThreads, Layout::kProcesses, Layout::kPairs}) {
    run_ranks(4, layout, [](Rank& rank) {
      size_t addresses = 0;
      for (int round = 0; round < 3; ++round) {
        HcclComm comm = rank.join();
        RangeOf range(comm, 64 * kUnit);
        Block block(comm, range.at(5));
        const Stream stream;
        sum_at(comm, block.address(), rank.rank(), rank.ranks(), stream);
        rank.sync();
        ok(HcclCommDestroy(comm));
        block.unmap();
        rank.sync();
        if (round == 0) addresses = address_space();
        rank.sync();
        // A range here and its shadow would be 128 MiB each.
        check(address_space() < addresses + 64 * kUnit, "addresses are missing");
        rank.sync();
      }
    });
  }
}

}  // namespace
}  // namespace weft::test
