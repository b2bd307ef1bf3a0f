// SPDX-License-Identifier: Apache-2.0
// Time against size, a line for each algorithm, as an SVG picture that loads nothing.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace weft::tools {

/// Axes are logarithmic: x and y are above 0. A chart may have a single x.
struct Chart {
  struct Point {
    double x;
    double y;
  };
  struct Line {
    std::string name;
    std::vector<Point> points;  // by growing x
  };
  struct Mark {
    double x;
    std::string text;
  };
  std::string title;
  std::vector<Line> lines;
  std::vector<Mark> marks;                              // upright lines, in the order of x
  std::vector<std::pair<double, std::string>> x_ticks;  // and what is written there
};

/// The charts below one another, `heading` above them.
[[nodiscard]] std::string svg_of(const std::string& heading, const std::vector<Chart>& charts);

}  // namespace weft::tools
