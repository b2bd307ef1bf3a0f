// SPDX-License-Identifier: Apache-2.0
// One rank of a bench, an ordinary client of HCCL and ACL.
#pragma once

#include <cstdint>

#include "bench/spec.hpp"
#include "bench/team.hpp"

namespace weft::tools {

/// Joins, measures all shapes (rank 0 tells the supervisor), leaves. Blocks. What goes wrong ends
/// the process through team.fail(). aclInit() has been called.
void run_rank(const Spec& spec, Team& team, uint32_t rank);

/// aclInit() and aclFinalize() of a process; `rank` is the one to blame.
void open_runtime(Team& team, uint32_t rank);
void close_runtime(Team& team, uint32_t rank);

}  // namespace weft::tools
