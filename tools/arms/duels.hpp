// SPDX-License-Identifier: Apache-2.0
// Two arms against each other at many sizes: all of it in two launches of the ranks, the second one
// with the arms in the other order, since the place of a communicator's memory, and when it was
// made, can be worth some percent.
#pragma once

#include <functional>
#include <vector>

#include "bench/rows.hpp"
#include "bench/spec.hpp"
#include "progress.hpp"

namespace weft::tools {

/// Sizes at which spec.op is measured with spec.arms, of which there are two.
using Duels = std::vector<Spec>;

[[nodiscard]] size_t cells_of(const Duels& duels);

/// Seconds that they take at the least, on an ordinary machine.
[[nodiscard]] double least_time(const Duels& duels);

/// Calls `found` for every size: one arm is the faster if both launches say so, with an error of 3
/// % in all. Blocks for about `seconds`. 0, or 128 + the signal that interrupted it. Throws
/// Failure.
int run_duels(Duels duels, double seconds, ProgressLine& line,
              const std::function<void(size_t duel, const Comparison& of)>& found);

}  // namespace weft::tools
