// SPDX-License-Identifier: Apache-2.0
// What the tests of zero-copy ranges share.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "memory_group.hpp"
#include "ranks.hpp"
#include "vmm.hpp"

namespace weft::test {
inline constexpr size_t kUnit = kPhysicalUnit;
inline constexpr uint32_t kNets = 3;

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

inline void good(int32_t code,
                 const std::source_location& where = std::source_location::current()) {
  expect(code, WEFT_OK, {}, where);
}

inline void bad(int32_t code, int32_t wanted, const std::string& part,
                const std::source_location& where = std::source_location::current()) {
  expect(code, wanted, {part}, where);
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

}  // namespace weft::test
