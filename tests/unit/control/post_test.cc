// SPDX-License-Identifier: Apache-2.0
// Messages between ranks that are threads of one process.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>

#include "base/error.hpp"
#include "support.hpp"

namespace weft::control {
namespace {

// Ranks with their listeners, which watch from the start.
struct Crowd {
  explicit Crowd(std::uint32_t n) : events(n), ranks(join_all(new_root(), n)) {
    for (std::uint32_t rank = 0; rank < n; ++rank) ranks[rank].session->watch(&events[rank]);
  }

  Session& operator[](std::uint32_t rank) { return *ranks[rank].session; }

  std::vector<Events> events;
  std::vector<JoinResult> ranks;
};

void expect_refused(Session& session, std::uint32_t to, std::size_t size, HcclResult code,
                    const std::string& text) {
  try {
    session.post(to, std::vector<std::byte>(size));
    ADD_FAILURE() << "was sent";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    EXPECT_TRUE(contains(error.what(), text)) << error.what();
  }
}

class Posting : public testing::TestWithParam<std::uint32_t> {};

TEST_P(Posting, FromAllToAllKeepsTheOrderOfEverySender) {
  constexpr std::uint32_t kEach = 30;
  const std::uint32_t n = GetParam();
  Crowd crowd(n);
  on_threads(n, [&](std::uint32_t rank) {
    for (std::uint32_t i = 0; i < kEach; ++i)
      for (std::uint32_t to = 0; to < n; ++to) crowd[rank].post(to, blob_of(rank, i + to));
  });
  for (std::uint32_t to = 0; to < n; ++to) {
    ASSERT_TRUE(crowd.events[to].wait_messages(kEach * n));
    for (std::uint32_t from = 0; from < n; ++from) {
      const auto messages = crowd.events[to].messages_from(from);
      ASSERT_EQ(messages.size(), kEach);
      for (std::uint32_t i = 0; i < kEach; ++i) EXPECT_EQ(messages[i], blob_of(from, i + to));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Posting, testing::Values(1u, 2u, 3u, 8u, 33u));

TEST(Post, CarriesNothingOneByteAndTheLimit) {
  Crowd crowd(3);
  for (const std::uint32_t to : {0u, 1u, 2u}) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kMaxPost})
      crowd[1].post(to, blob_of(0, size));
    ASSERT_TRUE(crowd.events[to].wait_messages(3));
    const std::vector<Message> messages = crowd.events[to].messages();
    EXPECT_TRUE(messages[0].bytes.empty());
    EXPECT_EQ(messages[1].bytes, blob_of(0, 1));
    EXPECT_EQ(messages[2].bytes, blob_of(0, kMaxPost));
  }
}

TEST(Post, OfTooMuchOrToNobodyIsAParameterErrorAndHarmless) {
  Crowd crowd(2);
  expect_refused(crowd[0], 1, kMaxPost + 1, HCCL_E_PARA, std::to_string(kMaxPost));
  expect_refused(crowd[0], 2, 1, HCCL_E_PARA, "no rank 2");
  expect_refused(crowd[0], ~0u, 0, HCCL_E_PARA, "no rank 4294967295");
  crowd[0].post(1, blob_of(1));
  ASSERT_TRUE(crowd.events[1].wait_messages(1));
  EXPECT_EQ(crowd.events[1].messages()[0].bytes, blob_of(1));
}

TEST(Post, OfManyMegabytesFromAllToAllArrives) {
  constexpr std::uint32_t kEach = 4;
  Crowd crowd(6);
  on_threads(6, [&](std::uint32_t rank) {
    for (std::uint32_t i = 0; i < kEach; ++i)
      for (std::uint32_t to = 0; to < 6; ++to) crowd[rank].post(to, blob_of(rank, 700'001 + i));
  });
  for (Events& events : crowd.events) {
    ASSERT_TRUE(events.wait_messages(6 * kEach));
    for (const std::uint32_t from : {0u, 5u})
      EXPECT_EQ(events.messages_from(from).back(), blob_of(from, 700'001 + kEach - 1));
  }
}

std::uint32_t number_in(std::span<const std::byte> bytes) {
  std::uint32_t number = 0;
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

// Numbers its posts, whoever calls, also a callback.
class Counter final : public Listener {
 public:
  void on_peer_lost(std::uint32_t, const std::string&) noexcept override {}
  void on_peer_left(std::uint32_t) noexcept override {}
  void on_message(std::uint32_t, std::span<const std::byte>) noexcept override { count(); }

  void count() {
    const std::lock_guard lock(mutex_);
    session->post(0, std::as_bytes(std::span(&next_, 1)));
    ++next_;
  }

  Session* session = nullptr;

 private:
  std::mutex mutex_;
  std::uint32_t next_ = 0;
};

TEST(Post, KeepsTheOrderAcrossThreadsAndCallbacks) {
  constexpr std::uint32_t kEach = 200;
  Events events;
  Counter counter;
  const std::vector<JoinResult> ranks = join_all(new_root(), 2);
  counter.session = ranks[1].session.get();
  ranks[0].session->watch(&events);
  ranks[1].session->watch(&counter);
  on_threads(3, [&](std::uint32_t thread) {
    for (std::uint32_t i = 0; i < kEach; ++i) {
      if (thread == 0) {
        ranks[0].session->post(1, {});  // makes rank 1 answer on the control thread
      } else {
        counter.count();
      }
    }
  });
  ASSERT_TRUE(events.wait_messages(3 * kEach));
  const std::vector<Message> messages = events.messages();
  for (std::uint32_t i = 0; i < 3 * kEach; ++i) ASSERT_EQ(number_in(messages[i].bytes), i);
  ranks[1].session->watch(nullptr);
}

TEST(Post, GoesThroughWhileAnExchangeIsPendingOnEitherSide) {
  for (const std::uint32_t waiting : {0u, 1u}) {
    const std::uint32_t late = 1 - waiting;
    Crowd crowd(2);
    std::thread exchanging([&] { crowd[waiting].barrier(kDeadline); });
    for (std::uint32_t i = 0; i < 10; ++i) {
      crowd[late].post(waiting, blob_of(late, i));
      crowd[waiting].post(late, blob_of(waiting, i));
      ASSERT_TRUE(crowd.events[waiting].wait_messages(i + 1));
      ASSERT_TRUE(crowd.events[late].wait_messages(i + 1));
    }
    crowd[late].barrier(kDeadline);
    exchanging.join();
    EXPECT_EQ(crowd.events[waiting].messages()[9].bytes, blob_of(late, 9));
    EXPECT_EQ(crowd.events[late].messages()[9].bytes, blob_of(waiting, 9));
  }
}

TEST(Post, AmongExchangesDisturbsNeither) {
  constexpr std::uint32_t kRounds = 50;
  Crowd crowd(4);
  on_threads(4, [&](std::uint32_t rank) {
    for (std::uint32_t round = 0; round < kRounds; ++round) {
      crowd[rank].post((rank + round) % 4, blob_of(rank, round));
      const auto parts = crowd[rank].all_gather(blob_of(rank, round), kDeadline);
      for (std::uint32_t peer = 0; peer < 4; ++peer) EXPECT_EQ(parts[peer], blob_of(peer, round));
    }
  });
  std::size_t count = 0;
  EXPECT_TRUE(eventually([&] {
    count = 0;
    for (Events& events : crowd.events) count += events.messages().size();
    return count == 4 * kRounds;
  })) << count;
}

TEST(Post, BeforeTheReceiverWatchesIsDeliveredByWatch) {
  Events events;
  std::vector<JoinResult> ranks = join_all(new_root(), 2);
  for (std::uint32_t i = 0; i < 5; ++i) ranks[1].session->post(0, blob_of(1, i));
  ranks[1].session->leave();
  // The exchange fails after all of that was relayed on the same connection.
  EXPECT_THROW(ranks[0].session->barrier(kDeadline), Error);
  ranks[0].session->watch(&events);
  EXPECT_EQ(events.left(), std::set<std::uint32_t>{1});
  ASSERT_EQ(events.messages_before_leaving_of(1), 5u);
  for (std::uint32_t i = 0; i < 5; ++i) EXPECT_EQ(events.messages()[i].bytes, blob_of(1, i));
}

TEST(Post, ArrivesBeforeTheNewsThatItsSenderLeft) {
  for (const std::uint32_t sender : {0u, 1u, 2u}) {
    const std::uint32_t receiver = (sender + 1) % 3;
    Crowd crowd(3);
    for (int i = 0; i < 20; ++i) crowd[sender].post(receiver, blob_of(sender, 500'000));
    crowd[sender].leave();
    ASSERT_TRUE(crowd.events[receiver].wait_left({sender}));
    EXPECT_EQ(crowd.events[receiver].messages_before_leaving_of(sender), 20u);
    EXPECT_TRUE(crowd.events[receiver].lost().empty());
  }
}

TEST(Post, ToARankThatLeftFailsNamingIt) {
  Crowd crowd(3);
  crowd[2].leave();
  for (const std::uint32_t rank : {0u, 1u}) {
    ASSERT_TRUE(crowd.events[rank].wait_left({2}));
    expect_refused(crowd[rank], 2, 3, HCCL_E_REMOTE,
                   "rank 2 (process 1002 on host host2) has left");
  }
  crowd[0].post(1, {});
  EXPECT_TRUE(crowd.events[1].wait_messages(1));
}

TEST(Post, ToARankThatIsLeavingIsSentOrFailsButNeverHurts) {
  Crowd crowd(3);
  std::thread leaving([&] { crowd[2].leave(); });
  EXPECT_TRUE(eventually([&] {
    try {
      crowd[1].post(2, blob_of(1, 5000));
      return false;
    } catch (const Error& error) {
      return error.code() == HCCL_E_REMOTE;
    }
  }));
  leaving.join();
  crowd[1].post(0, {});
  EXPECT_TRUE(crowd.events[0].wait_messages(1));
}

TEST(Post, AfterLeavingIsUnavailable) {
  Crowd crowd(2);
  crowd[0].leave();
  for (const std::uint32_t to : {0u, 1u})
    expect_refused(crowd[0], to, 1, HCCL_E_UNAVAIL, "this rank has left");
  crowd[1].leave();
  expect_refused(crowd[0], 1, 1, HCCL_E_UNAVAIL, "this rank has left");
}

TEST(Post, MayLeaveTheSessionInItsCallback) {
  class Leaves final : public Listener {
   public:
    void on_peer_lost(std::uint32_t, const std::string&) noexcept override {}
    void on_peer_left(std::uint32_t) noexcept override {}
    void on_message(std::uint32_t, std::span<const std::byte>) noexcept override {
      ++calls;
      session->leave();
    }
    Session* session = nullptr;
    std::atomic<int> calls = 0;
  };
  Leaves leaves;
  Events events;
  const std::vector<JoinResult> ranks = join_all(new_root(), 2);
  leaves.session = ranks[1].session.get();
  ranks[1].session->watch(&leaves);
  ranks[0].session->watch(&events);
  for (int i = 0; i < 3; ++i) {
    try {
      ranks[1].session->post(1, {});
    } catch (const Error& error) {  // the callback came before
      EXPECT_EQ(error.code(), HCCL_E_UNAVAIL);
    }
  }
  EXPECT_TRUE(events.wait_left({1}));
  EXPECT_EQ(leaves.calls, 1);
}

TEST(Membership, EndsWhenARankLeaves) {
  Crowd crowd(3);
  for (std::uint32_t rank = 0; rank < 3; ++rank) EXPECT_TRUE(crowd[1].is_member(rank));
  EXPECT_FALSE(crowd[1].is_member(3));
  crowd[2].leave();
  ASSERT_TRUE(crowd.events[1].wait_left({2}));
  EXPECT_FALSE(crowd[1].is_member(2));
  EXPECT_TRUE(crowd[1].is_member(0));
  EXPECT_FALSE(crowd[2].is_member(2));
  EXPECT_TRUE(crowd[2].is_member(0));
}

TEST(Identity, IsOneForAllRanksOfAProcess) {
  Crowd first(3);
  Crowd second(1);
  const std::uint64_t identity = second[0].peers()[0].process;
  EXPECT_NE(identity, 0u);
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    for (const Peer& peer : first[rank].peers()) EXPECT_EQ(peer.process, identity);
}

}  // namespace
}  // namespace weft::control
