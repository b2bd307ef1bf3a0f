// SPDX-License-Identifier: Apache-2.0
#include "tune/plot.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace weft::tools {
namespace {

/// A judge that is none of ours: 0 if it reads the text, and finds so many elements of a kind.
int count_elements(const std::string& text, const std::string& kind, int count) {
  const std::string command =
      "python3 -c '\n"
      "import sys, xml.etree.ElementTree as tree\n"
      "root = tree.fromstring(sys.stdin.buffer.read())\n"
      "found = root.findall(\".//{http://www.w3.org/2000/svg}" +
      kind + "\")\nsys.exit(0 if len(found) == " + std::to_string(count) + " else 2)'";
  FILE* pipe = popen(command.c_str(), "w");
  if (pipe == nullptr) return -1;
  fwrite(text.data(), 1, text.size(), pipe);
  return pclose(pipe);
}

Chart example() {
  Chart chart;
  chart.title = "all_reduce <&\">";
  chart.lines = {{"mesh.one_shot", {{8, 0.2}, {64, 0.3}, {512, 2}}},
                 {"a<b>&c", {{8, 0.3}, {64, 0.31}}},
                 {"nothing", {}}};
  chart.marks = {{70, "64 → mesh"}};
  chart.x_ticks = {{8, "8"}, {64, "64"}, {512, "512"}};
  return chart;
}

TEST(Plot, IsWellFormedAndLoadsNothing) {
  const std::string text = svg_of("2 ranks & more", {example(), example()});
  EXPECT_EQ(count_elements(text, "polyline", 6), 0) << text;
  EXPECT_EQ(count_elements(text, "circle", 10), 0);
  EXPECT_NE(count_elements(text + "<", "circle", 10), 0);
  EXPECT_EQ(text.find("href"), std::string::npos);
  EXPECT_EQ(text.find("url("), std::string::npos);
  for (const char* name : {"a&lt;b&gt;&amp;c", "64 → mesh", "all_reduce &lt;&amp;&quot;&gt;"}) {
    EXPECT_NE(text.find(name), std::string::npos) << name;
  }
}

TEST(Plot, EmptyChartsAndSinglePointsArePictures) {
  Chart one;
  one.title = "barrier";
  one.lines = {{"mesh.barrier", {{1, 0.5}}}, {"tree.star_barrier", {{1, 0.7}}}};
  one.x_ticks = {{1, "-"}};
  const std::string text = svg_of("x", {one, Chart{}});
  EXPECT_EQ(count_elements(text, "circle", 2), 0) << text;
  EXPECT_EQ(text.find("nan"), std::string::npos) << text;
  EXPECT_EQ(text.find("inf"), std::string::npos) << text;
  EXPECT_EQ(count_elements(svg_of("x", {}), "circle", 0), 0);
}

TEST(Plot, MoreTimeIsHigherUp) {
  Chart chart;
  chart.lines = {{"line", {{8, 1}, {64, 100}}}};
  const std::string text = svg_of("x", {chart});
  const size_t at = text.find("points=\"");
  ASSERT_NE(at, std::string::npos);
  double x1 = 0;
  double y1 = 0;
  double x2 = 0;
  double y2 = 0;
  ASSERT_EQ(sscanf(text.c_str() + at + 8, "%lf,%lf %lf,%lf", &x1, &y1, &x2, &y2), 4);
  EXPECT_LT(x1, x2);
  EXPECT_GT(y1, y2);
}

}  // namespace
}  // namespace weft::tools
