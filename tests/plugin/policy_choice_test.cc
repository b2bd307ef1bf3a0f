// SPDX-License-Identifier: Apache-2.0
// A policy with real plugins: what a rule may name, and which rule serves a call.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "base/error.hpp"
#include "config/policy.hpp"
#include "plugin/registry.hpp"
#include "unit/config/policy_text.hpp"

namespace weft::config {
namespace {

const std::string kFolder = std::string(WEFT_TEST_PLUGINS) + '/';

class PolicyChoice : public testing::Test {
 protected:
  PolicyChoice() { registry_.load(kFolder + "toy.so"); }

  Policy resolved(const std::string& text) const {
    Policy policy = Policy::parse(text, "p.toml");
    policy.resolve(registry_);
    return policy;
  }

  void expect_error(HcclResult code, const std::string& message, const std::string& text) const {
    try {
      (void)resolved(text);
      FAIL() << "accepted; expected " << message;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
      EXPECT_EQ(std::string(error.what()).substr(0, message.size()), message) << error.what();
    }
  }

  static std::string rule(const std::string& use, const std::string& more = "") {
    return "[[rule]]\nop = \"all_reduce\"\nuse = \"" + use + "\"\n" + more + "\n";
  }

  plugin::Registry registry_;
};

Query all_reduce(uint64_t bytes, uint32_t ranks, bool deterministic = false) {
  return {WEFT_OP_ALL_REDUCE, bytes, ranks, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, deterministic};
}

const std::string kSmall = "when = { bytes = \"..1KiB\" }";

TEST_F(PolicyChoice, IsTheFirstRuleThatMatches) {
  const Policy policy = resolved(with(rule("toy.pair", "when = { bytes = \"..1KiB\", ranks = 2 }") +
                                      rule("toy.fast", "when = { bytes = \"..64KiB\" }")));
  EXPECT_EQ(policy.choose(all_reduce(1024, 2)).algorithm->name, "toy.pair");
  EXPECT_EQ(policy.choose(all_reduce(1024, 3)).algorithm->name, "toy.fast");
  EXPECT_EQ(policy.choose(all_reduce(1025, 2)).algorithm->name, "toy.fast");
  EXPECT_EQ(policy.choose(all_reduce(65537, 2)).algorithm->name, "toy.all_reduce");
  EXPECT_EQ(policy.choose(all_reduce(0, 2)).source, "p.toml:2");
  EXPECT_EQ(policy.choose(all_reduce(65537, 2)).source, "p.toml:11");
}

TEST_F(PolicyChoice, FillsInDefaultsInDeclaredOrder) {
  const Policy none = resolved(with(rule("toy.pair", kSmall)));
  EXPECT_EQ(none.choose(all_reduce(8, 2)).params, (std::vector<int64_t>{2, 0}));
  const Policy one = resolved(with(rule("toy.pair", kSmall + "\nparams = { skew = -5 }")));
  EXPECT_EQ(one.choose(all_reduce(8, 2)).params, (std::vector<int64_t>{2, -5}));
  const Policy both =
      resolved(with(rule("toy.pair", kSmall + "\nparams = { skew = 1, pieces = 8 }")));
  EXPECT_EQ(both.choose(all_reduce(8, 2)).params, (std::vector<int64_t>{8, 1}));
}

TEST_F(PolicyChoice, PassesOverAlgorithmsThatCannotServe) {
  const Policy policy = resolved(with(rule("toy.many", "when = { bytes = \"..1KiB\" }") +
                                      rule("toy.pair", "when = { bytes = \"..2KiB\" }") +
                                      rule("toy.fast", "when = { bytes = \"..4KiB\" }")));
  EXPECT_EQ(policy.choose(all_reduce(8, 8)).algorithm->name, "toy.many");
  EXPECT_EQ(policy.choose(all_reduce(8, 2)).algorithm->name, "toy.pair");
  EXPECT_EQ(policy.choose(all_reduce(8, 5)).algorithm->name, "toy.fast");
  EXPECT_EQ(policy.choose(all_reduce(8, 5, true)).algorithm->name, "toy.all_reduce");
}

TEST_F(PolicyChoice, CanDependOnWhetherDeterminismIsAskedFor) {
  const Policy policy =
      resolved(with(rule("toy.pair", "when = { deterministic = true, ranks = 2 }") +
                    rule("toy.fast", "when = { deterministic = false }")));
  EXPECT_EQ(policy.choose(all_reduce(8, 2, true)).algorithm->name, "toy.pair");
  EXPECT_EQ(policy.choose(all_reduce(8, 2, false)).algorithm->name, "toy.fast");
  EXPECT_EQ(policy.choose(all_reduce(8, 3, true)).algorithm->name, "toy.all_reduce");
}

TEST_F(PolicyChoice, DeterminismDoesNotConcernCopies) {
  const Policy policy = resolved(with(""));
  Query query = all_reduce(8, 2, true);
  query.op = WEFT_OP_BROADCAST;
  query.reduce_op = -1;
  EXPECT_EQ(policy.choose(query).algorithm->name, "toy.broadcast");
  query.op = WEFT_OP_BARRIER;
  EXPECT_EQ(policy.choose(query).algorithm->name, "toy.barrier");
}

TEST_F(PolicyChoice, ThatNoRuleCanServeListsEachWithItsReason) {
  Query query = all_reduce(4096, 2, true);
  query.op = WEFT_OP_REDUCE_SCATTER;
  const Policy policy = resolved(with(""));
  try {
    (void)policy.choose(query);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), HCCL_E_NOT_SUPPORT);
    EXPECT_STREQ(error.what(),
                 "no rule of the policy p.toml can serve reduce_scatter of 4096 bytes with 2 "
                 "ranks; p.toml:12: toy.reduce_scatter does not sum in rank order, and a "
                 "deterministic result is asked for");
  }
}

