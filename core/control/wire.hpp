// SPDX-License-Identifier: Apache-2.0
// The bytes on the control connections: frames {magic, kind, length} in little endian, and the
// messages in them. A connection opens with kAuth (the token), then kHello; the rest depends on the
// side, see FrameKind.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "control/control.hpp"

namespace weft::control {

using Bytes = std::vector<std::byte>;
using BytesView = std::span<const std::byte>;
using Frame =
    std::shared_ptr<const Bytes>;  // header and body; shared by all connections it goes to
using Token = std::array<std::byte, 16>;

inline constexpr std::uint32_t kMagic =
    0x32544657;  // "WFT2": the digit is the version of the protocol
inline constexpr std::size_t kHeaderBytes = 12;
inline constexpr std::uint32_t kMaxRanks = 1u << 20;
inline constexpr std::size_t kMemberFrameLimit = kMaxBlob + (std::size_t{1} << 20);
inline constexpr std::size_t kServerFrameLimit = kMaxGathered + (std::size_t{64} << 20);

enum class FrameKind : std::uint32_t {
  kAuth = 1,           // rank → root: the token, the only frame a stranger may send
  kHello = 2,          // rank → root: HelloMessage
  kGoodbye = 3,        // rank → root: nothing
  kGather = 4,         // rank → root: GatherMessage
  kWelcome = 5,        // root → rank: WelcomeMessage
  kRefused = 6,        // root → rank: Failure
  kPeerLeft = 7,       // root → rank: PeerMessage
  kPeerLost = 8,       // root → rank: PeerMessage
  kGathered = 9,       // root → rank: GatheredMessage
  kGatherFailed = 10,  // root → rank: GatherFailedMessage
  kPost = 11,          // rank → root: PostMessage
  kPosted = 12         // root → rank: PostMessage
};

struct FrameHeader {
  std::uint32_t magic = 0;
  FrameKind kind{};
  std::uint32_t length = 0;  // of the body
};

/// Appends values; room for a frame's header is kept in front.
class Encoder {
 public:
  Encoder() : bytes_(kHeaderBytes) {}

  Encoder& u32(std::uint32_t value);
  Encoder& u64(std::uint64_t value);
  Encoder& i32(std::int32_t value) { return u32(static_cast<std::uint32_t>(value)); }
  Encoder& text(std::string_view value);
  Encoder& blob(BytesView value);  // length, then the bytes
  Encoder& raw(BytesView value);

  BytesView body() const { return BytesView(bytes_).subspan(kHeaderBytes); }
  /// Completes the frame; the encoder is empty afterwards.
  Frame seal(FrameKind kind);

 private:
  Bytes bytes_;
};

/// Reads values back. Reading past the end gives zeros and makes complete() false; nothing throws.
class Decoder {
 public:
  explicit Decoder(BytesView bytes) : rest_(bytes) {}

  std::uint32_t u32();
  std::uint64_t u64();
  std::int32_t i32() { return static_cast<std::int32_t>(u32()); }
  std::string text();
  Bytes blob();
  void raw(std::span<std::byte> into);

  bool ok() const noexcept { return ok_; }
  /// Everything was there, and nothing else.
  bool complete() const noexcept { return ok_ && rest_.empty(); }

 private:
  BytesView take(std::size_t bytes);

  BytesView rest_;
  bool ok_ = true;
};

FrameHeader decode_header(BytesView bytes);

struct Failure {
  HcclResult code = HCCL_SUCCESS;
  std::string text;
};

struct HelloMessage {
  Hello hello;
  std::uint32_t timeout_ms = 0;  // what is left of the rank's time-out
  bool in_root_process = false;  // the rank lives in the process that serves the root info
};

struct WelcomeMessage {
  std::vector<Peer> peers;
  std::vector<bool> in_root_process;  // by rank
};

struct PeerMessage {
  std::uint32_t rank = 0;
  std::string what;  // empty when it left
};

struct GatherMessage {
  std::uint32_t sequence = 0;  // counts the all_gather() calls of the session
  std::uint32_t timeout_ms = 0;
  Bytes bytes;
};

struct GatheredMessage {
  std::uint32_t sequence = 0;
  std::vector<Bytes> parts;
};

struct GatherFailedMessage {
  std::uint32_t sequence = 0;
  Failure failure;
};

struct PostMessage {
  std::uint32_t rank = 0;  // kPost: the receiver; kPosted: the sender
  Bytes bytes;
};

Frame encode_auth(const Token& token);
Frame encode_goodbye();
Frame encode(const HelloMessage& message);
Frame encode(const WelcomeMessage& message);
Frame encode(const Failure& failure);
Frame encode(FrameKind kind, const PeerMessage& message);
Frame encode(std::uint32_t sequence, std::uint32_t timeout_ms, BytesView bytes);
Frame encode(const GatheredMessage& message);
Frame encode_post(FrameKind kind, std::uint32_t rank, BytesView bytes);
Frame encode(const GatherFailedMessage& message);

/// The body of a whole frame.
inline BytesView body_of(const Frame& frame) { return BytesView(*frame).subspan(kHeaderBytes); }

/// Nothing if the body is not exactly such a message.
template <typename Message>
std::optional<Message> decode(BytesView body);

}  // namespace weft::control
