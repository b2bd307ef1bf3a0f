// SPDX-License-Identifier: Apache-2.0
#include "config/policy_text.hpp"

#include <gtest/gtest.h>

#include <string>

#include "config/policy.hpp"
#include "policy_text.hpp"
#include "weft/abi.h"

namespace weft::config {
namespace {

/// The rules and settings of a policy, written and read again.
Policy again(const Policy& policy) {
  std::string text = "schema = 1\n";
  for (const Rule& rule : policy.rules()) text += '\n' + toml_of(rule);
  return Policy::parse(text + toml_of(policy.settings()), policy.name());
}

TEST(PolicyText, RulesMeanTheSameWhenTheyAreReadAgain) {
  for (const char* keys : {
           "when = { bytes = \"..32KiB\" }\nparams = { a = 1, b = -2 }",
           "when = { bytes = \"513..4097\", ranks = \"2..16\" }",
           "when = { bytes = \"4MiB..\", ranks = 7 }",
           "when = { bytes = 0 }",
           "when = { hosts = \"2..\", ranks_per_host = \"..4\" }",
           "when = { hosts = 3, ranks_per_host = \"2..\" }",
           "when = { ranks_per_host = \"1..\" }",
           "when = { type = \"fp16\", reduce = [\"sum\", \"max\"] }",
           "when = { type = [\"fp16\", \"bfp16\", \"int8\"], reduce = \"min\" }",
           "when = { deterministic = true }",
           "when = { deterministic = false, communicator = \"tp*\" }",
           "when = { communicator = [\"a\\\"b\", \"c\\\\d*\", \"e\\tf\"] }",
       }) {
    SCOPED_TRACE(keys);
    const Policy policy = Policy::parse(rule_with(keys), "p.toml");
    EXPECT_EQ(again(policy).digest(), policy.digest());
  }
}

TEST(PolicyText, SettingsMeanTheSameWhenTheyAreReadAgain) {
  const Policy policy = Policy::parse(
      with("[plugins]\npath = [\"/there\", \"/a b/\\\"c\\\"\"]\nrequire_check = true\n"
           "[transport]\nuse = \"other\"\nengine = \"tasks\"\n"
           "[memory]\norder = [\"heap\", \"symwin\"]\n"
           "[control]\nconnect_timeout = \"250ms\"\nexec_timeout = \"2min\"\n"),
      "p.toml");
  const Policy read = again(policy);
  EXPECT_EQ(read.digest(), policy.digest());
  EXPECT_EQ(read.settings().plugin_paths, policy.settings().plugin_paths);
  EXPECT_TRUE(read.settings().require_check);
  EXPECT_EQ(read.settings().memory_order, policy.settings().memory_order);
  EXPECT_EQ(read.settings().connect_timeout, policy.settings().connect_timeout);
  EXPECT_EQ(read.settings().exec_timeout, policy.settings().exec_timeout);
}

TEST(PolicyText, WhatIsLeftOutStaysOut) {
  const Policy policy = Policy::parse(with(""), "p.toml");
  EXPECT_EQ(toml_of(policy.settings()),
            "\n[transport]\nuse = \"hccs-sdma\"\nengine = \"direct\"\n");
  Rule rule;
  rule.op = WEFT_OP_BARRIER;
  rule.use = "mesh.barrier";
  EXPECT_EQ(toml_of(rule), "[[rule]]\nop = \"barrier\"\nuse = \"mesh.barrier\"\n");
}

}  // namespace
}  // namespace weft::config