TEST_F(PolicyChoice, NeedsEveryAlgorithmItNames) {
  expect_error(HCCL_E_NOT_FOUND,
               "p.toml:4:7: no algorithm \"toy.fest\"; did you mean \"toy.fast\"?",
               with(rule("toy.fest", kSmall)));
  expect_error(HCCL_E_NOT_FOUND,
               "p.toml:4:7: no algorithm \"mesh.one_shot\" because no plugin \"mesh\" is loaded; "
               "known are toy.all_reduce, toy.fast, toy.pair, toy.many",
               with(rule("mesh.one_shot", kSmall)));
}

TEST_F(PolicyChoice, SaysThatThePluginOfARuleWasRefused) {
  registry_.load(kFolder + "fault_min_ranks.so");
  expect_error(HCCL_E_NOT_FOUND,
               "p.toml:4:7: no algorithm \"fault.one\" because no plugin \"fault\" is loaded: " +
                   kFolder + "fault_min_ranks.so is not used: algorithm fault.one has min_ranks 1",
               with(rule("fault.one", kSmall)));
}

TEST_F(PolicyChoice, SaysWhichNamelessFilesWereRefused) {
  registry_.load(kFolder + "fault_unresolved.so");
  expect_error(HCCL_E_NOT_FOUND,
               "p.toml:4:7: no algorithm \"fault.one\" because no plugin \"fault\" is loaded; " +
                   kFolder + "fault_unresolved.so is not used: cannot be loaded: ",
               with(rule("fault.one", kSmall)));
}

TEST_F(PolicyChoice, NeedsTheOperationOfTheRule) {
  expect_error(HCCL_E_PARA,
               "p.toml:4:7: algorithm \"toy.barrier\" is for barrier, this rule is for all_reduce",
               with(rule("toy.barrier", kSmall)));
}

TEST_F(PolicyChoice, KnowsEveryParameterAndItsLimits) {
  const auto params = [](const std::string& text) {
    return with(rule("toy.pair", kSmall + "\nparams = { " + text + " }"));
  };
  expect_error(HCCL_E_PARA,
               "p.toml:6:12: algorithm \"toy.pair\" has no parameter \"piece\"; did you mean "
               "\"pieces\"?",
               params("piece = 1"));
  expect_error(HCCL_E_PARA,
               "p.toml:6:12: parameter \"pieces\" of \"toy.pair\" is 9, outside its limits 1..8",
               params("pieces = 9"));
  expect_error(HCCL_E_PARA,
               "p.toml:6:24: parameter \"skew\" of \"toy.pair\" is -6, outside its limits -5..5",
               params("pieces = 1, skew = -6"));
  expect_error(HCCL_E_PARA, "p.toml:6:12: algorithm \"toy.fast\" has no parameter \"pieces\"",
               with(rule("toy.fast", kSmall + "\nparams = { pieces = 1 }")));
}

