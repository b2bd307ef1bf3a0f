// SPDX-License-Identifier: Apache-2.0
// The texts of HCCL_ALGO and hcclAlgo: what each means, and what is said about a wrong one.
#include "config/hccl_algo.hpp"

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "base/error.hpp"
#include "base/hccl_algo_names.hpp"
#include "base/op_names.hpp"

namespace weft::config {
namespace {

using Source = HcclAlgoSource;

HcclAlgo variable(const std::string& text) { return parse_hccl_algo(text, Source::kVariable); }

std::string wish(const HcclAlgo& algo, const char* operation) {
  return std::string(algo.level0(operation).name);
}

TEST(HcclAlgo, WithoutTextLeavesEverythingOpen) {
  for (const char* text : {"", " ", "     "}) {
    const HcclAlgo algo = variable(text);
    EXPECT_FALSE(algo.given);
    EXPECT_TRUE(algo.level0_names().empty());
    EXPECT_EQ(algo.canonical(), "built-in");
  }
}

TEST(HcclAlgo, AGlobalItemIsForEveryOperationButTheBarrier) {
  const HcclAlgo algo = variable("level0:ring;level1:NHR");
  EXPECT_TRUE(algo.given);
  for (const std::string_view operation : operation_names()) {
    EXPECT_EQ(algo.level0(operation).name, operation == "barrier" ? "" : "ring") << operation;
  }
  EXPECT_EQ(algo.level0("all_reduce").from, "HCCL_ALGO");
  EXPECT_EQ(algo.canonical(), "level0:ring;level1:NHR");
  EXPECT_TRUE(algo.warnings.empty());
}

TEST(HcclAlgo, AnItemOfAnOperatorIsForItAlone) {
  const HcclAlgo algo = variable("allreduce=level0:ring/broadcast=level0:NA;level1:NB");
  EXPECT_EQ(wish(algo, "all_reduce"), "ring");
  EXPECT_EQ(wish(algo, "broadcast"), "");
  EXPECT_EQ(wish(algo, "all_gather"), "");
  EXPECT_EQ(algo.canonical(), "broadcast=level1:NB/allreduce=level0:ring");
}

TEST(HcclAlgo, AnOperatorSpeaksForItsVectorForm) {
  const HcclAlgo algo = variable(
      "allgather=level0:ring/reducescatter=level0:NHR/alltoall=level0:pairwise/"
      "reduce=level0:H-D_R/scatter=level0:NB");
  EXPECT_EQ(wish(algo, "all_gather"), "ring");
  EXPECT_EQ(wish(algo, "all_gather_v"), "ring");
  EXPECT_EQ(wish(algo, "reduce_scatter"), "NHR");
  EXPECT_EQ(wish(algo, "reduce_scatter_v"), "NHR");
  EXPECT_EQ(wish(algo, "all_to_all"), "pairwise");
  EXPECT_EQ(wish(algo, "all_to_all_v"), "pairwise");
  EXPECT_EQ(wish(algo, "reduce"), "H-D_R");
  EXPECT_EQ(wish(algo, "scatter"), "NB");
  EXPECT_EQ(wish(algo, "all_reduce"), "");
}

TEST(HcclAlgo, KnowsEveryAlgorithmOnEveryLevel) {
  for (const std::string_view name : kHcclAlgoNames) {
    for (const char level : {'0', '1', '2', '3'}) {
      const std::string text = std::string("level") + level + ":" + std::string(name);
      EXPECT_EQ(variable(text).canonical().substr(0, text.size()), text);
    }
    EXPECT_EQ(wish(variable("level0:" + std::string(name)), "all_reduce"), name);
  }
}

TEST(HcclAlgo, KnowsEveryOperator) {
  for (const char* name : {"broadcast", "allreduce", "reduce", "send", "receive", "allgather",
                           "reducescatter", "alltoall", "gather", "scatter", "sendrecv"}) {
    const std::string text = std::string(name) + "=level1:ring";
    EXPECT_EQ(variable(text).canonical(), text);
  }
}

TEST(HcclAlgo, NaAndNullLeaveALevelOpen) {
  for (const char* text : {"level0:NA", "level0:null", "level0:NA;level1:null;level3:NA"}) {
    const HcclAlgo algo = variable(text);
    EXPECT_TRUE(algo.given);
    EXPECT_EQ(wish(algo, "all_reduce"), "");
    EXPECT_EQ(algo.canonical(), "built-in");
    EXPECT_FALSE(algo.beyond_a_host());
  }
  EXPECT_EQ(variable("allreduce=level0:NA;level1:null").canonical(), "built-in");
}

TEST(HcclAlgo, SpacesDoNotCount) {
  const HcclAlgo algo =
      variable("  all reduce = level0 : ri ng ; level1:H-D_R /scatter=level0:NA ");
  EXPECT_EQ(algo.canonical(), "allreduce=level0:ring;level1:H-D_R");
}

TEST(HcclAlgo, LevelsMayStandInAnyOrder) {
  EXPECT_EQ(variable("level3:NB;level0:ring;level2:NHR;level1:ring").canonical(),
            variable("level0:ring;level1:ring;level2:NHR;level3:NB").canonical());
}

TEST(HcclAlgo, AhcBetweenHostsIsAhcBetweenSuperpods) {
  EXPECT_EQ(variable("level1:AHC;level2:ring").canonical(), "level1:AHC;level2:AHC");
}

TEST(HcclAlgo, TellsWhetherItAsksBeyondAHost) {
  EXPECT_FALSE(variable("level0:ring").beyond_a_host());
  EXPECT_TRUE(variable("level0:NA;level1:ring").beyond_a_host());
  EXPECT_TRUE(variable("allreduce=level0:NA;level3:NHR").beyond_a_host());
}

TEST(HcclAlgo, ListsEachNameOfLevel0Once) {
  using Names = std::vector<std::string_view>;
  EXPECT_EQ(
      variable("allreduce=level0:ring/scatter=level0:NB/broadcast=level0:ring").level0_names(),
      (Names{"ring", "NB"}));
  EXPECT_EQ(variable("level0:NA;level1:ring").level0_names(), Names{});
}

TEST(HcclAlgo, WarnsOfLevel1ThatOnlyAllToAllKnows) {
  const HcclAlgo global = variable("level0:NA; level1:pairwise");
  ASSERT_EQ(global.warnings.size(), 1U);
  EXPECT_EQ(global.warnings[0],
            "HCCL_ALGO: column 1: level1:pairwise is ignored for all operators but alltoall");
  const HcclAlgo one = variable("alltoall=level1:fullmesh/allreduce=level1:fullmesh");
  ASSERT_EQ(one.warnings.size(), 1U);
  EXPECT_EQ(one.warnings[0], "HCCL_ALGO: column 26: level1:fullmesh is ignored for allreduce");
}

TEST(HcclAlgo, WarnsOfOperatorsWithoutAlgorithms) {
  const HcclAlgo algo = variable("send=level0:ring/gather=level0:NA/receive=level1:ring");
  ASSERT_EQ(algo.warnings.size(), 1U);
  EXPECT_EQ(algo.warnings[0],
            "HCCL_ALGO: level0:ring is ignored for send, which has no algorithms to choose from");
}

TEST(HcclAlgo, OfAConfigurationOnlyWarnsOfAnUnknownOperator) {
  for (const char* name : {"allredcue", "others", "AllReduce", "barrier"}) {
    const HcclAlgo algo = parse_hccl_algo(
        "broadcast=level0:ring/" + std::string(name) + "=level0:NHR", Source::kCommConfig);
    EXPECT_EQ(algo.canonical(), "broadcast=level0:ring");
    EXPECT_EQ(algo.level0("broadcast").from, "hcclAlgo");
    ASSERT_EQ(algo.warnings.size(), 1U);
    EXPECT_EQ(algo.warnings[0].find("HcclCommConfig.hcclAlgo: column 23: unknown operator \"" +
                                    std::string(name) + "\" is ignored"),
              0U)
        << algo.warnings[0];
  }
}

TEST(HcclAlgo, TakesTheWordEmptyStringForNothing) {
  for (const Source source : {Source::kVariable, Source::kCommConfig}) {
    EXPECT_FALSE(parse_hccl_algo("EmptyString", source).given);
  }
}

struct Wrong {
  const char* text;
  const char* message;  // its beginning, after the source and the text
};

std::ostream& operator<<(std::ostream& out, const Wrong& wrong) { return out << wrong.text; }

class HcclAlgoError : public testing::TestWithParam<Wrong> {};

TEST_P(HcclAlgoError, SaysWhereAndWhatIsAllowed) {
  const std::string quoted = '"' + std::string(GetParam().text) + "\": ";
  for (const Source source : {Source::kVariable, Source::kCommConfig}) {
    const std::string from = source == Source::kVariable ? "environment variable HCCL_ALGO="
                                                         : "HcclCommConfig.hcclAlgo=";
    try {
      (void)parse_hccl_algo(GetParam().text, source);
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), HCCL_E_PARA);
      const std::string expected = from + quoted + GetParam().message;
      EXPECT_EQ(std::string(error.what()).substr(0, expected.size()), expected);
    }
  }
}

