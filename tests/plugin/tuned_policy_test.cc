// SPDX-License-Identifier: Apache-2.0
// The policy that `weft tune` makes of times, with the plugins that are installed.
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/lint.hpp"
#include "config/policy.hpp"
#include "config/policy_text.hpp"
#include "config/rules.hpp"
#include "plugin/registry.hpp"
#include "tune/policy_text.hpp"

namespace weft::tools {
namespace {

/// Candidates, and at each size the one that is clearly the fastest.
Tuned tuned_of(uint32_t op, const std::vector<Candidate>& candidates,
               const std::vector<std::pair<uint64_t, size_t>>& fastest, size_t base) {
  Tuned tuned;
  tuned.findings.op = op;
  tuned.findings.by_bytes = op != WEFT_OP_BARRIER;
  tuned.findings.candidates = candidates;
  for (const auto& [bytes, best] : fastest) {
    SizeFindings size;
    size.bytes = bytes;
    size.base = base;
    for (size_t i = 0; i < candidates.size(); ++i) {
      size.timings.push_back({i == best ? 1.0 : 2.0, 50, 0, i != best});
    }
    tuned.findings.sizes.push_back(size);
  }
  tuned.stretches = choose(tuned.findings);
  return tuned;
}

class TunedPolicy : public testing::Test {
 protected:
  TunedPolicy() { registry_.load(plugin::default_folder()); }

  /// What is written, read again; there is nothing wrong with it.
  config::Policy written(const TunedFor& what, const std::vector<Tuned>& tuned,
                         const config::Policy& base) {
    text_ = policy_text(what, tuned, base, registry_);
    config::Policy policy = config::Policy::parse(text_, "tuned.toml");
    for (const config::Finding& each : config::lint(policy, registry_)) {
      EXPECT_EQ(each.severity, config::Severity::kOverlap) << each.text;
    }
    return policy;
  }

  /// The default one with rules before its own.
  config::Policy base(const std::string& rules = "") {
    config::Policy policy = config::Policy::load(config::Policy::default_file());
    std::string text = "schema = 1\n" + rules;
    for (const config::Rule& rule : policy.rules()) text += config::toml_of(rule);
    policy = config::Policy::parse(text + config::toml_of(policy.settings()), "base.toml");
    policy.resolve(registry_);
    return policy;
  }

  static std::string chosen(const config::Policy& policy, uint64_t bytes, uint32_t ranks,
                            bool deterministic = false, int type = HCCL_DATA_TYPE_FP32) {
    return policy.choose({WEFT_OP_ALL_REDUCE, bytes, ranks, type, HCCL_REDUCE_SUM, deterministic})
        .algorithm->name;
  }

