// SPDX-License-Identifier: Apache-2.0
// The steps of all ranks in an order that signals allow: for drawings, and for counting rounds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/check.hpp"
#include "schedule/schedule.hpp"

namespace weft::proof {

/// A step, or the begin of a call (schedule::kCallerStep), at its place in a drawing.
struct Mark {
  uint32_t call = 0;  // from 1
  uint32_t step = 0;
  uint32_t row = 0;      // each rank has one mark in a row; what a wait waits for is above it
  uint32_t round = 0;    // signals on the longest chain that leads here, in its call
  uint32_t meeting = 0;  // of a signal and its wait: their common number, from 1; 0: it has none
  bool reached = true;   // false: a wait whose signal never comes
};

struct Timeline {
  std::vector<std::vector<Mark>> ranks;  // up to the first wait that is never over
  uint32_t rows = 0;
  uint32_t rounds = 0;  // of one call

  /// Null if the rank never comes there.
  [[nodiscard]] const Mark* find(const schedule::Event& event) const;
};

/// Of so many calls in a row. After the last one the begin of the next call is marked. Schedules
/// are by rank.
[[nodiscard]] Timeline timeline(std::span<const schedule::Schedule> schedules, uint32_t calls);

}  // namespace weft::proof
