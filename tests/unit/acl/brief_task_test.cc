// SPDX-License-Identifier: Apache-2.0
// Host tasks that the launching thread may begin.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "support.hpp"

namespace weft::test {
namespace {

using BriefTask = Acl;

TEST_F(BriefTask, BeginsOnTheLaunchingThreadIfTheStreamIsIdle) {
  std::thread::id runner;
  bool ready = true;
  int runs = 0;
  std::function<int32_t()> task = [&] {
    runner = std::this_thread::get_id();
    ++runs;
    return ready ? ACLHOST_DONE : ACLHOST_AGAIN;
  };
  for (int i = 1; i <= 3; ++i) {
    ASSERT_EQ(launch(stream_, task, ACLHOST_BRIEF), ACL_SUCCESS);
    EXPECT_EQ(runs, i) << "before the launch returns";
    EXPECT_EQ(runner, std::this_thread::get_id());
    ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  }
  Gate gate;
  ASSERT_EQ(gate.launch(stream_), ACL_SUCCESS);
  ASSERT_EQ(launch(stream_, task, ACLHOST_BRIEF), ACL_SUCCESS);
  EXPECT_EQ(runs, 3) << "one before it has not ended";
  gate.open();
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(runs, 4);
}

TEST_F(BriefTask, GoesOnLaterIfItHasToWait) {
  for (const bool fails : {false, true}) {
    std::atomic<bool> open{false};
    std::function<int32_t()> task = [&] {
      if (!open) return static_cast<int32_t>(ACLHOST_AGAIN);
      return fails ? 507013 : static_cast<int32_t>(ACLHOST_DONE);
    };
    ASSERT_EQ(launch(stream_, task, ACLHOST_BRIEF), ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream_, 1), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    open = true;
    EXPECT_EQ(aclrtSynchronizeStream(stream_), fails ? 507013 : ACL_SUCCESS);
    // Without anybody who synchronises the worker does it.
    open = false;
    ASSERT_EQ(launch(stream_, task, ACLHOST_BRIEF), ACL_SUCCESS);
    open = true;
    aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
    EXPECT_TRUE(eventually([&] {
      aclrtStreamQuery(stream_, &status);
      return status != ACL_STREAM_STATUS_NOT_READY;
    }));
    EXPECT_EQ(aclrtSynchronizeStream(stream_), fails ? 507013 : ACL_SUCCESS);
  }
  EXPECT_EQ(aclhostLaunchTask(
                stream_, [](void*) -> int32_t { return 0; }, nullptr, nullptr, 2),
            ACL_ERROR_INVALID_PARAM);
}

}  // namespace
}  // namespace weft::test
