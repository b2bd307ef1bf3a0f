// SPDX-License-Identifier: Apache-2.0
// `weft bench`: every operation is right in every way of running, and the report says what was
// done.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "support.hpp"

namespace weft::test {
namespace {

using nlohmann::json;

const Words kOperations = {"all_reduce",      "reduce",       "broadcast",      "scatter",
                           "all_gather",      "all_gather_v", "reduce_scatter", "reduce_scatter_v",
                           "all_to_all",      "all_to_all_v", "all_to_all_vc",  "send_recv",
                           "batch_send_recv", "barrier"};

// Short, with sizes that are no round numbers of elements.
Words quick(const std::string& op, int ranks, const Words& more) {
  Words words = {"bench", op, "-n", std::to_string(ranks), "--json", "--min-time", "0.005"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

json measure(const std::string& op, int ranks, const Words& more) {
  const Outcome outcome = weft(quick(op, ranks, more));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  json document = json::parse(outcome.out, nullptr, false);
  EXPECT_FALSE(document.is_discarded()) << outcome.out;
  return document;
}

void expect_right(const json& document, size_t rows) {
  ASSERT_EQ(document["results"].size(), rows) << document.dump(2);
  EXPECT_FALSE(document.contains("error"));
  for (const json& row : document["results"]) {
    EXPECT_EQ(row["wrong"], 0) << row.dump(2);
    EXPECT_GT(row["min_us"], 0);
    EXPECT_LE(row["min_us"], row["median_us"]);
    EXPECT_LE(row["median_us"], row["max_us"]);
    EXPECT_GE(row["batches"], 5);
    EXPECT_NE(row["algorithm"], "");
  }
}

class EveryOperation : public testing::TestWithParam<std::tuple<std::string, int, bool>> {};

TEST_P(EveryOperation, IsRight) {
  const auto& [op, ranks, threads] = GetParam();
  Words more;
  if (op != "barrier") more = {"-b", "7", "-e", "70001", "-f", "10"};
  if (threads) more.push_back("--threads");
  const json document = measure(op, ranks, more);
  expect_right(document, op == "barrier" ? 1 : 5);
  EXPECT_EQ(document["operation"], op);
  EXPECT_EQ(document["ranks"], ranks);
  EXPECT_EQ(document["mode"], threads ? "threads" : "processes");
}

std::vector<EveryOperation::ParamType> every_operation() {
  std::vector<EveryOperation::ParamType> all;
  for (const std::string& op : kOperations) {
    // A rank cannot send to itself.
    for (int ranks = op == "send_recv" ? 2 : 1; ranks <= 5; ++ranks) {
      for (const bool threads : {false, true}) all.emplace_back(op, ranks, threads);
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, EveryOperation, testing::ValuesIn(every_operation()),
                         [](const testing::TestParamInfo<EveryOperation::ParamType>& each) {
                           return fmt::format("{}_{}_{}", std::get<0>(each.param),
                                              std::get<1>(each.param),
                                              std::get<2>(each.param) ? "threads" : "processes");
                         });

class EveryType : public testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(EveryType, IsReducedRightly) {
  const auto& [type, op] = GetParam();
  expect_right(measure("all_reduce", 3, {"-d", type, "-o", op, "-b", "40000", "-e", "40000"}), 1);
}

INSTANTIATE_TEST_SUITE_P(All, EveryType,
                         testing::Combine(testing::Values("int8", "int16", "int32", "int64",
                                                          "uint8", "uint16", "uint32", "uint64",
                                                          "fp16", "bfp16", "fp32", "fp64"),
                                          testing::Values("sum", "prod", "max", "min")),
                         [](const testing::TestParamInfo<EveryType::ParamType>& each) {
                           return fmt::format("{}_{}", std::get<0>(each.param),
                                              std::get<1>(each.param));
                         });

TEST(Bench, VectorsOfUnevenBlocksAreReducedRightly) {
  for (const char* type : {"int8", "fp16", "fp64"}) {
    SCOPED_TRACE(type);
    const Words more = {"-d", type, "-o", "max", "-b", "3", "-e", "4099", "-f", "40"};
    expect_right(measure("reduce_scatter_v", 4, more), 3);
  }
}

TEST(Bench, TypesThatCannotBeReducedCanBeMoved) {
  for (const char* op : {"broadcast", "scatter", "all_gather", "all_gather_v", "all_to_all_v",
                         "all_to_all_vc", "send_recv", "batch_send_recv"}) {
    SCOPED_TRACE(op);
    for (const char* type : {"int128", "hif8", "fp8e4m3"}) {
      expect_right(measure(op, 2, {"-d", type, "-b", "1000", "-e", "1000"}), 1);
    }
  }
}

TEST(Bench, WorksInPlace) {
  for (const char* op : {"all_reduce", "reduce", "broadcast", "all_gather", "reduce_scatter"}) {
    SCOPED_TRACE(op);
    const json document = measure(op, 3, {"--in-place", "-b", "7", "-e", "70001", "-f", "100"});
    expect_right(document, 3);
    EXPECT_EQ(document["in_place"], true);
  }
}

class KindOfMemory : public testing::TestWithParam<std::tuple<std::string, std::string, bool>> {};

// The table's last row says by which way the larger buffer of rank 0 went.
TEST_P(KindOfMemory, WorksForEveryOperation) {
  const auto& [memory, way, threads] = GetParam();
  for (const std::string& op : kOperations) {
    if (op == "barrier") continue;
    SCOPED_TRACE(op);
    Words more = {"--memory", memory, "-b", "7", "-e", "70001", "-f", "100"};
    if (threads) more.push_back("--threads");
    const json document = measure(op, 3, more);
    expect_right(document, 3);
    EXPECT_EQ(document["memory"], memory);
    for (const char* side : {"in_way", "out_way"}) {
      const std::string taken = document["results"].back()[side];
      const bool own = taken == "own" && way == "staged";  // where the algorithm allows it
      EXPECT_TRUE(taken == way || taken == "none" || own) << side << " is " << taken;
    }
    // A message that is only received has no way: those of a batch and of collectives have.
    if (op != "send_recv") {
      const json& calls = document["calls_by_way"];
      const int own = way == "staged" ? calls["own"].get<int>() : 0;
      EXPECT_GE(calls[way].get<int>() + own, 6) << calls;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Memory, KindOfMemory,
    testing::Values(std::tuple("heap", "heap", false), std::tuple("symwin", "window", false),
                    std::tuple("symwin", "window", true), std::tuple("zerocopy", "range", false),
                    std::tuple("zerocopy", "range", true), std::tuple("malloc", "staged", false),
                    std::tuple("malloc", "local", true)),
    [](const auto& each) {
      return std::get<0>(each.param) + (std::get<2>(each.param) ? "_threads" : "_processes");
    });

TEST(Bench, MeasuresTheHandWrittenLoopBesideTheOperation) {
  for (const char* op : {"all_reduce", "reduce", "reduce_scatter", "all_gather", "all_to_all",
                         "broadcast", "scatter"}) {
    SCOPED_TRACE(op);
    for (const int ranks : {2, 5}) {
      Words more = {"--limit", "-b", "7", "-e", "70001", "-f", "100"};
      if (ranks == 5) more.push_back("--threads");
      const json document = measure(op, ranks, more);
      expect_right(document, 3);
      for (const json& row : document["results"]) EXPECT_GT(row["limit_us"], 0);
    }
  }
  EXPECT_EQ(weft({"bench", "barrier", "-n", "2", "--limit"}).code, 2);
  EXPECT_EQ(weft({"bench", "all_reduce", "-n", "1", "--limit"}).code, 2);
  EXPECT_EQ(weft({"bench", "all_reduce", "-n", "2", "--limit", "--memory", "malloc"}).code, 2);
}

TEST(Bench, TellsHowMuchComputingTheCallsHide) {
  const Words more = {"--overlap", "--queue", "3", "-b", "8", "-e", "80000", "-f", "10000"};
  const json document = measure("all_reduce", 2, more);
  expect_right(document, 2);
  for (const json& row : document["results"]) {
    EXPECT_TRUE(row["hidden"].is_number_float()) << row.dump(2);
  }
  EXPECT_FALSE(measure("barrier", 2, {})["results"][0].contains("hidden"));
}

TEST(Bench, AnyRankCanBeTheRoot) {
  for (const char* op : {"broadcast", "reduce", "scatter"}) {
    SCOPED_TRACE(op);
    const json document = measure(op, 3, {"--root", "2", "-b", "1K", "-e", "1K"});
    expect_right(document, 1);
    EXPECT_EQ(document["root"], 2);
  }
  expect_right(measure("reduce", 3, {"--root", "1", "--in-place", "-b", "1K", "-e", "1K"}), 1);
}

TEST(Bench, MeasuresAllOperationsInTurn) {
  const Outcome outcome =
      weft({"bench", "all", "-n", "3", "-b", "8", "-e", "64", "-f", "8", "--min-time", "0.005",
            "--in-place", "--root", "1", "-o", "max", "-d", "int32"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const std::string& op : kOperations) {
    EXPECT_NE(outcome.out.find("# " + op + ": 3 processes"), std::string::npos) << op;
  }
}

TEST(Bench, OneRankMeasuresAllThatItCan) {
  const Outcome outcome =
      weft({"bench", "all", "-n", "1", "-b", "8", "-e", "8", "--min-time", "0.005"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find("# send_recv:"), std::string::npos);
  EXPECT_NE(outcome.out.find("# batch_send_recv"), std::string::npos);
}

TEST(Bench, MoreRanksThanTheUsualDevices) {
  expect_right(measure("all_reduce", 9, {"-b", "1K", "-e", "1K"}), 1);
}

TEST(Bench, RanksShareTheVisibleDevices) {
  const Outcome outcome = weft(quick("all_reduce", 3, {"-b", "1K", "-e", "1K"}),
                               {{"ASCEND_RT_VISIBLE_DEVICES", "2,5,7"}});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST(Bench, SizesAreWholeBlocksAndTheColumnShowsThem) {
  const json rows = measure("all_gather", 3, {"-b", "8", "-e", "100", "-f", "5"})["results"];
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0]["bytes"], 12);  // 8 is less than one element of each rank
  EXPECT_EQ(rows[0]["count"], 1);
  EXPECT_EQ(rows[1]["bytes"], 36);  // 40 rounded down
  EXPECT_EQ(rows[1]["count"], 3);
  EXPECT_EQ(rows[2]["bytes"], 96);  // the end is always measured: 100 rounded down
  EXPECT_EQ(rows[2]["count"], 8);
}

TEST(Bench, SizesOfUnevenBlocksAreWholeElements) {
  for (const char* op : {"all_gather_v", "reduce_scatter_v", "all_to_all_v", "all_to_all_vc"}) {
    SCOPED_TRACE(op);
    const json rows = measure(op, 3, {"-b", "3", "-e", "101", "-f", "50"})["results"];
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0]["bytes"], 4);
    EXPECT_EQ(rows[0]["count"], 1);
    EXPECT_EQ(rows[1]["bytes"], 100);
    EXPECT_EQ(rows[1]["count"], 25);
  }
}

TEST(Bench, HalfOfABatchGoesToEitherNeighbour) {
  const json row = measure("batch_send_recv", 3, {"-b", "100", "-e", "100"})["results"][0];
  EXPECT_EQ(row["bytes"], 96);
  EXPECT_EQ(row["count"], 12);
}

TEST(Bench, TwoRanksPlayPingPong) {
  for (const int ranks : {2, 3}) {
    const Outcome outcome = weft({"bench", "send_recv", "-n", std::to_string(ranks), "-b", "8",
                                  "-e", "8", "--min-time", "0.005"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out.find("half of a ping-pong") != std::string::npos, ranks == 2)
        << outcome.out;
  }
}

TEST(Bench, BandwidthFollowsFromTimeAndBytes) {
  const json row = measure("all_reduce", 3, {"-b", "1M", "-e", "1M"})["results"][0];
  const double algorithm = 1048576 / row["median_us"].get<double>() / 1e3;
  EXPECT_NEAR(row["algorithm_gbps"].get<double>(), algorithm, algorithm * 1e-6);
  EXPECT_NEAR(row["bus_gbps"].get<double>(), algorithm * 4 / 3, algorithm * 1e-6);
}

TEST(Bench, TheBusCarriesWhatTheOperationMustMove) {
  const std::map<std::string, double> factors = {{"reduce", 1},
                                                 {"broadcast", 1},
                                                 {"scatter", 2.0 / 3},
                                                 {"all_gather", 2.0 / 3},
                                                 {"all_gather_v", 2.0 / 3},
                                                 {"reduce_scatter", 2.0 / 3},
                                                 {"reduce_scatter_v", 2.0 / 3},
                                                 {"all_to_all", 2.0 / 3},
                                                 {"all_to_all_v", 2.0 / 3},
                                                 {"all_to_all_vc", 2.0 / 3},
                                                 {"send_recv", 1},
                                                 {"batch_send_recv", 1}};
  for (const auto& [op, factor] : factors) {
    SCOPED_TRACE(op);
    const json row = measure(op, 3, {"-b", "12K", "-e", "12K"})["results"][0];
    const double algorithm = row["algorithm_gbps"].get<double>();
    EXPECT_NEAR(row["bus_gbps"].get<double>(), algorithm * factor, algorithm * 1e-6);
  }
}

TEST(Bench, TheNumberOfCallsCanBeGiven) {
  const json row = measure("barrier", 2, {"--iters", "12"})["results"][0];
  const uint64_t calls = row["calls_per_batch"].get<uint64_t>() * row["batches"].get<uint64_t>();
  EXPECT_GE(calls, 12u);
  EXPECT_LE(row["calls_per_batch"], 12u);
}

TEST(Bench, CallsCanBeQueuedBeforeTheStreamIsSynchronised) {
  for (const std::string& op : kOperations) {
    SCOPED_TRACE(op);
    Words more = {"--queue", "20"};
    if (op != "barrier") more.insert(more.end(), {"-b", "7", "-e", "70001", "-f", "100"});
    const json document = measure(op, 3, more);
    expect_right(document, op == "barrier" ? 1 : 3);
    EXPECT_EQ(document["queue"], 20);
    for (const json& row : document["results"]) {
      EXPECT_EQ(row["calls_per_batch"].get<uint64_t>() % 20, 0u) << row.dump(2);
    }
  }
}

TEST(Bench, AGivenNumberOfCallsIsRoundedUpToWholeQueues) {
  const json document =
      measure("all_reduce", 2, {"--queue", "8", "--iters", "12", "--in-place", "-e", "4K"});
  EXPECT_EQ(document["queue"], 8);
  for (const json& row : document["results"]) {
    EXPECT_EQ(row["wrong"], 0) << row.dump(2);
    const uint64_t calls = row["calls_per_batch"].get<uint64_t>() * row["batches"].get<uint64_t>();
    EXPECT_EQ(calls, 16u) << row.dump(2);
  }
}

// Three ranks are more than some machines have cores.
TEST(Bench, RanksCanBeBoundToCores) {
  for (const bool threads : {false, true}) {
    SCOPED_TRACE(threads);
    Words more = {"--bind", "-b", "1K", "-e", "1K"};
    if (threads) more.push_back("--threads");
    const json document = measure("all_reduce", 3, more);
    expect_right(document, 1);
    EXPECT_EQ(document["bound"], true);
  }
}

class CommunicatorsOf : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Bench, CommunicatorsOf, testing::Bool(), [](const auto& test) {
  return std::string(test.param ? "threads" : "processes");
});

TEST_P(CommunicatorsOf, TakeLittleMemoryBeforeTheyAreUsed) {
  Words words = {"bench", "--init", "-n", "8", "--iters", "3", "--json"};
  if (GetParam()) words.push_back("--threads");
  const Outcome outcome = weft(words);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json document = json::parse(outcome.out, nullptr, false);
  EXPECT_EQ(document["ranks"], 8);
  EXPECT_EQ(document["mode"], GetParam() ? "threads" : "processes");
  ASSERT_EQ(document["communicators"].size(), 3u) << outcome.out;
  for (const json& each : document["communicators"]) {
    EXPECT_GT(each["root_ms"], 0);
    EXPECT_GT(each["join_ms"], 0);
    EXPECT_GT(each["destroy_ms"], 0);
    EXPECT_GE(each["create_ms"], each["join_ms"]);
  }
  // The first one also loads the plugins. The HCCL buffer alone has 200 MiB.
  for (size_t i = 1; i < 3; ++i) {
    EXPECT_LE(document["communicators"][i]["resident_bytes"], 2 << 20) << outcome.out;
  }
}

TEST_P(CommunicatorsOf, AreInATableByDefault) {
  Words words = {"bench", "--init", "-n", "2", "--iters", "2"};
  if (GetParam()) words.push_back("--threads");
  const Outcome outcome = weft(words);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("create ms"), std::string::npos) << outcome.out;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 5) << outcome.out;
}

TEST(Bench, TellsWhatChoseTheAlgorithm) {
  Words table = {"bench", "all_to_all", "-n", "2", "-b", "8", "-e", "8", "--iters", "2"};
  const std::map<std::string, std::string> wish = {{"HCCL_ALGO", "level0:pairwise"}};
  const Outcome wished = weft(table, wish);
  EXPECT_NE(
      wished.out.find("# mesh.pairwise chosen by HCCL_ALGO level0:pairwise; in: heap, out: heap\n"),
      std::string::npos)
      << wished.out << wished.err;
  table.push_back("--json");
  const json row = json::parse(weft(table, wish).out, nullptr, false)["results"][0];
  EXPECT_EQ(row["algorithm"], "mesh.pairwise");
  EXPECT_EQ(row["source"], "HCCL_ALGO level0:pairwise");
}

TEST(Bench, TheTableHasARowForEverySize) {
  const Outcome outcome = weft({"bench", "all_reduce", "-n", "2", "-b", "8", "-e", "128", "-f", "4",
                                "--min-time", "0.005", "--no-check"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(sorted_lines(outcome.out).size(), 2u + 1u + 1u + 3u + 1u) << outcome.out;
  EXPECT_NE(outcome.out.find("2 processes, heap memory"), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace weft::test
