// SPDX-License-Identifier: Apache-2.0
#include "control/wire.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace weft::control {
namespace {

void put_u32(std::span<std::byte> at, std::uint32_t value) {
  for (std::size_t i = 0; i < 4; ++i) at[i] = static_cast<std::byte>(value >> (8 * i));
}

void put_blobs(Encoder& out, const std::vector<Bytes>& blobs) {
  out.u32(static_cast<std::uint32_t>(blobs.size()));
  for (const Bytes& blob : blobs) out.blob(blob);
}

}  // namespace

Encoder& Encoder::u32(std::uint32_t value) {
  const std::size_t at = bytes_.size();
  bytes_.resize(at + 4);
  put_u32(std::span(bytes_).subspan(at), value);
  return *this;
}

Encoder& Encoder::u64(std::uint64_t value) {
  return u32(static_cast<std::uint32_t>(value)).u32(static_cast<std::uint32_t>(value >> 32));
}

Encoder& Encoder::text(std::string_view value) { return blob(std::as_bytes(std::span(value))); }

Encoder& Encoder::blob(BytesView value) {
  return u32(static_cast<std::uint32_t>(value.size())).raw(value);
}

Encoder& Encoder::raw(BytesView value) {
  bytes_.insert(bytes_.end(), value.begin(), value.end());
  return *this;
}

Frame Encoder::seal(FrameKind kind) {
  put_u32(std::span(bytes_), kMagic);
  put_u32(std::span(bytes_).subspan(4), static_cast<std::uint32_t>(kind));
  put_u32(std::span(bytes_).subspan(8), static_cast<std::uint32_t>(body().size()));
  return std::make_shared<const Bytes>(std::exchange(bytes_, Bytes(kHeaderBytes)));
}

BytesView Decoder::take(std::size_t bytes) {
  ok_ = ok_ && bytes <= rest_.size();
  if (!ok_) return {};
  const BytesView taken = rest_.first(bytes);
  rest_ = rest_.subspan(bytes);
  return taken;
}

std::uint32_t Decoder::u32() {
  std::uint32_t value = 0;
  unsigned shift = 0;
  for (const std::byte byte : take(4)) {
    value |= std::to_integer<std::uint32_t>(byte) << shift;
    shift += 8;
  }
  return value;
}

std::uint64_t Decoder::u64() {
  const std::uint64_t low = u32();
  return low | std::uint64_t{u32()} << 32;
}

