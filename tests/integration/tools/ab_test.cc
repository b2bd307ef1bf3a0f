// SPDX-License-Identifier: Apache-2.0
// `weft ab`: both arms do the work, results are checked, and the report says what was found.
#include <gtest/gtest.h>
#include <sched.h>

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

TEST(Ab, NamesNoWrongAlgorithmTheFaster) {
  const Outcome outcome = weft({"ab", "all_gather", "-n", "3", "--threads", "-b", "1K", "--arms",
                                "mistaken.hasty,mesh.all_gather", "--calls", "20"},
                               {{"WEFT_PLUGIN_PATH", WEFT_MISTAKEN}});
  EXPECT_EQ(outcome.code, 1) << outcome.out;
  EXPECT_NE(outcome.err.find("the checker refutes mistaken.hasty: `weft check mistaken.hasty "
                             "--ranks 3` shows why"),
            std::string::npos)
      << outcome.err;
}

TEST(Ab, BindsRanksThatHaveACoreEach) {
  const auto first_line = [](const Words& more) {
    Words words = {
        "ab",      "barrier", "-n", "2", "--threads", "--arms", "mesh.barrier,tree.barrier",
        "--calls", "20"};
    words.insert(words.end(), more.begin(), more.end());
    const std::string out = weft(words).out;
    const size_t begin = out.find("# barrier");
    return begin == std::string::npos ? out : out.substr(begin, out.find('\n', begin) - begin);
  };
  cpu_set_t ours;
  ASSERT_EQ(sched_getaffinity(0, sizeof ours, &ours), 0);
  const bool has_two = CPU_COUNT(&ours) > 1;
  EXPECT_EQ(first_line({}).find("2 threads, bound, on") != std::string::npos, has_two);
  EXPECT_NE(first_line({"--no-bind"}).find("2 threads, on"), std::string::npos);
  EXPECT_NE(first_line({"--bind"}).find("2 threads, bound, on"), std::string::npos);
  EXPECT_EQ(weft({"ab", "barrier", "-n", "2", "--arms", "mesh.barrier,tree.barrier", "--bind",
                  "--no-bind"})
                .code,
            2);
}

/// The results of an experiment on the calls of `weft bench`, in a folder.
void run_experiment(const std::string& folder, const std::string& results) {
  std::ifstream installed(WEFT_DEFAULT_POLICY);
  const std::string text((std::istreambuf_iterator<char>(installed)), {});
  const std::string file = folder + "/policy.toml";
  std::ofstream(file) << text << "[[experiment]]\nname = \"x\"\nop = \"all_reduce\"\n"
                      << "when = { bytes = \"..1KiB\" }\n"
                      << "arms = [{ use = \"ring.all_reduce\" }, { use = \"mesh.one_shot\" }]\n";
  std::filesystem::create_directory(results);
  const Outcome outcome =
      weft({"bench", "all_reduce", "-n", "8", "-b", "8", "-e", "8", "--iters", "4000"},
           {{"WEFT_POLICY", file}, {"WEFT_EXPERIMENTS", results}});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("experiment \"x\" (" + file), std::string::npos) << outcome.err;
}

TEST(AbReport, PutsTheRanksOfAnExperimentTogether) {
  const Folder folder;
  const std::string results = folder.path() + "/results";
  run_experiment(folder.path(), results);
  const Outcome text = weft({"ab", "report", results});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find("by the times of the slowest of 8 ranks"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("mesh.one_shot is the fastest"), std::string::npos) << text.out;
  EXPECT_NE(
      text.out.find("[[rule]]\nop = \"all_reduce\"\nwhen = { bytes = \"8\", ranks = \"8\" }\nuse = "
                    "\"mesh.one_shot\"\n"),
      std::string::npos)
      << text.out;

  const Outcome outcome = weft({"ab", "report", "--json", results});
  const json document = json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(document.is_array() && document.size() == 1) << outcome.out;
  EXPECT_EQ(document[0]["experiment"], "x");
  EXPECT_EQ(document[0]["ranks_with_files"], 8);
  EXPECT_EQ(document[0]["fastest"], "mesh.one_shot");
  EXPECT_EQ(document[0]["calls_of"][0], "all_reduce of 2 fp32, sum");
  EXPECT_GT(document[0]["arms"][0]["ratio"]["median"], 0);

  // Some ranks only.
  std::string one;
  for (const auto& entry : std::filesystem::directory_iterator(results)) {
    one = entry.path().string();
    if (one.ends_with("rank3.json")) break;
  }
  const Outcome part = weft({"ab", "report", one, one});
  EXPECT_EQ(part.code, 0) << part.err;
  EXPECT_NE(part.out.find("rank 3 alone, of 8 ranks: the files of the others are missing"),
            std::string::npos)
      << part.out;

  // The same rank twice, under another name.
  std::filesystem::copy_file(one, results + "/copy.json");
  const Outcome twice = weft({"ab", "report", results});
  EXPECT_EQ(twice.code, 1) << twice.out;
  EXPECT_NE(twice.err.find("does not go with the other files"), std::string::npos) << twice.err;
}

TEST(AbReport, RefusesWhatIsNoReport) {
  const Folder folder;
  const auto expect = [](const Words& more, int code, const std::string& text) {
    Words words = {"ab", "report"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = weft(words);
    EXPECT_EQ(outcome.code, code) << outcome.out;
    EXPECT_NE(outcome.err.find(text), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.out, "");
  };
  expect({}, 2, "which files?");
  expect({folder.path()}, 1, "there is no report (*.json) in");
  expect({"/no/such/file"}, 1, "cannot read /no/such/file");
  std::ofstream(folder.path() + "/a.json") << "{ \"form\": 1 }";
  expect({folder.path()}, 1, "a.json is no report of an experiment: ");
}

}  // namespace
}  // namespace weft::test
