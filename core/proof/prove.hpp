// SPDX-License-Identifier: Apache-2.0
// Proves an algorithm of a plugin: runs the checker over roots, parameters and placements, and
// looks for the smallest counter-example.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "plugin/registry.hpp"
#include "schedule/check.hpp"

namespace weft::proof {

/// What an algorithm may be asked for with a number of ranks.
struct Case {
  uint32_t ranks = 0;
  uint32_t root = 0;
  std::vector<int64_t> params;  // in declared order
};

/// Values that parameters have in every case, in declared order; the others vary.
using Fixed = std::vector<std::optional<int64_t>>;

/// All cases for a number of ranks, the smallest first: every root of up to 17 ranks, of more the
/// first, middle and last one; the default values, then each parameter at its ends, next to the
/// least, and in the middle. With more than 32 ranks the last root and the default values only.
[[nodiscard]] std::vector<Case> cases(const plugin::Algorithm& algorithm, uint32_t ranks,
                                      const Fixed& fixed = {});

/// Whether the algorithm declares that it serves so many.
[[nodiscard]] bool serves(const plugin::Algorithm& algorithm, uint32_t ranks);

/// The schedules of all ranks. Throws Error as schedule::emit does.
[[nodiscard]] std::vector<schedule::Schedule> emit(const plugin::Algorithm& algorithm,
                                                   const Case& of);

struct CounterExample {
  Case of;
  uint32_t calls = 1;  // in a row that show it
  schedule::Report report;
  std::vector<schedule::Schedule> schedules;  // by rank; fewer if one was refused
};

/// The schedules of a case are right (nothing), or how they are not: in the first placement and
/// with the fewest calls that show it.
[[nodiscard]] std::optional<CounterExample> refute(const plugin::Algorithm& algorithm,
                                                   const Case& of);

struct Verdict {
  std::optional<CounterExample> wrong;
  uint64_t cases = 0;     // that were proved
  bool complete = false;  // all were, or one was refuted
};

/// Tries all cases of a number of ranks until one is refuted or `stop`, asked before each, says so.
[[nodiscard]] Verdict prove(const plugin::Algorithm& algorithm, uint32_t ranks,
                            const Fixed& fixed = {}, const std::function<bool()>& stop = {});

/// Numbers of ranks in ascending order: the smallest counter-example; none if there is none.
[[nodiscard]] std::optional<CounterExample> smallest(const plugin::Algorithm& algorithm,
                                                     std::span<const uint32_t> ranks,
                                                     const Fixed& fixed = {});

}  // namespace weft::proof
