// SPDX-License-Identifier: Apache-2.0
// Schedules as text, for people: listings, and the steps that messages speak of.
#pragma once

#include <cstddef>
#include <string>

#include "schedule/schedule.hpp"

namespace weft::schedule {

/// A listing, one step a line: "r2   5: reduce out[2/4]@2 <- in[2/4]@0 + in[2/4]@1".
[[nodiscard]] std::string dump(const Schedule& schedule);

/// One step without its number; at most `max_operands` destinations and as many sources are named.
[[nodiscard]] std::string dump_step(const Schedule& schedule, const Step& step,
                                    size_t max_operands = SIZE_MAX);

/// "out[1][2/4]@3": part 2 of 4 of block 1 of Out of rank 3. The block is left out where a space
/// has just one, the part where the block is whole.
[[nodiscard]] std::string dump_chunk(const Shape& shape, const weft_chunk& chunk);

}  // namespace weft::schedule
