// SPDX-License-Identifier: Apache-2.0
// Streams that are aborted: what is on them is dropped, who waits for them stays blocked.
#include <gtest/gtest.h>

#include <thread>

#include "support.hpp"

namespace weft::test {
namespace {

class AbortTest : public Acl {
 protected:
  void SetUp() override {
    Acl::SetUp();
    ASSERT_EQ(aclrtCreateStream(&other_), ACL_SUCCESS);
    ASSERT_EQ(aclrtCreateNotify(&never_, ACL_NOTIFY_DEFAULT), ACL_SUCCESS);
    ASSERT_EQ(aclrtCreateNotify(&after_, ACL_NOTIFY_DEFAULT), ACL_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(aclrtDestroyStreamForce(other_), ACL_SUCCESS);
    EXPECT_EQ(aclrtDestroyNotify(never_), ACL_SUCCESS);
    EXPECT_EQ(aclrtDestroyNotify(after_), ACL_SUCCESS);
    Acl::TearDown();
  }
  /// Puts a wait that never ends on the stream, and a record behind it.
  void block(aclrtStream stream) {
    EXPECT_EQ(aclrtWaitAndResetNotify(never_, stream, 0), ACL_SUCCESS);
    EXPECT_EQ(aclrtRecordNotify(after_, stream), ACL_SUCCESS);
  }
  /// Whether the record behind the wait has been carried out.
  bool recorded() {
    EXPECT_EQ(aclrtWaitAndResetNotify(after_, other_, 0), ACL_SUCCESS);
    const bool done = aclrtSynchronizeStreamWithTimeout(other_, 5) == ACL_SUCCESS;
    if (done) return true;
    EXPECT_EQ(aclrtStreamAbort(other_), ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeStream(other_), ACL_ERROR_RT_STREAM_ABORT);
    return false;
  }

  aclrtStream other_ = nullptr;
  aclrtNotify never_ = nullptr;
  aclrtNotify after_ = nullptr;
};

TEST_F(AbortTest, EndsTheWaitOfAThreadThatSynchronises) {
  block(stream_);
  aclError code = ACL_SUCCESS;
  std::string text;
  std::thread waiter([&] {
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    code = aclrtSynchronizeStream(stream_);
    text = error_text();
  });
  EXPECT_EQ(aclrtStreamAbort(stream_), ACL_SUCCESS);
  waiter.join();
  EXPECT_EQ(code, ACL_ERROR_RT_STREAM_ABORT);
  EXPECT_NE(text.find("aborted"), std::string::npos) << text;
  EXPECT_FALSE(recorded());
}

TEST_F(AbortTest, AlsoDropsWhatComesUntilTheStreamIsSynchronised) {
  EXPECT_EQ(aclrtStreamAbort(stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordNotify(after_, stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_ERROR_RT_STREAM_ABORT);
  EXPECT_FALSE(recorded());
  EXPECT_EQ(aclrtRecordNotify(after_, stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_TRUE(recorded());
}

TEST_F(AbortTest, WhatWaitsForTheStreamStaysBlockedUntilItIsAbortedOrTheOtherSynchronised) {
  block(stream_);
  aclrtEvent event = nullptr;
  ASSERT_EQ(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordEvent(event, stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(other_, event), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamAbort(stream_), ACL_SUCCESS);
  aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
  EXPECT_EQ(aclrtQueryEventStatus(event, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_EVENT_RECORDED_STATUS_COMPLETE) << "nothing is left to do";
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(other_, 5), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_ERROR_RT_STREAM_ABORT);
  EXPECT_EQ(aclrtSynchronizeStream(other_), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
}

TEST_F(AbortTest, OfAnEmptyStreamIsToldOnce) {
  EXPECT_EQ(aclrtStreamAbort(stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamAbort(stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_ERROR_RT_STREAM_ABORT);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
}

TEST_F(AbortTest, OfWhatIsNoStreamIsAnError) {
  int nothing = 0;
  EXPECT_EQ(aclrtStreamAbort(&nothing), ACL_ERROR_RT_INVALID_HANDLE);
}

}  // namespace
}  // namespace weft::test
