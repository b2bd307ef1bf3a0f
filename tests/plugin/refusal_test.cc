// SPDX-License-Identifier: Apache-2.0
// What is said about a file that is no good plugin.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>

#include "plugin/registry.hpp"
#include "support/unprivileged.hpp"

namespace weft::plugin {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = WEFT_TEST_PLUGINS;

std::string refusal_of(const fs::path& file) {
  Registry registry;
  registry.load(file);
  EXPECT_EQ(registry.plugins().size(), 1U);
  EXPECT_TRUE(registry.algorithms().empty());
  const Plugin& plugin = registry.plugins().front();
  EXPECT_TRUE(plugin.path.is_absolute());
  EXPECT_TRUE(plugin.offers.empty());
  return plugin.refusal;
}

struct Fault {
  const char* plugin;
  const char* refusal;  // part of it
};

std::ostream& operator<<(std::ostream& out, const Fault& fault) { return out << fault.plugin; }

class Refusal : public testing::TestWithParam<Fault> {};

TEST_P(Refusal, SaysWhy) {
  const std::string refusal =
      refusal_of(kFolder / (std::string("fault_") + GetParam().plugin + ".so"));
  EXPECT_NE(refusal.find(GetParam().refusal), std::string::npos) << refusal;
}

const Fault kFaults[] = {
    {"no_symbol", "exports no symbol weft_plugin: not a weft plugin"},
    {"null_descriptor", "weft_plugin() returned no descriptor"},
    {"throws", "weft_plugin() threw an exception: out of luck"},
    {"throws_number", "weft_plugin() threw an exception"},
    {"magic", "the plugin descriptor has the wrong magic: not a weft plugin"},
    {"major", "the plugin descriptor is of weft ABI 2.0, this library has 1.0: rebuild"},
    {"kind", "it is a plugin of kind 77"},
    {"short_descriptor", "the plugin descriptor has only 8 bytes"},
    {"no_table", "the plugin descriptor lacks the required entry \"table\""},
    {"null_table", "the plugin descriptor lacks the required entry \"table\""},
    {"null_name", "the plugin descriptor lacks the required entry \"name\""},
    {"bad_name", "the plugin descriptor has the name \"No Name\": names are made of"},
    {"table_major", "the table of algorithms is of weft ABI 3.0, this library has 1.0"},
    {"no_algorithms", "the table of algorithms has 0 entries"},
    {"wild_count", "the table of algorithms has 1000000 entries"},
    {"null_algorithm", "algorithm 1 is null"},
    {"twice", "it has two algorithms fault.one"},
    {"algorithm_major", "algorithm 0 is of weft ABI 0.0, this library has 1.0"},
    {"algorithm_name", "algorithm 0 has the name \"one-shot\": names are made of a-z, 0-9 and _"},
    {"short_algorithm", "algorithm 0 lacks the required entry \"emit\""},
    {"half_entry", "algorithm 0 lacks the required entry \"emit\""},
    {"tiny_head", "algorithm 0 says it has 4 bytes, less than its own head"},
    {"null_emit", "algorithm 0 lacks the required entry \"emit\""},
    {"operation", "algorithm fault.one is for operation 99, which does not exist"},
    {"min_ranks", "algorithm fault.one has min_ranks 1: the least is 2"},
    {"max_ranks", "algorithm fault.one has max_ranks 1, less than its min_ranks 2"},
    {"param_list", "algorithm fault.one has a malformed list of parameters: 2 of 8 bytes each"},
    {"param_name", "parameter 0 of algorithm fault.one has the name \"\""},
    {"param_limits", "(depth) has the default 9 outside its limits 1..8"},
    {"hccl_algo", "algorithm fault.one has the hccl_algo \"Ring\"; HCCL_ALGO knows ring, pipeline"},
    {"hccl_algo_none", "algorithm fault.one has the hccl_algo \"NA\"; HCCL_ALGO knows ring"},
    {"unresolved", "undefined symbol: defined_nowhere"},
    {"transport_null_entry", "the table of the transport lacks the required entry \"reduce\""},
    {"transport_short", "the table of the transport lacks the required entry \"reduces\""},
    {"transport_major", "the table of the transport is of weft ABI 7.0, this library has 1.0"},
    {"transport_engines", "offers no engine that this library knows"},
    {"transport_no_tasks", "the table of the transport lacks the required entry \"tasks\""},
    {"transport_tasks_major", "the table of the tasks engine is of weft ABI 7.0"},
    {"transport_tasks_entry", "the table of the tasks engine lacks the required entry \"record\""},
    {"memory_null_entry", "the table of the memory plugin lacks the required entry \"explain\""},
    {"memory_null_window",
     "the table of the memory plugin lacks the required entry \"window_find\""},
    {"memory_null_range",
     "the table of the memory plugin lacks the required entry \"range_unset\""},
    {"memory_short", "the table of the memory plugin lacks the required entry \"range_activate\""},
    {"memory_major", "the table of the memory plugin is of weft ABI 7.0, this library has 1.0"},
    {"memory_families", "offers no family of functions that this library knows"},
};
INSTANTIATE_TEST_SUITE_P(Faults, Refusal, testing::ValuesIn(kFaults),
                         [](const testing::TestParamInfo<Fault>& test) {
                           return std::string(test.param.plugin);
                         });

class RefusedFile : public testing::Test {
 protected:
  RefusedFile() {
    std::string folder = testing::TempDir() + "weft-refused-XXXXXX";
    folder_ = mkdtemp(folder.data());
    fs::permissions(folder_, fs::perms::all);
  }
  ~RefusedFile() override { fs::remove_all(folder_); }

