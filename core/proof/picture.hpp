// SPDX-License-Identifier: Apache-2.0
// A counter-example for people: what it is, its steps as text, and what to do.
#pragma once

#include <string>
#include <vector>

#include "proof/prove.hpp"
#include "proof/timeline.hpp"

namespace weft::proof {

/// "3 ranks, root 1, pieces = 8, in place".
[[nodiscard]] std::string describe(const plugin::Algorithm& algorithm, const CounterExample& found);

/// What to do about it, in a sentence or two; empty where the fault says it all. May run the
/// checker for other numbers of ranks.
[[nodiscard]] std::string advice(const plugin::Algorithm& algorithm, const CounterExample& found);

/// The ranks that a drawing shows, ascending: those that take part, all if they are few.
[[nodiscard]] std::vector<uint32_t> shown_ranks(const CounterExample& found, uint32_t most);

/// A column for each rank that takes part, a line for each step, the steps of the fault marked with
/// '!'. Lines end with '\n'. Empty if the fault is not one of steps.
[[nodiscard]] std::string draw(const CounterExample& found);

/// All of these: a headline, the fault in words, the drawing, the advice.
[[nodiscard]] std::string picture(const plugin::Algorithm& algorithm, const CounterExample& found);

}  // namespace weft::proof
