// SPDX-License-Identifier: Apache-2.0
// `weft tune` and `weft policy diff --measure`: what they write and refuse. No time decides.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "support.hpp"

namespace weft::test {
namespace {

using nlohmann::json;

std::string read(const std::string& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

const Words kQuick = {"tune", "-n", "2", "--time", "1.5s", "-b", "8", "-e", "2K", "-f", "16"};

/// The default policy with these rules before its own.
std::string changed(const Folder& folder, const std::string& rules) {
  std::string text = read(WEFT_DEFAULT_POLICY);
  text.insert(text.find("[[rule]]"), rules);
  const std::string file = folder.path() + "/changed.toml";
  std::ofstream(file) << text;
  return file;
}

class TuneFiles : public testing::TestWithParam<bool> {};

TEST_P(TuneFiles, WritesAPolicyAPictureAndADocument) {
  const Folder folder;
  Words words = with(kQuick, {"--ops", "broadcast,barrier,reduce_scatter_v", "--deterministic",
                              "--json", "all.json"});
  if (GetParam()) words.push_back("--threads");
  const Outcome outcome = weft(words, {{"HCCL_ALGO", "level0:ring"}}, folder.path());
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "# broadcast: mesh.broadcast")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "# reduce_scatter_v: mesh.reduce_scatter_v, nothing else"));
  EXPECT_TRUE(contains(outcome.out, "\nbroadcast, us ")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "# wrote tuned.toml and tuned.svg")) << outcome.out;
  EXPECT_TRUE(contains(outcome.err, "broadcast: 3 sizes, ")) << outcome.err;
  EXPECT_FALSE(contains(outcome.err, "\r"));  // that is for terminals

  const Outcome lint = weft({"policy", "lint", "--strict", folder.path() + "/tuned.toml"});
  EXPECT_EQ(lint.code, 0) << lint.out << lint.err;
  const std::string policy = read(folder.path() + "/tuned.toml");
  EXPECT_TRUE(contains(policy, "# Written by `weft tune -n 2 ")) << policy;
  EXPECT_TRUE(contains(policy, "# broadcast, us ")) << policy;

  const std::string picture = read(folder.path() + "/tuned.svg");
  EXPECT_TRUE(picture.starts_with("<?xml")) << picture.substr(0, 100);
  EXPECT_TRUE(contains(picture, "tree.star_barrier</text>"));

  const json document = json::parse(read(folder.path() + "/all.json"), nullptr, false);
  ASSERT_FALSE(document.is_discarded());
  ASSERT_EQ(document["operations"].size(), 2U);
  const json& broadcast = document["operations"][0];
  EXPECT_GE(broadcast["sizes"].size(), 3U);
  for (const json& size : broadcast["sizes"]) {
    bool chosen = false;
    for (const json& each : size["algorithms"]) {
      EXPECT_EQ(each["wrong"], 0) << each;
      EXPECT_GT(each["median_us"], 0) << each;
      chosen = chosen || each["algorithm"] == size["chosen"];
    }
    EXPECT_TRUE(chosen) << size;
  }
  for (const json& rule : broadcast["rules"]) {
    EXPECT_TRUE(contains(policy, "use = \"" + rule["use"].get<std::string>() + '"')) << rule;
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, TuneFiles, testing::Bool(),
                         [](const auto& each) { return each.param ? "Threads" : "Processes"; });