std::string Decoder::text() {
  const BytesView bytes = take(u32());
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Bytes Decoder::blob() {
  const BytesView bytes = take(u32());
  return {bytes.begin(), bytes.end()};
}

void Decoder::raw(std::span<std::byte> into) { std::ranges::copy(take(into.size()), into.begin()); }

FrameHeader decode_header(BytesView bytes) {
  assert(bytes.size() == kHeaderBytes);
  Decoder in(bytes);
  FrameHeader header;
  header.magic = in.u32();
  header.kind = static_cast<FrameKind>(in.u32());
  header.length = in.u32();
  return header;
}

Frame encode_auth(const Token& token) { return Encoder().raw(token).seal(FrameKind::kAuth); }

Frame encode_goodbye() { return Encoder().seal(FrameKind::kGoodbye); }

Frame encode(const HelloMessage& message) {
  const Hello& hello = message.hello;
  Encoder out;
  out.u32(hello.ranks).u32(hello.rank).text(hello.host).i32(hello.pid).i32(hello.device);
  out.text(hello.name).u32(static_cast<std::uint32_t>(hello.facts.size()));
  for (const Fact& fact : hello.facts) out.text(fact.name).text(fact.value);
  out.blob(hello.blob)
      .u64(hello.process)
      .u32(message.timeout_ms)
      .u32(message.in_root_process ? 1 : 0);
  return out.seal(FrameKind::kHello);
}

template <>
std::optional<HelloMessage> decode(BytesView body) {
  Decoder in(body);
  HelloMessage message;
  Hello& hello = message.hello;
  hello.ranks = in.u32();
  hello.rank = in.u32();
  hello.host = in.text();
  hello.pid = in.i32();
  hello.device = in.i32();
  hello.name = in.text();
  for (std::uint32_t left = in.u32(); left > 0 && in.ok(); --left) {
    Fact fact;
    fact.name = in.text();
    fact.value = in.text();
    hello.facts.push_back(std::move(fact));
  }
  hello.blob = in.blob();
  hello.process = in.u64();
  message.timeout_ms = in.u32();
  message.in_root_process = in.u32() != 0;
  const bool sound = hello.rank < hello.ranks && hello.ranks <= kMaxRanks;
  if (!in.complete() || !sound || hello.blob.size() > kMaxBlob) return {};
  return message;
}

Frame encode(const WelcomeMessage& message) {
  Encoder out;
  out.u32(static_cast<std::uint32_t>(message.peers.size()));
  for (std::size_t rank = 0; rank < message.peers.size(); ++rank) {
    const Peer& peer = message.peers[rank];
    out.text(peer.host).i32(peer.pid).i32(peer.device).blob(peer.blob).u64(peer.process);
    out.u32(message.in_root_process[rank] ? 1 : 0);
  }
  return out.seal(FrameKind::kWelcome);
}

template <>
std::optional<WelcomeMessage> decode(BytesView body) {
  Decoder in(body);
  WelcomeMessage message;
  for (std::uint32_t left = in.u32(); left > 0 && in.ok(); --left) {
    Peer peer;
    peer.host = in.text();
    peer.pid = in.i32();
    peer.device = in.i32();
    peer.blob = in.blob();
    peer.process = in.u64();
    message.peers.push_back(std::move(peer));
    message.in_root_process.push_back(in.u32() != 0);
  }
  if (!in.complete()) return {};
  return message;
}

Frame encode(const Failure& failure) {
  return Encoder().i32(failure.code).text(failure.text).seal(FrameKind::kRefused);
}

template <>
std::optional<Failure> decode(BytesView body) {
  Decoder in(body);
  Failure failure;
  failure.code = static_cast<HcclResult>(in.i32());
  failure.text = in.text();
  if (!in.complete() || failure.code == HCCL_SUCCESS) return {};
  return failure;
}

Frame encode(FrameKind kind, const PeerMessage& message) {
  return Encoder().u32(message.rank).text(message.what).seal(kind);
}

template <>
std::optional<PeerMessage> decode(BytesView body) {
  Decoder in(body);
  PeerMessage message;
  message.rank = in.u32();
  message.what = in.text();
  if (!in.complete()) return {};
  return message;
}

Frame encode(std::uint32_t sequence, std::uint32_t timeout_ms, BytesView bytes) {
  return Encoder().u32(sequence).u32(timeout_ms).blob(bytes).seal(FrameKind::kGather);
}

template <>
std::optional<GatherMessage> decode(BytesView body) {
  Decoder in(body);
  GatherMessage message;
  message.sequence = in.u32();
  message.timeout_ms = in.u32();
  message.bytes = in.blob();
  if (!in.complete() || message.bytes.size() > kMaxBlob) return {};
  return message;
}

Frame encode(const GatheredMessage& message) {
  Encoder out;
  out.u32(message.sequence);
  put_blobs(out, message.parts);
  return out.seal(FrameKind::kGathered);
}

template <>
std::optional<GatheredMessage> decode(BytesView body) {
  Decoder in(body);
  GatheredMessage message;
  message.sequence = in.u32();
  for (std::uint32_t left = in.u32(); left > 0 && in.ok(); --left)
    message.parts.push_back(in.blob());
  if (!in.complete()) return {};
  return message;
}

Frame encode_post(FrameKind kind, std::uint32_t rank, BytesView bytes) {
  return Encoder().u32(rank).blob(bytes).seal(kind);
}

template <>
std::optional<PostMessage> decode(BytesView body) {
  Decoder in(body);
  PostMessage message;
  message.rank = in.u32();
  message.bytes = in.blob();
  if (!in.complete() || message.bytes.size() > kMaxPost) return {};
  return message;
}

Frame encode(const GatherFailedMessage& message) {
  Encoder out;
  out.u32(message.sequence).i32(message.failure.code).text(message.failure.text);
  return out.seal(FrameKind::kGatherFailed);
}

template <>
std::optional<GatherFailedMessage> decode(BytesView body) {
  Decoder in(body);
  GatherFailedMessage message;
  message.sequence = in.u32();
  message.failure.code = static_cast<HcclResult>(in.i32());
  message.failure.text = in.text();
  if (!in.complete() || message.failure.code == HCCL_SUCCESS) return {};
  return message;
}

}  // namespace weft::control
