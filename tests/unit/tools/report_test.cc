// SPDX-License-Identifier: Apache-2.0
#include "tune/report.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/texts.hpp"
#include "findings.hpp"

namespace weft::tools {
namespace {

Tuned tuned_example() {
  Findings findings = make_up({{1024, {1.004, 0.5, 30.04}, {0, 2}, 2},
                               {4096, {1.0, 0.71, 90}, {0, 2}, 2},
                               {16384, {1.0, 1.41, 123.4}, {1, 2}, 0},
                               {65536, {1.0, 1.01, 200}, {2}, 0}});
  findings.sizes[3].timings[2] = {0, 0, 5, false};
  for (SizeFindings& size : findings.sizes) size.timings[2].slower = true;
  Tuned tuned{findings, {}};
  tuned.stretches = choose(findings);
  return tuned;
}

TEST(TuneReport, TheTableMarksWhatIsFastestAndWhatIsAsGood) {
  EXPECT_EQ(table_of(tuned_example()),
            "all_reduce, us     1KiB     4KiB    16KiB    64KiB\n"
            "  x.a              1.00     1.00    *1.00    *1.00\n"
            "  x.b             *0.50    *0.71     1.41    =1.01\n"
            "  x.c              30.0     90.0      123    wrong\n");
}

TEST(TuneReport, TheChoiceIsASentence) {
  EXPECT_EQ(choice_text(tuned_example()), "x.b up to 8KiB, then as before");
}

TEST(TuneReport, TheChartHasALineForEachAndNoWrongPoints) {
  const Chart chart = chart_of(tuned_example());
  ASSERT_EQ(chart.lines.size(), 3U);
  EXPECT_EQ(chart.lines[2].name, "x.c");
  EXPECT_EQ(chart.lines[2].points.size(), 3U);
  ASSERT_EQ(chart.marks.size(), 1U);
  EXPECT_EQ(chart.marks[0].x, 8192);
  EXPECT_EQ(chart.marks[0].text, "8KiB → x.a");
  EXPECT_EQ(chart.x_ticks.size(), 4U);
}

TEST(TuneReport, TheChartMarksWhereThePolicyItselfChanges) {
  Tuned tuned{make_up({{16, {1, 1}, {}, 0}, {64, {1, 1}, {}, 1}, {256, {1, 1}, {}, 1}}), {}};
  tuned.stretches = choose(tuned.findings);
  const Chart chart = chart_of(tuned);
  ASSERT_EQ(chart.marks.size(), 1U);
  EXPECT_DOUBLE_EQ(chart.marks[0].x, 32);
  EXPECT_EQ(chart.marks[0].text, "→ x.b");
}

TEST(TuneReport, TheDocumentHasEverySizeOnce) {
  const nlohmann::ordered_json document = json_of(tuned_example());
  EXPECT_EQ(document["operation"], "all_reduce");
  ASSERT_EQ(document["sizes"].size(), 4U);
  EXPECT_EQ(document["sizes"][0]["before"], "x.c");
  EXPECT_EQ(document["sizes"][0]["chosen"], "x.b");
  EXPECT_EQ(document["sizes"][3]["chosen"], "x.a");
  EXPECT_TRUE(document["sizes"][3]["algorithms"][2]["median_us"].is_null());
  EXPECT_EQ(document["sizes"][3]["algorithms"][2]["wrong"], 5);
  ASSERT_EQ(document["rules"].size(), 1U);
  EXPECT_EQ(document["rules"][0]["bytes"], "..8KiB");
}

TEST(TuneFindings, OfTwoLaunchesSlowerIsWhatIsSlowerInBoth) {
  const Findings one = make_up({{8, {1.0, 4.0, 2.0, 9.0}, {2, 3}, 1}});
  Findings two = make_up({{8, {4.0, 1.0, 2.0, 9.0}, {0, 2, 3}, 1}});
  two.sizes[0].timings[3].wrong = 7;
  const SizeFindings both = merged(one.sizes[0], two.sizes[0]);
  EXPECT_EQ(both.base, 1U);
  EXPECT_DOUBLE_EQ(both.timings[0].median_us, 2);
  EXPECT_EQ(both.timings[0].blocks, 200U);
  EXPECT_FALSE(both.timings[0].slower);  // in one of them only
  EXPECT_TRUE(both.timings[2].slower);
  EXPECT_EQ(both.timings[3].wrong, 7U);
  // What comes out as the fastest is not slower than itself.
  const Findings a = make_up({{8, {1.0, 4.0, 1.5}, {1, 2}, 0}});
  const Findings b = make_up({{8, {4.0, 1.0, 1.5}, {0, 2}, 0}});
  EXPECT_FALSE(merged(a.sizes[0], b.sizes[0]).timings[2].slower);
}

TEST(TuneReport, SizesAreShort) {
  EXPECT_EQ(size_text(0), "-");
  EXPECT_EQ(size_text(8), "8");
  EXPECT_EQ(size_text(1000), "1000");
  EXPECT_EQ(size_text(1024), "1KiB");
  EXPECT_EQ(size_text(1536), "1.5KiB");
  EXPECT_EQ(size_text(3U << 20), "3MiB");
}

}  // namespace
}  // namespace weft::tools
