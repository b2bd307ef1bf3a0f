// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "config/policy.hpp"
#include "policy_text.hpp"

namespace weft::config {
namespace {

std::string digest(const std::string& text, const std::string& name = "p.toml") {
  return Policy::parse(text, name).digest();
}

const std::string kRule = rule_with("when = { bytes = \"..32KiB\" }\nparams = { a = 1, b = 2 }");

TEST(PolicyDigest, IsTheSameForTheSameMeaning) {
  const std::string expected = digest(kRule);
  EXPECT_EQ(expected.size(), 16U);
  EXPECT_EQ(digest(kRule, "/other/name.toml"), expected);
  EXPECT_EQ(digest("# a comment\n\n\n" + kRule + "# another\n"), expected);
  EXPECT_EQ(digest(rule_with("params = { b = 2, a = 1 }\nwhen.bytes = \"0..32768\"")), expected);
  EXPECT_EQ(digest(rule_with("when = { bytes = \"..32KiB\", ranks = \"2..\" }\n"
                             "params = { a = 1, b = 2 }")),
            expected);
  EXPECT_EQ(digest(kRule + "[transport]\nuse = \"hccs-sdma\"\nengine = \"direct\"\n"), expected);
}

TEST(PolicyDigest, IgnoresWhatRanksMayDifferIn) {
  EXPECT_EQ(digest(kRule + "[plugins]\npath = [\"/there\"]\nrequire_check = true\n"
                           "[control]\nexec_timeout = \"5s\"\n"),
            digest(kRule));
}

TEST(PolicyDigest, IgnoresTheOrderOfOperationsButNotOfRules) {
  const std::string small =
      "[[rule]]\nop = \"all_reduce\"\nwhen = { bytes = \"..1KiB\" }\n"
      "use = \"a.small\"\n";
  const std::string few = "[[rule]]\nop = \"all_reduce\"\nwhen = { ranks = 2 }\nuse = \"a.few\"\n";
  const std::string other = "[[rule]]\nop = \"broadcast\"\nwhen = { ranks = 2 }\nuse = \"a.b\"\n";
  EXPECT_EQ(digest(with(small + few + other)), digest(with(other + small + few)));
  EXPECT_NE(digest(with(small + few)), digest(with(few + small)));
}

TEST(PolicyDigest, IgnoresTheOrderOfNames) {
  EXPECT_EQ(digest(rule_with("when = { communicator = [\"a\", \"b*\"] }")),
            digest(rule_with("when = { communicator = [\"b*\", \"a\"] }")));
  EXPECT_NE(digest(rule_with("when = { communicator = [\"a\", \"b*\"] }")),
            digest(rule_with("when = { communicator = [\"a\", \"b\"] }")));
}

TEST(PolicyDigest, DiffersForEveryOtherMeaning) {
  const std::string expected = digest(kRule);
  for (const char* other : {
           "when = { bytes = \"..32KiB\" }\nparams = { a = 1, b = 3 }",
           "when = { bytes = \"..32KiB\" }\nparams = { a = 1 }",
           "when = { bytes = \"..33KiB\" }\nparams = { a = 1, b = 2 }",
           "when = { bytes = \"..32KiB\", ranks = \"..9\" }\nparams = { a = 1, b = 2 }",
           "when = { bytes = \"..32KiB\", type = \"fp32\" }\nparams = { a = 1, b = 2 }",
           "when = { bytes = \"..32KiB\", reduce = \"sum\" }\nparams = { a = 1, b = 2 }",
           "when = { bytes = \"..32KiB\", deterministic = true }\nparams = { a = 1, b = 2 }",
           "when = { bytes = \"..32KiB\", hosts = 1 }\nparams = { a = 1, b = 2 }",
           "when = { bytes = \"..32KiB\", ranks_per_host = 1 }\nparams = { a = 1, b = 2 }",
           "when = { bytes = \"..32KiB\", communicator = \"x\" }\nparams = { a = 1, b = 2 }",
       }) {
    EXPECT_NE(digest(rule_with(other)), expected) << other;
  }
  EXPECT_NE(digest(kRule + "[transport]\nengine = \"tasks\"\n"), expected);
  EXPECT_NE(digest(kRule + "[transport]\nuse = \"ucx\"\n"), expected);
  EXPECT_NE(digest(kRule + "[memory]\norder = [\"heap\"]\n"), expected);
  EXPECT_NE(digest(kRule + "[memory]\norder = [\"heap\", \"symwin\"]\n"),
            digest(kRule + "[memory]\norder = [\"symwin\", \"heap\"]\n"));
}

}  // namespace
}  // namespace weft::config