const Wrong kWrong[] = {
    {"/level0:NA", "column 1: \"/\" with nothing before it"},
    {"level0:NA/", "column 10: \"/\" with nothing after it"},
    {"allreduce=level0:NA//scatter=level0:NA", "column 21: \"/\" with nothing before it"},
    {"/", "column 1: \"/\" with nothing before it"},
    {";level0:NA", "column 1: \";\" with nothing before it"},
    {"level0:NA;", "column 10: \";\" with nothing after it"},
    {"level0:NA;;level1:ring", "column 11: \";\" with nothing before it"},
    {":NA", "column 1: \":\" with nothing before it"},
    {"level0:", "column 7: \":\" with nothing after it"},
    {"=level0:NA", "column 1: \"=\" with nothing before it"},
    {"allreduce=", "column 10: \"=\" with nothing after it"},
    {"allreduce=;level0:NA", "column 11: \";\" with nothing before it"},
    {"allreduce=level0:NA;/scatter=level0:NA", "column 20: \";\" with nothing after it"},
    {"level0:NA/level1:ring", "column 1: levels for all operators must stand alone"},
    {"allreduce=level0:NA/level0:NA", "column 21: levels for all operators must stand alone"},
    {"level0:NA/allreduce=level0:NA", "column 1: levels for all operators must stand alone"},
    {"allreduce=level0:NA=level1:NB", "column 21: a second \"=\" in one item"},
    {"level0:NA;level0:ring", "column 11: level0 is there twice"},
    {"allreduce=level1:ring;level1:ring", "column 23: level1 is there twice"},
    {"level0:NA;level1:NB;level2:NB;level3:NB;level4:NB",
     "column 41: more than 4 levels; there are level0 to level3"},
    {"level4:NB", "column 1: unknown level \"level4\"; did you mean \"level0\"?"},
    {"LEVEL:NB", "column 1: unknown level \"LEVEL\"; known are level0, level1, level2, level3"},
    {"Level0:NB", "column 1: unknown level \"Level0\"; did you mean \"level0\"?"},
    {"level0:Ring", "column 8: unknown algorithm \"Ring\"; did you mean \"ring\"?"},
    {"level0:NA;level1:nothing", "column 18: unknown algorithm \"nothing\"; known are ring, "},
    {"level0:NA:ring", "column 1: \"level0:NA:ring\" is not level:algorithm"},
    {"level0", "column 1: \"level0\" is not level:algorithm"},
    {"allreduce", "column 1: \"allreduce\" is not level:algorithm"},
    {"allreduce=ring", "column 11: \"ring\" is not level:algorithm"},
    {"level0:NA,level1:ring", "column 1: \"level0:NA,level1:ring\" is not level:algorithm"},
    {"allreduce=level0:null", "column 18: level0 of an operator cannot be null; write NA"},
    {"allreduce=level0:NA/allreduce=level0:NA", "column 21: operator \"allreduce\" is there twice"},
    {"  level0 : NA ; level1 : rign ", "column 26: unknown algorithm \"rign\"; did you mean"},
    {"level0:\tNA", "column 8: unknown algorithm \"\tNA\"; did you mean \"NA\"?"},
};
INSTANTIATE_TEST_SUITE_P(Each, HcclAlgoError, testing::ValuesIn(kWrong));

TEST(HcclAlgo, OfTheVariableRefusesAnUnknownOperator) {
  const auto message = [](const char* text) -> std::string {
    try {
      (void)variable(text);
      return "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), HCCL_E_PARA);
      return error.what();
    }
  };
  EXPECT_EQ(message("scatter=level0:NA/allredcue=level0:NA"),
            "environment variable HCCL_ALGO=\"scatter=level0:NA/allredcue=level0:NA\": column 19: "
            "unknown operator \"allredcue\"; did you mean \"allreduce\"?");
  EXPECT_NE(message("others=level0:NA").find("column 1: unknown operator \"others\""),
            std::string::npos);
  EXPECT_NE(message("AllReduce=level0:NA").find("did you mean \"allreduce\"?"), std::string::npos);
}

}  // namespace
}  // namespace weft::config
