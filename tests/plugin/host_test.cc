// SPDX-License-Identifier: Apache-2.0
#include "weft/host.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>

#include "plugin/registry.hpp"

namespace weft::plugin {
namespace {

void fail(const std::string& text) { host().fail(text.data(), text.size()); }

TEST(Host, DescribesItselfAsPluginsMustDo) {
  EXPECT_EQ(host().head.size, sizeof(weft_host));
  EXPECT_EQ(host().head.major, WEFT_ABI_MAJOR);
  EXPECT_TRUE(WEFT_HAS(&host(), weft_host, fail));
}

TEST(Host, GivesAFailureOnce) {
  EXPECT_EQ(take_failure(), "");
  fail("first");
  fail("second");
  EXPECT_EQ(take_failure(), "second");
  EXPECT_EQ(take_failure(), "");
}

TEST(Host, KeepsFailuresOfThreadsApart) {
  fail("mine");
  std::thread([] {
    EXPECT_EQ(take_failure(), "");
    fail("other");
  }).join();
  EXPECT_EQ(take_failure(), "mine");
}

TEST(Host, TakesTextByLengthAndNoTextAtAll) {
  host().fail("abcdef", 3);
  EXPECT_EQ(take_failure(), "abc");
  host().fail(nullptr, 7);
  EXPECT_EQ(take_failure(), "");
}

TEST(Host, RemembersNumbersByTableAndKey) {
  uint64_t value = 0;
  EXPECT_EQ(host().recall("a", 1, &value), WEFT_E_NOT_FOUND);
  EXPECT_EQ(host().remember("a", 1, 11), WEFT_OK);
  EXPECT_EQ(host().remember("b", 1, 12), WEFT_OK);
  EXPECT_EQ(host().remember("a", 2, 13), WEFT_OK);
  EXPECT_EQ(host().recall("a", 1, &value), WEFT_OK);
  EXPECT_EQ(value, 11u);
  EXPECT_EQ(host().remember("a", 1, 14), WEFT_OK);
  EXPECT_EQ(host().recall("a", 1, &value), WEFT_OK);
  EXPECT_EQ(value, 14u);
  host().forget("a", 1);
  host().forget("a", 1);
  EXPECT_EQ(host().recall("a", 1, &value), WEFT_E_NOT_FOUND);
  EXPECT_EQ(host().recall("b", 1, &value), WEFT_OK);
  host().forget("b", 1);
  host().forget("a", 2);
}

TEST(Host, LogsTheLinesThatTheLevelLetsThrough) {
  testing::internal::CaptureStderr();
  for (const int32_t level : {WEFT_LOG_DEBUG, WEFT_LOG_WARN, WEFT_LOG_ERROR}) {
    const std::string line = "line of level " + std::to_string(level) + "|not this";
    host().log(level, line.data(), line.find('|'));
  }
  const std::string shown = testing::internal::GetCapturedStderr();
  EXPECT_EQ(shown.find("level 0"), std::string::npos) << shown;
  EXPECT_NE(shown.find("line of level 2\n"), std::string::npos) << shown;
  EXPECT_NE(shown.find("line of level 3\n"), std::string::npos) << shown;
}

}  // namespace
}  // namespace weft::plugin
