// SPDX-License-Identifier: Apache-2.0
#include "control/root_info.hpp"

#include <cassert>
#include <cstring>

#include "base/error.hpp"

namespace weft::control {
namespace {

constexpr std::uint64_t kRootInfoMagic = 0x314f464e'54464557;  // the top byte is the version

// FNV-1a: finds bytes that were cut off or damaged on their way to a rank.
std::uint64_t checksum(BytesView bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::byte byte : bytes) {
    hash ^= std::to_integer<std::uint64_t>(byte);
    hash *= 0x100000001b3;
  }
  return hash;
}

}  // namespace

void write_root_info(const RootInfo& from, HcclRootInfo* to) {
  Encoder inner;
  inner.text(from.ip).u32(from.port).text(from.host).i32(from.pid);
  inner.raw(from.token).text(from.identifier);
  Encoder outer;
  outer.u64(kRootInfoMagic).u64(checksum(inner.body())).blob(inner.body());
  assert(outer.body().size() <= sizeof to->internal);
  std::memset(to->internal, 0, sizeof to->internal);
  std::memcpy(to->internal, outer.body().data(), outer.body().size());
}

RootInfo read_root_info(const HcclRootInfo& from) {
  Decoder outer(std::as_bytes(std::span(from.internal)));
  const std::uint64_t magic = outer.u64();
  const std::uint64_t sum = outer.u64();
  const Bytes body = outer.blob();
  Decoder in(body);
  RootInfo info;
  info.ip = in.text();
  const std::uint32_t port = in.u32();
  info.port = static_cast<std::uint16_t>(port);
  info.host = in.text();
  info.pid = in.i32();
  in.raw(info.token);
  info.identifier = in.text();
  if (magic != kRootInfoMagic || !outer.ok() || sum != checksum(body) || !in.complete() ||
      info.port != port)
    throw Error(HCCL_E_PARA,
                "the root info is not one of this library's HcclGetRootInfo, or was damaged on its "
                "way to this rank; hand out all " +
                    std::to_string(sizeof from.internal) + " bytes unchanged");
  return info;
}

}  // namespace weft::control
