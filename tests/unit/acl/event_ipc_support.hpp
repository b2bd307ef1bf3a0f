// SPDX-License-Identifier: Apache-2.0
// Helpers of the tests of events that processes share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "support.hpp"

namespace weft::test {

inline aclrtIpcEventHandle to_handle(const std::string& text) {
  aclrtIpcEventHandle handle{};
  std::memcpy(handle.reserved, text.data(), std::min(text.size(), sizeof handle.reserved));
  return handle;
}

inline std::string export_text(aclrtEvent event) {
  aclrtIpcEventHandle handle{};
  EXPECT_EQ(aclrtIpcGetEventHandle(event, &handle), ACL_SUCCESS) << error_text();
  return {handle.reserved, sizeof handle.reserved};
}

/// A test with a shared event, a second stream, and shorthands that expect success.
class EventIpc : public Acl {
 protected:
  void SetUp() override {
    Acl::SetUp();
    ASSERT_EQ(aclrtCreateStream(&other_), ACL_SUCCESS);
    create_event();
  }
  void TearDown() override {
    if (event_ != nullptr) {
      EXPECT_EQ(aclrtDestroyEvent(event_), ACL_SUCCESS) << error_text();
    }
    EXPECT_EQ(aclrtDestroyStreamForce(other_), ACL_SUCCESS);
    Acl::TearDown();
  }

  void create_event() {
    ASSERT_EQ(aclrtCreateEventExWithFlag(&event_, ACL_EVENT_IPC), ACL_SUCCESS) << error_text();
  }
  void destroy_event() {
    EXPECT_EQ(aclrtDestroyEvent(event_), ACL_SUCCESS) << error_text();
    event_ = nullptr;
  }
  aclrtEvent open(const std::string& text) {
    aclrtEvent event = nullptr;
    EXPECT_EQ(aclrtIpcOpenEventHandle(to_handle(text), &event), ACL_SUCCESS) << error_text();
    return event;
  }
  void close(Gate& gate, aclrtStream stream) {
    ASSERT_EQ(gate.launch(stream), ACL_SUCCESS) << error_text();
  }
  void record(aclrtEvent event, aclrtStream stream) {
    ASSERT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS) << error_text();
  }
  void wait(aclrtStream stream, aclrtEvent event) {
    ASSERT_EQ(aclrtStreamWaitEvent(stream, event), ACL_SUCCESS) << error_text();
  }
  static void expect_complete(aclrtEvent event, bool complete) {
    aclrtEventRecordedStatus status{};
    ASSERT_EQ(aclrtQueryEventStatus(event, &status), ACL_SUCCESS) << error_text();
    EXPECT_EQ(status == ACL_EVENT_RECORDED_STATUS_COMPLETE, complete);
  }
  static void expect_text(const char* part) {
    const std::string text = error_text();
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  // What a peer answers.
  static std::string ask(const Child& peer, const std::string& command) {
    peer.write_line(command);
    return peer.read_line();
  }
  void open_in(const Child& peer) { ASSERT_EQ(ask(peer, "open " + export_text(event_)), "0"); }

  aclrtEvent event_ = nullptr;
  aclrtStream other_ = nullptr;
};

}  // namespace weft::test
