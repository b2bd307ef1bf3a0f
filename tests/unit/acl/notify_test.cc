// SPDX-License-Identifier: Apache-2.0
// Notifies between streams, devices, threads and processes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "support.hpp"

namespace weft::test {
namespace {

constexpr uint64_t kAnybody = ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION;

class NotifyTest : public Acl {
 protected:
  void SetUp() override {
    Acl::SetUp();
    ASSERT_EQ(aclrtCreateStream(&other_), ACL_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(aclrtDestroyStreamForce(other_), ACL_SUCCESS);
    Acl::TearDown();
  }
  aclrtNotify create() {
    aclrtNotify notify = nullptr;
    EXPECT_EQ(aclrtCreateNotify(&notify, ACL_NOTIFY_DEFAULT), ACL_SUCCESS) << error_text();
    return notify;
  }
  void destroy(aclrtNotify notify) {
    EXPECT_EQ(aclrtDestroyNotify(notify), ACL_SUCCESS) << error_text();
  }
  void record(aclrtNotify notify, aclrtStream stream) {
    EXPECT_EQ(aclrtRecordNotify(notify, stream), ACL_SUCCESS) << error_text();
  }
  void wait(aclrtNotify notify, aclrtStream stream, uint32_t timeout = 0) {
    EXPECT_EQ(aclrtWaitAndResetNotify(notify, stream, timeout), ACL_SUCCESS) << error_text();
  }
  static void expect_text(const char* part) {
    const std::string text = error_text();
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  std::string export_key(aclrtNotify notify, uint64_t flags) {
    char key[65] = {};
    EXPECT_EQ(aclrtNotifyGetExportKey(notify, key, sizeof key, flags), ACL_SUCCESS) << error_text();
    return key;
  }

  aclrtStream other_ = nullptr;
};

TEST_F(NotifyTest, AStreamWaitsForTheRecordOfAnother) {
  aclrtNotify notify = create();
  wait(notify, stream_);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream_, 5), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  // The waiting stream has given its thread back: this one runs the other stream.
  Gate gate;
  ASSERT_EQ(gate.launch(other_), ACL_SUCCESS);
  record(notify, other_);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream_, 5), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  gate.open();
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS) << error_text();
  destroy(notify);
}

TEST_F(NotifyTest, ARecordMayComeFirstAndCountsOnce) {
  aclrtNotify notify = create();
  record(notify, other_);
  record(notify, other_);
  ASSERT_EQ(aclrtSynchronizeStream(other_), ACL_SUCCESS);
  wait(notify, stream_);
  wait(notify, stream_, 1);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_ERROR_RT_TASK_TIMEOUT);
  expect_text("has waited 1 s");
  record(notify, stream_);  // the stream goes on after the fault
  wait(notify, stream_);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS) << error_text();
  destroy(notify);
}

TEST_F(NotifyTest, AWaitThatExpiresStopsAStopOnFailureStream) {
  aclrtContext before = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&before), ACL_SUCCESS);
  aclrtContext context = nullptr;
  ASSERT_EQ(aclrtCreateContext(&context, 0), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetStreamFailureMode(nullptr, ACL_STOP_ON_FAILURE), ACL_SUCCESS);
  aclrtNotify notify = create();
  wait(notify, nullptr, 1);
  wait(notify, nullptr);  // without a limit, but dropped
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_ERROR_RT_TASK_TIMEOUT);
  EXPECT_EQ(aclrtRecordNotify(notify, nullptr), ACL_ERROR_RT_TASK_TIMEOUT);
  destroy(notify);
  EXPECT_EQ(aclrtDestroyContext(context), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetCurrentContext(before), ACL_SUCCESS);
}

TEST_F(NotifyTest, DevicesOfOneProcessUseTheHandle) {
  aclrtNotify notify = create();
  std::thread recorder([this, notify] {
    ASSERT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
    EXPECT_EQ(aclrtRecordNotify(notify, stream_), ACL_ERROR_RT_STREAM_CONTEXT);
    EXPECT_EQ(aclrtWaitAndResetNotify(notify, stream_, 0), ACL_ERROR_RT_STREAM_CONTEXT);
    EXPECT_EQ(aclrtRecordNotify(notify, nullptr), ACL_SUCCESS) << error_text();
    EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
    EXPECT_EQ(aclrtResetDevice(1), ACL_SUCCESS);
  });
  wait(notify, stream_);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS) << error_text();
  recorder.join();
  destroy(notify);
}

