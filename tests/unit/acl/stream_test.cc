// SPDX-License-Identifier: Apache-2.0
// Streams: order, waiting, resumable tasks over several streams, faults, destruction.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "support.hpp"

namespace weft::test {
namespace {

using Stream = Acl;

TEST_F(Stream, TasksRunInOrder) {
  std::vector<int> order;
  std::vector<std::function<int32_t()>> tasks;
  for (int i = 0; i < 100; ++i) {
    tasks.emplace_back([&order, i] {
      order.push_back(i);
      return ACLHOST_DONE;
    });
  }
  for (auto& task : tasks) ASSERT_EQ(launch(stream_, task), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  ASSERT_EQ(order.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

TEST_F(Stream, NullMeansTheDefaultStreamOfTheContext) {
  int runs = 0;
  std::function<int32_t()> task = [&] { return ++runs, ACLHOST_DONE; };
  ASSERT_EQ(launch(nullptr, task), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_EQ(runs, 1);
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCtxGetCurrentDefaultStream(&stream), ACL_SUCCESS);
  ASSERT_EQ(launch(stream, task), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_EQ(runs, 2);
}

TEST_F(Stream, ProgressesWithoutSynchronise) {
  std::atomic<bool> ran{false};
  std::function<int32_t()> task = [&] { return ran = true, ACLHOST_DONE; };
  ASSERT_EQ(launch(stream_, task), ACL_SUCCESS);
  EXPECT_TRUE(eventually([&] { return ran.load(); }));
  aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
  EXPECT_TRUE(eventually([&] {
    return aclrtStreamQuery(stream_, &status) == ACL_SUCCESS &&
           status == ACL_STREAM_STATUS_COMPLETE;
  }));
}

TEST_F(Stream, QueryTellsWhetherTasksAreLeft) {
  Gate gate;
  ASSERT_EQ(gate.launch(stream_), ACL_SUCCESS);
  aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
  ASSERT_EQ(aclrtStreamQuery(stream_, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_STREAM_STATUS_NOT_READY);
  gate.open();
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamQuery(stream_, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_STREAM_STATUS_COMPLETE);
}

TEST_F(Stream, MoreTasksThanTheQueueHolds) {
  std::atomic<int> runs{0};
  std::function<int32_t()> task = [&] { return ++runs, ACLHOST_DONE; };
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(launch(stream_, task), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(runs, 5000);
}

// One thread, many streams whose tasks all wait for each other: a barrier of n tasks per round.
TEST(Streams, OfManyDevicesProgressTogetherUnderOneThread) {
  constexpr int kStreams = 16;
  constexpr int kRounds = 20;
  std::vector<aclrtStream> streams(kStreams);
  std::atomic<int> arrived{0};
  struct Part {
    std::atomic<int>* arrived;
    int round;
    bool in;
  };
  std::vector<Part> parts(kStreams * kRounds);
  for (int i = 0; i < kStreams; ++i) {
    ASSERT_EQ(aclrtSetDevice(i % 8), ACL_SUCCESS);
    ASSERT_EQ(aclrtCreateStream(&streams[static_cast<size_t>(i)]), ACL_SUCCESS);
    for (int round = 0; round < kRounds; ++round) {
      Part& part = parts[static_cast<size_t>(i * kRounds + round)];
      part = {&arrived, round, false};
      const auto step = [](void* argument) -> int32_t {
        auto* self = static_cast<Part*>(argument);
        if (!self->in) ++*self->arrived;
        self->in = true;
        return *self->arrived >= (self->round + 1) * kStreams ? ACLHOST_DONE : ACLHOST_AGAIN;
      };
      ASSERT_EQ(aclhostLaunchTask(streams[static_cast<size_t>(i)], step, nullptr, &part, 0),
                ACL_SUCCESS);
    }
  }
  for (aclrtStream stream : streams) {
    ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS) << error_text();
  }
  EXPECT_EQ(arrived, kStreams * kRounds);
  for (int i = 0; i < kStreams; ++i) {
    ASSERT_EQ(aclrtSetDevice(i % 8), ACL_SUCCESS);
    EXPECT_EQ(aclrtDestroyStream(streams[static_cast<size_t>(i)]), ACL_SUCCESS);
    EXPECT_EQ(aclrtResetDevice(i % 8), ACL_SUCCESS);
    EXPECT_EQ(aclrtResetDevice(i % 8), ACL_SUCCESS);
  }
}

TEST_F(Stream, TwoThreadsMaySynchroniseIt) {
  for (int round = 0; round < 200; ++round) {
    int runs = 0;  // plain: tasks of one stream never run concurrently
    std::function<int32_t()> task = [&] { return ++runs, ACLHOST_DONE; };
    for (int i = 0; i < 50; ++i) ASSERT_EQ(launch(stream_, task), ACL_SUCCESS);
    const auto wait = [&] {
      ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
      EXPECT_EQ(runs, 50);
      ASSERT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
    };
    std::thread other(wait);
    wait();
    other.join();
  }
}

TEST_F(Stream, SeveralThreadsMayLaunchOnIt) {
  int runs = 0;
  std::function<int32_t()> task = [&] { return ++runs, ACLHOST_DONE; };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      for (int k = 0; k < 2000; ++k) ASSERT_EQ(launch(stream_, task), ACL_SUCCESS);
      ASSERT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(runs, 8000);
}

TEST_F(Stream, SynchroniseGivesUpAtItsTimeoutAndTheStreamKeepsRunning) {
  Gate gate;
  ASSERT_EQ(gate.launch(stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream_, 5), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  EXPECT_NE(error_text().find("not finished in time"), std::string::npos);
  EXPECT_EQ(aclrtSynchronizeDeviceWithTimeout(5), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  gate.open();
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream_, 20000), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream_, -1), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream_, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream_, -2), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtSynchronizeDeviceWithTimeout(0), ACL_ERROR_RT_PARAM_INVALID);
}

TEST_F(Stream, AFaultIsReportedOnceWithItsText) {
  std::function<int32_t()> bad = [] {
    aclhostSetErrorText("rank 3 is gone");
    return 507057;
  };
  std::function<int32_t()> worse = [] { return 507013; };
  ASSERT_EQ(launch(stream_, bad), ACL_SUCCESS);
  ASSERT_EQ(launch(stream_, worse), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), 507057);
  EXPECT_EQ(error_text(), "rank 3 is gone");
  EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), 507057);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(error_text(), "");
}

TEST_F(Stream, AFaultGoesToTheThreadThatSynchronises) {
  aclhostSetErrorText("older text of this thread");
  std::function<int32_t()> bad = [] {
    aclhostSetErrorText("the fault");
    return 507001;
  };
  ASSERT_EQ(launch(stream_, bad), ACL_SUCCESS);
  aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
  ASSERT_TRUE(eventually([&] {
    return aclrtStreamQuery(stream_, &status) == ACL_SUCCESS &&
           status == ACL_STREAM_STATUS_COMPLETE;
  }));  // the worker has run it
  EXPECT_EQ(aclrtSynchronizeStream(stream_), 507001);
  EXPECT_EQ(error_text(), "the fault\nolder text of this thread");
}

TEST_F(Stream, AFaultWithoutATextGetsOne) {
  aclhostSetErrorText("not of the task");
  std::function<int32_t()> bad = [] { return 507013; };
  ASSERT_EQ(launch(stream_, bad), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), 507013);
  EXPECT_NE(error_text().find("failed with code 507013\nnot of the task"), std::string::npos);
}

TEST_F(Stream, ContinuesAfterAFailureByDefault) {
  bool ran = false;
  std::function<int32_t()> bad = [] { return 507013; };
  std::function<int32_t()> good = [&] { return ran = true, ACLHOST_DONE; };
  ASSERT_EQ(launch(stream_, bad), ACL_SUCCESS);
  ASSERT_EQ(launch(stream_, good), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), 507013);
  EXPECT_TRUE(ran);
}

