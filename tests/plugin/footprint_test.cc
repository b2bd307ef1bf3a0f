// SPDX-License-Identifier: Apache-2.0
// P9: loading a plugin and asking it what it is changes nothing in the process; and a plugin that
// breaks the rule would be noticed.
#include "support/footprint.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <string>

#include "plugin/registry.hpp"

namespace weft::plugin {
namespace {

const std::string kFaultFolder = WEFT_TEST_PLUGINS;

TEST(Footprint, OfAPluginThatIsLoadedIsNone) {
  const auto before = test::footprint();
  Registry registry;
  for (const char* good : {"none", "transport_none", "memory_none"}) {
    registry.load(kFaultFolder + "/fault_" + good + ".so");
  }
  EXPECT_EQ(test::news(before, test::footprint()), "");
  for (const Plugin& each : registry.plugins()) EXPECT_EQ(each.refusal, "");
}

TEST(Footprint, OfAnInitialiserThatDoesSomethingIsFound) {
  const auto before = test::footprint();
  Registry registry;
  registry.load(kFaultFolder + "/fault_eager.so");
  const std::string news = test::news(before, test::footprint());
  EXPECT_NE(news.find("WEFT_FAULT_EAGER=1\n"), std::string::npos) << news;
  EXPECT_NE(news.find("signal " + std::to_string(SIGUSR2)), std::string::npos) << news;
  unsetenv("WEFT_FAULT_EAGER");
  std::signal(SIGUSR2, SIG_DFL);
}

}  // namespace
}  // namespace weft::plugin
