// SPDX-License-Identifier: Apache-2.0
// `weft ab`: both arms do the work, results are checked, and the report says what was found.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support.hpp"

namespace weft::test {
namespace {

using nlohmann::json;

struct Case {
  std::string op;
  std::string arms;
  Words more;
};

json compare(const Case& given, const Environment& environment = {}) {
  Words words = {"ab",     given.op, "--arms", given.arms, "-n", "3",
                 "--json", "-b",     "70001",  "--calls",  "300"};
  words.insert(words.end(), given.more.begin(), given.more.end());
  const Outcome outcome = weft(words, environment);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  json document = json::parse(outcome.out, nullptr, false);
  EXPECT_FALSE(document.is_discarded()) << outcome.out;
  return document;
}

TEST(Ab, BothArmsDoTheWork) {
  for (const Case& each : std::vector<Case>{
           {"all_reduce", "mesh.two_shot,ring.all_reduce", {}},
           {"all_reduce", "mesh.one_shot,tree.star_all_reduce", {"--threads"}},
           {"broadcast", "mesh.broadcast,mesh.broadcast_pull", {"--root", "2"}},
           {"all_to_all_vc", "mesh.all_to_all_v,mesh.all_to_all_v", {"--queue", "3"}},
           {"reduce_scatter", "ring.reduce_scatter,mesh.reduce_scatter", {"--in-place"}}}) {
    SCOPED_TRACE(each.op + " " + each.arms);
    const json found = compare(each);
    EXPECT_EQ(found["wrong"], 0);
    EXPECT_EQ(found["ranks"], 3);
    std::string arms;
    for (const json& arm : found["arms"]) {
      EXPECT_EQ(arm["algorithm"], arm["arm"]);
      EXPECT_EQ(arm["calls"], found["arms"][0]["calls"]);
      EXPECT_GT(arm["median_us"], 0);
      EXPECT_GE(arm["mean_half_width_us"], 0);
      arms += (arms.empty() ? "" : ",") + arm["arm"].get<std::string>();
    }
    EXPECT_EQ(arms, each.arms);
    EXPECT_LE(found["ratio"]["low"], found["ratio"]["median"]);
    EXPECT_LE(found["ratio"]["median"], found["ratio"]["high"]);
    if (found["faster"].is_null()) {
      EXPECT_TRUE(found["rule"].is_null());
    } else {
      const std::string rule = found["rule"];
      EXPECT_NE(rule.find("use = \"" + found["faster"].get<std::string>() + "\""),
                std::string::npos)
          << rule;
    }
  }
}

TEST(Ab, TheRuleIsOneOfAPolicy) {
  // No noise makes a ring of eight ranks as fast as one line of memory.
  const Outcome outcome = weft({"ab", "all_reduce", "--arms", "ring.all_reduce,mesh.one_shot", "-n",
                                "8", "--threads", "-b", "8", "--calls", "20000"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const size_t begin = outcome.out.find("[[rule]]");
  ASSERT_NE(begin, std::string::npos) << outcome.out;
  const Folder folder;
  const std::string file = folder.path() + "/policy.toml";
  std::ofstream stream(file);
  stream << "schema = 1\n" << outcome.out.substr(begin);
  std::ifstream installed(WEFT_DEFAULT_POLICY);
  std::string line;
  while (std::getline(installed, line)) {
    if (!line.starts_with("schema")) stream << line << '\n';
  }
  stream.close();
  const Outcome used =
      weft({"explain", "all_reduce", "-n", "8", "-b", "8"}, {{"WEFT_POLICY", file}});
  EXPECT_EQ(used.code, 0) << used.err;
  EXPECT_NE(used.out.find("mesh.one_shot chosen by " + file + ":2"), std::string::npos) << used.out;
}

TEST(Ab, KeepsTheSettingsOfThePolicyAndLeavesNoFiles) {
  const Folder folder;
  const std::string file = folder.path() + "/policy.toml";
  std::ifstream installed(WEFT_DEFAULT_POLICY);
  std::string text((std::istreambuf_iterator<char>(installed)), {});
  const std::string direct = "engine = \"direct\"";
  ASSERT_NE(text.find(direct), std::string::npos);
  text.replace(text.find(direct), direct.size(), "engine = \"tasks\"");
  std::ofstream(file) << text;
  std::filesystem::create_directory(folder.path() + "/tmp");
  const json found = compare({"all_gather", "mesh.all_gather,ring.all_gather", {}},
                             {{"WEFT_POLICY", file}, {"TMPDIR", folder.path() + "/tmp"}});
  EXPECT_EQ(found["wrong"], 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path() + "/tmp"));
}

TEST(Ab, AnArmThatCannotServeIsAnError) {
  const auto expect = [](const Words& more, int code, const char* text) {
    Words words = {"ab", "all_reduce", "-n", "3", "--calls", "100"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = weft(words);
    EXPECT_EQ(outcome.code, code) << outcome.out;
    EXPECT_NE(outcome.err.find(text), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.out, "");
  };
  expect({"--arms", "mesh.two_shot,mesh.to_shot"}, 2, "did you mean \"mesh.two_shot\"?");
  expect({"--arms", "mesh.two_shot,mesh.broadcast"}, 2, "is for broadcast");
  expect({"--arms", "mesh.two_shot:x=1,mesh.two_shot"}, 2, "no parameter \"x\"");
  expect({"--arms", "mesh.two_shot"}, 2, "are not two arms");
  expect({"--arms", "mesh.two_shot,two_shot"}, 2, "no plugin.algorithm");
  expect({"--arms", "mesh.two_shot:x,mesh.two_shot"}, 2, "no name=value");
  expect({"--arms", "ring.broadcast:pieces=x,mesh.two_shot"}, 2, "is for broadcast");
  expect({}, 2, "--arms is missing");
}

}  // namespace
}  // namespace weft::test