/// A task that waits for ever, and counts how often it is told that it is dropped.
struct Dropped {
  std::atomic<int> begun{0};
  int drops = 0;
  static int32_t step(void* self) { return ++static_cast<Dropped*>(self)->begun, ACLHOST_AGAIN; }
  static void drop(void* self) { ++static_cast<Dropped*>(self)->drops; }
};

TEST_F(Stream, StopsAtAFailureWhenToldSo) {
  aclrtContext context = nullptr;
  ASSERT_EQ(aclrtCreateContext(&context, 0), ACL_SUCCESS);  // the mode holds for a whole context
  aclrtStream stream = nullptr;
  aclrtStream sibling = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateStream(&sibling), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetStreamFailureMode(sibling, 2), ACL_ERROR_RT_PARAM_INVALID);
  ASSERT_EQ(aclrtSetStreamFailureMode(sibling, ACL_STOP_ON_FAILURE), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetStreamFailureMode(sibling, ACL_STOP_ON_FAILURE), ACL_ERROR_RT_PARAM_INVALID);
  bool ran = false;
  std::function<int32_t()> bad = [] { return 507013; };
  std::function<int32_t()> good = [&] { return ran = true, ACLHOST_DONE; };
  Gate gate;
  ASSERT_EQ(gate.launch(stream), ACL_SUCCESS);
  ASSERT_EQ(launch(stream, bad), ACL_SUCCESS);
  ASSERT_EQ(launch(stream, good), ACL_SUCCESS);
  Dropped behind;
  ASSERT_EQ(aclhostLaunchTask(stream, Dropped::step, Dropped::drop, &behind, 0), ACL_SUCCESS);
  gate.open();
  EXPECT_EQ(aclrtSynchronizeStream(stream), 507013);
  EXPECT_EQ(launch(stream, good), 507013);
  EXPECT_FALSE(ran);
  EXPECT_EQ(behind.drops, 1);
  EXPECT_EQ(behind.begun, 0);
  EXPECT_EQ(launch(sibling, good), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(sibling), ACL_SUCCESS);
  EXPECT_TRUE(ran);
  EXPECT_EQ(aclrtDestroyContext(context), ACL_SUCCESS);
}

