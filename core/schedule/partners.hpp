// SPDX-License-Identifier: Apache-2.0
// Which ranks have to do with each other in a call, and with which memory.
#pragma once

#include <functional>
#include <vector>

#include "schedule/schedule.hpp"

namespace weft::schedule {

/// The ranks that shape.rank signals or waits for, whose memory it uses, or that use its memory:
/// what one of them does is seen in the schedules of both. Entry by rank; the own one is false.
[[nodiscard]] std::vector<bool> partners(const Shape& shape,
                                         const std::function<Schedule(const Shape&)>& emit);

/// Whether other ranks read or write the In and the Out of shape.rank.
struct Exposure {
  bool in = true;
  bool out = true;
};
[[nodiscard]] Exposure exposure(const Shape& shape,
                                const std::function<Schedule(const Shape&)>& emit);

}  // namespace weft::schedule
