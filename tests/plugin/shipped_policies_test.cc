// SPDX-License-Identifier: Apache-2.0
// The policies that are installed beside the default one.
#include <gtest/gtest.h>

#include <string>

#include "base/op_names.hpp"
#include "config/lint.hpp"
#include "config/policy.hpp"
#include "plugin/registry.hpp"

namespace weft::config {
namespace {

class ShippedPolicies : public testing::TestWithParam<const char*> {
 protected:
  ShippedPolicies()
      : policy_(Policy::load(Policy::default_file().parent_path() /
                             (std::string(GetParam()) + ".toml"))) {
    registry_.load(plugin::default_folder());
  }

  plugin::Registry registry_;
  Policy policy_;
};

TEST_P(ShippedPolicies, HaveNoErrorsAndNoIdleRules) {
  for (const Finding& each : lint(policy_, registry_)) {
    EXPECT_EQ(each.severity, Severity::kOverlap) << each.text;
  }
  EXPECT_NO_THROW(policy_.check_engine(registry_));
}

TEST_P(ShippedPolicies, ServeEveryOperationAlsoDeterministically) {
  policy_.resolve(registry_);
  for (uint32_t op = 1; op < WEFT_OP_COUNT; ++op) {
    for (const uint32_t ranks : {2U, 3U, 16U, 17U, 768U}) {
      for (const uint64_t bytes : {0ULL, 1024ULL, 65537ULL, 1ULL << 30}) {
        for (const uint32_t hosts : {1U, 2U}) {
          for (const bool deterministic : {false, true}) {
            Query query;
            query.op = op;
            query.bytes = bytes;
            query.ranks = ranks;
            query.type = HCCL_DATA_TYPE_FP16;
            query.reduce_op = is_reduction(op) ? HCCL_REDUCE_SUM : -1;
            query.deterministic = deterministic;
            query.hosts = hosts;
            query.ranks_per_host = ranks % hosts == 0 ? ranks / hosts : 0;
            EXPECT_EQ(policy_.choose(query).algorithm->table.op, op);
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ShippedPolicies,
                         testing::Values("policy", "host", "a3-supernode", "two-level"),
                         [](const testing::TestParamInfo<const char*>& each) {
                           std::string name = each.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace weft::config
