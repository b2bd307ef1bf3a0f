// SPDX-License-Identifier: Apache-2.0
// What was measured and chosen, as a table, a chart and JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tune/choice.hpp"
#include "tune/findings.hpp"
#include "tune/plot.hpp"

namespace weft::tools {

/// One operation and what is to be done about it.
struct Tuned {
  Findings findings;
  std::vector<Stretch> stretches;
};

/// Medians in microseconds: a line for each algorithm, a column for each size. Lines end with \n
/// and have no blanks at the end.
[[nodiscard]] std::string table_of(const Tuned& tuned);

/// "mesh.one_shot up to 512, then mesh.two_shot (as before)".
[[nodiscard]] std::string choice_text(const Tuned& tuned);

/// What the marks in a table mean.
[[nodiscard]] std::string marks_text();

[[nodiscard]] Chart chart_of(const Tuned& tuned);
[[nodiscard]] nlohmann::ordered_json json_of(const Tuned& tuned);

}  // namespace weft::tools
