// SPDX-License-Identifier: Apache-2.0
// Count notifies, in a process that presents a SoC of the 950 family; elsewhere they are refused.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "support.hpp"

namespace weft::test {
namespace {

TEST(CntNotify, OtherSocsHaveNone) {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  aclrtCntNotify notify = nullptr;
  EXPECT_EQ(aclrtCntNotifyCreate(&notify, 0), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclrtCntNotifyDestroy(&notify), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  error_text();
}

class Counter {
 public:
  explicit Counter(aclrtCntNotify notify) : notify_(notify) {}

  void record(aclrtCntNotifyRecordMode mode, uint32_t value) {
    aclrtCntNotifyRecordInfo info{mode, value};
    demand(aclrtCntNotifyRecord(notify_, nullptr, &info) == ACL_SUCCESS, "record");
  }
  void wait(aclrtCntNotifyWaitMode mode, uint32_t value, aclError expected = ACL_SUCCESS,
            uint8_t clear = 0) {
    aclrtCntNotifyWaitInfo info{mode, value, expected == ACL_SUCCESS ? 30U : 1U, clear, {}};
    demand(aclrtCntNotifyWaitWithTimeout(notify_, nullptr, &info) == ACL_SUCCESS, "wait");
    const aclError error = aclrtSynchronizeStream(nullptr);
    demand(error == expected, "mode " + std::to_string(mode) + " of " + std::to_string(value) +
                                  " gives " + std::to_string(error));
  }

 private:
  const aclrtCntNotify notify_;
};

int use_modes(const std::vector<std::string>&) {
  demand(aclrtSetDevice(0) == ACL_SUCCESS, "set device");
  aclrtCntNotify notify = nullptr;
  demand(aclrtCntNotifyCreate(nullptr, 0) == ACL_ERROR_INVALID_PARAM, "NULL");
  demand(aclrtCntNotifyCreate(&notify, 1) == ACL_ERROR_RT_PARAM_INVALID, "flag");
  demand(aclrtCntNotifyCreate(&notify, 0) == ACL_SUCCESS, "create");
  uint32_t id = 99;
  demand(aclrtCntNotifyGetId(notify, &id) == ACL_SUCCESS && id == 0, "id");
  Counter counter(notify);
  counter.record(ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE, 12);
  counter.wait(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, 12);
  counter.record(ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE, 5);
  counter.wait(ACL_RT_CNT_NOTIFY_WAIT_BIGGER_MODE, 16);
  counter.record(ACL_RT_CNT_NOTIFY_RECORD_BIT_OR_MODE, 6);  // 17 | 6 = 23
  counter.wait(ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE, 23);
  counter.record(ACL_RT_CNT_NOTIFY_RECORD_BIT_AND_MODE, 7);
  counter.wait(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_WITH_BITMASK_MODE, 5);
  counter.wait(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, 7, ACL_SUCCESS, 1);
  counter.wait(ACL_RT_CNT_NOTIFY_WAIT_LESS_MODE, 1);
  counter.wait(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, 7, ACL_ERROR_RT_TASK_TIMEOUT);
  counter.record(ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE, 3);
  demand(aclrtCntNotifyReset(notify, nullptr) == ACL_SUCCESS, "reset");
  counter.wait(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, 0);

  aclrtCntNotifyRecordInfo wrong{enum_value<aclrtCntNotifyRecordMode>(3), 0};
  demand(aclrtCntNotifyRecord(notify, nullptr, &wrong) == ACL_ERROR_INVALID_PARAM, "mode");
  demand(aclrtCntNotifyRecord(notify, nullptr, nullptr) == ACL_ERROR_INVALID_PARAM, "info");
  aclrtCntNotifyWaitInfo forever{ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, 1, 0, 0, {}};
  demand(aclrtCntNotifyWaitWithTimeout(notify, nullptr, &forever) == ACL_SUCCESS, "wait");
  demand(aclrtCntNotifyDestroy(notify) == ACL_SUCCESS, "destroy");
  demand(aclrtSynchronizeStream(nullptr) == ACL_ERROR_RT_INVALID_HANDLE, "destroyed");
  demand(aclrtCntNotifyDestroy(notify) == ACL_ERROR_RT_INVALID_HANDLE, "destroy twice");
  return aclrtCntNotifyRecord(notify, nullptr, &wrong) == ACL_ERROR_INVALID_PARAM ? 0 : 1;
}
[[maybe_unused]] const int kModes = register_child("use_modes", use_modes);

int add_from_threads(const std::vector<std::string>&) {
  constexpr uint32_t kThreads = 4;
  constexpr uint32_t kRounds = 300;
  demand(aclrtSetDevice(0) == ACL_SUCCESS, "set device");
  aclrtCntNotify notify = nullptr;
  demand(aclrtCntNotifyCreate(&notify, 0) == ACL_SUCCESS, "create");
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([notify, i] {
      demand(aclrtSetDevice(static_cast<int32_t>(i + 1)) == ACL_SUCCESS, "set device");
      Counter counter(notify);
      for (uint32_t j = 0; j < kRounds; ++j) {
        counter.record(ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE, 1);
      }
    });
  }
  // On a stream of its own: a wait holds up what is queued behind it.
  Counter(notify).wait(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, kThreads * kRounds);
  for (std::thread& thread : threads) thread.join();
  return aclrtCntNotifyDestroy(notify);
}
[[maybe_unused]] const int kAdd = register_child("add_from_threads", add_from_threads);

// Gives a device access to another one's memory, as only this family does.
int map_to_peer(const std::vector<std::string>&) {
  demand(aclrtSetDevice(0) == ACL_SUCCESS, "set device");
  void* block = nullptr;
  demand(aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS, "malloc");
  int32_t enabled = 9;
  demand(aclrtMemP2PMap(block, 4096, 99, 0) == ACL_ERROR_RT_INVALID_DEVICEID, "device");
  demand(aclrtMemP2PMap(&block, 8, 1, 0) == ACL_ERROR_RT_PARAM_INVALID, "host memory");
  demand(aclrtMemP2PMap(block, 4096, 1, 0) == ACL_SUCCESS, "map");
  demand(aclrtDevicePeerAccessStatus(1, 0, &enabled) == ACL_SUCCESS && enabled == 1, "access");
  void* base = nullptr;
  demand(aclrtReserveMemAddress(&base, 4096, 0, block, 0) == ACL_ERROR_RT_PARAM_INVALID,
         "expectPtr");
  return 0;
}
[[maybe_unused]] const int kPeer = register_child("map_to_peer", map_to_peer);

TEST(CntNotify, The950HasThem) {
  for (const char* child : {"use_modes", "add_from_threads", "map_to_peer"}) {
    EXPECT_EQ(Child(child, {}, {{"WEFT_SOC_NAME", "Ascend950PR_9589"}}).wait(), 0) << child;
  }
}

}  // namespace
}  // namespace weft::test
