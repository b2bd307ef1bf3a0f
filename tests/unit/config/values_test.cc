// SPDX-License-Identifier: Apache-2.0
// What the texts of variables become.
#include "config/values.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace weft::config {
namespace {

TEST(Interfaces, HaveFourForms) {
  struct Form {
    const char* text;
    bool excluded;
    bool exact;
  };
  for (const Form& form : {Form{"a,b", false, false}, Form{"^a,b", true, false},
                           Form{"=a,b", false, true}, Form{"^=a,b", true, true}}) {
    const control::Interfaces made = parse_interfaces(form.text);
    EXPECT_EQ(made.excluded, form.excluded) << form.text;
    EXPECT_EQ(made.exact, form.exact) << form.text;
    EXPECT_EQ(made.names, (std::vector<std::string>{"a", "b"})) << form.text;
  }
}

TEST(DebugConfig, InvertsBehindACaret) {
  const DebugLogs some = parse_debug("alg,RESOURCE");
  EXPECT_TRUE(some.algorithms && some.resources);
  EXPECT_FALSE(some.tasks);
  const DebugLogs others = parse_debug("^alg,RESOURCE");
  EXPECT_FALSE(others.algorithms || others.resources);
  EXPECT_TRUE(others.tasks);
}

TEST(DfsConfig, KeepsDefaultsOfWhatIsNotThere) {
  std::vector<std::string> warnings;
  const Diagnostics made = parse_diagnostics("task_monitor_interval:250", warnings);
  EXPECT_EQ(made.monitor, std::chrono::milliseconds(250));
  EXPECT_EQ(made.detection.time, std::chrono::seconds(20));
  EXPECT_TRUE(made.detection.heartbeat && made.task_exception);
  const Diagnostics other = parse_diagnostics(
      "CONNECTION_fault_detection_time:60, Cluster_Heartbeat:OFF,task_exception:off", warnings);
  EXPECT_EQ(other.detection.time, std::chrono::seconds(60));
  EXPECT_FALSE(other.detection.heartbeat || other.task_exception);
  EXPECT_TRUE(warnings.empty());
}

TEST(DfsConfig, WarnsOfBadSwitches) {
  std::vector<std::string> warnings;
  const Diagnostics made = parse_diagnostics(
      "task_exception:first,inconsistent_check:perhaps,stuck_detection:1", warnings);
  EXPECT_TRUE(made.task_exception);
  ASSERT_EQ(warnings.size(), 3u);
  EXPECT_EQ(warnings[0], "HCCL_DFS_CONFIG: task_exception:first is ignored; allowed are on, off");
  EXPECT_EQ(warnings[1],
            "HCCL_DFS_CONFIG: inconsistent_check:perhaps is ignored; allowed are on, first, off");
}

class WhiteListFile : public testing::Test {
 protected:
  ~WhiteListFile() override { std::filesystem::remove(path_); }

  control::WhiteList read(const std::string& text) {
    std::ofstream(path_) << text;
    return read_white_list(path_.string(), warnings_);
  }
  void expect_bad(const std::string& text, const std::string& why) {
    try {
      (void)read(text);
      ADD_FAILURE() << "accepted " << text;
    } catch (const BadValue& bad) {
      EXPECT_NE(std::string(bad.what()).find(why), std::string::npos) << bad.what();
    }
  }

  const std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("weft-white-list-" + std::to_string(getpid()));
  std::vector<std::string> warnings_;
};

TEST_F(WhiteListFile, ListsHostsHoweverTheyAreWritten) {
  const control::WhiteList list =
      read(R"({"host_ip": ["10.0.0.1", "FD00:0:0::2", "fe80::1%lo"], "device_ip": ["10.9.9.9"]})");
  EXPECT_TRUE(list.enforced);
  EXPECT_TRUE(list.allows("10.0.0.1"));
  EXPECT_TRUE(list.allows("fd00::2"));
  EXPECT_TRUE(list.allows("fe80::1"));
  EXPECT_FALSE(list.allows("10.9.9.9"));
  EXPECT_FALSE(list.allows(""));
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(WhiteListFile, ThatIsWrongIsAnError) {
  expect_bad("", "no JSON");
  expect_bad("{", "no JSON");
  expect_bad("[]", "no JSON object");
  expect_bad(R"({"host_ip": "10.0.0.1"})", "no list");
  expect_bad(R"({"host_ip": [1]})", "no string");
  expect_bad(R"({"host_ip": ["10.0.0"]})", "10.0.0");
  expect_bad(R"({"host_ip": [], "device_ip": ["x"]})", "device_ip");
  EXPECT_THROW((void)read_white_list("/", warnings_), BadValue);
  EXPECT_THROW((void)read_white_list("/dev/zero", warnings_), BadValue);
}

TEST_F(WhiteListFile, ThatCannotBeLookedForIsAnErrorThatSaysWhy) {
  try {
    (void)read_white_list("/tmp/" + std::string(300, 'a'), warnings_);
    ADD_FAILURE() << "accepted";
  } catch (const BadValue& bad) {
    EXPECT_STREQ(bad.what(), "it cannot be read: File name too long");
  }
  std::ofstream(path_) << "{}";
  EXPECT_TRUE(read_white_list(path_.string() + "/of-a-file", warnings_).addresses.empty());
  EXPECT_EQ(warnings_.size(), 1u);
}

TEST_F(WhiteListFile, WarnsOfUnknownKeysAndIfItIsNotThere) {
  EXPECT_TRUE(read(R"({"hosts": []})").addresses.empty());
  EXPECT_EQ(warnings_.size(), 1u);
  const control::WhiteList none = read_white_list("/no/such/file", warnings_);
  EXPECT_TRUE(none.enforced);
  EXPECT_FALSE(none.allows("127.0.0.1"));
  EXPECT_EQ(warnings_.size(), 2u);
}

TEST(WhiteList, ThatIsNotEnforcedAllowsAll) {
  EXPECT_TRUE(control::WhiteList{}.allows("10.0.0.1"));
}

}  // namespace
}  // namespace weft::config
