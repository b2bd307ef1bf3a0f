// SPDX-License-Identifier: Apache-2.0
// Events: records, waits between streams, queries, time.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "support.hpp"

namespace weft::test {
namespace {

class Event : public Acl {
 protected:
  void SetUp() override {
    Acl::SetUp();
    ASSERT_EQ(aclrtCreateStream(&other_), ACL_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(aclrtDestroyStream(other_), ACL_SUCCESS);
    Acl::TearDown();
  }

  aclrtStream other_ = nullptr;
};

aclrtEventRecordedStatus status_of(aclrtEvent event) {
  aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
  EXPECT_EQ(aclrtQueryEventStatus(event, &status), ACL_SUCCESS) << error_text();
  return status;
}

constexpr auto kComplete = ACL_EVENT_RECORDED_STATUS_COMPLETE;
constexpr auto kNotReady = ACL_EVENT_RECORDED_STATUS_NOT_READY;

TEST_F(Event, AStreamWaitsForARecordOnAnother) {
  for (const bool legacy : {true, false}) {
    aclrtEvent event = nullptr;
    ASSERT_EQ(
        legacy ? aclrtCreateEvent(&event) : aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC),
        ACL_SUCCESS);
    Gate gate;
    bool before = false;
    bool seen = false;
    std::function<int32_t()> first = [&] { return before = true, ACLHOST_DONE; };
    std::function<int32_t()> second = [&] { return seen = before, ACLHOST_DONE; };
    ASSERT_EQ(gate.launch(stream_), ACL_SUCCESS);
    ASSERT_EQ(launch(stream_, first), ACL_SUCCESS);
    ASSERT_EQ(aclrtRecordEvent(event, stream_), ACL_SUCCESS);
    ASSERT_EQ(aclrtStreamWaitEvent(other_, event), ACL_SUCCESS);
    ASSERT_EQ(launch(other_, second), ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(other_, 5), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    gate.open();
    ASSERT_EQ(aclrtSynchronizeStream(other_), ACL_SUCCESS);  // runs both streams
    EXPECT_TRUE(seen);
    EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
  }
}

TEST_F(Event, AWaitIsForTheNewestRecordAtTheTimeOfTheCall) {
  aclrtEvent event = nullptr;
  ASSERT_EQ(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC), ACL_SUCCESS);
  Gate first;
  Gate later;
  ASSERT_EQ(first.launch(stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event, stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(other_, event), ACL_SUCCESS);
  ASSERT_EQ(later.launch(stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event, stream_), ACL_SUCCESS);
  first.open();
  EXPECT_EQ(aclrtSynchronizeStream(other_), ACL_SUCCESS);
  EXPECT_EQ(status_of(event), kNotReady);
  later.open();
  EXPECT_EQ(aclrtSynchronizeEvent(event), ACL_SUCCESS);
  EXPECT_EQ(status_of(event), kComplete);
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
}

// A record that completes early on another stream must not release waits for a slow earlier one.
TEST_F(Event, ARecordElsewhereDoesNotReleaseAnEarlierWait) {
  aclrtEvent event = nullptr;
  ASSERT_EQ(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC), ACL_SUCCESS);
  Gate slow;
  ASSERT_EQ(slow.launch(stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event, stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(other_, event), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event, nullptr), ACL_SUCCESS);
  EXPECT_EQ(status_of(event), kComplete);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(other_, 5), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  slow.open();
  EXPECT_EQ(aclrtSynchronizeStream(other_), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
}

TEST_F(Event, WithoutARecordTheAnswersDependOnTheForm) {
  aclrtEvent legacy = nullptr;
  aclrtEvent ex = nullptr;
  ASSERT_EQ(aclrtCreateEvent(&legacy), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateEventExWithFlag(&ex, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE), ACL_SUCCESS);
  EXPECT_EQ(status_of(legacy), kNotReady);
  EXPECT_EQ(status_of(ex), kComplete);
  EXPECT_EQ(aclrtStreamWaitEvent(stream_, legacy), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtStreamWaitEvent(stream_, ex), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeEvent(legacy), ACL_SUCCESS);
  float ms = 0;
  EXPECT_EQ(aclrtEventElapsedTime(&ms, legacy, ex), ACL_ERROR_RT_INTERNAL_ERROR);
  EXPECT_EQ(aclrtDestroyEvent(legacy), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyEvent(ex), ACL_SUCCESS);
}

TEST_F(Event, MeasuresTheTimeBetweenTwoRecords) {
  aclrtEvent start = nullptr;
  aclrtEvent end = nullptr;
  aclrtEvent untimed = nullptr;
  ASSERT_EQ(aclrtCreateEventExWithFlag(&start, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateEvent(&end), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateEventWithFlag(&untimed, ACL_EVENT_SYNC), ACL_SUCCESS);
  Gate gate;
  ASSERT_EQ(aclrtRecordEvent(start, stream_), ACL_SUCCESS);
  ASSERT_EQ(gate.launch(stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(end, stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(untimed, stream_), ACL_SUCCESS);
  float ms = -1;
  EXPECT_EQ(aclrtEventElapsedTime(&ms, start, end), ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID);
  gate.open();
  ASSERT_EQ(aclrtSynchronizeEvent(end), ACL_SUCCESS);
  ASSERT_EQ(aclrtEventElapsedTime(&ms, start, end), ACL_SUCCESS) << error_text();
  EXPECT_GE(ms, 0);
  EXPECT_EQ(aclrtEventElapsedTime(&ms, end, start), ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL);
  EXPECT_EQ(aclrtEventElapsedTime(&ms, start, untimed), ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID);
  uint64_t first = 0;
  uint64_t second = 0;
  ASSERT_EQ(aclrtEventGetTimestamp(start, &first), ACL_SUCCESS);
  ASSERT_EQ(aclrtEventGetTimestamp(end, &second), ACL_SUCCESS);
  EXPECT_LE(first, second);
  for (aclrtEvent event : {start, end, untimed}) EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
}

TEST_F(Event, HostWaitsGiveUpAtTheirTimeout) {
  aclrtEvent event = nullptr;
  ASSERT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
  Gate gate;
  ASSERT_EQ(gate.launch(stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event, stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeEventWithTimeout(event, 5), ACL_ERROR_RT_EVENT_SYNC_TIMEOUT);
  EXPECT_EQ(aclrtSynchronizeEventWithTimeout(event, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtSynchronizeEventWithTimeout(event, -2), ACL_ERROR_RT_PARAM_INVALID);
  gate.open();
  EXPECT_EQ(aclrtSynchronizeEventWithTimeout(event, -1), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
}

TEST_F(Event, AStreamsWaitThatTimesOutIsItsFault) {
  aclrtEvent event = nullptr;
  ASSERT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
  Gate gate;
  ASSERT_EQ(gate.launch(stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event, stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEventWithTimeout(other_, event, -1), ACL_ERROR_RT_PARAM_INVALID);
  error_text();
  ASSERT_EQ(aclrtStreamWaitEventWithTimeout(other_, event, 1), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetOpWaitTimeout(1), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(nullptr, event), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetOpWaitTimeout(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(other_), ACL_ERROR_RT_TASK_TIMEOUT);
  EXPECT_NE(error_text().find("has waited 1 s"), std::string::npos);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_ERROR_RT_TASK_TIMEOUT);
  gate.open();
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
}

TEST_F(Event, MayBeDestroyedBeforeItIsReached) {
  aclrtEvent event = nullptr;
  ASSERT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
  Gate gate;
  ASSERT_EQ(gate.launch(stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event, stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(other_, event), ACL_SUCCESS);
  ASSERT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeEvent(event), ACL_ERROR_RT_INVALID_HANDLE);
  gate.open();
  EXPECT_EQ(aclrtSynchronizeStream(other_), ACL_SUCCESS);
}

TEST_F(Event, OutlivesTheStreamItWasRecordedOn) {
  aclrtEvent event = nullptr;
  ASSERT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_EQ(status_of(event), kComplete);
  EXPECT_EQ(aclrtStreamWaitEvent(other_, event), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(other_), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
}

TEST_F(Event, ResetMakesItUnrecordedInStreamOrder) {
  aclrtEvent event = nullptr;
  ASSERT_EQ(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event, stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtResetEvent(event, stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(status_of(event), kNotReady);
  ASSERT_EQ(aclrtRecordEvent(event, stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtResetEvent(event, stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event, stream_), ACL_SUCCESS);  // the reset is for the record before
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(status_of(event), kComplete);
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
}

TEST_F(Event, TellsWhetherWaitsForItAreDone) {
  aclrtEvent event = nullptr;
  ASSERT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
  Gate gate;
  aclrtEventWaitStatus waits = ACL_EVENT_WAIT_STATUS_RESERVED;
  ASSERT_EQ(gate.launch(stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event, stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(other_, event), ACL_SUCCESS);
  ASSERT_EQ(aclrtQueryEventWaitStatus(event, &waits), ACL_SUCCESS);
  EXPECT_EQ(waits, ACL_EVENT_WAIT_STATUS_NOT_READY);
  gate.open();
  ASSERT_EQ(aclrtSynchronizeStream(other_), ACL_SUCCESS);
  ASSERT_EQ(aclrtQueryEventWaitStatus(event, &waits), ACL_SUCCESS);
  EXPECT_EQ(waits, ACL_EVENT_WAIT_STATUS_COMPLETE);
  aclrtEventStatus old_status = ACL_EVENT_STATUS_RESERVED;
  ASSERT_EQ(aclrtQueryEvent(event, &old_status), ACL_SUCCESS);
  EXPECT_EQ(old_status, ACL_EVENT_STATUS_COMPLETE);
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
}

TEST_F(Event, FlagsAreChecked) {
  aclrtEvent event = nullptr;
  EXPECT_EQ(aclrtCreateEvent(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtCreateEventWithFlag(&event, 0x100), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC | ACL_EVENT_EXTERNAL),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC | ACL_EVENT_SYNC),
            ACL_ERROR_RT_PARAM_INVALID);

  ASSERT_EQ(aclrtCreateEventWithFlag(&event, ACL_EVENT_TIME_LINE), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(stream_, event), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclrtResetEvent(event, stream_), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclrtRecordEventWithFlag(event, stream_, 7), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtRecordEventWithFlag(event, stream_, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEventWithFlag(stream_, event, 0, 9), ACL_ERROR_RT_PARAM_INVALID);
  ASSERT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);

  ASSERT_EQ(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC), ACL_SUCCESS);
  aclrtEventStatus status = ACL_EVENT_STATUS_RESERVED;
  aclrtEventWaitStatus waits = ACL_EVENT_WAIT_STATUS_RESERVED;
  EXPECT_EQ(aclrtQueryEvent(event, &status), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclrtQueryEventWaitStatus(event, &waits), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclrtResetEvent(event, stream_), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  ASSERT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);

  ASSERT_EQ(aclrtCreateEventWithFlag(&event, ACL_EVENT_EXTERNAL), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeEvent(event), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  ASSERT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtDestroyEvent(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtRecordEvent(reinterpret_cast<aclrtEvent>(0x1234), stream_),
            ACL_ERROR_RT_INVALID_HANDLE);
}

TEST_F(Event, IsRecordedOnStreamsOfTheCurrentContextOnly) {
  aclrtEvent event = nullptr;
  ASSERT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
  aclrtContext context = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&context), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordEvent(event, stream_), ACL_ERROR_RT_STREAM_CONTEXT);
  EXPECT_EQ(aclrtRecordEvent(event, nullptr), ACL_SUCCESS);
  ASSERT_EQ(aclrtResetDevice(1), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetCurrentContext(context), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
}

TEST_F(Event, TheDeviceCountsThem) {
  uint32_t before = 0;
  uint32_t with = 0;
  ASSERT_EQ(aclrtGetEventAvailNum(&before), ACL_SUCCESS);
  aclrtEvent counted = nullptr;
  aclrtEvent ex = nullptr;
  ASSERT_EQ(aclrtCreateEvent(&counted), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateEventExWithFlag(&ex, ACL_EVENT_SYNC), ACL_SUCCESS);
  ASSERT_EQ(aclrtGetEventAvailNum(&with), ACL_SUCCESS);
  EXPECT_EQ(with + 1, before);
  EXPECT_EQ(aclrtDestroyEvent(counted), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyEvent(ex), ACL_SUCCESS);
}

// A chain over many streams, queued back to front where possible, waited for at its end.
TEST_F(Event, ChainsOverManyStreams) {
  constexpr size_t kLength = 50;
  std::vector<aclrtStream> streams(kLength);
  std::vector<aclrtEvent> events(kLength);
  std::vector<int> order;
  std::vector<std::function<int32_t()>> tasks;
  for (size_t i = 0; i < kLength; ++i) {
    ASSERT_EQ(aclrtCreateStream(&streams[i]), ACL_SUCCESS);
    ASSERT_EQ(aclrtCreateEventExWithFlag(&events[i], ACL_EVENT_SYNC), ACL_SUCCESS);
    tasks.emplace_back([&order, i] {
      order.push_back(static_cast<int>(i));
      return ACLHOST_DONE;
    });
  }
  Gate gate;
  ASSERT_EQ(gate.launch(streams[0]), ACL_SUCCESS);
  for (size_t i = 0; i < kLength; ++i) {
    if (i > 0) {
      ASSERT_EQ(aclrtStreamWaitEvent(streams[i], events[i - 1]), ACL_SUCCESS);
    }
    ASSERT_EQ(launch(streams[i], tasks[i]), ACL_SUCCESS);
    ASSERT_EQ(aclrtRecordEvent(events[i], streams[i]), ACL_SUCCESS);
  }
  gate.open();
  ASSERT_EQ(aclrtSynchronizeEvent(events[kLength - 1]), ACL_SUCCESS);
  ASSERT_EQ(order.size(), kLength);
  for (size_t i = 0; i < kLength; ++i) {
    EXPECT_EQ(order[i], static_cast<int>(i));
    EXPECT_EQ(aclrtDestroyStream(streams[i]), ACL_SUCCESS);
    EXPECT_EQ(aclrtDestroyEvent(events[i]), ACL_SUCCESS);
  }
}

}  // namespace
}  // namespace weft::test
