// SPDX-License-Identifier: Apache-2.0
// Start and end of ACL, its configuration, versions, error texts, capture. What is kept per process
// runs in processes of its own.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "support.hpp"

namespace weft::test {
namespace {

int run_in_child(const std::string& name) { return Child(name, {}).wait(); }

int life_cycle(const std::vector<std::string>&) {
  uint64_t left = 99;
  demand(aclFinalizeReference(&left) == ACL_ERROR_REPEAT_FINALIZE, "no reference");
  demand(aclInit(nullptr) == ACL_SUCCESS, "first");
  demand(aclInit("") == ACL_ERROR_REPEAT_INITIALIZE, "second");
  demand(aclInit("/no/such/file") == ACL_ERROR_REPEAT_INITIALIZE, "checked first");
  demand(aclFinalizeReference(&left) == ACL_SUCCESS && left == 2, "2 left");
  demand(aclFinalizeReference(nullptr) == ACL_SUCCESS, "1 left");
  demand(aclFinalizeReference(&left) == ACL_SUCCESS && left == 0, "0 left");
  demand(aclFinalize() == ACL_ERROR_REPEAT_FINALIZE, "ended");
  demand(aclInit(nullptr) == ACL_SUCCESS, "again");
  demand(aclInit(nullptr) == ACL_ERROR_REPEAT_INITIALIZE, "again, twice");
  demand(aclFinalize() == ACL_SUCCESS, "whatever the count");
  demand(aclFinalize() == ACL_ERROR_REPEAT_FINALIZE, "twice in a row");
  return 0;
}
[[maybe_unused]] const int kLifeCycle = register_child("life_cycle", life_cycle);

TEST(Init, CountsReferences) { EXPECT_EQ(run_in_child("life_cycle"), 0); }

int finalize_first(const std::vector<std::string>&) {
  demand(aclFinalize() == ACL_SUCCESS, "before any init");
  demand(aclFinalize() == ACL_ERROR_REPEAT_FINALIZE, "twice");
  return 0;
}
[[maybe_unused]] const int kFinalizeFirst = register_child("finalize_first", finalize_first);

TEST(Init, FinalizeBeforeAnyInitSucceedsOnce) { EXPECT_EQ(run_in_child("finalize_first"), 0); }

/// A file of this process, named by its descriptor.
class File {
 public:
  explicit File(const std::string& content) : descriptor_(memfd_create("configuration", 0)) {
    demand(
        write(descriptor_, content.data(), content.size()) == static_cast<ssize_t>(content.size()),
        "write");
    path_ = "/proc/self/fd/" + std::to_string(descriptor_);
  }
  const char* path() const { return path_.c_str(); }

