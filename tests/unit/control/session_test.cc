// SPDX-License-Identifier: Apache-2.0
// Ranks as threads of one process: joining, refusals, exchanges, leaving.
#include <gtest/gtest.h>

#include "control/root_info.hpp"
#include "support.hpp"

namespace weft::control {
namespace {

class Joining : public testing::TestWithParam<std::uint32_t> {};

TEST_P(Joining, GivesEveryRankEverybodysBlob) {
  const std::uint32_t n = GetParam();
  const std::vector<JoinResult> ranks = join_all(new_root(), n);
  for (std::uint32_t rank = 0; rank < n; ++rank) {
    ASSERT_TRUE(ranks[rank].session) << ranks[rank].text;
    const std::vector<Peer>& peers = ranks[rank].session->peers();
    ASSERT_EQ(peers.size(), n);
    for (std::uint32_t peer = 0; peer < n; ++peer) {
      EXPECT_EQ(peers[peer].blob, blob_of(peer));
      EXPECT_EQ(peers[peer].host, "host" + std::to_string(peer));
      EXPECT_EQ(peers[peer].pid, static_cast<std::int32_t>(1000 + peer));
      EXPECT_EQ(peers[peer].device, static_cast<std::int32_t>(peer % 8));
    }
  }
}

TEST_P(Joining, IsFollowedByExchangesInOrder) {
  const std::uint32_t n = GetParam();
  const std::vector<JoinResult> ranks = join_all(new_root(), n);
  on_threads(n, [&](std::uint32_t rank) {
    for (std::uint32_t round = 0; round < 5; ++round) {
      const auto parts = ranks[rank].session->all_gather(blob_of(rank, round), kDeadline);
      ASSERT_EQ(parts.size(), n);
      for (std::uint32_t peer = 0; peer < n; ++peer) EXPECT_EQ(parts[peer], blob_of(peer, round));
    }
    ranks[rank].session->barrier(kDeadline);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Joining, testing::Values(1u, 2u, 3u, 8u, 33u, 64u));

TEST(Join, MayHaveAnEndlessTimeout) {
  const JoinResult rank = try_join(new_root(), hello_of(1, 0), milliseconds::max());
  ASSERT_TRUE(rank.session) << rank.text;
  rank.session->barrier(milliseconds::max());
}

TEST(Join, CarriesMegabytes) {
  std::vector<Hello> hellos = {hello_of(3, 0), hello_of(3, 1), hello_of(3, 2)};
  for (Hello& hello : hellos) hello.blob = blob_of(hello.rank, 5'000'001);
  const std::vector<JoinResult> ranks = join_all(new_root(), hellos);
  for (const JoinResult& rank : ranks) {
    ASSERT_TRUE(rank.session) << rank.text;
    EXPECT_EQ(rank.session->peers()[2].blob, hellos[2].blob);
  }
}

TEST(Join, OfSeveralCommunicatorsAtOnceKeepsThemApart) {
  std::vector<HcclRootInfo> infos;
  for (int i = 0; i < 6; ++i) infos.push_back(new_root());
  std::vector<JoinResult> results(18);
  on_threads(18, [&](std::uint32_t i) {
    Hello hello = hello_of(3, i % 3);
    hello.name = "group" + std::to_string(i / 3);
    hello.blob = blob_of(i);
    results[i] = try_join(infos[i / 3], hello);
  });
  for (std::uint32_t i = 0; i < 18; ++i) {
    ASSERT_TRUE(results[i].session) << results[i].text;
    for (std::uint32_t peer = 0; peer < 3; ++peer)
      EXPECT_EQ(results[i].session->peers()[peer].blob, blob_of(i / 3 * 3 + peer));
  }
}

void expect_all(const std::vector<JoinResult>& results, HcclResult code,
                const std::vector<std::string>& parts) {
  for (const JoinResult& result : results) {
    EXPECT_FALSE(result.session);
    EXPECT_EQ(result.code, code) << result.text;
    for (const std::string& part : parts) EXPECT_TRUE(contains(result.text, part)) << result.text;
  }
}

TEST(Join, WithOneRankClaimedTwiceFailsEverywhere) {
  std::vector<Hello> hellos = {hello_of(4, 0), hello_of(4, 2), hello_of(4, 2), hello_of(4, 3)};
  hellos[2].pid = 77;
  expect_all(join_all(new_root(), hellos), HCCL_E_PARA, {"rank 2 (process 1002", "(process 77"});
}

TEST(Join, WithDifferentNumbersOfRanksFailsEverywhere) {
  expect_all(join_all(new_root(), {hello_of(3, 0), hello_of(4, 1), hello_of(4, 2)}), HCCL_E_PARA,
             {"nRanks", "3 on rank", "4 on rank"});
}

TEST(Join, WithDifferentNamesFailsEverywhere) {
  std::vector<Hello> hellos = {hello_of(3, 0), hello_of(3, 1), hello_of(3, 2)};
  hellos[1].name = "other";
  expect_all(join_all(new_root(), hellos), HCCL_E_PARA,
             {"'world' on ranks 0, 2", "'other' on rank 1 (process 1001 on host host1)"});
}

TEST(Join, WithDifferentFactsFailsEverywhere) {
  std::vector<Hello> hellos = {hello_of(2, 0), hello_of(2, 1)};
  hellos[1].facts[1].value = "2";
  expect_all(join_all(new_root(), hellos), HCCL_E_PARA, {"the version is '1' on rank 0", "'2' on"});
}

TEST(Join, WithoutSomeRanksTimesOutEverywhereNamingThem) {
  expect_all(join_all(new_root(), {hello_of(5, 1), hello_of(5, 3)}, milliseconds(200)),
             HCCL_E_TIMEOUT, {"ranks 0, 2, 4 of 5"});
}

TEST(Join, AfterTheOthersFailedHearsWhy) {
  const HcclRootInfo info = new_root();
  expect_all(join_all(info, {hello_of(3, 0), hello_of(3, 1)}, milliseconds(100)), HCCL_E_TIMEOUT,
             {"rank 2 of 3"});
  const JoinResult late = try_join(info, hello_of(3, 2));
  EXPECT_EQ(late.code, HCCL_E_TIMEOUT);
  EXPECT_TRUE(contains(late.text, "rank 2 of 3")) << late.text;
}

TEST(Join, WithAUsedRootInfoIsUnavailableAndHarmless) {
  const HcclRootInfo info = new_root();
  Events events;
  const std::vector<JoinResult> ranks = join_all(info, 2);
  ranks[1].session->watch(&events);
  const JoinResult second = try_join(info, hello_of(2, 0));
  EXPECT_EQ(second.code, HCCL_E_UNAVAIL);
  EXPECT_TRUE(contains(second.text, "already made")) << second.text;
  on_threads(2, [&](std::uint32_t rank) { ranks[rank].session->barrier(kDeadline); });
  EXPECT_TRUE(events.left().empty());
  EXPECT_TRUE(events.lost().empty());
}

TEST(Join, AfterTheCommunicatorIsOverIsRefused) {
  const HcclRootInfo info = new_root();
  join_all(info, 2);
  const JoinResult late = try_join(info, hello_of(2, 0));
  EXPECT_EQ(late.code, HCCL_E_TCP_CONNECT) << late.text;
  EXPECT_TRUE(contains(late.text, "may have ended")) << late.text;
}

TEST(Join, ChecksRankAndNumberOfRanksBeforeConnecting) {
  const HcclRootInfo info = new_root();
  EXPECT_EQ(try_join(info, hello_of(0, 0)).code, HCCL_E_PARA);
  EXPECT_EQ(try_join(info, hello_of(2, 2)).code, HCCL_E_PARA);
  for (const JoinResult& rank : join_all(info, 2)) EXPECT_TRUE(rank.session) << rank.text;
}

TEST(Leave, IsToldToTheOthersAsOrderly) {
  Events events[3];
  std::vector<JoinResult> ranks = join_all(new_root(), 3);
  for (int rank = 0; rank < 3; ++rank) ranks[rank].session->watch(&events[rank]);
  ranks[0].session->leave();
  EXPECT_TRUE(events[1].wait_left({0}));
  EXPECT_TRUE(events[2].wait_left({0}));
  ranks[2].session.reset();
  EXPECT_TRUE(events[1].wait_left({0, 2}));
  for (Events& seen : events) EXPECT_TRUE(seen.lost().empty());
  EXPECT_TRUE(events[0].left().empty());
}

TEST(Leave, BeforeTheOthersWatchIsDeliveredAtOnce) {
  Events events;
  std::vector<JoinResult> ranks = join_all(new_root(), 2);
  ranks[1].session->leave();
  // The exchange fails after the goodbye was relayed on the same connection.
  EXPECT_THROW(ranks[0].session->barrier(kDeadline), Error);
  ranks[0].session->watch(&events);
  EXPECT_EQ(events.left(), std::set<std::uint32_t>{1});
}

class LeavesWhenCalled final : public Listener {
 public:
  void on_peer_lost(std::uint32_t, const std::string&) noexcept override {}
  void on_peer_left(std::uint32_t) noexcept override { session->leave(); }

  Session* session = nullptr;
};

TEST(Leave, WorksFromACallback) {
  LeavesWhenCalled leaves;
  Events events;
  std::vector<JoinResult> ranks = join_all(new_root(), 3);
  leaves.session = ranks[1].session.get();
  ranks[1].session->watch(&leaves);
  ranks[2].session->watch(&events);
  ranks[0].session->leave();
  EXPECT_TRUE(events.wait_left({0, 1}));
}

TEST(Leave, EndsABlockedExchangeOfTheSameSession) {
  std::vector<JoinResult> ranks = join_all(new_root(), 2);
  HcclResult code = HCCL_SUCCESS;
  std::thread blocked([&] {
    try {
      ranks[0].session->barrier(kDeadline);
    } catch (const Error& error) {
      code = error.code();
    }
  });
  ranks[0].session->leave();
  blocked.join();
  EXPECT_EQ(code, HCCL_E_UNAVAIL);
}

TEST(Exchange, WithoutARankTimesOutEverywhereNamingItAndCanBeRepeated) {
  std::vector<JoinResult> ranks = join_all(new_root(), 3);
  const auto attempt = [&](std::uint32_t rank, milliseconds timeout) -> std::string {
    try {
      ranks[rank].session->barrier(timeout);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), HCCL_E_TIMEOUT);
      return error.what();
    }
    return "done";
  };
  std::string texts[2];
  on_threads(2, [&](std::uint32_t rank) { texts[rank] = attempt(rank, milliseconds(100)); });
  EXPECT_TRUE(contains(texts[0] + texts[1], "rank 2 did not take part"));
  EXPECT_NE(attempt(2, kDeadline), "done");
  on_threads(3, [&](std::uint32_t rank) { EXPECT_EQ(attempt(rank, kDeadline), "done"); });
}

TEST(Exchange, AfterARankLeftFailsAtOnceNamingIt) {
  std::vector<JoinResult> ranks = join_all(new_root(), 2);
  ranks[1].session->leave();
  try {
    ranks[0].session->barrier(kDeadline);
    FAIL() << "went through";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), HCCL_E_REMOTE);
    EXPECT_TRUE(contains(error.what(), "rank 1 (process 1001 on host host1)")) << error.what();
  }
}

TEST(Sessions, LeaveNoDescriptorsBehind) {
  join_all(new_root(), 2);  // the loop's own descriptors come with its first use
  const std::size_t before = open_descriptors();
  for (int cycle = 0; cycle < 200; ++cycle) {
    const HcclRootInfo info = new_root();
    if (cycle % 8 == 7) {
      std::vector<Hello> hellos = {hello_of(2, 0), hello_of(2, 1)};
      hellos[1].name = "other";
      join_all(info, hellos);
    } else {
      for (const JoinResult& rank : join_all(info, 2)) ASSERT_TRUE(rank.session) << rank.text;
    }
  }
  EXPECT_TRUE(eventually([&] { return open_descriptors() <= before; }));
}

}  // namespace
}  // namespace weft::control