TEST_F(Stream, SynchroniseDeviceWaitsForAllItsStreamsAndFindsTheFault) {
  aclrtStream other = nullptr;
  ASSERT_EQ(aclrtCreateStream(&other), ACL_SUCCESS);
  bool ran = false;
  std::function<int32_t()> good = [&] { return ran = true, ACLHOST_DONE; };
  std::function<int32_t()> bad = [] { return 507013; };
  ASSERT_EQ(launch(stream_, good), ACL_SUCCESS);
  ASSERT_EQ(launch(other, bad), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeDevice(), 507013);
  EXPECT_TRUE(ran);
  EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(other), ACL_SUCCESS);
}

TEST_F(Stream, DestroyRunsWhatIsQueuedAndForceDropsIt) {
  int runs = 0;
  std::function<int32_t()> task = [&] { return ++runs, ACLHOST_DONE; };
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(launch(stream, task), ACL_SUCCESS);
  ASSERT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_EQ(runs, 10);

  Gate gate;  // never opened
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  ASSERT_EQ(gate.launch(stream), ACL_SUCCESS);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(launch(stream, task), ACL_SUCCESS);
  ASSERT_EQ(aclrtDestroyStreamForce(stream), ACL_SUCCESS);
  EXPECT_EQ(runs, 10);
}

