// SPDX-License-Identifier: Apache-2.0
// What a rank knows and tells of the health of its communicator.
#include "exec/watch.hpp"

#include <gtest/gtest.h>

#include "support.hpp"

namespace weft::exec {
namespace {

/// Rank `self` gives up a broadcast because of rank `culprit`.
int32_t raise(Group& group, HcclResult code, uint32_t culprit, uint32_t self) {
  Fault fault{};
  fault.code = code;
  fault.rank_a = culprit;
  fault.rank_b = self;
  fault.key_a = {.count = 5, .op = WEFT_OP_BROADCAST, .type = HCCL_DATA_TYPE_INT32};
  return group.watch(self).raise(fault);
}

TEST(Watch, TheFirstFailureStays) {
  Group group(3);
  EXPECT_EQ(group.watch(0).health(), HCCL_SUCCESS);
  EXPECT_EQ(raise(group, HCCL_E_REMOTE, 1, 0), HCCL_E_REMOTE);
  EXPECT_EQ(raise(group, HCCL_E_TIMEOUT, 2, 0), HCCL_E_REMOTE);
  EXPECT_EQ(group.watch(0).failure(), HCCL_E_REMOTE);
  EXPECT_EQ(group.watch(1).look_at_boards(), HCCL_E_REMOTE) << "for the others, too";
  EXPECT_NE(group.watch(1).health_text().find("broadcast of 5 int32"), std::string::npos)
      << group.watch(1).health_text();
}

TEST(Watch, RanksMayFailOnManyThreadsWhileOthersRead) {
  Group group(2);
  std::vector<std::thread> threads;
  for (const HcclResult code : {HCCL_E_PARA, HCCL_E_TIMEOUT, HCCL_E_REMOTE}) {
    threads.emplace_back([&group, code] { raise(group, code, 1, 0); });
  }
  int32_t seen = 0;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (seen == 0 && std::chrono::steady_clock::now() < deadline) {
    seen = group.watch(1).look_at_boards();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_NE(seen, 0);
  EXPECT_EQ(seen, group.board(0).fault.code) << "it does not change";
}

TEST(Watch, ALostPeerCountsForHealthButFailsNothingByItself) {
  Group group(3);
  Watch& watch = group.watch(0);
  watch.peer_lost(1, "its process ended");
  watch.peer_lost(2, "its host is down");
  EXPECT_EQ(watch.health(), HCCL_E_REMOTE);
  EXPECT_EQ(watch.failure(), 0);
  EXPECT_EQ(watch.health_text(), "rank 1 is gone: its process ended") << "the first reason";
  EXPECT_EQ(watch.state(1), PeerState::kLost);
  EXPECT_TRUE(watch.living_peers().empty());
}

TEST(Watch, ASuspendedRankIsHealthyButTakesNoCalls) {
  Group group(3);
  Watch& watch = group.watch(0);
  EXPECT_EQ(watch.readiness(), HCCL_SUCCESS);
  watch.suspend();
  watch.suspend();
  EXPECT_TRUE(watch.suspended());
  EXPECT_EQ(watch.readiness(), HCCL_E_SUSPENDING);
  EXPECT_EQ(watch.health(), HCCL_SUCCESS);
  EXPECT_FALSE(watch.any_lost());
  watch.peer_lost(1, "its process ended");
  EXPECT_EQ(watch.readiness(), HCCL_E_REMOTE) << "that is worse";
  EXPECT_TRUE(watch.suspended());
  watch.resume();
  EXPECT_FALSE(watch.suspended());
  EXPECT_EQ(watch.readiness(), HCCL_E_REMOTE);
  EXPECT_EQ(raise(group, HCCL_E_TIMEOUT, 2, 0), HCCL_E_TIMEOUT);
  EXPECT_EQ(watch.readiness(), HCCL_E_TIMEOUT);
}

TEST(Watch, TheReasonIsThePeerThatWasLostNotTheOneThatLeftBecauseOfIt) {
  Group group(3);
  group.watch(0).peer_lost(2, "its process ended");
  group.watch(0).peer_left(1);
  EXPECT_EQ(group.watch(0).raise_remote(1, 1, {.op = WEFT_OP_BARRIER}), HCCL_E_REMOTE);
  EXPECT_EQ(group.watch(0).health_text(),
            "rank 2 is gone: its process ended; barrier cannot complete");
  EXPECT_EQ(group.board(0).fault.rank_a, 2u);
}

TEST(Watch, PeersThatAreAliveAreThoseNeitherLostNorLeft) {
  Group group(4);
  group.watch(1).peer_left(0);
  group.watch(1).peer_lost(3, "its process ended");
  EXPECT_EQ(group.watch(1).living_peers(), std::vector<Board*>{&group.board(2)});
}

TEST(Watch, TellsBoardsThatAreOpenClosedOrAnothers) {
  Group group(2);
  EXPECT_TRUE(group.watch(0).is_open(1));
  group.board(1).identity.magic = closed(Board::kMagic);
  EXPECT_FALSE(group.watch(0).is_open(1));
  EXPECT_TRUE(group.watch(0).is_closed(1));
  EXPECT_EQ(raise(group, HCCL_E_REMOTE, 0, 1), HCCL_E_REMOTE);
  group.board(1).identity.magic = Board::kMagic + 1;
  EXPECT_FALSE(group.watch(0).is_closed(1));
  EXPECT_EQ(group.watch(0).look_at_boards(), 0) << "a fault of another communicator";
  group.board(1).identity.magic = closed(Board::kMagic);
  EXPECT_EQ(group.watch(0).look_at_boards(), HCCL_E_REMOTE) << "one that has left may have failed";
}

TEST(Watch, AFaultThatNamesNoRankIsStillAFault) {
  Group group(2);
  Board& board = group.board(1);
  board.fault.code = HCCL_E_REMOTE;
  board.fault.rank_a = 7;
  board.fault.raised = 1;
  EXPECT_EQ(group.watch(0).look_at_boards(), HCCL_E_REMOTE);
  EXPECT_NE(group.watch(0).health_text().find("cannot be read"), std::string::npos);
}

TEST(Watch, ARankThatRefusesACallTellsWhichBufferItWas) {
  Group group(2);
  Fault fault{};
  fault.code = HCCL_E_PARA;
  fault.kind = FaultKind::kBuffer;
  fault.rank_a = fault.rank_b = 1;
  fault.call = 7;
  fault.key_a = {.count = 5, .op = WEFT_OP_BROADCAST, .type = HCCL_DATA_TYPE_INT32};
  std::memset(fault.note, 'x', sizeof fault.note);  // without an end
  std::memcpy(fault.note, "buf is", 6);
  EXPECT_EQ(group.watch(1).raise(fault), HCCL_E_PARA);
  EXPECT_EQ(group.watch(0).look_at_boards(), HCCL_E_PARA);
  EXPECT_EQ(group.watch(0).health_text(),
            "rank 1 did not issue broadcast of 5 int32, root 0 (call 7): buf is" +
                std::string(sizeof fault.note - 6, 'x') +
                "; WEFT_CHECK=memory says more on that rank");
}

TEST(Watch, NoTimeOutMeansNoTimeOut) {
  Group group(2, std::chrono::milliseconds(0));
  Wait wait;
  wait.since = std::chrono::steady_clock::now() - std::chrono::hours(1000);
  EXPECT_EQ(group.watch(0).check_time(wait, 1, 1, {.op = WEFT_OP_BARRIER}), 0);
}

TEST(Watch, ATimeOutNamesRankCallAndTime) {
  Group group(2, std::chrono::milliseconds(1500));
  Wait wait;
  wait.since = std::chrono::steady_clock::now() + std::chrono::hours(1);
  EXPECT_EQ(group.watch(0).check_time(wait, 1, 42, {.op = WEFT_OP_BARRIER}), 0);
  wait.since -= std::chrono::hours(2);
  EXPECT_EQ(group.watch(0).check_time(wait, 1, 42, {.op = WEFT_OP_BARRIER}), HCCL_E_TIMEOUT);
  EXPECT_EQ(group.watch(0).health_text(),
            "rank 1 did not do its part of barrier (call 42) within 1.5 s, waited for by rank 0; "
            "see HCCL_EXEC_TIMEOUT");
}

}  // namespace
}  // namespace weft::exec
