// SPDX-License-Identifier: Apache-2.0
// What the opaque bytes of an HcclRootInfo hold.
#pragma once

#include <cstdint>
#include <string>

#include "control/wire.hpp"
#include "hccl/hccl_types.h"

namespace weft::control {

struct RootInfo {
  std::string ip;
  std::uint16_t port = 0;
  std::string host;      // of the serving process
  std::int32_t pid = 0;  // of the serving process; 0: a known root, nobody knows who will serve it
  Token token{};         // of a known root: the digest of the rank table
  std::string identifier;

  bool known() const noexcept { return pid == 0; }
};

void write_root_info(const RootInfo& from, HcclRootInfo* to);

/// Throws Error HCCL_E_PARA if the bytes were not written by write_root_info() of this version.
RootInfo read_root_info(const HcclRootInfo& from);

}  // namespace weft::control
