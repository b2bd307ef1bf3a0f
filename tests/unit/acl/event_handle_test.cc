// SPDX-License-Identifier: Apache-2.0
// Handles of shared events: mistakes, forks, and what such events cannot do.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "event_ipc_support.hpp"

namespace weft::test {
namespace {

using EventHandle = EventIpc;

TEST_F(EventHandle, BytesThatAreNoHandleAreRefused) {
  const std::string good = export_text(event_);
  EXPECT_EQ(export_text(event_), good);
  aclrtEvent event = nullptr;
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const char wrong : {'~', '\0', '\xff'}) {
      std::string bad = good;
      bad[i] = wrong;
      EXPECT_EQ(aclrtIpcOpenEventHandle(to_handle(bad), &event), ACL_ERROR_RT_PARAM_INVALID) << i;
    }
  }
  for (const char fill : {'\0', 'f', '0', '\xff'})
    EXPECT_EQ(aclrtIpcOpenEventHandle(to_handle(std::string(64, fill)), &event),
              ACL_ERROR_RT_PARAM_INVALID);
  // Well formed, but of nobody: by socket, by token, by number.
  for (const std::size_t i : {std::size_t{16}, std::size_t{40}, good.size() - 1}) {
    std::string other = good;
    other[i] = other[i] == '0' ? '1' : '0';
    EXPECT_NE(aclrtIpcOpenEventHandle(to_handle(other), &event), ACL_SUCCESS) << i;
  }
  aclrtNotify notify = nullptr;
  char key[65] = {};
  ASSERT_EQ(aclrtCreateNotify(&notify, 0), ACL_SUCCESS);
  ASSERT_EQ(aclrtNotifyGetExportKey(notify, key, sizeof key, 2), ACL_SUCCESS);
  EXPECT_EQ(aclrtIpcOpenEventHandle(to_handle(key), &event), ACL_ERROR_RT_PARAM_INVALID);
  const std::string disguised = "wefte" + std::string(key + 5);
  EXPECT_EQ(aclrtIpcOpenEventHandle(to_handle(disguised), &event), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtNotifyImportByKey(&notify, good.c_str(), 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtDestroyNotify(notify), ACL_SUCCESS);
  EXPECT_EQ(event, nullptr);
}

TEST_F(EventHandle, MistakesAreNamed) {
  aclrtIpcEventHandle handle{};
  EXPECT_EQ(aclrtIpcGetEventHandle(nullptr, &handle), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtIpcGetEventHandle(event_, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtIpcGetEventHandle(&handle, &handle), ACL_ERROR_RT_INVALID_HANDLE);
  aclrtEvent plain = nullptr;
  ASSERT_EQ(aclrtCreateEventExWithFlag(&plain, ACL_EVENT_SYNC), ACL_SUCCESS);
  EXPECT_EQ(aclrtIpcGetEventHandle(plain, &handle), ACL_ERROR_RT_PARAM_INVALID);
  expect_text("ACL_EVENT_IPC");
  EXPECT_EQ(aclrtDestroyEvent(plain), ACL_SUCCESS);
  const aclrtIpcEventHandle good = to_handle(export_text(event_));
  EXPECT_EQ(aclrtIpcOpenEventHandle(good, nullptr), ACL_ERROR_INVALID_PARAM);
  aclrtEvent opened = nullptr;
  std::thread([&] {
    EXPECT_EQ(aclrtIpcOpenEventHandle(good, &opened), ACL_ERROR_RT_CONTEXT_NULL);
  }).join();
  ASSERT_EQ(aclrtIpcOpenEventHandle(good, &opened), ACL_SUCCESS);
  EXPECT_EQ(aclrtIpcGetEventHandle(opened, &handle), ACL_ERROR_RT_PARAM_INVALID);
  expect_text("only its creator exports it");
  EXPECT_EQ(aclrtDestroyEvent(opened), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyEvent(opened), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtCreateEventWithFlag(&opened, ACL_EVENT_IPC), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
}

TEST_F(EventHandle, HasNoTimeNoIdAndNoReset) {
  aclrtEvent timed = nullptr;
  ASSERT_EQ(aclrtCreateEvent(&timed), ACL_SUCCESS);
  record(timed, stream_);
  record(event_, stream_);
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  float ms = 0;
  uint64_t stamp = 0;
  uint32_t id = 0;
  aclrtEventStatus status{};
  aclrtEventWaitStatus waits{};
  for (aclrtEvent event : {event_, open(export_text(event_))}) {
    EXPECT_EQ(aclrtEventElapsedTime(&ms, timed, event), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    EXPECT_EQ(aclrtEventElapsedTime(&ms, event, timed), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    EXPECT_EQ(aclrtEventGetTimestamp(event, &stamp), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    EXPECT_EQ(aclrtGetEventId(event, &id), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    EXPECT_EQ(aclrtResetEvent(event, stream_), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    EXPECT_EQ(aclrtQueryEvent(event, &status), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    EXPECT_EQ(aclrtQueryEventWaitStatus(event, &waits), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    if (event != event_) {
      EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
    }
  }
  EXPECT_EQ(aclrtDestroyEvent(timed), ACL_SUCCESS);
}

// The page of the only shared event of this process, which any of its processes may garble.
void* page_of_the_event() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("weft-event") != std::string::npos)
      return reinterpret_cast<void*>(std::stoull(line, nullptr, 16));
  }
  return nullptr;
}

TEST_F(EventHandle, APageThatSomebodyGarbledHurtsNobody) {
  void* page = page_of_the_event();
  ASSERT_NE(page, nullptr);
  for (const int fill : {0xff, 0x01, 0x80, 0x55}) {
    std::memset(page, fill, 4096);
    aclrtEventRecordedStatus status{};
    aclrtQueryEventStatus(event_, &status);
    EXPECT_EQ(aclrtStreamWaitEventWithTimeout(stream_, event_, 1), ACL_SUCCESS);
    aclrtSynchronizeStream(stream_);
    aclrtSynchronizeEventWithTimeout(event_, 5);
    record(event_, stream_);
    EXPECT_EQ(aclrtSynchronizeEvent(event_), ACL_SUCCESS) << error_text();
  }
}

// A process forked too late must not touch its parent's events.
int fork_with_event(const std::vector<std::string>&) {
  demand(aclrtSetDevice(0) == ACL_SUCCESS, "set device");
  aclrtEvent event = nullptr;
  demand(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC) == ACL_SUCCESS, "create");
  const aclrtIpcEventHandle handle = to_handle(export_text(event));
  const pid_t child = fork();
  if (child == 0) {
    aclrtEvent other = nullptr;
    aclrtIpcEventHandle again{};
    demand(aclrtRecordEvent(event, nullptr) != ACL_SUCCESS, "record in the fork");
    demand(aclrtDestroyEvent(event) != ACL_SUCCESS, "destroy in the fork");
    demand(aclrtIpcGetEventHandle(event, &again) != ACL_SUCCESS, "export in the fork");
    demand(aclrtIpcOpenEventHandle(handle, &other) != ACL_SUCCESS, "open in the fork");
    demand(aclrtCreateEventExWithFlag(&other, ACL_EVENT_IPC) != ACL_SUCCESS, "create in the fork");
    _exit(0);
  }
  int status = -1;
  demand(waitpid(child, &status, 0) == child && status == 0, "the forked process");
  demand(aclrtRecordEvent(event, nullptr) == ACL_SUCCESS, "record");
  demand(aclrtSynchronizeEvent(event) == ACL_SUCCESS, "synchronise");
  demand(aclrtDestroyEvent(event) == ACL_SUCCESS, "destroy");
  return 0;
}
[[maybe_unused]] const int kFork = register_child("fork_with_event", fork_with_event);

int probe_for_events(const std::vector<std::string>&) {
  aclrtEvent event = nullptr;
  demand(aclrtSetDevice(0) == ACL_SUCCESS, "set device");
  return aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC) == ACL_SUCCESS ? 0 : 7;
}
[[maybe_unused]] const int kProbe = register_child("probe_for_events", probe_for_events);

TEST(EventHandleProcess, ForkedTooLateIsRefused) {
  EXPECT_EQ(Child("fork_with_event", {}).wait(), 0);
}

TEST(EventHandleProcess, OfASocWithoutThemSaysSo) {
  EXPECT_EQ(Child("probe_for_events", {}, {{"WEFT_SOC_NAME", "Ascend950DT_9581"}}).wait(), 7);
  EXPECT_EQ(Child("probe_for_events", {}, {{"WEFT_SOC_NAME", "Ascend910A"}}).wait(), 0);
}

}  // namespace
}  // namespace weft::test
