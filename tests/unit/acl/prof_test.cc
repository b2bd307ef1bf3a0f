// SPDX-License-Identifier: Apache-2.0
// libmsprofiler.so: life cycle, codes, and the trace it writes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "acl/acl_prof.h"
#include "support.hpp"

namespace weft::test {
namespace {

class Prof : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "weft-prof-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    std::filesystem::remove_all(folder_);
    error_text();
  }

  aclError init() { return aclprofInit(folder_.c_str(), folder_.size()); }
  std::string trace() const {
    std::ifstream file(folder_ + "/weft_prof_" + std::to_string(getpid()) + ".json");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string folder_;
};

void* stamp_with(const std::string& message) {
  void* stamp = aclprofCreateStamp();
  EXPECT_EQ(
      aclprofSetStampTraceMessage(stamp, message.data(), static_cast<uint32_t>(message.size())),
      ACL_SUCCESS);
  return stamp;
}

TEST_F(Prof, WritesRangesAndMarks) {
  uint32_t device = 0;
  aclprofConfig* config =
      aclprofCreateConfig(&device, 1, ACL_AICORE_NONE, nullptr, ACL_PROF_MSPROFTX);
  ASSERT_NE(config, nullptr);
  ASSERT_EQ(init(), ACL_SUCCESS);
  ASSERT_EQ(aclprofStart(config), ACL_SUCCESS);
  void* outer = stamp_with("outer \"step\"");
  void* inner = stamp_with("inner");
  ASSERT_EQ(aclprofPush(outer), ACL_SUCCESS);
  uint32_t range = 0;
  ASSERT_EQ(aclprofRangeStart(inner, &range), ACL_SUCCESS);
  ASSERT_EQ(aclprofMark(inner), ACL_SUCCESS);
  ASSERT_EQ(aclprofRangeStop(range), ACL_SUCCESS);
  ASSERT_EQ(aclprofPop(), ACL_SUCCESS);
  EXPECT_EQ(aclprofRangeStop(range), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclprofPop(), ACL_ERROR_INVALID_PARAM);
  aclprofDestroyStamp(outer);
  aclprofDestroyStamp(inner);
  EXPECT_EQ(aclprofMark(outer), ACL_ERROR_INVALID_PARAM);
  ASSERT_EQ(aclprofStop(config), ACL_SUCCESS);
  ASSERT_EQ(aclprofFinalize(), ACL_SUCCESS);
  ASSERT_EQ(aclprofDestroyConfig(config), ACL_SUCCESS);
  EXPECT_NE(trace().find("outer \\\"step\\\""), std::string::npos);
  EXPECT_NE(trace().find("\"ph\": \"i\""), std::string::npos);
  EXPECT_NE(trace().find("\"dur\""), std::string::npos);
}

TEST_F(Prof, WritesNothingUnlessAskedTo) {
  aclprofConfig* config = aclprofCreateConfig(nullptr, 0, ACL_AICORE_NONE, nullptr,
                                              ACL_PROF_ACL_API | ACL_PROF_TASK_TIME);
  ASSERT_EQ(init(), ACL_SUCCESS);
  ASSERT_EQ(aclprofStart(config), ACL_SUCCESS);
  ASSERT_EQ(aclprofStop(config), ACL_SUCCESS);
  ASSERT_EQ(aclprofFinalize(), ACL_SUCCESS);
  ASSERT_EQ(aclprofDestroyConfig(config), ACL_SUCCESS);
  EXPECT_EQ(trace(), "");
}

TEST_F(Prof, ChecksTheOrderOfItsCalls) {
  uint32_t device = 0;
  aclprofConfig* config =
      aclprofCreateConfig(&device, 1, ACL_AICORE_NONE, nullptr, ACL_PROF_ACL_API);
  EXPECT_EQ(aclprofCreateConfig(nullptr, 1, ACL_AICORE_NONE, nullptr, 0), nullptr);
  EXPECT_EQ(aclprofStart(config), ACL_ERROR_PROF_NOT_RUN);
  EXPECT_EQ(aclprofFinalize(), ACL_ERROR_PROF_NOT_RUN);
  EXPECT_EQ(aclprofInit(nullptr, 3), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclprofInit("/proc/none/such", 15), ACL_ERROR_INVALID_FILE);
  ASSERT_EQ(init(), ACL_SUCCESS);
  EXPECT_EQ(init(), ACL_ERROR_PROF_ALREADY_RUN);
  EXPECT_EQ(aclprofStop(config), ACL_ERROR_PROF_NOT_RUN);
  EXPECT_EQ(aclprofStart(nullptr), ACL_ERROR_INVALID_PARAM);
  ASSERT_EQ(aclprofStart(config), ACL_SUCCESS);
  EXPECT_EQ(aclprofStart(config), ACL_ERROR_PROF_ALREADY_RUN);
  EXPECT_EQ(aclprofDestroyConfig(config), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclprofFinalize(), ACL_SUCCESS);  // stops it
  EXPECT_EQ(aclprofDestroyConfig(config), ACL_SUCCESS);
  EXPECT_NE(error_text().find("aclprofDestroyConfig"), std::string::npos);
}

}  // namespace
}  // namespace weft::test
