// SPDX-License-Identifier: Apache-2.0
// Connections that are no ranks: they are dropped, and the ranks do not notice.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <ostream>

#include "control/door.hpp"
#include "control/root_info.hpp"
#include "control/wire.hpp"
#include "support.hpp"

namespace weft::control {
namespace {

Socket connect_raw(const HcclRootInfo& info) {
  const RootInfo root = read_root_info(info);
  return connect_to(parse_endpoint(root.ip, root.port, "test"),
                    std::chrono::steady_clock::now() + kDeadline);
}

bool wait_for(const Socket& socket, short events, std::chrono::milliseconds timeout) {
  pollfd waiting{socket.fd(), events, 0};
  return ::poll(&waiting, 1, static_cast<int>(timeout.count())) == 1;
}

// Sends until the other side ends the connection or everything is sent; the bytes that were taken.
std::size_t pour(const Socket& socket, BytesView bytes) {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t now = ::send(socket.fd(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (now > 0) {
      sent += static_cast<std::size_t>(now);
    } else if (errno != EAGAIN || !wait_for(socket, POLLOUT, kDeadline)) {
      break;
    }
  }
  return sent;
}

// The other side closed or reset the connection, without an answer.
bool dropped(const Socket& socket) {
  char byte = 0;
  return wait_for(socket, POLLIN, kDeadline) && ::recv(socket.fd(), &byte, 1, 0) <= 0;
}

Bytes header(FrameKind kind, std::uint32_t length) {
  const Frame frame = Encoder().seal(kind);
  Bytes bytes(frame->begin(), frame->end());
  for (std::size_t i = 0; i < 4; ++i) bytes[8 + i] = static_cast<std::byte>(length >> (8 * i));
  return bytes;
}

Bytes authentication(const HcclRootInfo& info) { return *encode_auth(read_root_info(info).token); }

Bytes join_bytes(Bytes first, const Bytes& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

void expect_ranks_can_join(const HcclRootInfo& info, std::uint32_t n = 3) {
  const std::vector<JoinResult> ranks = join_all(info, n);
  for (const JoinResult& rank : ranks) EXPECT_TRUE(rank.session) << rank.text;
}

struct Case {
  const char* name;
  Bytes (*bytes)(const HcclRootInfo&);
};

void PrintTo(const Case& tested, std::ostream* out) { *out << tested.name; }

class Stranger : public testing::TestWithParam<Case> {};

TEST_P(Stranger, IsDroppedAndDoesNotDisturb) {
  const HcclRootInfo info = new_root();
  const Socket stranger = connect_raw(info);
  const Bytes bytes = GetParam().bytes(info);
  pour(stranger, bytes);
  EXPECT_TRUE(dropped(stranger));
  expect_ranks_can_join(info);
}

TEST_P(Stranger, DoesNotDisturbARunningCommunicator) {
  const HcclRootInfo info = new_root();
  Events events;
  const std::vector<JoinResult> ranks = join_all(info, 2);
  ranks[0].session->watch(&events);
  const Socket stranger = connect_raw(info);
  pour(stranger, GetParam().bytes(info));
  EXPECT_TRUE(dropped(stranger));
  on_threads(2, [&](std::uint32_t rank) { ranks[rank].session->barrier(kDeadline); });
  EXPECT_TRUE(events.lost().empty());
}

Bytes garbage(const HcclRootInfo&) { return Bytes(100'003, std::byte{'G'}); }

Bytes wrong_token(const HcclRootInfo&) { return *encode_auth(Token{}); }

Bytes hello_without_token(const HcclRootInfo&) {
  return *encode(HelloMessage{hello_of(3, 0), 1, false});
}

Bytes short_token(const HcclRootInfo&) { return header(FrameKind::kAuth, 0); }

Bytes huge_frame(const HcclRootInfo&) {
  return join_bytes(header(FrameKind::kAuth, 1u << 30), Bytes(8u << 20));
}

Bytes token_then_garbage(const HcclRootInfo& info) {
  return join_bytes(authentication(info), Bytes(40));
}

Bytes token_then_huge_hello(const HcclRootInfo& info) {
  return join_bytes(authentication(info), header(FrameKind::kHello, 1u << 30));
}

Bytes token_then_empty_hello(const HcclRootInfo& info) {
  return join_bytes(authentication(info), header(FrameKind::kHello, 0));
}

Bytes token_then_gather(const HcclRootInfo& info) {
  return join_bytes(authentication(info), *encode(0, 0, Bytes(5)));
}

Bytes token_then_post(const HcclRootInfo& info) {
  return join_bytes(authentication(info), *encode_post(FrameKind::kPost, 0, Bytes(5)));
}

Bytes post_without_token(const HcclRootInfo&) {
  return *encode_post(FrameKind::kPost, 0, Bytes(3));
}

INSTANTIATE_TEST_SUITE_P(Bytes, Stranger,
                         testing::Values(Case{"Garbage", garbage}, Case{"WrongToken", wrong_token},
                                         Case{"HelloWithoutToken", hello_without_token},
                                         Case{"ShortToken", short_token},
                                         Case{"HugeFrame", huge_frame},
                                         Case{"TokenThenGarbage", token_then_garbage},
                                         Case{"TokenThenHugeHello", token_then_huge_hello},
                                         Case{"TokenThenEmptyHello", token_then_empty_hello},
                                         Case{"TokenThenGather", token_then_gather},
                                         Case{"TokenThenPost", token_then_post},
                                         Case{"PostWithoutToken", post_without_token}),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(Strangers, ThatHangUpHalfwayAreForgotten) {
  const HcclRootInfo info = new_root();
  const Bytes whole =
      join_bytes(authentication(info), *encode(HelloMessage{hello_of(3, 0), 1000, false}));
  for (std::size_t length = 0; length < whole.size(); ++length)
    pour(connect_raw(info), BytesView(whole).first(length));
  expect_ranks_can_join(info);
}

TEST(Join, FailsWhenARankEndsBeforeAllHaveJoined) {
  const HcclRootInfo info = new_root();
  pour(connect_raw(info),
       join_bytes(authentication(info), *encode(HelloMessage{hello_of(3, 1), 30'000, false})));
  const JoinResult result = try_join(info, hello_of(3, 0));
  EXPECT_EQ(result.code, HCCL_E_REMOTE);
  EXPECT_TRUE(contains(result.text, "rank 1 (process 1001 on host host1) ended before all"))
      << result.text;
}

// A rank 1 of 2 that is spoken for by hand, once both have joined.
struct ByHand {
  ByHand() : info(new_root()), socket(connect_raw(info)) {
    const Bytes hello = *encode(HelloMessage{hello_of(2, 1), 30'000, false});
    pour(socket, join_bytes(authentication(info), hello));
    other = try_join(info, hello_of(2, 0)).session;
    other->watch(&events);
  }

  HcclRootInfo info;
  Socket socket;
  Events events;
  std::unique_ptr<Session> other;
};

// Everything that came until the other side closed.
Bytes drain(const Socket& socket) {
  Bytes all;
  Bytes some(4096);
  while (wait_for(socket, POLLIN, kDeadline)) {
    const ssize_t got = ::recv(socket.fd(), some.data(), some.size(), 0);
    if (got <= 0) break;
    all.insert(all.end(), some.begin(), some.begin() + got);
  }
  return all;
}

class BrokenRank : public testing::TestWithParam<Case> {};

TEST_P(BrokenRank, IsLostToTheOthersAndPartedWith) {
  ByHand broken;
  pour(broken.socket, *encode_post(FrameKind::kPost, 0, blob_of(3)));
  pour(broken.socket, GetParam().bytes(broken.info));
  EXPECT_TRUE(broken.events.wait_lost(1));
  EXPECT_TRUE(contains(broken.events.lost()[1], "something")) << broken.events.lost()[1];
  ASSERT_EQ(broken.events.messages().size(), 1u);
  EXPECT_EQ(broken.events.messages()[0].bytes, blob_of(3));
  drain(broken.socket);
  broken.other->post(0, blob_of(2));
  EXPECT_TRUE(broken.events.wait_messages(2));
}

Bytes post_to_nobody(const HcclRootInfo&) { return *encode_post(FrameKind::kPost, 2, Bytes(5)); }

Bytes post_too_large(const HcclRootInfo&) {
  return *encode_post(FrameKind::kPost, 0, Bytes(kMaxPost + 1));
}

Bytes post_cut_off(const HcclRootInfo&) {
  return join_bytes(header(FrameKind::kPost, 6), Bytes(6));
}

Bytes post_of_the_root(const HcclRootInfo&) {
  return *encode_post(FrameKind::kPosted, 0, Bytes(5));
}

Bytes post_with_a_wrong_length(const HcclRootInfo&) {
  return join_bytes(header(FrameKind::kPost, 8), *Encoder().u32(0).u32(~0u).seal(FrameKind::kPost));
}

Bytes frame_of_no_kind(const HcclRootInfo&) { return header(static_cast<FrameKind>(99), 0); }

INSTANTIATE_TEST_SUITE_P(
    Bytes, BrokenRank,
    testing::Values(Case{"PostToNobody", post_to_nobody}, Case{"PostTooLarge", post_too_large},
                    Case{"PostCutOff", post_cut_off}, Case{"PostOfTheRoot", post_of_the_root},
                    Case{"PostWithAWrongLength", post_with_a_wrong_length},
                    Case{"FrameOfNoKind", frame_of_no_kind}, Case{"Garbage", garbage}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(Join, FailsWhenARankPostsBeforeAllHaveJoined) {
  const HcclRootInfo info = new_root();
  const Bytes hello = *encode(HelloMessage{hello_of(3, 1), 30'000, false});
  const Socket hasty = connect_raw(info);
  pour(hasty, join_bytes(join_bytes(authentication(info), hello),
                         *encode_post(FrameKind::kPost, 0, Bytes(5))));
  const JoinResult result = try_join(info, hello_of(3, 0));
  EXPECT_EQ(result.code, HCCL_E_REMOTE);
  EXPECT_TRUE(contains(result.text, "rank 1 (process 1001 on host host1)")) << result.text;
}

class BrokenRoot : public testing::TestWithParam<Case> {};

// The root is spoken for by hand.
TEST_P(BrokenRoot, EndsTheSession) {
  Endpoint endpoint = parse_endpoint("127.0.0.1", 0, "test");
  const Socket listener = listen_at(endpoint);
  HcclRootInfo info;
  write_root_info({endpoint.ip, endpoint.port, "a", 42, {}, "name"}, &info);
  Events events;
  JoinResult joined;
  std::thread joining([&] { joined = try_join(info, hello_of(2, 0)); });
  EXPECT_TRUE(wait_for(listener, POLLIN, kDeadline));
  const Socket root = Socket::accept(listener.fd());
  const Peer peer{"there", 43, 0, {}, 9};
  pour(root, *encode(WelcomeMessage{{peer, peer}, {true, true}}));
  joining.join();
  ASSERT_TRUE(joined.session) << joined.text;
  joined.session->watch(&events);
  pour(root, GetParam().bytes(info));
  EXPECT_TRUE(events.wait_lost(1));
  EXPECT_TRUE(events.messages().empty());
  drain(root);
  try {
    joined.session->post(0, {});
    FAIL() << "was sent";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), HCCL_E_REMOTE);
    EXPECT_TRUE(contains(error.what(), "rank 0 (process 43 on host there)")) << error.what();
  }
}

Bytes posted_by_nobody(const HcclRootInfo&) {
  return *encode_post(FrameKind::kPosted, 2, Bytes(5));
}

Bytes posted_too_large(const HcclRootInfo&) {
  return *encode_post(FrameKind::kPosted, 1, Bytes(kMaxPost + 1));
}

Bytes posted_cut_off(const HcclRootInfo&) {
  return join_bytes(header(FrameKind::kPosted, 3), Bytes(3));
}

Bytes post_of_a_rank(const HcclRootInfo&) { return *encode_post(FrameKind::kPost, 1, Bytes(5)); }

Bytes loss_of_the_rank_itself(const HcclRootInfo&) {
  return *encode(FrameKind::kPeerLost, PeerMessage{0, "you are dead"});
}

INSTANTIATE_TEST_SUITE_P(Bytes, BrokenRoot,
                         testing::Values(Case{"PostedByNobody", posted_by_nobody},
                                         Case{"PostedTooLarge", posted_too_large},
                                         Case{"PostedCutOff", posted_cut_off},
                                         Case{"PostOfARank", post_of_a_rank},
                                         Case{"LossOfTheRankItself", loss_of_the_rank_itself},
                                         Case{"Garbage", garbage}),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(Strangers, ThatIdleInNumbersNeitherKeepRanksOutNorUseUpDescriptors) {
  constexpr std::size_t kIdle = 300;
  constexpr std::size_t kMayBeHeld = 128;
  constexpr std::uint32_t kRanks = 8;
  const HcclRootInfo info = new_root();
  const std::size_t before = open_descriptors();
  std::vector<Socket> idle;
  while (idle.size() < kIdle) idle.push_back(connect_raw(info));
  const std::vector<JoinResult> ranks = join_all(info, kRanks);
  for (const JoinResult& rank : ranks) EXPECT_TRUE(rank.session) << rank.text;
  EXPECT_LE(open_descriptors(), before + kIdle + kMayBeHeld + 2 * kRanks);
  EXPECT_TRUE(dropped(idle.front()));
}

TEST(Door, DropsWhoSaysNothingInTime) {
  Endpoint endpoint = parse_endpoint("127.0.0.1", 0, "test");
  Socket listener = listen_at(endpoint);
  std::unique_ptr<Door> door;
  int guests = 0;
  Loop::instance().run([&] {
    door = std::make_unique<Door>(
        std::move(listener), Token{}, [&](std::shared_ptr<Link>) { ++guests; }, milliseconds(20));
  });
  const Socket silent = connect_to(endpoint, std::chrono::steady_clock::now() + kDeadline);
  const Socket halfway = connect_to(endpoint, std::chrono::steady_clock::now() + kDeadline);
  pour(halfway, BytesView(*encode_auth(Token{})).first(20));
  EXPECT_TRUE(dropped(silent));
  EXPECT_TRUE(dropped(halfway));
  Loop::instance().run([&] {
    door->close();
    door.reset();
  });
  EXPECT_EQ(guests, 0);
}

TEST(Strangers, LeaveNoDescriptorsBehind) {
  const HcclRootInfo info = new_root();
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 50; ++i) pour(connect_raw(info), Bytes(64, std::byte{'x'}));
  EXPECT_TRUE(eventually([&] { return open_descriptors() <= before; }));
}

}  // namespace
}  // namespace weft::control
