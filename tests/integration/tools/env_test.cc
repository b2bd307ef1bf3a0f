// SPDX-License-Identifier: Apache-2.0
// `weft env`: every variable, its value and where that is from, and what is wrong.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "support.hpp"

namespace weft::test {
namespace {

using Variables = std::map<std::string, nlohmann::json>;

nlohmann::json env_json(const Environment& environment, int code) {
  const Outcome outcome = weft({"env", "--json"}, environment);
  EXPECT_EQ(outcome.code, code) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  return nlohmann::json::parse(outcome.out);
}

Variables variables_of(const nlohmann::json& all) {
  Variables found;
  for (const nlohmann::json& each : all["variables"]) found[each["name"]] = each;
  return found;
}

TEST(Env, TellsValuesAndWhereTheyAreFrom) {
  const Outcome outcome =
      weft({"env"}, {{"HCCL_BUFFSIZE", "7"}, {"HCCL_ALGO", ""}, {"HCCL_RDMA_SL", "EmptyString"}});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto expect = [&](const std::string& text) {
    EXPECT_NE(outcome.out.find(text), std::string::npos) << text << " is not in\n" << outcome.out;
  };
  expect(
      "HCCL_BUFFSIZE                            7\n"
      "                                         environment, acts: ");
  expect(
      "HCCL_ALGO                                unset\n"
      "                                         default, acts: ");
  expect(
      "HCCL_RDMA_SL                             4\n"
      "                                         default, checked only: ");
  expect(
      "PROFILING_MODE                           unset\n"
      "                                         default, not read: ");
  expect("WEFT_POLICY ");
  expect("WEFT_DEVICE_MEMORY ");
  EXPECT_EQ(outcome.out.find("INVALID"), std::string::npos) << outcome.out;
}

TEST(Env, MarksWhatIsWrong) {
  const Outcome outcome = weft({"env"}, {{"HCCL_BUFFSIZE", "0"}, {"HCCL_BUFSIZE", "7"}});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(
      outcome.out.find("INVALID: environment variable HCCL_BUFFSIZE=\"0\": it is out of range; "
                       "allowed: 1 to 4294967295 MB\n"),
      std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("HCCL_BUFSIZE is unknown and ignored; did you mean HCCL_BUFFSIZE?\n"),
            std::string::npos)
      << outcome.out;
}

TEST(Env, AMisspeltNameAloneIsNoError) {
  const nlohmann::json all = env_json({{"HCCL_BUFSIZE", "7"}}, 0);
  EXPECT_EQ(all["misspelt"],
            nlohmann::json::parse(R"([{"name": "HCCL_BUFSIZE", "near": "HCCL_BUFFSIZE"}])"));
}

TEST(Env, JsonHasAllOfAVariable) {
  const Variables found = variables_of(env_json({{"HCCL_IF_IP", "::1"}}, 0));
  const nlohmann::json& ip = found.at("HCCL_IF_IP");
  EXPECT_EQ(ip["value"], "::1");
  EXPECT_EQ(ip["source"], "environment");
  EXPECT_EQ(ip["effect"], "acts");
  EXPECT_FALSE(ip["allowed"].empty() || ip["meaning"].empty() || ip.contains("error"));
  EXPECT_EQ(found.at("HCCL_CONNECT_TIMEOUT")["value"], "120");
  EXPECT_EQ(found.at("HCCL_CONNECT_TIMEOUT")["source"], "default");
}

TEST(Env, AsksEveryReaderOfAVariable) {
  const Environment wrong = {{"WEFT_POLICY", "/no/such/policy"},
                             {"WEFT_HOME", "/no/such/home"},
                             {"WEFT_PLUGIN_PATH", "/no/such/plugins"},
                             {"WEFT_LOG", "loud"},
                             {"WEFT_TRACE", "/no/such/folder/trace"},
                             {"WEFT_CHECK", "everything"},
                             {"WEFT_DEVICES", "0"},
                             {"HCCL_INTRA_PCIE_ENABLE", "0"},
                             {"HCCL_ALGO", "level0:rign"}};
  const Variables found = variables_of(nlohmann::json::parse(weft({"env", "--json"}, wrong).out));
  for (const auto& [name, value] : wrong) {
    // Of the two that are checked together, the second tells.
    const std::string told = name == "HCCL_INTRA_PCIE_ENABLE" ? "HCCL_INTRA_ROCE_ENABLE" : name;
    EXPECT_TRUE(found.at(told).contains("error")) << told;
  }
  size_t errors = 0;
  for (const auto& [name, each] : found) errors += each.contains("error") ? 1 : 0;
  EXPECT_EQ(errors, wrong.size());
  const Variables memory = variables_of(env_json({{"WEFT_DEVICE_MEMORY", "much"}}, 1));
  EXPECT_TRUE(memory.at("WEFT_DEVICE_MEMORY").contains("error"));
  const Variables visible = variables_of(env_json({{"ASCEND_RT_VISIBLE_DEVICES", "2,1"}}, 1));
  EXPECT_TRUE(visible.at("ASCEND_RT_VISIBLE_DEVICES").contains("error"));
}

TEST(Env, TakesNoWords) {
  EXPECT_EQ(weft({"env", "HCCL_ALGO"}).code, 2);
  EXPECT_EQ(weft({"env", "--jsno"}).code, 2);
}

}  // namespace
}  // namespace weft::test
