// SPDX-License-Identifier: Apache-2.0
// How the time for a comparison of arms is shared out among its sizes.
#pragma once

#include <cstddef>
#include <span>

#include "bench/spec.hpp"

namespace weft::tools {

/// Blocks of calls of every arm that a race takes at the least.
inline constexpr size_t kFewestBlocks = 5;

/// Pairs of blocks that a comparison of two takes at the least: with fewer there is no verdict,
/// even if the same one is always the faster by far.
inline constexpr size_t kFewestPairs = 16;

/// A block of calls takes at least so many seconds: reading the clock must not count.
inline constexpr double kShortestBlock = 100e-6;

/// Seconds that comparing all of spec.arms at a size may take at the least, on an ordinary machine.
[[nodiscard]] double least_time(const Spec& spec, const Shape& shape);

/// The same of making and destroying the ranks and their communicators.
[[nodiscard]] double starting_time(const Spec& spec);

/// Seconds for the first `count` of what is to be done, of which each part has a least time: that,
/// and an equal share for each part of what is left beside.
[[nodiscard]] double share(double left, std::span<const double> least, size_t count);

}  // namespace weft::tools
