// SPDX-License-Identifier: Apache-2.0
#include "config/policy.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"
#include "policy_text.hpp"
#include "weft/abi.h"

namespace weft::config {
namespace {

TEST(Policy, KnowsForWhichOperationsBytesCount) {
  const Policy policy =
      Policy::parse(with("[[rule]]\nop = \"reduce\"\nwhen = { bytes = \"1..\" }\nuse = \"a.b\"\n"
                         "[[rule]]\nop = \"scatter\"\nwhen = { ranks = 4 }\nuse = \"a.b\"\n"),
                    "p.toml");
  EXPECT_TRUE(policy.looks_at_bytes(WEFT_OP_REDUCE));
  EXPECT_FALSE(policy.looks_at_bytes(WEFT_OP_SCATTER));
  EXPECT_FALSE(policy.looks_at_bytes(WEFT_OP_BARRIER));
}

TEST(Policy, NeedsOnlySchemaAndCatchAlls) {
  const Policy policy = Policy::parse(with(""), "p.toml");
  EXPECT_EQ(policy.name(), "p.toml");
  EXPECT_EQ(policy.settings().transport, "hccs-sdma");
  EXPECT_EQ(policy.settings().engine, "direct");
  EXPECT_TRUE(policy.settings().plugin_paths.empty());
  EXPECT_FALSE(policy.settings().require_check);
  EXPECT_EQ(policy.settings().connect_timeout, std::nullopt);
  EXPECT_EQ(policy.settings().exec_timeout, std::nullopt);
  EXPECT_EQ(policy.settings().memory_order, std::nullopt);
}

TEST(Policy, ReadsEverySetting) {
  const Policy policy =
      Policy::parse(with("[plugins]\npath = [\"/a\", \"/b.so\"]\nrequire_check = true\n"
                         "[transport]\nuse = \"ucx\"\nengine = \"tasks\"\n"
                         "[memory]\norder = [\"zerocopy\", \"heap\"]\n"
                         "[control]\nconnect_timeout = \"3min\"\nexec_timeout = \"1500ms\"\n"),
                    "p.toml");
  EXPECT_EQ(policy.settings().transport, "ucx");
  EXPECT_EQ(policy.settings().engine, "tasks");
  EXPECT_EQ(policy.settings().plugin_paths.size(), 2U);
  EXPECT_TRUE(policy.settings().require_check);
  EXPECT_EQ(policy.settings().memory_order, (std::vector<std::string>{"zerocopy", "heap"}));
  EXPECT_EQ(policy.settings().connect_timeout, std::chrono::minutes(3));
  EXPECT_EQ(policy.settings().exec_timeout, std::chrono::milliseconds(1500));
}

TEST(Policy, KnowsWhereASettingIsWritten) {
  const Policy policy =
      Policy::parse("schema = 1\n[transport]\nengine = \"tasks\"\n" + kCatchAlls, "p.toml");
  ASSERT_TRUE(policy.written_at("transport.engine"));
  EXPECT_EQ(policy.written_at("transport.engine")->line, 3U);
  EXPECT_EQ(policy.written_at("schema")->line, 1U);
  EXPECT_FALSE(policy.written_at("transport.use"));
  EXPECT_FALSE(policy.written_at("memory.order"));
}

TEST(Policy, AcceptsEveryFormOfACondition) {
  for (const char* form : {"when = {}", "when = { bytes = 8 }", "when = { bytes = \"8B\" }",
                           "when.ranks = \"2..4\"", "when = { type = \"fp32\" }",
                           "when = { type = [\"fp32\", \"int8\"], reduce = [\"sum\", \"max\"] }",
                           "when = { deterministic = false }", "when = { hosts = \"2..\" }",
                           "when = { ranks_per_host = 8 }", "when = { communicator = \"tp*\" }",
                           "when = { communicator = [\"tp0\", \"dp*\"] }", "params = {}"}) {
    std::string text = rule_with(form);
    // A rule without conditions makes the catch-all of its operation one too many.
    if (std::string(form).find("= {}") != std::string::npos) {
      text.erase(text.find("[[rule]]\nop = \"all_reduce\"\nuse = \"toy.all_reduce\"\n"), 50);
    }
    EXPECT_NO_THROW((void)Policy::parse(text, "p.toml")) << text;
  }
}

TEST(Policy, ThatIsNotResolvedChoosesNothing) {
  const Policy policy = Policy::parse(with(""), "p.toml");
  Query query;
  query.op = WEFT_OP_BARRIER;
  query.ranks = 2;
  EXPECT_THROW((void)policy.choose(query), Error);
}

}  // namespace
}  // namespace weft::config