// No noise makes thousands of copies as fast as one: all that a busy machine needs is more time.
// The rule for them can never apply behind that of the winner.
TEST(Tune, ReplacesWhatIsMuchSlowerAndTheMeasuredDifferenceSaysSo) {
  const Folder folder;
  const std::string slow =
      changed(folder,
              "[[rule]]\nop = \"all_reduce\"\nwhen = { ranks = 2, type = \"fp64\" }\n"
              "use = \"sluggish.all_reduce\"\n");
  const std::string out = folder.path() + "/better.toml";
  const Environment plugin = {{"WEFT_PLUGIN_PATH", WEFT_SLUGGISH}};
  Environment environment = plugin;
  environment["WEFT_POLICY"] = slow;
  const Words size = {"-n", "2", "--threads", "--no-bind", "-b", "8", "-e", "8", "-d", "fp64"};
  const auto in_time = [](const auto& says, const Words& words, const Environment& of) {
    Outcome outcome;
    for (const char* time : {"2s", "6s", "20s"}) {
      outcome = weft(with(words, {"--time", time}), of);
      if (says(outcome)) break;
    }
    return outcome;
  };

  const std::string found = "when = { bytes = \"8\", ranks = \"2\", type = \"fp64\" }";
  const Outcome outcome =
      in_time([&](const Outcome&) { return contains(read(out), found); },
              with({"tune", "--ops", "all_reduce", "--out", out, "--force"}, size), environment);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::string policy = read(out);
  const size_t rule = policy.find(found);
  ASSERT_NE(rule, std::string::npos) << outcome.out << outcome.err << policy;
  const size_t sluggish = policy.find("use = \"sluggish.all_reduce\"");
  ASSERT_NE(sluggish, std::string::npos) << "other sizes were not asked for\n" << policy;
  EXPECT_GT(sluggish, policy.find("use = ", rule)) << policy;
  EXPECT_EQ(weft({"policy", "lint", "--strict", out}, plugin).code, 0);

  const auto says = [](const char* what) {
    return [what](const Outcome& of) { return contains(of.out, what); };
  };
  const Outcome better =
      in_time(says("  faster\n"), with({"policy", "diff", slow, out, "--measure"}, size), plugin);
  EXPECT_EQ(better.code, 0) << better.out << better.err;
  EXPECT_TRUE(contains(better.out, "all_reduce                 8 sluggish.all_reduce "))
      << better.out;
  EXPECT_TRUE(contains(better.out, "  faster\n")) << better.out;
  EXPECT_TRUE(contains(better.out, "all 1: ratio 0.")) << better.out;
  const Outcome worse =
      in_time(says("  slower\n"), with({"policy", "diff", out, slow, "--measure"}, size), plugin);
  EXPECT_EQ(worse.code, 1) << worse.out << worse.err;
  EXPECT_TRUE(contains(worse.out, "  slower\n")) << worse.out;
}

TEST(Tune, WrongResultsAreSaidAndGetNoRule) {
  const Folder folder;
  const Outcome outcome =
      weft(with(kQuick, {"--ops", "broadcast"}),
           {{"LD_PRELOAD", WEFT_FAULTY_HCCL}, {"FAULT", "lazy"}}, folder.path());
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "wrong results, so no rule of the new policy uses: mesh."))
      << outcome.err;
  EXPECT_TRUE(contains(outcome.out, " wrong")) << outcome.out;
  EXPECT_EQ(weft({"policy", "diff", WEFT_DEFAULT_POLICY, folder.path() + "/tuned.toml"}).code, 0);
}

TEST(Tune, AFailureNamesTheAlgorithmAndWritesNothing) {
  const Folder folder;
  const Outcome outcome =
      weft(with(kQuick, {"--ops", "broadcast"}),
           {{"LD_PRELOAD", WEFT_FAULTY_HCCL}, {"FAULT", "error"}}, folder.path());
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "broadcast of 8 by mesh.broadcast")) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "rank 1: HcclBroadcast")) << outcome.err;
  EXPECT_TRUE(folder.empty());
}

TEST(Tune, AnInterruptWritesNothing) {
  const Folder folder;
  std::filesystem::create_directory(folder.path() + "/tmp");
  Program program(
      with(kQuick, {"--ops", "broadcast", "--out", folder.path() + "/tmp/x.toml"}),
      {{"LD_PRELOAD", WEFT_FAULTY_HCCL}, {"FAULT", "stuck"}, {"TMPDIR", folder.path() + "/tmp"}});
  ASSERT_TRUE(program.wait_for_lines(4));  // the last one is of the rank that is stuck
  program.signal(SIGINT);
  EXPECT_EQ(program.finish().code, 128 + SIGINT);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path() + "/tmp"));
}

