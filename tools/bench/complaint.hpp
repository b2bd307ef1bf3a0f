// SPDX-License-Identifier: Apache-2.0
// How a rank tells the supervisor that a call of HCCL or ACL has failed.
#pragma once

#include <cstdint>

#include "bench/team.hpp"

namespace weft::tools {

/// Reports the failure with what the library says about it, and ends the process.
[[noreturn]] void complain(Team& team, uint32_t rank, const char* function, int code);

/// The same, if `code` is one.
inline void need(Team& team, uint32_t rank, const char* function, int code) {
  if (code != 0) complain(team, rank, function, code);
}

}  // namespace weft::tools