TEST_F(NotifyTest, ThreadsPlayPingPong) {
  constexpr int kRounds = 500;
  aclrtNotify ping = create();
  aclrtNotify pong = create();
  std::thread thread([this, ping, pong] {
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    for (int i = 0; i < kRounds; ++i) {
      wait(ping, other_, 30);
      record(pong, other_);
    }
    EXPECT_EQ(aclrtSynchronizeStream(other_), ACL_SUCCESS) << error_text();
    EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  });
  for (int i = 0; i < kRounds; ++i) {
    record(ping, stream_);
    wait(pong, stream_, 30);
    if (i % 7 == 0) {
      EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS) << error_text();
    }
  }
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS) << error_text();
  thread.join();
  destroy(ping);
  destroy(pong);
}

TEST_F(NotifyTest, DestroyingWhatAStreamWaitsForIsAFault) {
  aclrtNotify notify = create();
  wait(notify, stream_);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream_, 5), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  Gate gate;
  ASSERT_EQ(gate.launch(other_), ACL_SUCCESS);
  record(notify, other_);
  destroy(notify);
  error_text();
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_ERROR_RT_INVALID_HANDLE);
  expect_text("was destroyed");
  gate.open();
  EXPECT_EQ(aclrtSynchronizeStream(other_), ACL_SUCCESS);  // that record goes nowhere
  for (int i = 0; i < 3; ++i) {
    aclrtNotify next = create();
    wait(next, stream_, 1);
    EXPECT_EQ(aclrtDestroyNotify(next), ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_ERROR_RT_INVALID_HANDLE);
  }
}

TEST_F(NotifyTest, BitsAreResetInStreamOrder) {
  aclrtNotify notifies[] = {create(), create(), create()};
  for (aclrtNotify notify : notifies) record(notify, nullptr);
  ASSERT_EQ(aclrtNotifyBatchReset(notifies, 2), ACL_SUCCESS) << error_text();
  wait(notifies[2], nullptr);
  wait(notifies[1], nullptr, 1);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_ERROR_RT_TASK_TIMEOUT);
  EXPECT_EQ(aclrtNotifyBatchReset(nullptr, 2), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtNotifyBatchReset(notifies, 0), ACL_ERROR_INVALID_PARAM);
  for (aclrtNotify notify : notifies) destroy(notify);
  EXPECT_EQ(aclrtNotifyBatchReset(notifies, 3), ACL_ERROR_RT_INVALID_HANDLE);
}