TEST_F(Stream, ForcedDestructionTellsEachDroppedTaskOnce) {
  Dropped first;
  Dropped second;
  int runs = 0;
  std::function<int32_t()> task = [&] { return ++runs, ACLHOST_DONE; };
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  ASSERT_EQ(aclhostLaunchTask(stream, Dropped::step, Dropped::drop, &first, 0), ACL_SUCCESS);
  ASSERT_EQ(aclhostLaunchTask(stream, Dropped::step, nullptr, &first, 0), ACL_SUCCESS);
  ASSERT_EQ(aclhostLaunchTask(stream, Dropped::step, Dropped::drop, &second, 0), ACL_SUCCESS);
  ASSERT_EQ(launch(stream, task), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream, 1), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  ASSERT_TRUE(eventually([&] { return first.begun > 0; }));
  EXPECT_EQ(first.drops, 0);
  ASSERT_EQ(aclrtDestroyStreamForce(stream), ACL_SUCCESS);
  EXPECT_EQ(first.drops, 1);
  EXPECT_EQ(second.drops, 1);
  EXPECT_EQ(second.begun, 0);
  EXPECT_EQ(runs, 0);
}

TEST_F(Stream, AFinishedTaskIsNotToldThatItIsDropped) {
  int drops = 0;
  const auto done = [](void*) -> int32_t { return ACLHOST_DONE; };
  const auto drop = [](void* count) { ++*static_cast<int*>(count); };
  ASSERT_EQ(aclhostLaunchTask(stream_, done, drop, &drops, 0), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(drops, 0);
}

TEST_F(Stream, AFaultOfAnotherStreamIsNoErrorOfTheThreadThatHelps) {
  aclrtStream other = nullptr;
  ASSERT_EQ(aclrtCreateStream(&other), ACL_SUCCESS);
  std::function<int32_t()> bad = [] { return aclrtFree(nullptr); };
  for (int round = 0; round < 50; ++round) {
    ASSERT_EQ(launch(other, bad), ACL_SUCCESS);
    aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
    std::function<int32_t()> wait = [&] {
      const bool over =
          aclrtStreamQuery(other, &status) != ACL_SUCCESS || status == ACL_STREAM_STATUS_COMPLETE;
      return over ? ACLHOST_DONE : ACLHOST_AGAIN;
    };
    ASSERT_EQ(launch(stream_, wait), ACL_SUCCESS);
    ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
    EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_SUCCESS);
    EXPECT_EQ(error_text(), "");
    EXPECT_EQ(aclrtSynchronizeStream(other), ACL_ERROR_INVALID_PARAM);
    EXPECT_NE(error_text(), "");
    aclrtGetLastError(ACL_RT_THREAD_LEVEL);
  }
  EXPECT_EQ(aclrtDestroyStream(other), ACL_SUCCESS);
}

TEST_F(Stream, OneOfTwoThreadsDestroysIt) {
  for (int round = 0; round < 200; ++round) {
    aclrtStream stream = nullptr;
    ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
    std::atomic<int> ready{0};
    std::atomic<int> destroyed{0};
    const auto destroy = [&] {
      ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      ++ready;
      ASSERT_TRUE(eventually([&] { return ready == 2; }));
      const aclError error = aclrtDestroyStream(stream);
      if (error == ACL_SUCCESS) {
        ++destroyed;
      } else {
        EXPECT_EQ(error, ACL_ERROR_RT_INVALID_HANDLE);
      }
      ASSERT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
    };
    std::thread other(destroy);
    destroy();
    other.join();
    ASSERT_EQ(destroyed, 1);
  }
}

TEST_F(Stream, DestructionEndsTheWaitOfAnotherThread) {
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  std::atomic<bool> waits{false};
  std::thread::id waiter_id;
  std::function<int32_t()> task = [&] {
    if (std::this_thread::get_id() == waiter_id) waits = true;
    return ACLHOST_AGAIN;
  };
  std::thread waiter([&] {
    waiter_id = std::this_thread::get_id();
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    ASSERT_EQ(launch(stream, task), ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS) << error_text();
    ASSERT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  });
  ASSERT_TRUE(eventually([&] { return waits.load(); }));
  EXPECT_EQ(aclrtDestroyStreamForce(stream), ACL_SUCCESS);
  waiter.join();
}