TEST(Tune, AnAlgorithmThatTheCheckerRefutesIsNotTried) {
  const Folder folder;
  const Outcome outcome = weft(
      {"tune", "-n", "3", "--threads", "--time", "2s", "-b", "8", "-e", "8", "--ops", "all_reduce"},
      {{"WEFT_PLUGIN_PATH", WEFT_MISTAKEN}}, folder.path());
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(
      contains(outcome.out, "# not tried: mistaken.doubling: `weft check mistaken.doubling"))
      << outcome.out;
  EXPECT_TRUE(contains(outcome.out, " mistaken.fine")) << outcome.out;
  EXPECT_FALSE(contains(read(folder.path() + "/tuned.toml"), "mistaken.doubling"));
}

TEST(Tune, RefusesBeforeItMeasures) {
  const Folder folder;
  std::ofstream(folder.path() + "/old.toml") << "mine";
  std::filesystem::create_symlink("old.toml", folder.path() + "/link");
  ASSERT_EQ(mkfifo((folder.path() + "/pipe").c_str(), 0600), 0);
  const auto expect = [&](const Words& more, int code, const char* text) {
    SCOPED_TRACE(text);
    const Outcome outcome = weft(with({"tune"}, more), {}, folder.path());
    EXPECT_EQ(outcome.code, code) << outcome.out;
    EXPECT_TRUE(contains(outcome.err, text)) << outcome.err;
  };
  expect({}, 2, "-n is missing");
  expect({"-n", "1"}, 2, "'1' is not a number from 2 to 256");
  expect({"-n", "257"}, 2, "'257' is not a number from 2 to 256");
  expect({"-n", "2", "--time", "soon"}, 2, "--time: 'soon' is not a time like");
  expect({"-n", "2", "--time", "0s"}, 2, "'0s' is not a time");
  expect({"-n", "2", "--time", "60x"}, 2, "'60x' is not a time");
  expect({"-n", "2", "--time=-5s"}, 2, "'-5s' is not a time");
  expect({"-n", "2", "--time", "100ms"}, 2, "is too short to measure all once: take ");
  expect({"-n", "2", "--ops", "all_reduec"}, 2, "did you mean 'all_reduce'?");
  expect({"-n", "2", "--ops", "send_recv"}, 2, "'send_recv' is no operation of algorithms");
  expect({"-n", "2", "--ops", "barrier,barrier"}, 2, "'barrier' is there twice");
  expect({"-n", "2", "--ops", "barrier,"}, 2, "'' is no operation");
  expect({"-n", "2", "--without", "ring.broadcats"}, 2, "did you mean 'ring.broadcast'?");
  expect({"-n", "2", "--without", "mesh.all_gather"}, 1, "the policy uses mesh.all_gather");
  expect({"-n", "2", "--ops", "barrier", "--without", "ring.broadcast"}, 2,
         "ring.broadcast would not be tried anyway");
  expect({"-n", "2", "-d", "int128"}, 2, "int128 cannot be reduced, and all_reduce does");
  expect({"-n", "2", "-b", "8K", "-e", "8"}, 2, "-b is larger than -e");
  expect({"-n", "2", "barrier"}, 2, "'barrier' is one word too many");
  expect({"-n", "2", "--out", "old.toml"}, 1, "old.toml is there already");
  expect({"-n", "2", "--plot", "old.toml"}, 1, "old.toml is there already");
  expect({"-n", "2", "--out", "none/new.toml"}, 1, "there is no folder none");
  expect({"-n", "2", "--out", "link", "--force"}, 1, "link is a link, a pipe or a device");
  expect({"-n", "2", "--plot", "pipe", "--force"}, 1, "pipe is a link, a pipe or a device");
  expect({"-n", "2", "--out", "x", "--plot", "./x"}, 2, "would be written twice");
  expect({"-n", "2", "--ops", "reduce_scatter_v", "--deterministic"}, 1,
         "there is nothing to choose from");
  EXPECT_EQ(read(folder.path() + "/old.toml"), "mine");
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/tuned.toml"));
}

