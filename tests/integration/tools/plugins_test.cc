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

void expect_told(const std::string& text, const Words& parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  }
}

TEST(Plugins, VerboseTellsWhatAlgorithmsDo) {
  const Outcome outcome = weft({"plugins", "-v"});
  EXPECT_EQ(outcome.code, 0);
  expect_told(outcome.out,
              {"all_reduce, 2 ranks or more",
               "ring.broadcast: broadcast, 2 ranks or more, writes to peers, ring in HCCL_ALGO\n",
               "pieces = 8, integer: 1..64\n",
               "mesh.two_shot: all_reduce, 2 ranks or more, in rank order"});
}

TEST(Plugins, VerboseTellsTypeRangeDefaultAndHelpOfParameters) {
  const Outcome outcome = weft({"plugins", "-v", "--path", WEFT_FAULT_PLUGINS "/fault_none.so"});
  EXPECT_EQ(outcome.code, 0);
  expect_told(outcome.out, {"fault 1.2.3: algorithms, ABI 1.", "  for tests\n",
                            "fault.one: all_reduce, 2 ranks or more, in rank order, NHR in HCCL",
                            "      depth = 2, integer: 1..8\n        first\n",
                            "      width = -3, integer: -4..4\n        second\n",
                            "      side = \"right\", choice: \"left\", \"right\"\n        third\n",
                            "fault.two: barrier, 3 to 4 ranks\n"});
}

TEST(Plugins, VerboseTellsWhatTransportsAndMemoryPluginsServe) {
  const std::string folder = WEFT_FAULT_PLUGINS;
  const Outcome outcome = weft({"plugins", "-v", "--path", folder + "/fault_transport_none.so",
                                "--path", folder + "/fault_memory_none.so"});
  EXPECT_EQ(outcome.code, 0);
  expect_told(outcome.out,
              {"hccs-sdma 1.0.0: transport, ABI 1.", "    direct: the CPU moves the data\n",
               "    tasks: tasks on the stream", "  serves ranks of one host\n",
               "chosen by [transport] use = \"hccs-sdma\"\n", "symwin 1.0.0: memory, ABI 1.",
               "    windows: HcclCommSymWinRegister", "chosen by \"symwin\" in [memory] order\n",
               "    ranges: HcclCommSetMemoryRange", "nowhere-memory 0.1.0: memory, ABI 1.",
               "  serves ranks that it does not tell of\n"});
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
