// SPDX-License-Identifier: Apache-2.0
// One rank of `weft bench --init`: what communicators cost before they are used.
#pragma once

#include <cstdint>

#include "bench/spec.hpp"
#include "bench/team.hpp"

namespace weft::tools {

/// Makes spec.iterations communicators one after the other, all of which stay until the last one is
/// there, and destroys them (rank 0 tells the supervisor). Blocks. What goes wrong ends the process
/// through team.fail(). aclInit() has been called.
void run_creation(const Spec& spec, Team& team, uint32_t rank);

}  // namespace weft::tools