TEST_F(Stream, HandlesAreChecked) {
  EXPECT_EQ(aclrtCreateStream(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtDestroyStream(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtDestroyStreamForce(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtStreamQuery(stream_, nullptr), ACL_ERROR_INVALID_PARAM);
  aclrtStream standard = nullptr;
  ASSERT_EQ(aclrtCtxGetCurrentDefaultStream(&standard), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(standard), ACL_ERROR_RT_PARAM_INVALID);
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_ERROR_RT_INVALID_HANDLE);
  std::function<int32_t()> task = [] { return ACLHOST_DONE; };
  EXPECT_EQ(launch(stream, task), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclhostLaunchTask(stream_, nullptr, nullptr, nullptr, 0), ACL_ERROR_INVALID_PARAM);
  for (const uintptr_t bad :
       {uintptr_t{1}, uintptr_t{4096}, UINTPTR_MAX, reinterpret_cast<uintptr_t>(stream_) + 8,
        reinterpret_cast<uintptr_t>(&task)}) {
    EXPECT_EQ(aclrtSynchronizeStream(reinterpret_cast<aclrtStream>(bad)),
              ACL_ERROR_RT_INVALID_HANDLE);
  }
}

TEST_F(Stream, OfAnotherContextTakesNoTasksButMayBeSynchronised) {
  ASSERT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
  std::function<int32_t()> task = [] { return ACLHOST_DONE; };
  EXPECT_EQ(launch(stream_, task), ACL_ERROR_RT_STREAM_CONTEXT);
  EXPECT_EQ(aclrtDestroyStream(stream_), ACL_ERROR_RT_STREAM_CONTEXT);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtResetDevice(1), ACL_SUCCESS);
}

TEST_F(Stream, KeepsItsAttributes) {
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStreamWithConfig(
                &stream, 99, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC | 0x80000000U),
            ACL_SUCCESS);
  uint32_t number = 0;
  ASSERT_EQ(aclrtStreamGetPriority(stream, &number), ACL_SUCCESS);
  EXPECT_EQ(number, 7U);
  ASSERT_EQ(aclrtStreamGetFlags(stream, &number), ACL_SUCCESS);
  EXPECT_EQ(number, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC);
  ASSERT_EQ(aclrtSetStreamOverflowSwitch(stream, 1), ACL_SUCCESS);
  ASSERT_EQ(aclrtGetStreamOverflowSwitch(stream, &number), ACL_SUCCESS);
  EXPECT_EQ(number, 1U);
  aclrtStreamAttrValue value{};
  value.userCustomTag = 42;
  ASSERT_EQ(aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_USER_CUSTOM_TAG, &value), ACL_SUCCESS);
  value = {};
  ASSERT_EQ(aclrtGetStreamAttribute(stream, ACL_STREAM_ATTR_USER_CUSTOM_TAG, &value), ACL_SUCCESS);
  EXPECT_EQ(value.userCustomTag, 42U);
  int32_t id = -1;
  int32_t other_id = -1;
  ASSERT_EQ(aclrtStreamGetId(stream, &id), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamGetId(nullptr, &other_id), ACL_SUCCESS);
  EXPECT_NE(id, other_id);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

TEST_F(Stream, APersistentStreamIsNotWaitedFor) {
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStreamWithConfig(&stream, 0, ACL_STREAM_PERSISTENT), ACL_SUCCESS);
  Gate gate;
  ASSERT_EQ(gate.launch(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
  EXPECT_EQ(aclrtStreamQuery(stream, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_STREAM_STATUS_COMPLETE);
  EXPECT_EQ(aclrtDestroyStreamForce(stream), ACL_SUCCESS);
}

TEST_F(Stream, ThereIsALimitPerDevice) {
  uint32_t available = 0;
  ASSERT_EQ(aclrtGetStreamAvailableNum(&available), ACL_SUCCESS);
  std::vector<aclrtStream> streams(available);
  for (aclrtStream& stream : streams) ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  aclrtStream one_more = nullptr;
  EXPECT_EQ(aclrtCreateStream(&one_more), ACL_ERROR_RT_NO_STREAM_RESOURCE);
  EXPECT_NE(error_text().find("destroy some"), std::string::npos);
  for (aclrtStream stream : streams) EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

}  // namespace
}  // namespace weft::test
