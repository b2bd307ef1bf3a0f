// SPDX-License-Identifier: Apache-2.0
// The policy that is installed, with the plugins that are installed.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "base/op_names.hpp"
#include "config/policy.hpp"
#include "hccl/hccl_types.h"
#include "plugin/registry.hpp"

namespace weft::config {
namespace {

class DefaultPolicy : public testing::Test {
 protected:
  DefaultPolicy() { registry_.load(plugin::default_folder()); }

  plugin::Registry registry_;
};

TEST_F(DefaultPolicy, SaysWhatIsBuiltInOtherwise) {
  const Settings settings = Policy::load(Policy::default_file()).settings();
  EXPECT_EQ(settings.transport, Settings().transport);
  EXPECT_EQ(settings.engine, Settings().engine);
  EXPECT_TRUE(settings.plugin_paths.empty());
  EXPECT_EQ(settings.connect_timeout, std::chrono::seconds(140));
  EXPECT_EQ(settings.exec_timeout, std::chrono::seconds(1836));
}

TEST_F(DefaultPolicy, ServesEveryOperationAlsoWhenDeterminismIsAskedFor) {
  Policy policy = Policy::load(Policy::default_file());
  policy.resolve(registry_);
  for (uint32_t op = 1; op < WEFT_OP_COUNT; ++op) {
    for (const uint32_t ranks : {2U, 3U, 16U, 17U, 1000U}) {
      for (const uint64_t bytes : {0ULL, 32768ULL, 32769ULL, 1ULL << 40}) {
        const Query query = {op,  bytes, ranks, HCCL_DATA_TYPE_FP32, is_reduction(op) ? 0 : -1,
                             true};
        EXPECT_EQ(policy.choose(query).algorithm->table.op, op);
      }
    }
  }
}

TEST_F(DefaultPolicy, ChangesAlgorithmWhereItSays) {
  Policy policy = Policy::load(Policy::default_file());
  policy.resolve(registry_);
  const auto chosen = [&](uint64_t bytes, uint32_t ranks) {
    return policy
        .choose({WEFT_OP_ALL_REDUCE, bytes, ranks, HCCL_DATA_TYPE_INT8, HCCL_REDUCE_MAX, false})
        .algorithm->name;
  };
  EXPECT_EQ(chosen(512, 2), "mesh.one_shot");
  EXPECT_EQ(chosen(513, 2), "mesh.two_shot");
  EXPECT_EQ(chosen(4096, 4), "mesh.one_shot");
  EXPECT_EQ(chosen(4097, 4), "mesh.two_shot");
  EXPECT_EQ(chosen(8, 8), "mesh.one_shot");
  EXPECT_EQ(chosen(513, 8), "tree.star_all_reduce");
  EXPECT_EQ(chosen(8, 9), "tree.star_all_reduce");
  EXPECT_EQ(chosen(4096, 1000), "tree.star_all_reduce");
  EXPECT_EQ(chosen(4097, 17), "mesh.two_shot");
}

TEST_F(DefaultPolicy, SumsInRankOrderWithoutBeingAsked) {
  Policy policy = Policy::load(Policy::default_file());
  policy.resolve(registry_);
  for (const uint32_t op :
       {WEFT_OP_ALL_REDUCE, WEFT_OP_REDUCE, WEFT_OP_REDUCE_SCATTER, WEFT_OP_REDUCE_SCATTER_V}) {
    for (const uint32_t ranks : {2U, 4U, 8U, 33U, 1000U}) {
      for (uint64_t bytes = 1; bytes < 1ULL << 40; bytes *= 3) {
        const Query query = {op, bytes, ranks, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, false};
        const plugin::Algorithm& algorithm = *policy.choose(query).algorithm;
        EXPECT_NE(algorithm.table.flags & WEFT_ALGORITHM_RANK_ORDER, 0U) << algorithm.name;
      }
    }
  }
}

// Takes "# " off the lines of the commented rules and puts them in front of the others.
TEST_F(DefaultPolicy, ItsCommentedAlternativesAreGoodRules) {
  std::ostringstream file;
  file << std::ifstream(Policy::default_file()).rdbuf();
  const std::string text = file.str();
  std::istringstream lines(text);
  std::string alternatives;
  int rules = 0;
  bool in_rule = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == "# [[rule]]") {
      in_rule = true;
      ++rules;
    }
    if (line.rfind("# ", 0) != 0) in_rule = false;
    if (in_rule) alternatives += line.substr(2) + '\n';
  }
  ASSERT_EQ(rules, 4);
  const auto first = text.find("[[rule]]");
  Policy policy =
      Policy::parse(text.substr(0, first) + alternatives + text.substr(first), "policy.toml");
  EXPECT_NO_THROW(policy.resolve(registry_)) << alternatives;
}

}  // namespace
}  // namespace weft::config
