// SPDX-License-Identifier: Apache-2.0
#include "comm/experiment_report.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"

namespace weft::comm {
namespace {

ExperimentReport report_with(double first_us, double second_us, uint32_t rounds) {
  ExperimentReport report;
  report.experiment = "x";
  report.place = "p.toml:7";
  report.communicator = "a \"name\"";
  report.id = "x-00ff";
  report.rank = 1;
  report.ranks = 4;
  report.op = "all_reduce";
  report.block = 10;
  report.arms = {{"mesh.two_shot", "rule of two_shot\n", 100, ""},
                 {"ring.broadcast { pieces = 4 }", "rule of ring\n", 90, "it is broken"}};
  report.series = {"all_reduce of 3 fp32, sum"};
  for (uint32_t round = 1; round <= rounds; ++round) {
    report.blocks.push_back({0, round, 0, 1, first_us + round * 1e-3});
    report.blocks.push_back({0, round, 1, 1, second_us + round * 1e-3});
  }
  return report;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(ExperimentReport, SaysWhatWasFound) {
  const std::string text = text_of(report_with(10, 20, 100));
  EXPECT_TRUE(has(text,
                  "experiment \"x\" (p.toml:7) on communicator a \"name\": all_reduce, by the "
                  "times of rank 1 of 4"))
      << text;
  EXPECT_TRUE(has(text, "\n  mesh.two_shot: 100 calls, median 10.0")) << text;
  EXPECT_TRUE(has(text, "times the first; left out of some calls: it is broken")) << text;
  EXPECT_TRUE(has(text, "\n  mesh.two_shot is the fastest, after 100 rounds")) << text;
  EXPECT_TRUE(has(text_of(report_with(10, 20, 2), ""), "no verdict after 2 rounds"));
  EXPECT_TRUE(has(text_of(report_with(10, 20, 0), ""), "no verdict after 0 rounds"));
}

TEST(ExperimentReport, SaysWhereItDependsOnTheKindOfCall) {
  ExperimentReport report = report_with(10, 20, 300);
  report.series.emplace_back("all_reduce of 99 fp32, sum");
  for (uint32_t round = 1; round <= 100; ++round) {
    report.blocks.push_back({1, round, 0, 1, 500.0 + round});
    report.blocks.push_back({1, round, 1, 1, 300.0 + round});
  }
  const std::string text = text_of(report);
  EXPECT_TRUE(has(text, "which is the fastest depends on the kind of call")) << text;
  EXPECT_TRUE(has(text, "3 fp32, sum: mesh.two_shot 10.1")) << text;
  EXPECT_TRUE(has(text, "us, mesh.two_shot is the fastest\n")) << text;
  EXPECT_TRUE(has(text, "us, ring.broadcast { pieces = 4 } is the fastest")) << text;
  EXPECT_EQ(rule_of(report, stats::judge(2, report.blocks)), "");
}

TEST(ExperimentReport, OfARootSaysThatOthersMaySeeItOtherwise) {
  ExperimentReport report = report_with(10, 20, 100);
  report.op = "broadcast";
  EXPECT_TRUE(has(text_of(report), "; other ranks may see it otherwise")) << text_of(report);
  EXPECT_FALSE(has(text_of(report, "the slowest of 4 ranks"), "otherwise"));
}

TEST(ExperimentReport, TheRuleIsOfTheFastestArm) {
  const auto rule = [](const ExperimentReport& report) {
    return rule_of(report, stats::judge(2, report.blocks));
  };
  EXPECT_EQ(rule(report_with(20, 10, 100)), "") << "that arm cannot do all calls";
  ExperimentReport able = report_with(20, 10, 100);
  able.arms[1].off.clear();
  EXPECT_EQ(rule(able), "rule of ring\n");
  EXPECT_EQ(rule(report_with(10, 20, 100)), "rule of two_shot\n");
  EXPECT_EQ(rule(report_with(10, 20, 1)), "");
}

TEST(ExperimentReport, ComesBackFromItsFile) {
  const ExperimentReport report = report_with(10, 20, 30);
  const std::string json = json_of(report);
  const ExperimentReport again = parse_report(json, "r.json");
  EXPECT_EQ(json_of(again), json);
  EXPECT_EQ(again.rank, 1u);
  EXPECT_EQ(again.arms[1].off, "it is broken");
  EXPECT_EQ(again.blocks.size(), 60u);
  EXPECT_EQ(again.blocks[3].us, report.blocks[3].us);
}

TEST(ExperimentReport, RefusesFilesThatAreNone) {
  const std::string good = json_of(report_with(10, 20, 1));
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  for (const std::string& bad :
       {std::string(), std::string("{}"), std::string("[1]"), good.substr(0, good.size() / 2),
        changed("\"form\":1", "\"form\":2"), changed("\"rank\":1", "\"rank\":4"),
        changed("\"rank\":1", "\"rank\":\"1\""), changed("\"rank\":1", "\"rank\":1.5"),
        changed("\"ranks\":4", "\"ranks\":-1"), changed("\"block\":10", "\"block\":0"),
        changed("\"calls\":100", "\"calls\":-1"), changed("[0,1,0,1,", "[0,1,2,1,"),
        changed("[0,1,0,1,", "[1,1,0,1,"), changed("[0,1,0,1,10", "[0,1,0,1,-10"),
        changed("\"series\":[", "\"series\":[1,")}) {
    try {
      (void)parse_report(bad, "r.json");
      ADD_FAILURE() << "accepted: " << bad;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), HCCL_E_PARA);
      EXPECT_TRUE(has(error.what(), "r.json is no report of an experiment: ")) << error.what();
    }
  }
}

}  // namespace
}  // namespace weft::comm
