// SPDX-License-Identifier: Apache-2.0
// The experiments of a policy: what a file may say, and which calls they take. That arms must be
// algorithms of plugins is tested in tests/plugin.
#include "config/experiment.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"
#include "config/policy.hpp"
#include "policy_text.hpp"
#include "weft/abi.h"

namespace weft::config {
namespace {

const std::string kArms = "arms = [{ use = \"a.b\" }, { use = \"a.c\" }]\n";

std::string experiment(const std::string& name, const std::string& rest) {
  return "[[experiment]]\nname = \"" + name + "\"\nop = \"all_reduce\"\n" + rest;
}

std::string digest_with(const std::string& text) {
  return Policy::parse(with(text), "p.toml").digest();
}

TEST(Experiment, IsReadWithAllItSays) {
  const Policy policy =
      Policy::parse(with(experiment("x-1",
                                    "when = { bytes = \"4KiB..\", ranks = 4 }\nblock = 3\n"
                                    "arms = [{ use = \"a.b\", weight = 9 },\n"
                                    "        { use = \"a.c\", params = { pieces = 4 } }]\n")),
                    "p.toml");
  ASSERT_EQ(policy.experiments().size(), 1u);
  const Experiment& found = policy.experiments()[0];
  EXPECT_EQ(found.name, "x-1");
  EXPECT_EQ(found.calls.op, WEFT_OP_ALL_REDUCE);
  EXPECT_EQ(found.calls.place.line, 2u);
  EXPECT_EQ(found.calls.bytes.first, 4096u);
  EXPECT_EQ(found.calls.ranks, (Range{4, 4}));
  EXPECT_EQ(found.block, 3u);
  ASSERT_EQ(found.arms.size(), 2u);
  EXPECT_EQ(found.arms[0].weight, 9u);
  EXPECT_EQ(found.arms[1].weight, 1u);
  EXPECT_EQ(found.arms[1].rule.use, "a.c");
  EXPECT_EQ(found.arms[1].rule.params[0].value, plugin::Written(int64_t{4}));
  EXPECT_EQ(found.arms[1].rule.place.line, 8u);
  EXPECT_TRUE(policy.looks_at_bytes(WEFT_OP_ALL_REDUCE));
  EXPECT_EQ(policy.plugins(), (std::vector<std::string>{"a", "hccs-sdma", "toy"}));
}

TEST(Experiment, IsPartOfTheDigest) {
  const std::string none = digest_with("");
  const std::string one = digest_with(experiment("x", kArms));
  EXPECT_NE(one, none);
  EXPECT_EQ(digest_with("# a comment\n" + experiment("x", kArms)), one);
  EXPECT_NE(digest_with(experiment("y", kArms)), one);
  EXPECT_NE(digest_with(experiment("x", "block = 11\n" + kArms)), one);
  EXPECT_NE(digest_with(experiment("x", "when = { ranks = 3 }\n" + kArms)), one);
  EXPECT_NE(digest_with(experiment("x", "arms = [{ use = \"a.c\" }, { use = \"a.b\" }]\n")), one);
  EXPECT_NE(
      digest_with(experiment("x", "arms = [{ use = \"a.b\", weight = 2 }, { use = \"a.c\" }]\n")),
      one);
}

void expect_mistake(const std::string& text, const std::string& message) {
  try {
    (void)Policy::parse(with(text), "p.toml");
    ADD_FAILURE() << "accepted:\n" << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), HCCL_E_PARA);
    const std::string expected = "p.toml:" + message;
    EXPECT_EQ(std::string(error.what()).substr(0, expected.size()), expected) << text;
  }
}

TEST(Experiment, NamesPlaceAndRemedyOfMistakes) {
  expect_mistake("[experiment]\n", "2:1: an experiment begins with [[experiment]]");
  expect_mistake("[[experiment]]\nop = \"reduce\"\n" + kArms,
                 "2:1: the experiment has no \"name\"");
  expect_mistake("[[experiment]]\nname = \"" + std::string(65, 'a') + "\"\n",
                 "3:8: \"name\" has over 64 letters");
  expect_mistake("[[experiment]]\nname = \"a b\"\n", "3:8: \"name\" must be a name of a-z");
  expect_mistake("[[experiment]]\nname = \"x\"\n" + kArms, "2:1: there is no \"op\" here");
  expect_mistake(experiment("x", ""), "2:1: the experiment has no \"arms\"");
  expect_mistake(experiment("x", "arm = []\n"),
                 "5:1: unknown key \"arm\" in \"experiment\"; did you mean \"arms\"?");
  expect_mistake(experiment("x", "arms = \"a.b\"\n"), "5:8: \"arms\" must be an array of tables");
  expect_mistake(experiment("x", "arms = [{ use = \"a.b\" }]\n"),
                 "5:8: an experiment has 2 to 8 arms, not 1");
  std::string nine = "arms = [";
  for (int i = 0; i < 9; ++i) nine += "{ use = \"a.b" + std::to_string(i) + "\" }, ";
  expect_mistake(experiment("x", nine + "]\n"), "5:8: an experiment has 2 to 8 arms, not 9");
  expect_mistake(
      experiment("x", "arms = [{ use = \"a.b\" }, 1]\n"),
      "5:26: \"arms\" must be an array of tables like { use = \"mesh.two_shot\" }, not an integer");
  expect_mistake(experiment("x", "arms = [{ use = \"a.b\" }, { used = \"a.c\" }]\n"),
                 "5:28: unknown key \"used\" in \"arms\"; did you mean \"use\"?");
  expect_mistake(experiment("x", "arms = [{ use = \"a.b\" }, { weight = 2 }]\n"),
                 "5:26: there is no \"use\" here");
  for (const char* weight : {"0", "-1", "64"}) {
    expect_mistake(experiment("x", "arms = [{ use = \"a.b\", weight = " + std::string(weight) +
                                       " }, { use = \"a.c\" }]\n"),
                   "5:33: \"weight\" is " + std::string(weight) + ", it must be 1 to 63");
  }
  expect_mistake(
      experiment("x", "arms = [{ use = \"a.b\", weight = 33 }, { use = \"a.c\", weight = 32 }]\n"),
      "5:8: the weights of the arms come to 65, they may come to 64");
  for (const char* block : {"0", "1001"}) {
    expect_mistake(experiment("x", "block = " + std::string(block) + "\n" + kArms),
                   "5:9: \"block\" is " + std::string(block) + ", it must be 1 to 1000");
  }
  expect_mistake(experiment("x", "block = 1.5\n" + kArms), "5:9: \"block\" must be a whole number");
  expect_mistake(experiment("x", "arms = [{ use = \"a.b\" }, { use = \"a.b\" }]\n"),
                 "5:26: arms 1 and 2 of experiment \"x\" are alike");
  expect_mistake(experiment("x", "when = { ranks = 3 }\n" + kArms) + experiment("x", kArms),
                 "7:1: the experiment in line 2 is called \"x\" too");
  expect_mistake("[[experiment]]\nname = \"x\"\nop = \"barrier\"\nwhen = { bytes = 1 }\n" + kArms,
                 "5:10: \"bytes\" means nothing for barrier");
}

}  // namespace
}  // namespace weft::config
