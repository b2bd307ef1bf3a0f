// SPDX-License-Identifier: Apache-2.0
// Zero-copy ranges that are in use, in several communicators, and in those whose ranks leave.
#include <cstring>
#include <thread>

#include "zerocopy_support.hpp"

namespace weft::test {
namespace {

class ZeroCopyGroups : public ZeroCopy {};

TEST_P(ZeroCopyGroups, KeepsBlocksThatACallUses) {
  run(2, [&](const Here& here) {
    const auto group = here.join();
    const Reserved room(kUnit);
    good(here.set(*group, room.base(), kUnit));
    Grown block(room.base());
    good(here.activate(*group, block.address, block.memory));
    group->use(block.address);
    here.rank.sync();
    bad(here.deactivate(*group, block.address), WEFT_E_AGAIN, "synchronise");
    check(group->own(block.address, kUnit).has_value(), "nothing changed");
    here.rank.sync();
    group->use(nullptr);
    here.rank.sync();
    good(here.deactivate(*group, block.address));
    block.shrink();
  });
}

TEST_P(ZeroCopyGroups, DeactivatingDoesNotWaitForEverForPeersThatAreBusy) {
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

TEST_P(ZeroCopyGroups, GoesOnWithoutAPeerThatHasLeft) {
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
    here.rank.sync();  // the other one must not be gone, too
    block.shrink();
    late.shrink();
  });
}

TEST_P(ZeroCopyGroups, ShowsARangeToAllCommunicatorsOfTheSameProcesses) {
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
    early->use(block.address);
    here.rank.sync();
    bad(here.deactivate(*late, block.address), WEFT_E_AGAIN, "synchronise");
    here.rank.sync();
    early->use(nullptr);
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

TEST_P(ZeroCopyGroups, DoesNotShowBlocksThatNotAllProcessesHave) {
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

TEST_P(ZeroCopyGroups, DestroyingACommunicatorEndsItsRanges) {
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

TEST_P(ZeroCopyGroups, ImportsStayWhileAnotherCommunicatorNeedsThem) {
  run(4, [&](const Here& here) {
    const uint32_t me = here.rank.rank();
    auto first = here.join(0);
    auto second = here.join(1);
    const Reserved room(kUnit);
    good(here.set(*first, room.base(), kUnit));
    Grown block(room.base());
    memset(block.address, pattern(me, 0), kUnit);
    good(here.activate(*first, block.address, block.memory));
    const auto all = tell(here, room.base());
    if (me >= 2) first.reset();  // in one process, or in both of a pair
    here.rank.sync();
    if (me >= 2) {
      const auto there = second->peer(0, all[0], kUnit);
      check(there.has_value(), "still shown");
      check(*reinterpret_cast<unsigned char*>(*there) == pattern(0, 0), "and mapped");
    }
    here.rank.sync();
    if (me < 2) good(here.deactivate(*first, block.address));
    here.rank.sync();
    block.shrink();
  });
}

TEST_P(ZeroCopyGroups, APeerThatHasLeftIsNotTrustedInALaterCommunicator) {
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

TEST_P(ZeroCopyGroups, KeepsManyBlocksApart) {
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

TEST_P(ZeroCopyGroups, AllRanksMayGrowAndShrinkAtOnce) {
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

TEST_P(ZeroCopyGroups, RefusesQuestionsThatItDoesNotKnow) {
  run(2, [&](const Here& here) {
    const auto group = here.join();
    const char wild[64] = {77, 1};
    bad(group->ask(wild, sizeof wild), WEFT_E_INTERNAL, "one version on all ranks");
    bad(group->ask(wild, 3), WEFT_E_INTERNAL, "one version on all ranks");
    here.rank.sync();
  });
}

INSTANTIATE_TEST_SUITE_P(Layouts, ZeroCopyGroups,
                         testing::Values(Layout::kThreads, Layout::kProcesses, Layout::kPairs),
                         [](const testing::TestParamInfo<Layout>& test) {
                           return layout_name(test.param);
                         });

}  // namespace
}  // namespace weft::test