  plugin::Registry registry_;
  std::string text_;
};

const std::vector<Candidate> kCandidates = {{{"mesh.one_shot", {}}, false},
                                            {{"mesh.two_shot", {}}, false},
                                            {{"ring.all_reduce", {}}, true}};

TEST_F(TunedPolicy, RulesAreForTheseRanksAndAllElseIsAsBefore) {
  const config::Policy before = base();
  const Tuned tuned =
      tuned_of(WEFT_OP_ALL_REDUCE, kCandidates, {{1024, 0}, {4096, 0}, {16384, 2}, {65536, 2}}, 1);
  const config::Policy policy = written({2, std::nullopt, {"A test."}}, {tuned}, before);
  EXPECT_EQ(chosen(policy, 8, 2), "mesh.one_shot");
  EXPECT_EQ(chosen(policy, 4096, 2), "mesh.one_shot");
  EXPECT_EQ(chosen(policy, 16384, 2), "ring.all_reduce");
  EXPECT_EQ(chosen(policy, uint64_t{1} << 40, 2), "ring.all_reduce");
  EXPECT_EQ(chosen(policy, 16384, 2, true), chosen(before, 16384, 2, true));
  for (const uint32_t ranks : {3U, 4U, 8U, 64U}) {
    for (const uint64_t bytes : {8U, 600U, 5000U, 1U << 20}) {
      EXPECT_EQ(chosen(policy, bytes, ranks), chosen(before, bytes, ranks))
          << ranks << ' ' << bytes;
    }
  }
  EXPECT_NE(text_.find("# A test.\n"), std::string::npos) << text_;
  EXPECT_NE(text_.find("# all_reduce, us "), std::string::npos) << text_;
  EXPECT_NE(text_.find("# The rule for ring.all_reduce does not sum in rank order"),
            std::string::npos)
      << text_;
}

TEST_F(TunedPolicy, RulesAreForSizesThatWereAskedFor) {
  const config::Policy before = base();
  const Tuned tuned = tuned_of(WEFT_OP_ALL_REDUCE, kCandidates, {{4096, 2}, {16384, 2}}, 1);
  const config::Policy policy = written({2, std::nullopt, {}, {4096, 16384}}, {tuned}, before);
  EXPECT_EQ(chosen(policy, 4096, 2), "ring.all_reduce");
  EXPECT_EQ(chosen(policy, 16384, 2), "ring.all_reduce");
  for (const uint64_t bytes : {8U, 4095U, 16385U, 1U << 30}) {
    EXPECT_EQ(chosen(policy, bytes, 2), chosen(before, bytes, 2)) << bytes;
  }
}

TEST_F(TunedPolicy, SaysWhereThePluginsAreThatItsRulesNeed) {
  const std::string file = std::string(WEFT_TEST_PLUGINS) + "/toy.so";
  registry_.load(file);
  const config::Policy before = base();
  const std::vector<Candidate> candidates = {{{"mesh.two_shot", {}}, false},
                                             {{"toy.all_reduce", {}}, false}};
  const auto places = [&](size_t fastest) {
    const Tuned tuned =
        tuned_of(WEFT_OP_ALL_REDUCE, candidates, {{1024, fastest}, {4096, fastest}}, 0);
    return written({2, std::nullopt, {}}, {tuned}, before).settings().plugin_paths;
  };
  EXPECT_TRUE(places(0).empty()) << "the default folder needs no word";
  const auto found = places(1);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(std::filesystem::equivalent(found[0], file)) << found[0];
}

TEST_F(TunedPolicy, NothingFasterChangesNothing) {
  const config::Policy before = base();
  const Tuned tuned =
      tuned_of(WEFT_OP_ALL_REDUCE, kCandidates, {{1024, 1}, {4096, 1}, {16384, 1}}, 1);
  EXPECT_EQ(written({2, std::nullopt, {}}, {tuned}, before).digest(), before.digest());
}

TEST_F(TunedPolicy, RulesThatCanNeverApplyAreLeftOut) {
  // The first one is covered by a rule alone, the second one by both together.
  const config::Policy before = base(
      "[[rule]]\nop = \"all_reduce\"\nuse = \"mesh.two_shot\"\n"
      "when = { ranks = 2, bytes = \"..64\", type = \"int8\" }\n"
      "[[rule]]\nop = \"all_reduce\"\nuse = \"tree.star_all_reduce\"\nwhen = { ranks = 2 }\n"
      "[[rule]]\nop = \"all_reduce\"\nuse = \"tree.star_all_reduce\"\nwhen = { ranks = 3 }\n");
  const Tuned tuned = tuned_of(WEFT_OP_ALL_REDUCE, kCandidates, {{1024, 0}, {65536, 1}}, 2);
  const config::Policy policy = written({2, std::nullopt, {}}, {tuned}, before);
  EXPECT_EQ(text_.find("int8"), std::string::npos) << text_;
  EXPECT_EQ(text_.find("when = { ranks = \"2\" }"), std::string::npos) << text_;
  EXPECT_EQ(chosen(policy, 8, 2), "mesh.one_shot");
  EXPECT_EQ(chosen(policy, 8, 3), "tree.star_all_reduce");
}

TEST_F(TunedPolicy, AMeasuredTypeIsThatOfTheRules) {
  const config::Policy before = base();
  const Tuned tuned = tuned_of(WEFT_OP_ALL_REDUCE, kCandidates, {{1 << 20, 0}}, 1);
  const Tuned barrier =
      tuned_of(WEFT_OP_BARRIER, {{{"mesh.barrier", {}}, false}, {{"tree.star_barrier", {}}, false}},
               {{0, 1}}, 0);
  const config::Policy policy = written({4, HCCL_DATA_TYPE_FP16, {}}, {tuned, barrier}, before);
  EXPECT_EQ(chosen(policy, 1 << 20, 4, false, HCCL_DATA_TYPE_FP16), "mesh.one_shot");
  EXPECT_EQ(chosen(policy, 1 << 20, 4, false, HCCL_DATA_TYPE_FP32), "mesh.two_shot");
  EXPECT_EQ(policy.choose({WEFT_OP_BARRIER, 0, 4}).algorithm->name, "tree.star_barrier");
}

}  // namespace
}  // namespace weft::tools
