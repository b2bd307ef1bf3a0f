// SPDX-License-Identifier: Apache-2.0
// In what two policies differ: all of it, nothing else, in few words.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/names.hpp"
#include "base/op_names.hpp"
#include "config/difference.hpp"
#include "config/policy.hpp"
#include "plugin/registry.hpp"
#include "unit/config/policy_text.hpp"

namespace weft::config {
namespace {

class PolicyDiff : public testing::Test {
 protected:
  PolicyDiff() {
    registry_.load(plugin::default_folder());
    registry_.load(std::string(WEFT_TEST_PLUGINS) + "/toy.so");
  }

  Policy resolved(const std::string& text) const {
    Policy policy = Policy::parse(text, "p.toml");
    policy.resolve(registry_);
    return policy;
  }
  Policy shipped(const std::string& name) const {
    Policy policy = Policy::load(Policy::default_file().parent_path() / name);
    policy.resolve(registry_);
    return policy;
  }

  /// "calls: first -> second".
  std::vector<std::string> lines(const std::string& first, const std::string& second) const {
    std::vector<std::string> all;
    for (const Difference& each :
         differences(resolved(first), resolved(second), WEFT_OP_ALL_REDUCE)) {
      all.push_back(each.calls + ": " + each.first + " -> " + each.second);
    }
    return all;
  }

  static std::string rule(const std::string& use, const std::string& when,
                          const std::string& more = "") {
    return "[[rule]]\nop = \"all_reduce\"\nuse = \"" + use + "\"\nwhen = { " + when + " }\n" + more;
  }

  plugin::Registry registry_;
};

using Lines = std::vector<std::string>;

TEST_F(PolicyDiff, IsNothingBetweenAPolicyAndItself) {
  for (uint32_t op = 1; op < WEFT_OP_COUNT; ++op) {
    EXPECT_TRUE(differences(shipped("policy.toml"), shipped("policy.toml"), op).empty());
  }
  EXPECT_TRUE(setting_differences(shipped("host.toml"), shipped("host.toml")).empty());
}

TEST_F(PolicyDiff, IsOneRangeForOneRule) {
  EXPECT_EQ(lines(with(""), with(rule("toy.again", "bytes = \"1KiB..64KiB\""))),
            Lines{"bytes 1KiB..64KiB: toy.all_reduce (line 3) -> toy.again (line 2)"});
  EXPECT_EQ(lines(with(""), with(rule("toy.again",
                                      "ranks = \"3..\", type = [\"fp16\", \"fp32\"], "
                                      "reduce = \"max\""))),
            Lines{"ranks 3.., type fp16 fp32, reduce max: toy.all_reduce (line 3) -> toy.again "
                  "(line 2)"});
}

TEST_F(PolicyDiff, KnowsWhomAnAlgorithmServes) {
  // It serves at most 2 ranks, and is passed over for more.
  EXPECT_EQ(lines(with(""), with(rule("toy.pair", "bytes = \"..64\""))),
            Lines{"bytes ..64, ranks 2: toy.all_reduce (line 3) -> toy.pair (line 2)"});
  EXPECT_EQ(lines(with(""), with(rule("toy.fast", "bytes = \"..64\""))),
            Lines{"bytes ..64, deterministic false: toy.all_reduce (line 3) -> toy.fast (line 2)"});
}

TEST_F(PolicyDiff, SeesParameters) {
  EXPECT_EQ(lines(with(rule("toy.pair", "ranks = 2")),
                  with(rule("toy.pair", "ranks = 2", "params = { skew = -1 }\n"))),
            Lines{"ranks 2: toy.pair (line 2) -> toy.pair { skew = -1 } (line 2)"});
  EXPECT_EQ(lines(with(rule("toy.pair", "ranks = 2")),
                  with(rule("toy.pair", "ranks = 2", "params = { skew = 0 }\n"))),
            Lines{});
}

TEST_F(PolicyDiff, DoesNotCareForAnOrderThatMakesNoDifference) {
  const std::string small = rule("toy.again", "bytes = \"..64\"");
  const std::string large = rule("toy.fast", "bytes = \"1MiB..\"");
  EXPECT_EQ(lines(with(small + large), with(large + small)), Lines{});
  const std::string few = rule("toy.fast", "ranks = 2");
  EXPECT_EQ(
      lines(with(small + few), with(few + small)),
      Lines{"bytes ..64, ranks 2, deterministic false: toy.again (line 2) -> toy.fast (line 2)"});
}

TEST_F(PolicyDiff, NamesCommunicatorsAndHosts) {
  EXPECT_EQ(lines(with(""), with(rule("toy.again", "communicator = [\"tp*\", \"world\"]"))),
            Lines{"communicator \"tp*\" \"world\": toy.all_reduce (line 3) -> toy.again (line 2)"});
  // One of the names that fit has a rule of its own.
  EXPECT_EQ(lines(with(rule("toy.again", "communicator = \"tp0\"")),
                  with(rule("toy.again", "communicator = \"tp*\""))),
            Lines{"communicator \"tp*\": toy.all_reduce (line 7) -> toy.again (line 2)"});
  EXPECT_EQ(
      lines(with(rule("toy.again", "communicator = \"tp*\"")),
            with(rule("toy.again", "bytes = \"..64\""))),
      (Lines{"bytes ..64, communicator others: toy.all_reduce (line 7) -> toy.again (line 2)",
             "bytes 65.., communicator \"tp*\": toy.again (line 2) -> toy.all_reduce (line 7)"}));
  EXPECT_EQ(lines(with(""), with(rule("toy.again", "hosts = \"2..\", ranks_per_host = 4"))),
            Lines{"hosts 2.., ranks_per_host 4: toy.all_reduce (line 3) -> toy.again (line 2)"});
}

TEST_F(PolicyDiff, TellsSettingsApart) {
  const auto found =
      setting_differences(resolved(with("")), resolved(with("[transport]\nengine = \"tasks\"\n"
                                                            "[control]\nexec_timeout = \"5s\"\n")));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].calls, "transport.engine");
  EXPECT_EQ(found[0].first, "direct");
  EXPECT_EQ(found[0].second, "tasks");
  EXPECT_EQ(found[1].calls, "control.exec_timeout");
  EXPECT_EQ(found[1].first, "left out");
  EXPECT_EQ(found[1].second, "5s");
}