TEST_F(NotifyTest, ADeviceHasAsManyAsItsSoc) {
  std::vector<aclrtNotify> all;
  std::set<uint32_t> ids;
  aclrtNotify notify = nullptr;
  aclError error = ACL_SUCCESS;
  while ((error = aclrtCreateNotify(&notify, 0)) == ACL_SUCCESS) {
    all.push_back(notify);
    uint32_t id = 0;
    ASSERT_EQ(aclrtGetNotifyId(notify, &id), ACL_SUCCESS);
    ASSERT_TRUE(ids.insert(id).second) << id;
  }
  EXPECT_EQ(error, ACL_ERROR_RT_NO_NOTIFY_RESOURCE);
  expect_text("all 8192 notifies of device 0");
  EXPECT_EQ(all.size(), 8192U);
  ASSERT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
  destroy(create());  // each device has its own
  ASSERT_EQ(aclrtResetDevice(1), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  ASSERT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  for (aclrtNotify one : all) destroy(one);
  destroy(create());
}

TEST_F(NotifyTest, MistakesAreNamed) {
  aclrtNotify notify = nullptr;
  uint32_t id = 0;
  EXPECT_EQ(aclrtCreateNotify(nullptr, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtCreateNotify(&notify, 2), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtDestroyNotify(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtRecordNotify(nullptr, stream_), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtWaitAndResetNotify(nullptr, stream_, 0), ACL_ERROR_INVALID_PARAM);
  std::thread([&notify] {
    EXPECT_EQ(aclrtCreateNotify(&notify, 0), ACL_ERROR_RT_CONTEXT_NULL);
  }).join();
  EXPECT_EQ(aclrtCreateNotify(&notify, ACL_NOTIFY_DEVICE_USE_ONLY), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetNotifyId(notify, nullptr), ACL_ERROR_INVALID_PARAM);
  destroy(notify);
  for (void* wild : {notify, reinterpret_cast<void*>(uintptr_t{8}), static_cast<void*>(&id)}) {
    EXPECT_EQ(aclrtDestroyNotify(wild), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclrtRecordNotify(wild, stream_), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclrtWaitAndResetNotify(wild, stream_, 0), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclrtGetNotifyId(wild, &id), ACL_ERROR_RT_INVALID_HANDLE);
  }
}

TEST_F(NotifyTest, MistakesOfSharingAreNamed) {
  aclrtNotify notify = create();
  aclrtNotify imported = nullptr;
  char key[65] = {};
  int32_t pid = 1;
  EXPECT_EQ(aclrtNotifyGetExportKey(nullptr, key, 65, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtNotifyGetExportKey(notify, nullptr, 65, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtNotifyGetExportKey(notify, key, 64, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtNotifyGetExportKey(notify, key, 65, 1), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtNotifySetImportPid(notify, &pid, 1), ACL_ERROR_RT_PARAM_INVALID);
  expect_text("not exported");
  const std::string good = export_key(notify, 0);
  EXPECT_EQ(good.size(), 64U);
  EXPECT_EQ(aclrtNotifyGetExportKey(notify, key, 65, 0), ACL_ERROR_RT_INTERNAL_ERROR);
  expect_text("exported before");
  EXPECT_EQ(aclrtNotifySetImportPid(nullptr, &pid, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtNotifySetImportPid(notify, nullptr, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtNotifySetImportPid(notify, &pid, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtNotifySetImportPid(notify, &pid, 1), ACL_SUCCESS);
  aclrtServerPid server{};
  EXPECT_EQ(aclrtNotifySetImportPidInterServer(notify, &server, 1),
            ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclrtNotifyImportByKey(nullptr, good.c_str(), 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtNotifyImportByKey(&imported, nullptr, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtNotifyImportByKey(&imported, good.c_str(), 1), ACL_ERROR_RT_PARAM_INVALID);
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = '~';
    EXPECT_EQ(aclrtNotifyImportByKey(&imported, bad.c_str(), 0), ACL_ERROR_RT_PARAM_INVALID) << i;
  }
  void* memory = nullptr;
  EXPECT_EQ(aclrtIpcMemImportByKey(&memory, good.c_str(), 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(imported, nullptr);
  destroy(notify);
  EXPECT_EQ(aclrtNotifyImportByKey(&imported, good.c_str(), 0), ACL_ERROR_RT_PARAM_INVALID);
}

TEST_F(NotifyTest, AnExportedOneIsWaitedForOnItsDeviceOnly) {
  aclrtNotify notify = create();
  const std::string key = export_key(notify, kAnybody);
  ASSERT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
  EXPECT_EQ(aclrtWaitAndResetNotify(notify, nullptr, 0), ACL_ERROR_RT_PARAM_INVALID);
  expect_text("its own device 0");
  aclrtNotify imported = nullptr;
  ASSERT_EQ(
      aclrtNotifyImportByKey(&imported, key.c_str(), ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS),
      ACL_SUCCESS)
      << error_text();
  EXPECT_EQ(aclrtWaitAndResetNotify(imported, nullptr, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtNotifyBatchReset(&imported, 1), ACL_ERROR_RT_PARAM_INVALID);
  char again[65];
  EXPECT_EQ(aclrtNotifyGetExportKey(imported, again, 65, 0), ACL_ERROR_RT_PARAM_INVALID);
  uint32_t ids[2] = {7, 8};
  EXPECT_EQ(aclrtGetNotifyId(notify, &ids[0]), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetNotifyId(imported, &ids[1]), ACL_SUCCESS);
  EXPECT_EQ(ids[0], ids[1]);
  // A queued record outlives the handle; one of a notify that is gone goes nowhere.
  Gate gate;
  ASSERT_EQ(gate.launch(nullptr), ACL_SUCCESS);
  record(imported, nullptr);
  aclrtNotify stale = nullptr;
  ASSERT_EQ(aclrtNotifyImportByKey(&stale, key.c_str(), 0), ACL_SUCCESS);
  destroy(imported);
  gate.open();
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  wait(notify, stream_, 30);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS) << error_text();
  destroy(notify);
  std::vector<aclrtNotify> all;
  for (aclrtNotify next = nullptr; aclrtCreateNotify(&next, 0) == ACL_SUCCESS;) all.push_back(next);
  record(stale, other_);
  EXPECT_EQ(aclrtSynchronizeStream(other_), ACL_SUCCESS);
  EXPECT_EQ(aclrtNotifyBatchReset(all.data(), 1), ACL_SUCCESS);
  wait(all.back(), stream_, 1);  // it has the bit that the stale one had
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_ERROR_RT_TASK_TIMEOUT);
  for (aclrtNotify one : all) destroy(one);
  destroy(stale);
  ASSERT_EQ(aclrtResetDevice(1), ACL_SUCCESS);
  ASSERT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
}

constexpr int kIpcRounds = 200;

std::string read_word() {
  std::string word;
  for (char letter = 0;;) {
    demand(read(STDIN_FILENO, &letter, 1) == 1, "line");
    if (letter == '\n') return word;
    word += letter;
  }
}

// Imports the key of the argument, exports one of its own, answers each record with one; then waits
// to be killed.
int answer_records(const std::vector<std::string>& arguments) {
  demand(read_word() == "go", "go");
  demand(aclrtSetDevice(1) == ACL_SUCCESS, "set device");
  aclrtNotify theirs = nullptr;
  const aclError error = aclrtNotifyImportByKey(&theirs, arguments[0].c_str(), 0);
  std::printf("%d %s\n", error, error_text().c_str());
  std::fflush(stdout);
  if (error != ACL_SUCCESS) return 0;
  aclrtNotify mine = nullptr;
  char key[65];
  demand(aclrtCreateNotify(&mine, 0) == ACL_SUCCESS, "create");
  demand(aclrtNotifyGetExportKey(mine, key, sizeof key, kAnybody) == ACL_SUCCESS, "export");
  std::puts(key);
  std::fflush(stdout);
  for (int i = 0; i < kIpcRounds; ++i) {
    demand(aclrtWaitAndResetNotify(mine, nullptr, 30) == ACL_SUCCESS, "wait");
    demand(aclrtRecordNotify(theirs, nullptr) == ACL_SUCCESS, "record");
  }
  demand(aclrtSynchronizeStream(nullptr) == ACL_SUCCESS, "synchronise");
  std::puts("done");
  std::fflush(stdout);
  read_word();
  return 0;
}
[[maybe_unused]] const int kAnswer = register_child("answer_records", answer_records);

TEST_F(NotifyTest, ProcessesPlayPingPongUntilOneIsKilled) {
  aclrtNotify mine = create();
  const std::string key = export_key(mine, ACL_RT_NOTIFY_EXPORT_FLAG_DEFAULT);
  Child stranger("answer_records", {key});
  Child child("answer_records", {key});
  int32_t pid = child.pid();
  ASSERT_EQ(aclrtNotifySetImportPid(mine, &pid, 1), ACL_SUCCESS) << error_text();
  stranger.write_line("go");
  const std::string refused = stranger.read_line();
  EXPECT_EQ(refused.substr(0, 7), "207006 ");
  EXPECT_NE(refused.find("aclrtNotifySetImportPid"), std::string::npos) << refused;
  EXPECT_EQ(stranger.wait(), 0);
  child.write_line("go");
  ASSERT_EQ(child.read_line(), "0 ");
  const std::string other_key = child.read_line();
  aclrtNotify theirs = nullptr;
  ASSERT_EQ(aclrtNotifyImportByKey(&theirs, other_key.c_str(), 0), ACL_SUCCESS) << error_text();
  for (int i = 0; i < kIpcRounds; ++i) {
    record(theirs, stream_);
    wait(mine, stream_, 30);
  }
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS) << error_text();
  EXPECT_EQ(child.read_line(), "done");
  child.kill();
  record(theirs, stream_);  // reaches nobody
  wait(mine, stream_, 1);   // and nobody answers
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_ERROR_RT_TASK_TIMEOUT);
  destroy(theirs);
  EXPECT_EQ(aclrtNotifyImportByKey(&theirs, other_key.c_str(), 0), ACL_ERROR_RT_IPC_ERROR);
  expect_text("does not answer");
  destroy(mine);
}

// In a process that presents another SoC.
int use_other_soc(const std::vector<std::string>& arguments) {
  demand(aclrtSetDevice(0) == ACL_SUCCESS, "set device");
  aclrtNotify notify = nullptr;
  size_t count = 0;
  while (aclrtCreateNotify(&notify, 0) == ACL_SUCCESS) ++count;
  demand(count == std::stoul(arguments[0]), "limit, not " + std::to_string(count));
  return aclrtNotifyBatchReset(&notify, 1) == ACL_ERROR_RT_FEATURE_NOT_SUPPORT ? 1 : 0;
}
[[maybe_unused]] const int kOther = register_child("use_other_soc", use_other_soc);

TEST(NotifySoc, LimitsAreThoseOfTheSoc) {
  EXPECT_EQ(Child("use_other_soc", {"8192"}, {{"WEFT_SOC_NAME", "Ascend910B1"}}).wait(), 0);
  EXPECT_EQ(Child("use_other_soc", {"1024"}, {{"WEFT_SOC_NAME", "Ascend910A"}}).wait(), 1);
  EXPECT_EQ(Child("use_other_soc", {"2048"}, {{"WEFT_SOC_NAME", "Ascend310B4"}}).wait(), 1);
  EXPECT_EQ(Child("use_other_soc", {"65535"}, {{"WEFT_SOC_NAME", "Ascend950PR_9589"}}).wait(), 0);
}

}  // namespace
}  // namespace weft::test
