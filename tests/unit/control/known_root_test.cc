// SPDX-License-Identifier: Apache-2.0
// Meeting points that all ranks know beforehand.
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "control/root_info.hpp"
#include "control/socket.hpp"
#include "support.hpp"

namespace weft::control {
namespace {

std::array<std::byte, 16> table_of(int number) {
  std::array<std::byte, 16> table{};
  table[3] = static_cast<std::byte>(number);
  return table;
}

/// At a port that was free just now.
HcclRootInfo new_known_root(int table = 1, std::uint16_t port = 0) {
  if (port == 0) {
    Endpoint endpoint = parse_endpoint("127.0.0.1", 0, "test");
    const Socket probe = listen_at(endpoint);
    port = endpoint.port;
  }
  HcclRootInfo info;
  write_known_root({"127.0.0.1", port, table_of(table)}, &info);
  return info;
}

JoinResult try_serve(const HcclRootInfo& info, milliseconds timeout = kDeadline) {
  JoinResult result;
  try {
    serve_known_root(info, timeout);
  } catch (const Error& error) {
    result.code = error.code();
    result.text = error.what();
  }
  return result;
}

/// Rank 0 serves, all join.
std::vector<JoinResult> meet(const HcclRootInfo& info, std::uint32_t ranks) {
  std::vector<JoinResult> results(ranks);
  on_threads(ranks, [&](std::uint32_t rank) {
    if (rank == 0) serve_known_root(info, kDeadline);
    results[rank] = try_join(info, hello_of(ranks, rank));
  });
  return results;
}

TEST(KnownRoot, BringsRanksTogether) {
  const HcclRootInfo info = new_known_root();
  const std::vector<JoinResult> ranks = meet(info, 4);
  for (const JoinResult& rank : ranks) ASSERT_TRUE(rank.session) << rank.text;
  EXPECT_EQ(ranks[3].session->peers()[1].host, "host1");
  on_threads(4, [&](std::uint32_t rank) { ranks[rank].session->barrier(kDeadline); });
}

TEST(KnownRoot, HasTheSameBytesOnEveryRank) {
  const HcclRootInfo one = new_known_root();
  const HcclRootInfo other = new_known_root(1, read_root_info(one).port);
  EXPECT_EQ(std::memcmp(&one, &other, sizeof one), 0);
  EXPECT_TRUE(read_root_info(one).known());
}

TEST(KnownRoot, IsWaitedForByTheOthers) {
  const HcclRootInfo info = new_known_root();
  JoinResult early;
  std::thread other([&] { early = try_join(info, hello_of(2, 1)); });
  std::this_thread::sleep_for(milliseconds(30));
  serve_known_root(info, kDeadline);
  const JoinResult root = try_join(info, hello_of(2, 0));
  other.join();
  EXPECT_TRUE(root.session) << root.text;
  EXPECT_TRUE(early.session) << early.text;
}

TEST(KnownRoot, ThatNobodyServesIsATimeout) {
  const JoinResult result = try_join(new_known_root(), hello_of(2, 1), milliseconds(50));
  EXPECT_EQ(result.code, HCCL_E_TIMEOUT);
  EXPECT_TRUE(contains(result.text, "rank 0 did not come: nobody listened at 127.0.0.1 port"))
      << result.text;
}

TEST(KnownRoot, NamesRanksThatDoNotCome) {
  const HcclRootInfo info = new_known_root();
  serve_known_root(info, kDeadline);
  const JoinResult result = try_join(info, hello_of(2, 0), milliseconds(50));
  EXPECT_EQ(result.code, HCCL_E_TIMEOUT);
  EXPECT_TRUE(contains(result.text, "rank 1 of 2 did not join")) << result.text;
}

// A rank that has left the old communicator looks for the next one while others are still in the
// old one.
TEST(KnownRoot, MakesOneCommunicatorAfterAnother) {
  const HcclRootInfo info = new_known_root();
  std::vector<JoinResult> old = meet(info, 3);
  for (const JoinResult& rank : old) ASSERT_TRUE(rank.session) << rank.text;
  std::vector<JoinResult> next = meet(info, 3);
  for (const JoinResult& rank : next) ASSERT_TRUE(rank.session) << rank.text;
  Events events;
  next[1].session->watch(&events);
  on_threads(3, [&](std::uint32_t rank) {
    old[rank].session->barrier(kDeadline);
    next[rank].session->barrier(kDeadline);
    old[rank].session->leave();
    next[rank].session->barrier(kDeadline);
  });
  next[0].session->post(1, blob_of(5));
  EXPECT_TRUE(events.wait_messages(1));
  next[0].session->leave();
  next[2].session->leave();
  EXPECT_TRUE(events.wait_left({0, 2}));
  EXPECT_TRUE(events.lost().empty());
}

TEST(KnownRoot, CanBeServedAgainAfterATryThatDidNotGetToJoin) {
  const HcclRootInfo info = new_known_root();
  serve_known_root(info, kDeadline);
  for (const JoinResult& rank : meet(info, 2)) EXPECT_TRUE(rank.session) << rank.text;
}

TEST(KnownRoot, CanBeUsedAgainOnceAllKnowThatItFailed) {
  const HcclRootInfo info = new_known_root();
  std::vector<Hello> hellos = {hello_of(2, 0), hello_of(2, 1)};
  hellos[1].name = "another";
  serve_known_root(info, kDeadline);
  for (const JoinResult& rank : join_all(info, hellos)) {
    EXPECT_EQ(rank.code, HCCL_E_PARA);
    EXPECT_TRUE(contains(rank.text, "'another' on rank 1")) << rank.text;
  }
  for (const JoinResult& rank : meet(info, 2)) EXPECT_TRUE(rank.session) << rank.text;
}

TEST(KnownRoot, ThatFailedIsKeptForThoseWhoDoNotKnowYet) {
  const HcclRootInfo info = new_known_root();
  serve_known_root(info, kDeadline);
  EXPECT_EQ(try_join(info, hello_of(2, 0), milliseconds(10)).code, HCCL_E_TIMEOUT);
  const JoinResult again = try_serve(info, milliseconds(50));
  EXPECT_EQ(again.code, HCCL_E_TIMEOUT);
  EXPECT_TRUE(contains(again.text, "not all ranks have come to hear why")) << again.text;
  const JoinResult late = try_join(info, hello_of(2, 1));
  EXPECT_EQ(late.code, HCCL_E_TIMEOUT);
  EXPECT_TRUE(contains(late.text, "rank 1 of 2 did not join")) << late.text;
  for (const JoinResult& rank : meet(info, 2)) EXPECT_TRUE(rank.session) << rank.text;
}

TEST(KnownRoot, DoesNotMixRanksOfDifferentTables) {
  const HcclRootInfo info = new_known_root(1);
  serve_known_root(info, kDeadline);
  const HcclRootInfo foreign = new_known_root(2, read_root_info(info).port);
  for (int i = 0; i < 3; ++i) {
    const JoinResult stray = try_join(foreign, hello_of(2, 1));
    EXPECT_EQ(stray.code, HCCL_E_PARA);
    EXPECT_TRUE(contains(stray.text, "for the ranks of another rank table")) << stray.text;
    EXPECT_TRUE(contains(stray.text, "host_port")) << stray.text;
  }
  const JoinResult root = try_serve(foreign);
  EXPECT_EQ(root.code, HCCL_E_NETWORK);
  EXPECT_TRUE(contains(root.text, "the port is in use")) << root.text;
  EXPECT_TRUE(contains(root.text, "HCCL_HOST_SOCKET_PORT_RANGE")) << root.text;
  for (const JoinResult& rank : meet(info, 2)) EXPECT_TRUE(rank.session) << rank.text;
}

TEST(KnownRoot, OfTwoTablesMayShareAPortOneAfterTheOther) {
  const HcclRootInfo info = new_known_root(1);
  const std::vector<JoinResult> first = meet(info, 2);
  for (const JoinResult& rank : first) ASSERT_TRUE(rank.session) << rank.text;
  const HcclRootInfo foreign = new_known_root(2, read_root_info(info).port);
  for (const JoinResult& rank : meet(foreign, 2)) EXPECT_TRUE(rank.session) << rank.text;
  on_threads(2, [&](std::uint32_t rank) { first[rank].session->barrier(kDeadline); });
}

TEST(KnownRoot, AtAnotherProgramsPortIsAnError) {
  Endpoint endpoint = parse_endpoint("127.0.0.1", 0, "test");
  Socket other = listen_at(endpoint);
  const HcclRootInfo info = new_known_root(1, endpoint.port);
  JoinResult result;
  std::thread joining([&] { result = try_join(info, hello_of(2, 1)); });
  while (!Socket::accept(other.fd())) std::this_thread::yield();  // and closes it
  joining.join();
  EXPECT_EQ(result.code, HCCL_E_REMOTE);
  EXPECT_TRUE(contains(result.text, "the process of rank 0 (at 127.0.0.1 port ")) << result.text;
  EXPECT_TRUE(contains(result.text, "whether it is another program that listens there"))
      << result.text;
}

TEST(KnownRoot, MustBeAnAddressOfThisHost) {
  HcclRootInfo info;
  write_known_root({"192.0.2.1", 6000, table_of(1)}, &info);
  const JoinResult result = try_serve(info);
  EXPECT_EQ(result.code, HCCL_E_NETWORK);
  EXPECT_TRUE(contains(result.text, "192.0.2.1 port 6000")) << result.text;
  for (const char* bad : {"0.0.0.0", "::", "localhost", ""}) {
    try {
      write_known_root({bad, 6000, table_of(1)}, &info);
      ADD_FAILURE() << "accepted " << bad;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), HCCL_E_PARA) << error.what();
    }
  }
}

}  // namespace
}  // namespace weft::control
