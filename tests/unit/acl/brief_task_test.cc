// SPDX-License-Identifier: Apache-2.0
// Host tasks that the launching thread may begin.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

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

/// A task of a group: counts how often it began, and waits until it may end.
struct Member {
  std::atomic<int> begun{0};
  std::atomic<int> dropped{0};
  std::atomic<bool> open{false};

  static int32_t step(void* self) {
    return static_cast<Member*>(self)->open ? ACLHOST_DONE : ACLHOST_AGAIN;
  }
  static void begin(void* self) { ++static_cast<Member*>(self)->begun; }
  static void drop(void* self) { ++static_cast<Member*>(self)->dropped; }
  aclError launch(aclrtStream stream, const void* group) {
    return aclhostLaunchGroupTask(stream, step, begin, drop, this, group);
  }
};

TEST_F(BriefTask, OfAGroupMayBeginBehindOthersOfIt) {
  const int groups[2] = {};
  std::vector<Member> members(200);
  int begun = 0;
  for (Member& member : members) {
    ASSERT_EQ(member.launch(stream_, &groups[0]), ACL_SUCCESS);
    EXPECT_EQ(members[0].begun, 0) << "the first is run";
    EXPECT_LE(member.begun, 1);
    begun += member.begun;
  }
  EXPECT_GT(begun, 0) << "the worker may be at the stream when one comes, but not each time";
  Member other;
  ASSERT_EQ(other.launch(stream_, &groups[1]), ACL_SUCCESS);
  Member again;
  ASSERT_EQ(again.launch(stream_, &groups[0]), ACL_SUCCESS);
  EXPECT_EQ(other.begun, 0) << "those ahead are of another group";
  EXPECT_EQ(again.begun, 0) << "one ahead is of another group";
  for (Member& member : members) member.open = true;
  other.open = again.open = true;
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
}

TEST_F(BriefTask, OfAGroupDoesNotBeginBehindOtherWork) {
  const int group = 0;
  Member first, second;
  Gate gate;
  ASSERT_EQ(first.launch(stream_, &group), ACL_SUCCESS);
  ASSERT_EQ(gate.launch(stream_), ACL_SUCCESS);
  ASSERT_EQ(second.launch(stream_, &group), ACL_SUCCESS);
  EXPECT_EQ(second.begun, 0);
  first.open = second.open = true;
  gate.open();
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
}

TEST_F(BriefTask, OfAGroupIsDroppedAfterItHasBegun) {
  const int group = 0;
  Member first, second;
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  ASSERT_EQ(first.launch(stream, &group), ACL_SUCCESS);
  ASSERT_EQ(second.launch(stream, &group), ACL_SUCCESS);
  ASSERT_EQ(aclrtDestroyStreamForce(stream), ACL_SUCCESS);
  EXPECT_EQ(first.dropped, 1);
  EXPECT_EQ(second.dropped, 1);
}

TEST_F(BriefTask, OfAGroupNeedsAllItsParts) {
  Member member;
  const int group = 0;
  EXPECT_EQ(aclhostLaunchGroupTask(stream_, nullptr, Member::begin, nullptr, &member, &group),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclhostLaunchGroupTask(stream_, Member::step, nullptr, nullptr, &member, &group),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(member.launch(stream_, nullptr), ACL_ERROR_INVALID_PARAM);
}

}  // namespace
}  // namespace weft::test