 private:
  int descriptor_;
  std::string path_;
};

int configuration(const std::vector<std::string>&) {
  demand(aclInit("/no/such/file") == ACL_ERROR_INVALID_FILE, "missing file");
  demand(aclInit(File("{ not json").path()) == ACL_ERROR_PARSE_FILE, "malformed file");
  demand(aclInit(File("[1]").path()) == ACL_ERROR_PARSE_FILE, "no object");
  demand(aclInit(File(R"({"err_msg_mode": "2"})").path()) == ACL_ERROR_INVALID_PARAM, "mode");
  demand(aclInit(File(R"({"defaultDevice": {"default_device": "x"}})").path()) ==
             ACL_ERROR_INVALID_PARAM,
         "default device");
  const File good(R"({"dump": {}, "err_msg_mode": "1", "defaultDevice": {"default_device": "3"}})");
  demand(aclInit(good.path()) == ACL_SUCCESS, "good file");

  int32_t device = -1;
  demand(aclrtGetDevice(&device) == ACL_SUCCESS && device == 3, "default device");
  aclrtStream stream = nullptr;
  demand(aclrtCreateStream(&stream) == ACL_SUCCESS, "context of the default device");

  error_text();
  std::thread([] { aclrtFree(nullptr); }).join();
  demand(error_text().find("aclrtFree") != std::string::npos, "texts of the process");

  demand(aclFinalize() == ACL_SUCCESS, "finalize");
  demand(aclInit(File("{}").path()) == ACL_ERROR_INVALID_PARAM, "other content");
  demand(aclInit(good.path()) == ACL_SUCCESS, "same content");
  return 0;
}
[[maybe_unused]] const int kConfiguration = register_child("configuration", configuration);

TEST(Init, ReadsItsConfiguration) { EXPECT_EQ(run_in_child("configuration"), 0); }

// Leaves with tasks queued, a worker running and nothing reset.
int leave_abruptly(const std::vector<std::string>&) {
  static Gate gate;
  demand(aclInit(nullptr) == ACL_SUCCESS && aclrtSetDevice(0) == ACL_SUCCESS, "set up");
  aclrtStream stream = nullptr;
  demand(aclrtCreateStream(&stream) == ACL_SUCCESS, "stream");
  demand(gate.launch(stream) == ACL_SUCCESS, "launch");
  demand(eventually([] { return gate.visited(); }), "worker");
  return 0;
}
[[maybe_unused]] const int kLeave = register_child("leave_abruptly", leave_abruptly);

TEST(Init, AProcessMayEndWithoutCleaningUp) {
  for (int i = 0; i < 5; ++i) EXPECT_EQ(run_in_child("leave_abruptly"), 0);
}

TEST(Versions, AreThoseOfTheInterface) {
  int32_t major = 0;
  int32_t minor = 0;
  int32_t patch = -1;
  ASSERT_EQ(aclrtGetVersion(&major, &minor, &patch), ACL_SUCCESS);
  EXPECT_EQ(major, ACL_MAJOR_VERSION);
  EXPECT_EQ(minor, ACL_MINOR_VERSION);
  EXPECT_EQ(patch, ACL_PATCH_VERSION);
  aclCANNPackageVersion version;
  ASSERT_EQ(aclsysGetCANNVersion(ACL_PKG_NAME_HCCL, &version), ACL_SUCCESS);
  EXPECT_STREQ(version.version, "9.1.0");
  EXPECT_STREQ(version.majorVersion, "9");
  EXPECT_EQ(aclsysGetCANNVersion(enum_value<aclCANNPackageName>(8), &version),
            ACL_ERROR_INVALID_PARAM);
  char package[] = "runtime";
  char unknown[] = "other";
  char text[ACL_PKG_VERSION_MAX_SIZE];
  int32_t number = 0;
  ASSERT_EQ(aclsysGetVersionStr(package, text), ACL_SUCCESS);
  EXPECT_STREQ(text, "9.1.0");
  ASSERT_EQ(aclsysGetVersionNum(package, &number), ACL_SUCCESS);
  EXPECT_EQ(number, 90'100'000);
  EXPECT_EQ(aclsysGetVersionStr(unknown, text), ACL_ERROR_INVALID_PARAM);
}

TEST(Errors, TextsComeNewestFirstAndOnce) {
  error_text();
  aclrtFree(nullptr);
  aclrtMallocHost(nullptr, 1);
  aclhostSetErrorText("mine");
  aclhostSetErrorText(nullptr);
  const std::string text = error_text();
  EXPECT_EQ(text.find("mine"), 0U);
  EXPECT_LT(text.find("aclrtMallocHost"), text.find("aclrtFree:"));
  EXPECT_NE(text.find("[100000]"), std::string::npos);
  EXPECT_EQ(error_text(), "");
}

TEST(Errors, TextsBelongToTheirThread) {
  error_text();
  std::thread([] { aclrtFree(nullptr); }).join();
  EXPECT_EQ(error_text(), "");
}

TEST(Errors, TheLastCodeIsKeptUntilItIsTaken) {
  aclrtFree(nullptr);
  EXPECT_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetLastError(enum_value<aclrtLastErrLevel>(1)), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtPeekAtLastError(enum_value<aclrtLastErrLevel>(1)), ACL_ERROR_INVALID_PARAM);
}

TEST(Errors, ManyTextsDoNotPileUp) {
  for (int i = 0; i < 1000; ++i) aclrtFree(nullptr);
  EXPECT_LT(error_text().size(), 16U * 512U);
}

TEST_F(Acl, CaptureSaysThatItIsNotThere) {
  aclmdlRI model = &model;
  EXPECT_EQ(aclmdlRICaptureBegin(stream_, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL),
            ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_NE(error_text().find("capture is not available"), std::string::npos);
  EXPECT_EQ(aclmdlRICaptureEnd(stream_, &model), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclmdlRIExecuteAsync(model, stream_), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclmdlRIDestroy(model), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  aclmdlRICaptureStatus status = ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE;
  EXPECT_EQ(aclmdlRICaptureGetInfo(stream_, &status, &model), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_MODEL_RI_CAPTURE_STATUS_NONE);
  EXPECT_EQ(model, nullptr);
}

bool g_call_in_destructors = false;

/// Fails and asks for the text, when the thread's texts may be gone already.
struct FailsLate {
  ~FailsLate() {
    if (!g_call_in_destructors) return;
    if (aclrtFree(nullptr) != ACL_ERROR_INVALID_PARAM) _exit(3);
    aclGetRecentErrMsg();
  }
};
const FailsLate g_fails_late;

int fail_in_destructors(const std::vector<std::string>& arguments) {
  g_call_in_destructors = true;
  const auto fail = [] {
    thread_local const FailsLate before;  // destroyed after the texts
    (void)before;
    demand(aclrtFree(nullptr) == ACL_ERROR_INVALID_PARAM, "free");
    demand(!error_text().empty(), "text");
    demand(aclrtFree(nullptr) == ACL_ERROR_INVALID_PARAM, "free again");
  };
  if (arguments[0] == "used") fail();
  std::thread(fail).join();
  return 0;
}
[[maybe_unused]] const int kFailInDestructors =
    register_child("fail_in_destructors", fail_in_destructors);

TEST(ErrorTexts, MayBeUsedByDestructorsOfGlobalsAndThreadLocals) {
  EXPECT_EQ(Child("fail_in_destructors", {"used"}).wait(), 0);
  EXPECT_EQ(Child("fail_in_destructors", {"unused"}).wait(), 0);
}

}  // namespace
}  // namespace weft::test