TEST_F(PolicyChoice, TakesValuesOfTheTypeThatAParameterHas) {
  const auto params = [](const std::string& use, const std::string& text) {
    return with(rule(use, kSmall + "\nparams = { " + text + " }"));
  };
  const auto values = [&](const std::string& text) {
    return resolved(params("toy.many", text)).choose(all_reduce(8, 8)).params;
  };
  EXPECT_EQ(values("wide = true"), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(values("side = \"right\", wide = false"), (std::vector<int64_t>{0, 1}));
  expect_error(HCCL_E_PARA,
               "p.toml:6:12: parameter \"wide\" of \"toy.many\" is 1; allowed: true or false",
               params("toy.many", "wide = 1"));
  expect_error(HCCL_E_PARA,
               "p.toml:6:12: parameter \"side\" of \"toy.many\" is \"up\"; allowed: \"left\", "
               "\"right\"",
               params("toy.many", "side = \"up\""));
  expect_error(HCCL_E_PARA,
               "p.toml:6:12: parameter \"side\" of \"toy.many\" is 1; allowed: \"left\", \"right\"",
               params("toy.many", "side = 1"));
  expect_error(HCCL_E_PARA,
               "p.toml:6:12: parameter \"pieces\" of \"toy.pair\" is true; allowed: 1..8",
               params("toy.pair", "pieces = true"));
  const std::string left = params("toy.many", "side = \"left\"");
  const std::string right = params("toy.many", "side = \"right\"");
  EXPECT_NE(Policy::parse(left, "a").digest(), Policy::parse(right, "b").digest());
}

Query wishing(Query query, std::string_view name) {
  query.wish = {name, "HCCL_ALGO"};
  return query;
}

TEST_F(PolicyChoice, OfAWishIsTheFirstRuleThatAnswersToIt) {
  const Policy policy =
      resolved(with(rule("toy.fast", kSmall) + rule("toy.pair",
                                                    "when = { bytes = \"..64KiB\" }\n"
                                                    "params = { pieces = 8 }")));
  const Choice choice = policy.choose(wishing(all_reduce(8, 2), "NHR"));
  EXPECT_EQ(choice.algorithm->name, "toy.pair");
  EXPECT_EQ(choice.params, (std::vector<int64_t>{8, 0}));
  EXPECT_EQ(choice.source, "HCCL_ALGO level0:NHR");
  EXPECT_EQ(policy.choose(wishing(all_reduce(8, 2), "fullmesh")).algorithm->name, "toy.all_reduce");
}

TEST_F(PolicyChoice, OfAWishMayBeAnAlgorithmThatNoRuleNames) {
  const Policy policy = resolved(with(rule("toy.pair", kSmall + "\nparams = { pieces = 8 }")));
  const Choice ring = policy.choose(wishing(all_reduce(8, 3), "ring"));
  EXPECT_EQ(ring.algorithm->name, "toy.fast");
  EXPECT_EQ(ring.source, "HCCL_ALGO level0:ring");
  // Of those that can serve; the rule for small calls does not match, so its parameters do not
  // hold.
  EXPECT_EQ(policy.choose(wishing(all_reduce(8, 8), "NHR")).algorithm->name, "toy.many");
  const Choice pair = policy.choose(wishing(all_reduce(1 << 20, 2), "NHR"));
  EXPECT_EQ(pair.algorithm->name, "toy.pair");
  EXPECT_EQ(pair.params, (std::vector<int64_t>{2, 0}));
}

TEST_F(PolicyChoice, OfAWishTakesAlgorithmsThatNoRuleNamesInOrderOfTheirNames) {
  std::string text = with("");
  const std::string use = "toy.all_reduce";
  text.replace(text.find(use), use.size(), "toy.fast");
  const Choice choice = resolved(text).choose(wishing(all_reduce(8, 2), "fullmesh"));
  EXPECT_EQ(choice.algorithm->name, "toy.again");
}

TEST_F(PolicyChoice, OfAWishThatNothingAnswersToIsThePolicys) {
  const Policy policy = resolved(with(""));
  const Choice nobody = policy.choose(wishing(all_reduce(8, 2), "AHC"));
  EXPECT_EQ(nobody.algorithm->name, "toy.all_reduce");
  EXPECT_EQ(nobody.source, "p.toml:3 (HCCL_ALGO level0:AHC: no such algorithm for all_reduce)");
  Query query = wishing(all_reduce(8, 2), "ring");
  query.op = WEFT_OP_BROADCAST;
  EXPECT_EQ(policy.choose(query).source,
            "p.toml:6 (HCCL_ALGO level0:ring: no such algorithm for broadcast)");
}

TEST_F(PolicyChoice, OfAWishThatCannotBeServedIsThePolicysWithTheReason) {
  const Policy policy = resolved(with(rule("toy.pair", kSmall)));
  const Choice ranks = policy.choose(wishing(all_reduce(8, 5), "NHR"));
  EXPECT_EQ(ranks.algorithm->name, "toy.all_reduce");
  EXPECT_EQ(ranks.source, "p.toml:7 (HCCL_ALGO level0:NHR: toy.many needs at least 8 ranks)");
  const Choice order = policy.choose(wishing(all_reduce(8, 5, true), "ring"));
  EXPECT_EQ(order.algorithm->name, "toy.all_reduce");
  EXPECT_EQ(order.source,
            "p.toml:7 (HCCL_ALGO level0:ring: toy.fast does not sum in rank order, and a "
            "deterministic result is asked for)");
  // One that does sum in rank order is still taken.
  EXPECT_EQ(policy.choose(wishing(all_reduce(8, 5, true), "fullmesh")).source,
            "HCCL_ALGO level0:fullmesh");
}

TEST_F(PolicyChoice, KnowsWhichNamesOfHcclAlgoAreAnsweredTo) {
  const Policy policy = resolved(with(""));
  for (const char* name : {"ring", "fullmesh", "NHR"}) EXPECT_TRUE(policy.answers_to(name)) << name;
  for (const char* name : {"NB", "AHC", "Ring", ""}) EXPECT_FALSE(policy.answers_to(name)) << name;
}

TEST_F(PolicyChoice, CandidatesAreWhatCallsOfSoManyRanksMayGet) {
  const Policy policy =
      resolved(with(rule("toy.pair", kSmall + "\nparams = { pieces = 8 }") +
                    rule("toy.fast", "when = { ranks = \"4..\", bytes = \"..1MiB\" }")));
  const auto all_reduces = [&](uint32_t ranks, const char* wish) {
    std::string text;
    for (const Candidate& each :
         policy.candidates(ranks, parse_hccl_algo(wish, HcclAlgoSource::kVariable))) {
      if (each.algorithm->table.op != WEFT_OP_ALL_REDUCE) continue;
      text += (text.empty() ? "" : "; ") + each.algorithm->name + ' ' + each.source;
      for (const int64_t value : each.params) text += ' ' + std::to_string(value);
    }
    return text;
  };
  EXPECT_EQ(all_reduces(2, ""), "toy.pair p.toml:4:7 8 0; toy.all_reduce p.toml:14:7");
  EXPECT_EQ(all_reduces(3, ""), "toy.all_reduce p.toml:14:7");
  EXPECT_EQ(all_reduces(4, ""), "toy.fast p.toml:9:7; toy.all_reduce p.toml:14:7");
  EXPECT_EQ(all_reduces(2, "level0:NHR"),
            "toy.pair p.toml:4:7 8 0; toy.all_reduce p.toml:14:7; "
            "toy.pair HCCL_ALGO level0:NHR 2 0");
  EXPECT_EQ(all_reduces(3, "broadcast=level0:ring"), "toy.all_reduce p.toml:14:7");
  // Of two that answer to it the second one is never chosen.
  EXPECT_EQ(all_reduces(3, "level0:fullmesh"),
            "toy.all_reduce p.toml:14:7; toy.again HCCL_ALGO level0:fullmesh");
  EXPECT_EQ(policy.candidates(2, {}).size(), WEFT_OP_COUNT - 1 + 1u);
}

TEST_F(PolicyChoice, CountsThePluginsThatAWishMayUse) {
  registry_.load(kFolder + "fault_none.so");  // fault.one answers to NHR, for all_reduce
  const Policy policy = resolved(with(""));
  const auto plugins = [&](const char* text) {
    return policy.plugins(parse_hccl_algo(text, HcclAlgoSource::kVariable));
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(plugins("level0:NHR"), (Names{"fault", "hccs-sdma", "toy"}));
  EXPECT_EQ(plugins("allreduce=level0:NHR"), (Names{"fault", "hccs-sdma", "toy"}));
  for (const char* text : {"", "level0:NA", "level0:ring", "broadcast=level0:NHR"}) {
    EXPECT_EQ(plugins(text), policy.plugins()) << text;
  }
}

}  // namespace
}  // namespace weft::config