/// What decides, without the line.
std::string chosen(const Policy& policy, const Query& query) {
  return text_of(policy.choose(query));
}

// The ranges against questions: on both sides of every end that the files have.
TEST_F(PolicyDiff, AgreesWithWhatThePoliciesAnswer) {
  const Policy first = shipped("policy.toml");
  for (const char* name : {"host.toml", "a3-supernode.toml", "two-level.toml"}) {
    const Policy second = shipped(name);
    for (uint32_t op = 1; op < WEFT_OP_COUNT; ++op) {
      const std::vector<Difference> found = differences(first, second, op);
      for (const uint32_t hosts : {1U, 2U, 3U}) {
        for (const uint32_t ranks : {2U, 3U, 4U, 5U, 8U, 9U, 12U, 16U, 17U, 32U, 33U, 1000U}) {
          if (hosts > ranks) continue;
          for (uint64_t power = 0; power <= 24; ++power) {
            for (const bool deterministic : {false, true}) {
              for (const uint64_t bytes : {uint64_t{1} << power, (uint64_t{1} << power) + 1}) {
                Query query;
                query.op = op;
                query.bytes = bytes;
                query.ranks = ranks;
                query.type = HCCL_DATA_TYPE_FP32;
                query.reduce_op = is_reduction(op) ? HCCL_REDUCE_SUM : -1;
                query.deterministic = is_reduction(op) && deterministic;
                query.hosts = hosts;
                query.ranks_per_host = ranks % hosts == 0 ? ranks / hosts : 0;
                const auto holds = std::ranges::count_if(found, [&](const Difference& each) {
                  Rule rule;
                  static_cast<Conditions&>(rule) = each.conditions;
                  rule.op = op;
                  return matches(rule, query);
                });
                const bool differ = chosen(first, query) != chosen(second, query);
                ASSERT_EQ(holds, differ ? 1 : 0) << name << ' ' << operation_name(op) << ' '
                                                 << bytes << ' ' << ranks << ' ' << hosts;
              }
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft::config
