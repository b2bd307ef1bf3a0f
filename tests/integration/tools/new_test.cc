// SPDX-License-Identifier: Apache-2.0
// `weft new`: what it writes is what docs/plugins.md builds and runs; and what it refuses.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "support.hpp"

namespace weft::test {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// A listing of the document with this file name.
std::string listing(const std::string& name) {
  const std::string document = text_of(WEFT_PLUGINS_MD);
  const size_t head = document.find(' ' + name + '\n');
  EXPECT_NE(head, std::string::npos) << name;
  const size_t begin = document.find('\n', head) + 1;
  return document.substr(begin, document.find("```", begin) - begin);
}

TEST(New, WritesTheAlgorithmOfTheDocument) {
  const Folder folder;
  const Outcome outcome = weft({"new", "algorithm", "mine"}, {}, folder.path());
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("cmake -S mine -B mine/build"), std::string::npos) << outcome.out;
  for (const char* name : {"mine/mine.cc", "mine/CMakeLists.txt"}) {
    EXPECT_EQ(text_of(folder.path() + "/" + name), listing(name)) << name;
  }
}

TEST(New, WritesTheExampleOfEachKind) {
  const Folder folder;
  for (const std::string kind : {"algorithm", "transport", "memory"}) {
    const std::string name = "my_" + kind;
    const Outcome outcome = weft({"new", kind, name}, {}, folder.path());
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    for (const std::string& file : {name + ".cc", std::string("CMakeLists.txt")}) {
      const std::string example = text_of(WEFT_EXAMPLES "/" + name + "/" + file);
      ASSERT_NE(example.find("SPDX"), std::string::npos) << name;
      EXPECT_EQ(text_of(folder.path() + "/" + name + "/" + file),
                example.substr(example.find('\n') + 1));
    }
  }
}

TEST(New, TellsHowToUseWhatItHasWritten) {
  const Folder folder;
  const auto told = [&](const char* kind, const char* name) {
    return weft({"new", kind, name}, {}, folder.path()).out;
  };
  EXPECT_NE(told("algorithm", "a").find("weft check a/build/a.so"), std::string::npos);
  EXPECT_NE(told("transport", "t").find("use = \"t\""), std::string::npos);
  EXPECT_NE(told("memory", "m").find("order = [\"m\", \"heap\"]"), std::string::npos);
}

TEST(New, NeedsTheExamplesOfTheInstallation) {
  const Folder folder;
  const Outcome outcome =
      weft({"new", "memory", "x"}, {{"WEFT_HOME", folder.path()}}, folder.path());
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("share/weft/examples/my_memory/my_memory.cc"), std::string::npos)
      << outcome.err;
  EXPECT_TRUE(folder.empty());
}

TEST(New, RefusesANameOfTheInstallation) {
  const Folder folder;
  const Outcome outcome = weft({"new", "algorithm", "mesh"}, {}, folder.path());
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("algo-mesh.so; choose another name"), std::string::npos)
      << outcome.err;
  EXPECT_TRUE(folder.empty());
}

TEST(New, TakesAFolder) {
  const Folder folder;
  const std::string into = folder.path() + "/some where";
  EXPECT_EQ(weft({"new", "algorithm", "my_2", "--dir", into}).code, 0);
  EXPECT_NE(text_of(into + "/my_2.cc").find("WEFT_PLUGIN(\"my_2\""), std::string::npos);
  EXPECT_NE(text_of(into + "/CMakeLists.txt").find("weft_add_plugin(my_2 "), std::string::npos);
}

TEST(New, LeavesWhatIsThere) {
  const Folder folder;
  fs::create_directory(folder.path() + "/mine");
  std::ofstream(folder.path() + "/file") << "kept";
  for (const char* there : {"mine", "file"}) {
    const Outcome outcome = weft({"new", "algorithm", "x", "--dir", there}, {}, folder.path());
    EXPECT_EQ(outcome.code, 1);
    EXPECT_NE(outcome.err.find(there), std::string::npos) << outcome.err;
  }
  EXPECT_TRUE(fs::is_empty(folder.path() + "/mine"));
  EXPECT_EQ(text_of(folder.path() + "/file"), "kept");
  EXPECT_EQ(weft({"new", "algorithm", "x", "--dir", "no/such"}, {}, folder.path()).code, 1);
}

}  // namespace
}  // namespace weft::test