  // A copy of a good plugin with one byte replaced, cut off at `size`.
  fs::path damaged(std::streamoff offset, char byte, uintmax_t size) const {
    const fs::path copy = folder_ / "damaged.so";
    fs::copy_file(kFolder / "fault_none.so", copy);
    std::fstream stream(copy, std::ios::binary | std::ios::in | std::ios::out);
    stream.seekp(offset).put(byte);
    stream.close();
    fs::resize_file(copy, std::min(size, fs::file_size(copy)));
    return copy;
  }

  fs::path folder_;
};

TEST_F(RefusedFile, ThatIsTextKeepsTheLoadersWords) {
  const fs::path file = folder_ / "text.so";
  std::ofstream(file) << std::string(4096, '#');
  EXPECT_NE(refusal_of(file).find("invalid ELF header"), std::string::npos) << refusal_of(file);
}

TEST_F(RefusedFile, ThatIsEmptyKeepsTheLoadersWords) {
  const fs::path file = folder_ / "empty.so";
  std::ofstream(file).close();
  EXPECT_NE(refusal_of(file).find("file too short"), std::string::npos) << refusal_of(file);
}

TEST_F(RefusedFile, OfAnotherMachineKeepsTheLoadersWords) {
  constexpr std::streamoff kMachine = 18;  // e_machine of an ELF header
  const std::string refusal = refusal_of(damaged(kMachine, 2, UINTMAX_MAX));
  EXPECT_NE(refusal.find("cannot be loaded: "), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("damaged.so"), std::string::npos) << refusal;
}

TEST_F(RefusedFile, ThatIsCutOffKeepsTheLoadersWords) {
  const std::string refusal = refusal_of(damaged(0, 0x7f, 60));
  EXPECT_NE(refusal.find("cannot be loaded: "), std::string::npos) << refusal;
}

TEST_F(RefusedFile, InAFolderMustBeAFile) {
  fs::create_directory(folder_ / "folder.so");
  ASSERT_EQ(mkfifo((folder_ / "pipe.so").c_str(), 0600), 0);
  fs::create_symlink("nowhere", folder_ / "link.so");
  std::ofstream(folder_ / "notes.txt") << "not looked at";
  Registry registry;
  registry.load(folder_);
  ASSERT_EQ(registry.plugins().size(), 3U);
  EXPECT_EQ(registry.plugins()[0].refusal, "not a regular file");
  EXPECT_EQ(registry.plugins()[1].refusal, "No such file or directory");
  EXPECT_EQ(registry.plugins()[2].refusal, "not a regular file");
}

TEST_F(RefusedFile, ThatMayNotBeReadKeepsTheLoadersWords) {
  const fs::path file = damaged(0, 0x7f, UINTMAX_MAX);
  fs::permissions(file, fs::perms::none);
  const test::Unprivileged rights;
  EXPECT_NE(refusal_of(file).find("Permission denied"), std::string::npos);
}

}  // namespace
}  // namespace weft::plugin
