// SPDX-License-Identifier: Apache-2.0
// `weft plugins`: what is found, and why something is not.
#include <gtest/gtest.h>

#include <fstream>

#include "support.hpp"

namespace weft::test {
namespace {

TEST(Plugins, ListsThoseOfTheInstallation) {
  const Outcome outcome = weft({"plugins"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  for (const char* text : {"algorithms, ABI 1.", "transport, ABI 1.", ".so", "mesh."}) {
    EXPECT_NE(outcome.out.find(text), std::string::npos) << text << " is not in\n" << outcome.out;
  }
}

TEST(Plugins, ShowsTheEnginesOfATransport) {
  const Outcome outcome = weft({"plugins"});
  EXPECT_NE(outcome.out.find("offers direct tasks"), std::string::npos) << outcome.out;
}

TEST(Plugins, VerboseTellsWhatAlgorithmsDo) {
  const Outcome brief = weft({"plugins"});
  const Outcome verbose = weft({"plugins", "-v"});
  EXPECT_EQ(verbose.code, 0);
  EXPECT_GT(verbose.out.size(), brief.out.size());
  EXPECT_NE(verbose.out.find("all_reduce, 2 ranks or more"), std::string::npos) << verbose.out;
  EXPECT_NE(verbose.out.find("ring.all_reduce: all_reduce, 2 ranks or more, ring in HCCL_ALGO"),
            std::string::npos)
      << verbose.out;
}

TEST(Plugins, ARefusedFileIsListedWithTheReason) {
  const Folder folder;
  std::ofstream(folder.path() + "/broken.so") << "no library";
  for (const bool by_option : {true, false}) {
    const Outcome outcome = by_option ? weft({"plugins", "--path", folder.path()})
                                      : weft({"plugins"}, {{"WEFT_PLUGIN_PATH", folder.path()}});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_NE(outcome.out.find("broken.so: REFUSED"), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find("mesh."), std::string::npos) << outcome.out;
  }
}

TEST(Plugins, APathThatIsNotThereIsAnError) {
  const Outcome outcome = weft({"plugins", "--path", "/no/such/folder"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("/no/such/folder"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.out.find("mesh."), std::string::npos) << outcome.out;
}

TEST(Plugins, AWrongPolicyIsAnError) {
  const Folder folder;
  const std::string file = folder.path() + "/policy.toml";
  std::ofstream(file) << "schema = 1\nnonsense = 2\n";
  const Outcome outcome = weft({"plugins"}, {{"WEFT_POLICY", file}});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("policy.toml:2"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.out.find("mesh."), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace weft::test
