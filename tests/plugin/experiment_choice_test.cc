// SPDX-License-Identifier: Apache-2.0
// The experiments of a policy with real plugins: which calls they take, and what a communicator
// makes of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/experiments.hpp"
#include "config/difference.hpp"
#include "config/lint.hpp"
#include "config/policy.hpp"
#include "config/rules.hpp"
#include "plugin/registry.hpp"
#include "unit/config/policy_text.hpp"

namespace weft::config {
namespace {

std::string experiment(const std::string& name, const std::string& arms,
                       const std::string& more = "") {
  return "[[experiment]]\nname = \"" + name + "\"\nop = \"all_reduce\"\narms = [" + arms + "]\n" +
         more + "\n";
}

const std::string kTwo = "{ use = \"toy.all_reduce\" }, { use = \"toy.fast\" }";
const std::string kPair = "{ use = \"toy.all_reduce\" }, { use = \"toy.pair\" }";

Query call(uint64_t bytes, uint32_t ranks) {
  return {WEFT_OP_ALL_REDUCE, bytes, ranks, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, false};
}

class ExperimentChoice : public testing::Test {
 protected:
  ExperimentChoice() { registry_.load(std::string(WEFT_TEST_PLUGINS) + "/toy.so"); }

  Policy resolved(const std::string& text) const {
    Policy policy = Policy::parse(with(text), "p.toml");
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

  plugin::Registry registry_;
};

TEST_F(ExperimentChoice, TheFirstThatMatchesAndAllOfWhoseArmsCanServe) {
  const Policy policy = resolved(experiment("small", kPair, "when = { bytes = \"..1KiB\" }") +
                                 experiment("any", kTwo));
  EXPECT_EQ(policy.experiment(call(8, 2))->name, "small");
  EXPECT_EQ(policy.experiment(call(8, 3))->name, "any") << "pair is for two ranks";
  EXPECT_EQ(policy.experiment(call(4096, 2))->name, "any");
  Query query = call(8, 3);
  query.deterministic = true;
  EXPECT_EQ(policy.experiment(query), nullptr) << "fast does not sum in rank order";
  query.ranks = 2;
  EXPECT_EQ(policy.experiment(query)->name, "small");
  query.wish = {"NHR", "HCCL_ALGO"};
  EXPECT_EQ(policy.experiment(query), nullptr) << "a wish is stronger";
  query = call(8, 2);
  query.op = WEFT_OP_REDUCE;
  EXPECT_EQ(policy.experiment(query), nullptr);
  EXPECT_EQ(why_not(policy.experiments()[0], call(8, 3)),
            "its arm toy.pair serves at most 2 ranks");
  EXPECT_EQ(why_not(policy.experiments()[0], call(4096, 2)), "4KiB bytes are not in ..1KiB");
}

TEST_F(ExperimentChoice, ArmsMustBeAlgorithmsOfTheOperation) {
  expect_error(HCCL_E_NOT_FOUND, "p.toml:5:17: no algorithm \"toy.fasst\"",
               experiment("x", "{ use = \"toy.fasst\" }, { use = \"toy.fast\" }"));
  expect_error(HCCL_E_PARA, "p.toml:5:17: algorithm \"toy.reduce\" is for reduce",
               experiment("x", "{ use = \"toy.reduce\" }, { use = \"toy.fast\" }"));
  expect_error(HCCL_E_PARA, "p.toml:5:40: parameter \"pieces\" of \"toy.pair\" is 99",
               experiment("x",
                          "{ use = \"toy.pair\", params = { pieces = 99 } }, "
                          "{ use = \"toy.fast\" }"));
}

TEST_F(ExperimentChoice, ArmsAreCandidates) {
  const Policy policy = resolved(experiment("x", kPair));
  const auto has_pair = [&](uint32_t ranks) {
    const std::vector<Candidate> all = policy.candidates(ranks, {});
    return std::ranges::any_of(
        all, [](const Candidate& each) { return each.algorithm->name == "toy.pair"; });
  };
  EXPECT_TRUE(has_pair(2));
  EXPECT_FALSE(has_pair(3)) << "the experiment takes no call of three ranks";
}

TEST_F(ExperimentChoice, LintAndDiffKnowThem) {
  const auto warnings = [&](const std::string& text) {
    Policy policy = Policy::parse(with(text), "p.toml");
    plugin::Registry registry;
    registry.load(plugin::default_folder());
    registry.load(std::string(WEFT_TEST_PLUGINS) + "/toy.so");
    return lint(policy, registry);
  };
  EXPECT_TRUE(warnings(experiment("x", kPair)).empty());
  const auto found = warnings(experiment("x", kPair, "when = { ranks = \"3..\" }"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].severity, Severity::kWarning);
  EXPECT_EQ(found[0].text,
            "p.toml:2:1: this experiment never applies here: toy.pair serves at most 2 ranks");
  const auto later = warnings(experiment("x", kPair) + experiment("y", kTwo) +
                              experiment("z", kPair, "when = { ranks = 2 }"));
  ASSERT_EQ(later.size(), 1u) << "the second one has more ranks";
  EXPECT_EQ(
      later[0].text,
      "p.toml:12:1: this experiment never applies here: the one in line 2 takes all its calls");
  const auto wrong = warnings(experiment("x", "{ use = \"toy.a\" }, { use = \"toy.b\" }"));
  EXPECT_EQ(wrong.size(), 2u) << "both arms are told of";

  const auto differences_of = [&](const std::string& a, const std::string& b) {
    std::vector<std::string> texts;
    for (const Difference& each : setting_differences(resolved(a), resolved(b))) {
      texts.push_back(each.calls + ": " + each.first + " | " + each.second);
    }
    return texts;
  };
  using Texts = std::vector<std::string>;
  const std::string x = experiment("x", kTwo);
  EXPECT_EQ(differences_of(x, x), Texts());
  EXPECT_EQ(differences_of(x, ""),
            Texts{"experiment.x: toy.all_reduce against toy.fast | left out"});
  EXPECT_EQ(differences_of("", x),
            Texts{"experiment.x: left out | toy.all_reduce against toy.fast"});
  EXPECT_EQ(
      differences_of(x, experiment("x", kPair)),
      Texts{"experiment.x: toy.all_reduce against toy.fast | toy.all_reduce against toy.pair"});
  EXPECT_EQ(
      differences_of(x, experiment("x", kTwo, "block = 7")),
      Texts{"experiment.x: toy.all_reduce against toy.fast | toy.all_reduce against toy.fast, "
            "for other calls, weights or blocks"});
}

}  // namespace
}  // namespace weft::config

namespace weft::comm {
namespace {

class LiveExperiments : public testing::Test {
 protected:
  LiveExperiments() { registry_.load(std::string(WEFT_TEST_PLUGINS) + "/toy.so"); }

