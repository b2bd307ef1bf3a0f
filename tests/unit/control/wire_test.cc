// SPDX-License-Identifier: Apache-2.0
// Frames, messages and root infos as bytes.
#include "control/wire.hpp"

#include <gtest/gtest.h>

#include "control/root_info.hpp"
#include "support.hpp"

namespace weft::control {
namespace {

TEST(Frame, HasALittleEndianHeaderWithItsLength) {
  const Frame frame = encode(FrameKind::kPeerLeft, PeerMessage{0x01020304, "xy"});
  const std::vector<unsigned> expected = {'W', 'F', 'T', '2', 7, 0, 0, 0, 10, 0,   0,
                                          0,   4,   3,   2,   1, 2, 0, 0, 0,  'x', 'y'};
  ASSERT_EQ(frame->size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(std::to_integer<unsigned>((*frame)[i]), expected[i]) << i;
}

TEST(Message, HelloComesBackAsItWas) {
  Hello hello = hello_of(9, 5);
  hello.process = 0x1122334455667788u;
  const Frame frame = encode(HelloMessage{hello, 4321, true});
  const auto message = decode<HelloMessage>(body_of(frame));
  ASSERT_TRUE(message);
  EXPECT_EQ(message->hello.rank, 5u);
  EXPECT_EQ(message->hello.ranks, 9u);
  EXPECT_EQ(message->hello.host, "host5");
  EXPECT_EQ(message->hello.pid, 1005);
  EXPECT_EQ(message->hello.device, 5);
  EXPECT_EQ(message->hello.name, "world");
  ASSERT_EQ(message->hello.facts.size(), 2u);
  EXPECT_EQ(message->hello.facts[1].value, "1");
  EXPECT_EQ(message->hello.blob, blob_of(5));
  EXPECT_EQ(message->hello.process, 0x1122334455667788u);
  EXPECT_EQ(message->timeout_ms, 4321u);
  EXPECT_TRUE(message->in_root_process);
}

TEST(Message, CutOffOrLengthenedBytesAreNoMessage) {
  const Frame frame = encode(HelloMessage{hello_of(9, 5), 4321, true});
  const BytesView body = body_of(frame);
  for (std::size_t length = 0; length < body.size(); ++length)
    EXPECT_FALSE(decode<HelloMessage>(body.first(length))) << length;
  Bytes longer(body.begin(), body.end());
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decode<HelloMessage>(longer));
}

TEST(Message, HugeCountsAndLengthsEndWithTheBytes) {
  const Bytes body(16, std::byte{0xff});
  EXPECT_FALSE(decode<WelcomeMessage>(body));
  EXPECT_FALSE(decode<GatheredMessage>(body));
  EXPECT_FALSE(decode<GatherMessage>(body));
  EXPECT_FALSE(decode<Failure>(body));
  EXPECT_FALSE(decode<PostMessage>(body));
}

TEST(Message, PostComesBackAsItWas) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kMaxPost}) {
    const Bytes bytes(size, std::byte{0x5a});
    const Frame frame = encode_post(FrameKind::kPost, 77, bytes);
    const auto message = decode<PostMessage>(body_of(frame));
    ASSERT_TRUE(message) << size;
    EXPECT_EQ(message->rank, 77u);
    EXPECT_EQ(message->bytes, bytes);
  }
}

TEST(Message, PostThatIsCutOffLengthenedOrTooLargeIsNoMessage) {
  const Frame frame = encode_post(FrameKind::kPosted, 1, Bytes(9));
  const BytesView body = body_of(frame);
  for (std::size_t length = 0; length < body.size(); ++length)
    EXPECT_FALSE(decode<PostMessage>(body.first(length))) << length;
  Bytes longer(body.begin(), body.end());
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decode<PostMessage>(longer));
  const Frame large = encode_post(FrameKind::kPost, 1, Bytes(kMaxPost + 1));
  EXPECT_FALSE(decode<PostMessage>(body_of(large)));
}

TEST(Message, RankOutsideTheCommunicatorIsNoHello) {
  const Frame frame = encode(HelloMessage{hello_of(5, 5), 1, false});
  EXPECT_FALSE(decode<HelloMessage>(body_of(frame)));
}

TEST(RootInfo, ComesBackAsItWas) {
  RootInfo root{"::1", 65535, "a", 42, {}, "::1_65535_3_1"};
  root.token[15] = std::byte{9};
  HcclRootInfo info;
  write_root_info(root, &info);
  const RootInfo back = read_root_info(info);
  EXPECT_EQ(back.ip, root.ip);
  EXPECT_EQ(back.port, root.port);
  EXPECT_EQ(back.host, root.host);
  EXPECT_EQ(back.pid, root.pid);
  EXPECT_EQ(back.token, root.token);
  EXPECT_EQ(back.identifier, root.identifier);
}

TEST(RootInfo, AnyDamagedByteOfItsContentIsRejected) {
  HcclRootInfo info;
  write_root_info({"127.0.0.1", 1234, "a", 42, {}, "name"}, &info);
  std::size_t used = sizeof info.internal;
  while (info.internal[used - 1] == 0) --used;
  for (std::size_t i = 0; i < used; ++i) {
    HcclRootInfo damaged = info;
    damaged.internal[i] = static_cast<char>(damaged.internal[i] ^ 0x10);
    EXPECT_THROW(read_root_info(damaged), Error) << i;
  }
}

TEST(RootInfo, BytesOfSomethingElseAreAParameterError) {
  for (const char fill : {'\0', 'x', '\xff'}) {
    HcclRootInfo info;
    std::fill(std::begin(info.internal), std::end(info.internal), fill);
    try {
      root_identifier(info);
      FAIL() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), HCCL_E_PARA);
    }
    EXPECT_EQ(try_join(info, hello_of(1, 0)).code, HCCL_E_PARA);
  }
}

}  // namespace
}  // namespace weft::control