TEST(Tune, LeavesOutWhatIsUnwanted) {
  const Folder folder;
  const Outcome outcome =
      weft({"tune", "-n", "2", "--threads", "--time", "1s", "--ops", "barrier,all_to_all_v", "-b",
            "8", "-e", "8", "--without", "mesh.pairwise_v,tree.barrier"},
           {}, folder.path());
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "# not tried: tree.barrier, as wished\n")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "# all_to_all_v: mesh.all_to_all_v, nothing else to choose"))
      << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "# barrier: mesh.barrier tree.star_barrier\n")) << outcome.out;
}

TEST(Tune, ReplacesAFileIfToldTo) {
  const Folder folder;
  std::ofstream(folder.path() + "/old.toml") << "mine";
  const Outcome outcome = weft({"tune", "-n", "2", "--threads", "--time", "1s", "--ops", "barrier",
                                "--out", "old.toml", "--force"},
                               {}, folder.path());
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(read(folder.path() + "/old.toml"), "schema = 1"));
}

TEST(PolicyDiffMeasured, TellsWhenThereIsNothingToMeasure) {
  const Folder folder;
  const std::string other = changed(
      folder, "[[rule]]\nop = \"barrier\"\nwhen = { ranks = 3 }\nuse = \"tree.star_barrier\"\n");
  const Outcome outcome =
      weft({"policy", "diff", WEFT_DEFAULT_POLICY, other, "--measure", "-n", "2"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "for 2 ranks and these sizes, the policies do the same"));
}

TEST(PolicyDiffMeasured, EndsWithItsTimeIfNeitherIsFaster) {
  const Folder folder;
  // The same algorithm, with settings that differ.
  const std::string other = folder.path() + "/other.toml";
  std::ofstream(other) << read(WEFT_DEFAULT_POLICY) << "\n[memory]\norder = [\"heap\"]\n";
  const Outcome outcome = weft({"policy", "diff", WEFT_DEFAULT_POLICY, other, "--measure", "-n",
                                "2", "--threads", "--ops", "barrier", "--time", "1s"});
  EXPECT_TRUE(contains(outcome.out, " mesh.barrier               mesh.barrier ")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "\nall 1: ratio ")) << outcome.out << outcome.err;
}

TEST(PolicyDiffMeasured, Refuses) {
  const Folder folder;
  const std::string other = changed(
      folder, "[[rule]]\nop = \"broadcast\"\nwhen = { ranks = 2 }\nuse = \"tree.nhr_broadcast\"\n");
  const auto expect = [&](const Words& more, int code, const char* text) {
    SCOPED_TRACE(text);
    const Outcome outcome = weft(with({"policy", "diff", WEFT_DEFAULT_POLICY, other}, more));
    EXPECT_EQ(outcome.code, code) << outcome.out;
    EXPECT_TRUE(contains(outcome.err, text)) << outcome.err;
  };
  expect({"--measure"}, 2, "-n is missing");
  expect({"-n", "2"}, 2, "--ranks is for --measure");
  expect({"--measure", "-n", "2", "--time", "1ms"}, 2, "is too short to measure the ");
  expect({"--measure", "-n", "2", "--ops", "brodcast"}, 2, "did you mean 'broadcast'?");
  EXPECT_EQ(weft({"policy", "lint", "--measure"}).code, 2);
}

}  // namespace
}  // namespace weft::test
