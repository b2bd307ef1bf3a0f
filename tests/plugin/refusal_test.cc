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
  const char* rule;
  const char* what;    // how the refusal begins
  const char* remedy;  // how it ends
};

std::ostream& operator<<(std::ostream& out, const Fault& fault) { return out << fault.plugin; }

class Refusal : public testing::TestWithParam<Fault> {};

TEST_P(Refusal, SaysWhatIsWrongByWhichRuleAndWhatToDo) {
  const std::string refusal =
      refusal_of(kFolder / (std::string("fault_") + GetParam().plugin + ".so"));
  const std::string middle = std::string(" (ABI rule ") + GetParam().rule + "); ";
  const size_t rule = refusal.find(middle);
  ASSERT_NE(rule, std::string::npos) << refusal;
  EXPECT_NE(refusal.substr(0, rule).find(GetParam().what), std::string::npos) << refusal;
  EXPECT_NE(refusal.substr(rule).find(GetParam().remedy), std::string::npos) << refusal;
}

const Fault kFaults[] = {
    {"no_symbol", "P1", "exports no symbol weft_plugin: not a weft plugin", "weft_add_plugin()"},
    {"null_descriptor", "P1", "weft_plugin() returned no descriptor", "the address of a constant"},
    {"throws", "P8", "weft_plugin() threw an exception: out of luck", "let it return"},
    {"throws_number", "P8", "weft_plugin() threw an exception", "let it return"},
    {"magic", "P2", "the plugin descriptor has the wrong magic", "WEFT_PLUGIN_MAGIC"},
    {"major", "P4", "the plugin descriptor is of weft ABI 2.0, this library has 1.0", "rebuild"},
    {"kind", "P2", "it is a plugin of kind 77", "kinds 1 (algorithms), 2"},
    {"short_descriptor", "P2", "the plugin descriptor has only 8 bytes", "WEFT_HEAD"},
    {"no_table", "P5", "the plugin descriptor lacks the required entry \"table\"", "fill it in"},
    {"null_table", "P5", "the plugin descriptor lacks the required entry \"table\"", "fill it in"},
    {"null_name", "P5", "the plugin descriptor lacks the required entry \"name\"", "fill it in"},
    {"bad_name", "P12", "the plugin descriptor has the name \"No Name\"", "a-z, 0-9, _ and -"},
    {"table_major", "P4", "the table of algorithms is of weft ABI 3.0, this", "rebuild"},
    {"no_algorithms", "P5", "the table of algorithms has 0 entries", "1 to 1024"},
    {"wild_count", "P5", "the table of algorithms has 1000000 entries", "1 to 1024"},
    {"null_algorithm", "P5", "algorithm 1 is null", "count what there is"},
    {"twice", "P12", "it has two algorithms fault.one", "rename one"},
    {"algorithm_major", "P4", "algorithm 0 is of weft ABI 0.0, this library has 1.0", "rebuild"},
    {"algorithm_name", "P12", "algorithm 0 has the name \"one-shot\"", "a-z, 0-9 and _"},
    {"short_algorithm", "P5", "algorithm 0 lacks the required entry \"emit\"", "fill it in"},
    {"half_entry", "P5", "algorithm 0 lacks the required entry \"emit\"", "fill it in"},
    {"tiny_head", "P2", "algorithm 0 says it has 4 bytes, less than its own head", "WEFT_HEAD"},
    {"null_emit", "P5", "algorithm 0 lacks the required entry \"emit\"", "fill it in"},
    {"operation", "P3", "algorithm fault.one is for operation 99", "WEFT_OP_*"},
    {"min_ranks", "P5", "algorithm fault.one has min_ranks 1", "the least is 2"},
    {"max_ranks", "P5", "algorithm fault.one has max_ranks 1, less than its min_ranks 2", "0 for"},
    {"param_list", "P2",
     "algorithm fault.one has a malformed list of parameters: 3 of 8 bytes each",
     "sizeof(weft_param)"},
    {"param_name", "P12", "parameter 0 of algorithm fault.one has the name \"\"", "a-z, 0-9 and _"},
    {"param_limits", "P5", "(depth) has the default 9 outside its limits 1..8", "change one"},
    {"param_type", "P3", "(side) is of type 9, which does not exist", "WEFT_PARAM_*"},
    {"param_boolean", "P5", "(side) is a boolean with the limits 0..2", "0 and the last value"},
    {"choice_limits", "P5", "(side) is a choice with the limits 1..1", "0 and the last value"},
    {"no_choices", "P5", "(side) is a choice up to 1, but has no names", "max + 1 names"},
    {"many_choices", "P5", "(side) is a choice up to 1000000, which is too many", "at most 64"},
    {"choice_name", "P12", "(side) has the name \"to the right\"", "a-z, 0-9 and _"},
    {"choice_twice", "P12", "choice 1 of parameter 2 of algorithm fault.one (side) is a second",
     "its own name"},
    {"hccl_algo", "P5", "algorithm fault.one has the hccl_algo \"Ring\"", "knows ring, pipeline"},
    {"hccl_algo_none", "P5", "algorithm fault.one has the hccl_algo \"NA\"", "HCCL_ALGO knows"},
    {"unresolved", "P10", "undefined symbol: defined_nowhere", "with all that it needs"},
    {"transport_null_entry", "P5", "the table of the transport lacks the required entry \"reduce\"",
     "fill it in"},
    {"transport_short", "P5", "the table of the transport lacks the required entry \"reduces\"",
     "fill it in"},
    {"transport_major", "P4", "the table of the transport is of weft ABI 7.0", "rebuild"},
    {"transport_engines", "P5", "offers no engine that this library knows", "WEFT_ENGINE_DIRECT"},
    {"transport_no_tasks", "P5", "the table of the transport lacks the required entry \"tasks\"",
     "fill it in"},
    {"transport_tasks_major", "P4", "the table of the tasks engine is of weft ABI 7.0", "rebuild"},
    {"transport_tasks_entry", "P5",
     "the table of the tasks engine lacks the required entry \"record\"", "fill it in"},
    {"memory_null_entry", "P5",
     "the table of the memory plugin lacks the required entry \"explain\"", "fill it in"},
    {"memory_null_window", "P5",
     "the table of the memory plugin lacks the required entry \"window_find\"", "fill it in"},
    {"memory_null_range", "P5",
     "the table of the memory plugin lacks the required entry \"range_unset\"", "fill it in"},
    {"memory_short", "P5",
     "the table of the memory plugin lacks the required entry \"range_activate\"", "fill it in"},
    {"memory_major", "P4", "the table of the memory plugin is of weft ABI 7.0", "rebuild"},
    {"memory_families", "P5", "offers no family of functions that this library knows",
     "WEFT_MEMORY_WINDOWS"},
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
  const auto begins = [&](size_t i, const std::string& text) {
    EXPECT_EQ(registry.plugins()[i].refusal.find(text + " (ABI rule P11); "), 0u);
  };
  begins(0, "not a regular file");
  begins(1, "No such file or directory");
  begins(2, "not a regular file");
}

TEST_F(RefusedFile, ThatMayNotBeReadKeepsTheLoadersWords) {
  const fs::path file = damaged(0, 0x7f, UINTMAX_MAX);
  fs::permissions(file, fs::perms::none);
  const test::Unprivileged rights;
  EXPECT_NE(refusal_of(file).find("Permission denied"), std::string::npos);
}

}  // namespace
}  // namespace weft::plugin
