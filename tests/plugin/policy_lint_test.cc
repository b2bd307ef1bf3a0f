// SPDX-License-Identifier: Apache-2.0
// What `weft policy lint` finds in a policy whose text is in order.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "config/lint.hpp"
#include "config/policy.hpp"
#include "plugin/registry.hpp"
#include "unit/config/policy_text.hpp"

namespace weft::config {
namespace {

class PolicyLint : public testing::Test {
 protected:
  PolicyLint() {
    registry_.load(plugin::default_folder());
    registry_.load(std::string(WEFT_TEST_PLUGINS) + "/toy.so");
  }

  std::vector<Finding> found(const std::string& text) const {
    Policy policy = Policy::parse(text, "p.toml");
    return lint(policy, registry_);
  }

  /// Of one kind.
  std::vector<std::string> texts(Severity severity, const std::string& text) const {
    std::vector<std::string> all;
    for (const Finding& each : found(text)) {
      if (each.severity == severity) all.push_back(each.text);
    }
    return all;
  }

  static std::string rule(const std::string& use, const std::string& when = "") {
    return "[[rule]]\nop = \"all_reduce\"\nuse = \"" + use + "\"\nwhen = { " + when + " }\n";
  }

  plugin::Registry registry_;
};

using Texts = std::vector<std::string>;

TEST_F(PolicyLint, FindsNothingInAGoodPolicy) {
  EXPECT_TRUE(found(with("")).empty());
  EXPECT_TRUE(found(with(rule("toy.pair", "bytes = \"..1KiB\", ranks = 2"))).empty());
}

TEST_F(PolicyLint, ListsEveryRuleThatThePluginsCannotServe) {
  const Texts errors = texts(
      Severity::kError, with(rule("toy.fest", "bytes = 1") + rule("mehs.one_shot", "bytes = 2") +
                             "[transport]\nuse = \"ucx\"\n"));
  ASSERT_EQ(errors.size(), 3U);
  EXPECT_TRUE(errors[0].starts_with("p.toml:4:7: no algorithm \"toy.fest\"; did you")) << errors[0];
  EXPECT_TRUE(errors[1].starts_with("p.toml:8:7: no algorithm \"mehs.one_shot\"")) << errors[1];
  EXPECT_TRUE(errors[2].starts_with("p.toml:11:1: no transport \"ucx\"; known are hccs-sdma"))
      << errors[2];
}

TEST_F(PolicyLint, AMissingMemoryPluginIsAnError) {
  const Texts errors = texts(Severity::kError, with("[memory]\norder = [\"heap\", \"symwim\"]\n"));
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_NE(errors[0].find("p.toml:3:18: no memory plugin \"symwim\""), std::string::npos);
}

TEST_F(PolicyLint, WarnsOfNumbersOfRanksThatAnAlgorithmDoesNotServe) {
  EXPECT_EQ(texts(Severity::kWarning, with(rule("toy.pair", "ranks = \"3..\""))),
            Texts{"p.toml:2:1: this rule never applies here: toy.pair serves at most 2 ranks"});
  EXPECT_EQ(texts(Severity::kWarning, with(rule("toy.many", "ranks = \"..7\""))),
            Texts{"p.toml:2:1: this rule never applies here: toy.many needs at least 8 ranks"});
  EXPECT_TRUE(found(with(rule("toy.many", "ranks = \"..8\""))).empty());
}

TEST_F(PolicyLint, WarnsOfDeterministicRulesForOtherAlgorithms) {
  EXPECT_EQ(texts(Severity::kWarning, with(rule("toy.fast", "deterministic = true"))),
            Texts{"p.toml:2:1: this rule never applies here: toy.fast does not sum in rank order, "
                  "and a deterministic result is asked for"});
  EXPECT_TRUE(texts(Severity::kWarning, with(rule("toy.fast", "deterministic = false"))).empty());
}

TEST_F(PolicyLint, WarnsOfRulesThatSeveralOthersCover) {
  EXPECT_EQ(
      texts(Severity::kWarning,
            with(rule("toy.fast", "bytes = \"..1KiB\"") + rule("toy.again", "bytes = \"1000..\"") +
                 rule("toy.pair", "bytes = \"512..2KiB\", deterministic = false"))),
      Texts{"p.toml:10:1: this rule never applies here: the rules in lines 2, 6 decide every "
            "call that it matches and toy.pair can serve"});
  // Where a result must be deterministic toy.fast is passed over.
  EXPECT_TRUE(texts(Severity::kWarning, with(rule("toy.fast", "bytes = \"..1KiB\"") +
                                             rule("toy.again", "bytes = \"1025..\"") +
                                             rule("toy.pair", "bytes = \"512..2KiB\"")))
                  .empty());
}

TEST_F(PolicyLint, WarnsOfReductionsThatTheTransportDoesNotHave) {
  registry_.load(std::string(WEFT_TEST_PLUGINS) + "/fault_transport_none.so");
  const Texts warnings =
      texts(Severity::kWarning, with(rule("toy.again", "type = \"int8\", reduce = \"prod\"") +
                                     "[transport]\nuse = \"nowhere\"\n"));
  ASSERT_EQ(warnings.size(), 5U);  // it can reduce nothing at all
  EXPECT_EQ(warnings[0],
            "p.toml:2:1: this rule never applies here: transport \"nowhere\" cannot reduce type "
            "int8, reduce prod");
  EXPECT_TRUE(warnings[1].ends_with("transport \"nowhere\" cannot reduce anything")) << warnings[1];
}

TEST_F(PolicyLint, TheLastRuleOfAnOperationMayBeIdle) {
  EXPECT_TRUE(texts(Severity::kWarning,
                    with(rule("toy.again", "hosts = 1") + rule("toy.again", "hosts = \"2..\"")))
                  .empty());
}

TEST_F(PolicyLint, WarnsOfNumbersThatNoCommunicatorHas) {
  EXPECT_EQ(
      texts(Severity::kWarning,
            with(rule("toy.again", "ranks = 5, hosts = 2, ranks_per_host = 2"))),
      Texts{"p.toml:2:1: this rule never applies here: no call has such numbers of ranks, hosts "
            "and ranks on each host"});
  EXPECT_TRUE(
      texts(Severity::kWarning, with(rule("toy.again", "ranks = 4, hosts = 2, ranks_per_host = 2")))
          .empty());
  EXPECT_EQ(texts(Severity::kWarning, with(rule("toy.again", "ranks = 4, hosts = \"5..\""))).size(),
            1U);
}

TEST_F(PolicyLint, CountsPairsOfRulesWhoseOrderMatters) {
  const std::string text = with(rule("toy.again", "bytes = \"..1KiB\", ranks = \"..8\"") +
                                rule("toy.fast", "bytes = \"..4KiB\", ranks = \"5..\""));
  EXPECT_EQ(
      texts(Severity::kOverlap, text),
      Texts{"p.toml:6:1: overlaps with the rule in line 2: for bytes ..1KiB, ranks 5..8, that "
            "one comes first"});
  // Narrow before wide is how rules are meant, and the same algorithm is no difference.
  EXPECT_TRUE(texts(Severity::kOverlap, with(rule("toy.again", "bytes = \"..1KiB\", ranks = 4") +
                                             rule("toy.fast", "bytes = \"..4KiB\"")))
                  .empty());
  EXPECT_TRUE(texts(Severity::kOverlap, with(rule("toy.fast", "bytes = \"..1KiB\"") +
                                             rule("toy.fast", "ranks = \"5..\"")))
                  .empty());
}

}  // namespace
}  // namespace weft::config
