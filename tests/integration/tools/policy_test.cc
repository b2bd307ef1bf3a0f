// SPDX-License-Identifier: Apache-2.0
// `weft policy`: lint, show and diff.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "support.hpp"

namespace weft::test {
namespace {

bool tells(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string shipped(const std::string& name) {
  return std::string(getenv("WEFT_HOME")) + "/etc/weft/" + name + ".toml";
}

/// The default policy with rules before its own, as a file.
class Changed {
 public:
  explicit Changed(const std::string& rules, const std::string& more = "") {
    std::ifstream file(shipped("policy"));
    std::string text(std::istreambuf_iterator<char>(file), {});
    text.insert(text.find("[[rule]]"), rules);
    std::ofstream(path()) << text << more;
  }
  std::string path() const { return folder_.path() + "/mine.toml"; }

 private:
  Folder folder_;
};

const std::string kNamed =
    "[[rule]]\nop = \"all_reduce\"\nwhen = { communicator = \"tp*\" }\nuse = \"ring.all_reduce\"\n";
const std::string kIdle =
    "[[rule]]\nop = \"all_reduce\"\nwhen = { deterministic = true }\nuse = \"ring.all_reduce\"\n";

TEST(PolicyCommand, LintsEveryShippedPolicy) {
  for (const char* name : {"policy", "host", "a3-supernode", "two-level"}) {
    const Outcome outcome = weft({"policy", "lint", "--strict", shipped(name)});
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    EXPECT_TRUE(tells(outcome.out, " rules, 0 errors, 0 warnings, ")) << outcome.out;
  }
}

TEST(PolicyCommand, LintReadsWhatAProgramWouldRead) {
  const Changed policy(kIdle);
  EXPECT_TRUE(tells(weft({"policy", "lint"}).out, "etc/weft/policy.toml: "));
  const Outcome outcome = weft({"policy", "lint"}, {{"WEFT_POLICY", policy.path()}});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(tells(outcome.out, policy.path() + ':')) << outcome.out;
  EXPECT_TRUE(tells(outcome.out, "never applies here: ring.all_reduce does not sum in rank order"))
      << outcome.out;
  EXPECT_TRUE(tells(outcome.out, "0 errors, 1 warnings")) << outcome.out;
  EXPECT_EQ(weft({"policy", "lint", "--strict", policy.path()}).code, 1);
}

TEST(PolicyCommand, LintListsOverlapsWhenAsked) {
  const Outcome counted = weft({"policy", "lint", shipped("policy")});
  EXPECT_FALSE(tells(counted.out, "(overlap)")) << counted.out;
  const Outcome listed = weft({"policy", "lint", "--overlaps", shipped("policy")});
  EXPECT_TRUE(tells(listed.out, ": overlaps with the rule in line ")) << listed.out;
  EXPECT_TRUE(tells(listed.out, "bytes ..512, ranks 5..8")) << listed.out;
}

TEST(PolicyCommand, LintFailsForErrors) {
  const Changed policy(
      "[[rule]]\nop = \"all_reduce\"\nuse = \"mesh.one_shit\"\nwhen = { ranks = 2 }\n" + kIdle);
  const Outcome outcome = weft({"policy", "lint", policy.path()});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(tells(outcome.out, "no algorithm \"mesh.one_shit\"; did you mean \"mesh.one_shot\"?"))
      << outcome.out;
  EXPECT_TRUE(tells(outcome.out, "1 errors")) << outcome.out;
  const Changed broken(
      "[[rule]]\nop = \"all_reduce\"\nuse = \"mesh.one_shot\"\nwhen = { rank = 2 }\n");
  const Outcome unread = weft({"policy", "lint", broken.path()});
  EXPECT_EQ(unread.code, 1);
  EXPECT_TRUE(tells(unread.err, "unknown key \"rank\"")) << unread.err;
}

TEST(PolicyCommand, LintWarnsOfPluginsThatAreRefused) {
  const Folder folder;
  std::ofstream(folder.path() + "/none.so") << "this is no plugin";
  const Environment plugins = {{"WEFT_PLUGIN_PATH", folder.path()}};
  const Outcome outcome = weft({"policy", "lint", shipped("policy")}, plugins);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(tells(outcome.out, folder.path() + "/none.so: ")) << outcome.out;
  EXPECT_TRUE(tells(outcome.out, "0 errors, 1 warnings")) << outcome.out;
  EXPECT_EQ(weft({"policy", "lint", "--strict", shipped("policy")}, plugins).code, 1);
}

TEST(PolicyCommand, LintProvesWhatMustBeProved) {
  const std::string unproved =
      "[[rule]]\nop = \"all_gather\"\nwhen = { ranks = 4 }\nuse = \"mistaken.hasty\"\n" + kIdle;
  const Environment plugin = {{"WEFT_PLUGIN_PATH", WEFT_MISTAKEN}};
  EXPECT_EQ(weft({"policy", "lint", Changed(unproved).path()}, plugin).code, 0);
  const Changed strict(unproved);
  std::ifstream written(strict.path());
  std::string text(std::istreambuf_iterator<char>(written), {});
  const std::string before = "\nrequire_check = false";
  ASSERT_NE(text.find(before), std::string::npos);
  text.replace(text.find(before), before.size(), "\nrequire_check = true");
  std::ofstream(strict.path()) << text;
  const Outcome outcome = weft({"policy", "lint", strict.path()}, plugin);
  EXPECT_EQ(outcome.code, 1) << outcome.out;
  EXPECT_TRUE(tells(outcome.out, "require_check, and mistaken.hasty is wrong with 2 ranks"))
      << outcome.out;
}

TEST(PolicyCommand, ShowTellsTheSourceOfEverySetting) {
  const Outcome plain = weft({"policy", "show"}, {{"HCCL_ALGO", ""}});
  EXPECT_EQ(plain.code, 0) << plain.err;
  EXPECT_TRUE(tells(plain.out, "policy.toml, default, digest ")) << plain.out;
  EXPECT_TRUE(tells(plain.out, "  transport.engine         direct                  ")) << plain.out;
  EXPECT_TRUE(tells(plain.out, "symwin, zerocopy, heap  built in")) << plain.out;
  EXPECT_TRUE(tells(plain.out, "  control.exec_timeout     1836s                   /"))
      << plain.out;

  const Changed policy(kNamed);
  const Outcome changed = weft({"policy", "show"}, {{"WEFT_POLICY", policy.path()},
                                                    {"HCCL_ALGO", "level0:ring"},
                                                    {"HCCL_DETERMINISTIC", "true"},
                                                    {"HCCL_EXEC_TIMEOUT", "60"},
                                                    {"HCCL_CONNECT_TIMEOUT", "200"}});
  EXPECT_TRUE(tells(changed.out, "mine.toml, WEFT_POLICY, digest ")) << changed.out;
  EXPECT_TRUE(tells(changed.out, "60s                     HCCL_EXEC_TIMEOUT")) << changed.out;
  EXPECT_TRUE(tells(changed.out, "220s                    HCCL_CONNECT_TIMEOUT")) << changed.out;
  EXPECT_TRUE(tells(changed.out, "level0:ring             environment")) << changed.out;
  EXPECT_TRUE(tells(changed.out, "yes                     HCCL_DETERMINISTIC")) << changed.out;
  EXPECT_TRUE(tells(changed.out, "all_reduce\n  1. communicator \"tp*\": ring.all_reduce ("))
      << changed.out;
  EXPECT_TRUE(tells(changed.out, "barrier\n  1. ranks 33..: tree.star_barrier (")) << changed.out;
}

TEST(PolicyCommand, ShowRefusesAWrongEnvironmentBeforeItPrints) {
  const Outcome outcome = weft({"policy", "show"}, {{"HCCL_EXEC_TIMEOUT", "soon"}});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(tells(outcome.err, "HCCL_EXEC_TIMEOUT")) << outcome.err;
}

TEST(PolicyCommand, DiffTellsRangesAndSettings) {
  const Outcome same = weft({"policy", "diff", shipped("policy"), shipped("policy")});
  EXPECT_EQ(same.code, 0);
  EXPECT_EQ(same.out, "the policies do the same\n");
  const Changed policy(
      "[[rule]]\nop = \"all_reduce\"\nwhen = { bytes = \"1MiB..\", ranks = 4 }\nuse = "
      "\"ring.all_reduce\"\n");
  const Outcome other = weft({"policy", "diff", shipped("policy"), policy.path()});
  EXPECT_EQ(other.code, 1);
  EXPECT_TRUE(tells(
      other.out, "all_reduce\n  bytes 1MiB.., ranks 4, deterministic false: mesh.two_shot (line "))
      << other.out;
  EXPECT_FALSE(tells(other.out, "broadcast")) << other.out;
  EXPECT_FALSE(tells(other.out, "settings")) << other.out;
  const Outcome tasks = weft({"policy", "diff", shipped("policy"), shipped("a3-supernode")});
  EXPECT_TRUE(tells(tasks.out, "settings\n")) << tasks.out;
  EXPECT_TRUE(tells(tasks.out, "  transport.engine: direct -> tasks\n")) << tasks.out;
  const Outcome none = weft({"policy", "diff", shipped("policy"), "/no/such/file"});
  EXPECT_EQ(none.code, 1);
  EXPECT_TRUE(tells(none.err, "/no/such/file")) << none.err;
}

}  // namespace
}  // namespace weft::test