  /// Of a communicator of two ranks; `doubt` is about the arm toy.fast.
  std::unique_ptr<Experiments> make(const std::string& text, uint64_t seed = 1) {
    auto policy = std::make_shared<config::Policy>(config::Policy::parse(config::with(text), "p"));
    policy->resolve(registry_);
    return std::make_unique<Experiments>(
        policy, seed,
        ExperimentQuestions{
            [this](const CallKey& key) {
              return config::Query{key.op, key.count * 4, ranks_, key.type, 0, false};
            },
            [this](const config::Rule& arm, const CallKey& key) {
              ++asked_;
              return key.root == 2 || (arm.use == "toy.fast" && key.root == 1) ? "no such root"
                                                                               : "";
            },
            speaks_});
  }
  static CallKey key(uint64_t count, uint32_t root = 0) {
    return {.count = count, .root = root, .op = WEFT_OP_ALL_REDUCE, .type = HCCL_DATA_TYPE_FP32};
  }

  plugin::Registry registry_;
  int asked_ = 0;
  bool speaks_ = false;
  uint32_t ranks_ = 2;
};

TEST_F(LiveExperiments, CallsThatAreAlikeAreOneTrial) {
  const auto all = make(config::experiment("x", config::kTwo, "when = { bytes = \"..1KiB\" }"));
  Trial* first = all->find(key(1));
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(asked_, 2);
  Trial* second = all->find(key(2));
  EXPECT_NE(second, first);
  EXPECT_EQ(all->find(key(1)), first);
  EXPECT_EQ(all->find(key(2)), second);
  EXPECT_EQ(all->find(key(1000)), nullptr) << "too large for it";
  EXPECT_EQ(all->find(key(1000)), nullptr);
  EXPECT_EQ(asked_, 4);
  ASSERT_EQ(all->times().size(), 1u);
  EXPECT_EQ(all->times()[0]->snapshot().series.size(), 0u) << "no call so far";
}

TEST_F(LiveExperiments, AllRanksTakeTheSameArmInTheSameCall) {
  const std::string text = config::experiment("x", config::kTwo, "block = 3");
  const auto one = make(text);
  const auto other = make(text);
  const auto elsewhere = make(text, 2);
  uint32_t differ = 0;
  for (uint32_t call = 0; call < 300; ++call) {
    const CallKey which = key(1 + call % 3);
    Trial* trial = one->find(which);
    EXPECT_EQ(trial->arm(), other->find(which)->arm());
    differ += trial->arm() != elsewhere->find(which)->arm();
    one->advance(*trial);
    other->advance(*other->find(which));
    elsewhere->advance(*elsewhere->find(which));
  }
  EXPECT_GT(differ, 50u) << "another communicator has another order";
}

TEST_F(LiveExperiments, AnArmThatFailsIsOffForSuchCalls) {
  const auto all = make(config::experiment("x", config::kTwo, "block = 1"));
  Trial* trial = all->find(key(1, 1));
  ASSERT_NE(trial, nullptr);
  for (int call = 0; call < 50; ++call) {
    EXPECT_EQ(trial->arm(), 0u);
    all->advance(*trial);
  }
  uint32_t seconds = 0;
  for (int call = 0; call < 50; ++call) {
    seconds += all->find(key(1, 0))->arm();
    all->advance(*all->find(key(1, 0)));
  }
  EXPECT_EQ(seconds, 25u) << "it goes on with others";
  EXPECT_EQ(all->times()[0]->snapshot().off, (std::vector<std::string>{"", "no such root"}));
}

TEST_F(LiveExperiments, LeavesCallsThatNoArmCanDoToTheRules) {
  const auto all = make(config::experiment("x", config::kTwo));
  EXPECT_EQ(all->find(key(1, 2)), nullptr);
  EXPECT_NE(all->find(key(1, 0)), nullptr);
}

TEST_F(LiveExperiments, OneThatCannotTakeACallIsToldOf) {
  speaks_ = true;
  ranks_ = 3;
  const auto all = make(config::experiment("x", config::kPair));
  testing::internal::CaptureStderr();
  EXPECT_EQ(all->find(key(1)), nullptr);
  EXPECT_EQ(all->find(key(2)), nullptr);
  const std::string told = testing::internal::GetCapturedStderr();
  const std::string line =
      "experiment \"x\" does not take all_reduce of 1 fp32, sum: its arm "
      "toy.pair serves at most 2 ranks";
  EXPECT_NE(told.find(line), std::string::npos) << told;
  EXPECT_EQ(told.find("does not take", told.find(line) + line.size()), std::string::npos) << told;
}

TEST_F(LiveExperiments, WhatIsRefusedDoesNotCount) {
  const auto all = make(config::experiment("x", config::kTwo));
  EXPECT_NE(all->find(key(1)), nullptr);  // and then refused
  Trial* second = all->find(key(2));
  all->advance(*second);
  const ExperimentTimes::Snapshot found = all->times()[0]->snapshot();
  ASSERT_EQ(found.series.size(), 1u) << "on other ranks it has this number too";
  EXPECT_EQ(found.series[0], key(2));
}

TEST_F(LiveExperiments, GoOnWhenADeterministicLevelComesBack) {
  const auto all = make(config::experiment("x", config::kPair, "block = 1"));
  Trial* first = all->find(key(1));
  all->set_deterministic(true);
  Trial* other = all->find(key(1));
  EXPECT_NE(other, first);
  all->set_deterministic(false);
  EXPECT_EQ(all->find(key(1)), first);
}

TEST_F(LiveExperiments, KeepsTheTimesOfWholeBlocksFromTheSecondRoundOn) {
  const auto all = make(config::experiment(
      "x", "{ use = \"toy.all_reduce\", weight = 3 }, { use = \"toy.fast\" }", "block = 2"));
  Trial* trial = all->find(key(1));
  for (int call = 0; call < 8 * 3; ++call) {  // 3 rounds of 4 blocks
    EXPECT_EQ(all->times()[0]->snapshot().blocks.size(), call < 8 ? 0u : (call - 8u) / 2) << call;
    // The first call of a block is not in its mean.
    const int us = trial->block_begins() ? 500 : trial->arm() == 0 ? 10 : 30;
    trial->add(std::chrono::microseconds(us));
    all->advance(*trial);
  }
  const ExperimentTimes::Snapshot found = all->times()[0]->snapshot();
  EXPECT_EQ(found.calls, (std::vector<uint64_t>{18, 6}));
  ASSERT_EQ(found.blocks.size(), 8u);
  uint32_t paired = 0;
  for (const stats::Block& each : found.blocks) {
    EXPECT_DOUBLE_EQ(each.us, each.arm == 0 ? 10 : 30);
    EXPECT_TRUE(each.round == 1 || each.round == 2);
    paired += each.paired;
  }
  EXPECT_EQ(paired, 4u) << "one of each arm and round";
  for (uint32_t call = 0; call < 4 * ExperimentTimes::kMost; ++call) {
    trial->add(std::chrono::nanoseconds(0));
  }
  EXPECT_EQ(all->times()[0]->snapshot().blocks.size(), ExperimentTimes::kMost);
  EXPECT_EQ(all->times()[0]->snapshot().calls[0], 18u + 3 * ExperimentTimes::kMost);
}

TEST_F(LiveExperiments, OnlySoManyKindsOfCallsTakePart) {
  speaks_ = true;
  const auto all = make(config::experiment("x", config::kTwo, "when = { bytes = \"..1MiB\" }"));
  for (uint64_t count = 1; count <= 8 * Experiments::kMostKinds; ++count) {
    CallKey broadcast = key(count);
    broadcast.op = WEFT_OP_BROADCAST;
    EXPECT_EQ(all->find(broadcast), nullptr);
    EXPECT_EQ(all->find(key((1 << 20) + count)), nullptr) << "too large";
  }
  testing::internal::CaptureStderr();
  for (uint64_t count = 1; count <= Experiments::kMostKinds; ++count) {
    Trial* trial = all->find(key(count));
    ASSERT_NE(trial, nullptr) << "others take no place";
    all->advance(*trial);
  }
  EXPECT_EQ(all->find(key(Experiments::kMostKinds + 1)), nullptr);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("1024 kinds of calls"), std::string::npos);
  EXPECT_NE(all->find(key(1)), nullptr);
}

}  // namespace
}  // namespace weft::comm
