// SPDX-License-Identifier: Apache-2.0
// Starts the ranks of a bench, watches over them and ends them all when one fails.
#pragma once

#include "bench/rows.hpp"
#include "bench/spec.hpp"

namespace weft::tools {

/// Blocks until all ranks have ended; they have also ended if it throws. Call it before anything
/// starts a thread. Rows go to `report` as they come. Returns 0, or 128 + the signal that
/// interrupted it. Throws Failure that names the rank and what it said; also if nothing moves for
/// spec.timeout.
int supervise(const Spec& spec, Rows& rows);

}  // namespace weft::tools
