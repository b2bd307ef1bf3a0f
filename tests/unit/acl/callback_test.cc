// SPDX-License-Identifier: Apache-2.0
// User functions in stream order: host functions and callbacks; values written and awaited.
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "support.hpp"
#include "support/no_threads.hpp"

namespace weft::test {
namespace {

class Callback : public Acl {
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

void add_one(void* argument) { ++*static_cast<std::atomic<int>*>(argument); }

/// A host function that blocks until it is released.
struct Blocker {
  std::atomic<bool> entered{false};
  std::atomic<bool> released{false};
  static void run(void* self) {
    auto* blocker = static_cast<Blocker*>(self);
    blocker->entered = true;
    EXPECT_TRUE(eventually([&] { return blocker->released.load(); }));
  }
};

TEST_F(Callback, HostFunctionsRunInStreamOrder) {
  std::atomic<int> count{0};
  int seen = -1;
  std::function<int32_t()> look = [&] { return seen = count, ACLHOST_DONE; };
  for (int i = 0; i < 10; ++i)
    ASSERT_EQ(aclrtLaunchHostFunc(stream_, add_one, &count), ACL_SUCCESS);
  ASSERT_EQ(launch(stream_, look), ACL_SUCCESS);
  ASSERT_EQ(aclrtLaunchHostFunc(stream_, add_one, &count), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(seen, 10);
  EXPECT_EQ(count, 11);
}

TEST_F(Callback, HostFunctionsRunWithoutSynchronise) {
  std::atomic<int> count{0};
  for (int i = 0; i < 10; ++i)
    ASSERT_EQ(aclrtLaunchHostFunc(stream_, add_one, &count), ACL_SUCCESS);
  EXPECT_TRUE(eventually([&] { return count == 10; }));
}

TEST_F(Callback, WithoutAThreadForThemHostFunctionsFailWithTheReason) {
  std::function<int32_t()> task = [] { return ACLHOST_DONE; };
  const auto complete = [&] {
    aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
    return aclrtStreamQuery(stream_, &status) == ACL_SUCCESS &&
           status == ACL_STREAM_STATUS_COMPLETE;
  };
  ASSERT_EQ(launch(stream_, task), ACL_SUCCESS);
  ASSERT_TRUE(eventually(complete));  // the worker is there
  std::atomic<int> count{0};
  {
    const NoThreads none;
    ASSERT_EQ(aclrtLaunchHostFunc(stream_, add_one, &count), ACL_SUCCESS);
    ASSERT_TRUE(eventually(complete));
  }
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_ERROR_RT_RESOURCE_ALLOC_FAIL);
  const std::string text = error_text();
  EXPECT_NE(text.find("no thread for the host functions"), std::string::npos) << text;
  EXPECT_NE(text.find("ulimit -u"), std::string::npos) << text;
  EXPECT_EQ(count, 0);
  ASSERT_EQ(aclrtLaunchHostFunc(stream_, add_one, &count), ACL_SUCCESS);
  EXPECT_TRUE(eventually([&] { return count == 1; }));
}

TEST_F(Callback, ABlockedHostFunctionHoldsUpItsStreamOnly) {
  Blocker blocker;
  std::atomic<int> count{0};
  ASSERT_EQ(aclrtLaunchHostFunc(other_, Blocker::run, &blocker), ACL_SUCCESS);
  ASSERT_EQ(aclrtLaunchHostFunc(other_, add_one, &count), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(other_, 5), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  ASSERT_TRUE(eventually([&] { return blocker.entered.load(); }));
  std::atomic<bool> ran{false};
  std::function<int32_t()> task = [&] { return ran = true, ACLHOST_DONE; };
  ASSERT_EQ(launch(stream_, task), ACL_SUCCESS);
  EXPECT_TRUE(eventually([&] { return ran.load(); }));  // by the worker
  ASSERT_EQ(launch(stream_, task), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(count, 0);
  blocker.released = true;
  EXPECT_EQ(aclrtSynchronizeStream(other_), ACL_SUCCESS);
  EXPECT_EQ(count, 1);
}

TEST_F(Callback, AHostFunctionMustNotWait) {
  struct Answers {
    aclrtStream stream;
    void* memory;
    aclError synchronise, copy, destroy;
  } answers{stream_, nullptr, 0, 0, 0};
  ASSERT_EQ(aclrtMalloc(&answers.memory, 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  const auto function = [](void* argument) {
    auto* a = static_cast<Answers*>(argument);
    char pageable[8] = {};
    a->synchronise = aclrtSynchronizeStream(a->stream);
    a->copy = aclrtMemcpyAsync(a->memory, 8, pageable, 8, ACL_MEMCPY_HOST_TO_DEVICE, a->stream);
    a->destroy = aclrtDestroyStream(a->stream);
  };
  ASSERT_EQ(aclrtLaunchHostFunc(stream_, function, &answers), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(answers.synchronise, ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(answers.copy, ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(answers.destroy, ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclrtFree(answers.memory), ACL_SUCCESS);
}

TEST_F(Callback, ASubscribedThreadRunsTheCallbacks) {
  std::atomic<bool> stop{false};
  std::atomic<bool> ready{false};
  std::atomic<int> count{0};
  std::atomic<uint64_t> ran_on{0};
  std::thread thread([&] {
    ready = true;
    while (!stop) {
      const aclError result = aclrtProcessReport(10);
      EXPECT_TRUE(result == ACL_SUCCESS || result == ACL_ERROR_RT_REPORT_TIMEOUT ||
                  result == ACL_ERROR_RT_THREAD_SUBSCRIBE)
          << result;
    }
  });
  const auto id = static_cast<uint64_t>(thread.native_handle());
  ASSERT_TRUE(eventually([&] { return ready.load(); }));
  EXPECT_EQ(aclrtLaunchCallback(add_one, &count, ACL_CALLBACK_BLOCK, stream_),
            ACL_ERROR_RT_STREAM_NO_CB_REG);
  ASSERT_EQ(aclrtSubscribeReport(id, stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtSubscribeReport(id, stream_), ACL_ERROR_RT_STREAM_SUBSCRIBE);
  EXPECT_EQ(aclrtLaunchHostFunc(stream_, add_one, &count), ACL_ERROR_RT_STREAM_SUBSCRIBE);

  int seen = -1;
  std::function<int32_t()> look = [&] { return seen = count, ACLHOST_DONE; };
  const auto note_thread = [](void* argument) {
    *static_cast<std::atomic<uint64_t>*>(argument) = static_cast<uint64_t>(pthread_self());
  };
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(aclrtLaunchCallback(add_one, &count, ACL_CALLBACK_BLOCK, stream_), ACL_SUCCESS);
  }
  ASSERT_EQ(launch(stream_, look), ACL_SUCCESS);
  ASSERT_EQ(aclrtLaunchCallback(note_thread, &ran_on, ACL_CALLBACK_NO_BLOCK, stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(seen, 5);
  EXPECT_TRUE(eventually([&] { return ran_on == id; }));

  EXPECT_EQ(aclrtUnSubscribeReport(id + 8, stream_), ACL_ERROR_RT_THREAD_SUBSCRIBE);
  EXPECT_EQ(aclrtUnSubscribeReport(id, other_), ACL_ERROR_RT_STREAM_SUBSCRIBE);
  EXPECT_EQ(aclrtUnSubscribeReport(id, stream_), ACL_SUCCESS);
  stop = true;
  thread.join();
}

TEST_F(Callback, ProcessReportChecksItsThreadAndTimeout) {
  EXPECT_EQ(aclrtProcessReport(0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtProcessReport(-2), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtProcessReport(1), ACL_ERROR_RT_THREAD_SUBSCRIBE);
  const auto self = static_cast<uint64_t>(pthread_self());
  ASSERT_EQ(aclrtSubscribeReport(self, stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtProcessReport(1), ACL_ERROR_RT_REPORT_TIMEOUT);
  std::atomic<int> count{0};
  ASSERT_EQ(aclrtLaunchCallback(add_one, &count, ACL_CALLBACK_NO_BLOCK, stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtProcessReport(-1), ACL_SUCCESS);  // the worker brings it
  EXPECT_EQ(count, 1);
  EXPECT_EQ(aclrtUnSubscribeReport(self, stream_), ACL_SUCCESS);
}

TEST_F(Callback, ForcedDestructionTakesBackAHostFunctionThatHasNotBegun) {
  Blocker blocker;
  std::atomic<int> count{0};
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtLaunchHostFunc(other_, Blocker::run, &blocker), ACL_SUCCESS);
  ASSERT_TRUE(eventually([&] { return blocker.entered.load(); }));  // the context's thread is busy
  ASSERT_EQ(aclrtLaunchHostFunc(stream, add_one, &count), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream, 2), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  EXPECT_EQ(aclrtDestroyStreamForce(stream), ACL_SUCCESS);
  blocker.released = true;
  EXPECT_EQ(aclrtSynchronizeStream(other_), ACL_SUCCESS);
  ASSERT_EQ(aclrtLaunchHostFunc(other_, add_one, &count), ACL_SUCCESS);
  EXPECT_TRUE(eventually([&] { return count > 0; }));  // by the context's thread, in its order
  EXPECT_EQ(aclrtSynchronizeStream(other_), ACL_SUCCESS);
  EXPECT_EQ(count, 1);
}

TEST_F(Callback, ForcedDestructionWaitsForAHostFunctionThatRuns) {
  Blocker blocker;
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtLaunchHostFunc(stream, Blocker::run, &blocker), ACL_SUCCESS);
  ASSERT_TRUE(eventually([&] { return blocker.entered.load(); }));
  std::thread releaser([&] { blocker.released = true; });
  EXPECT_EQ(aclrtDestroyStreamForce(stream), ACL_SUCCESS);
  EXPECT_TRUE(blocker.released);
  releaser.join();
}

TEST_F(Callback, ForcedDestructionTakesBackCallbacksOfASubscriber) {
  const auto self = static_cast<uint64_t>(pthread_self());
  std::atomic<int> count{0};
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtSubscribeReport(self, stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtSubscribeReport(self, stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtLaunchCallback(add_one, &count, ACL_CALLBACK_NO_BLOCK, stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtLaunchCallback(add_one, &count, ACL_CALLBACK_BLOCK, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream, 2), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  EXPECT_EQ(aclrtDestroyStreamForce(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtProcessReport(1), ACL_ERROR_RT_REPORT_TIMEOUT);
  EXPECT_EQ(count, 0);
  EXPECT_EQ(aclrtUnSubscribeReport(self, stream_), ACL_SUCCESS);
}

TEST_F(Callback, UnsubscribingEndsTheWaitForCallbacks) {
  for (const bool destroys : {false, true}) {
    aclrtStream stream = nullptr;
    ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
    std::atomic<bool> subscribed{false};
    std::atomic<int> count{0};
    std::thread thread([&] {
      ASSERT_TRUE(eventually([&] { return subscribed.load(); }));
      EXPECT_EQ(aclrtProcessReport(-1), ACL_SUCCESS);
      EXPECT_EQ(aclrtProcessReport(-1), ACL_ERROR_RT_THREAD_SUBSCRIBE);
    });
    const auto id = static_cast<uint64_t>(thread.native_handle());
    ASSERT_EQ(aclrtSubscribeReport(id, stream), ACL_SUCCESS);
    ASSERT_EQ(aclrtLaunchCallback(add_one, &count, ACL_CALLBACK_BLOCK, stream), ACL_SUCCESS);
    subscribed = true;
    ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
    EXPECT_EQ(count, 1);
    if (!destroys) {
      EXPECT_EQ(aclrtUnSubscribeReport(id, stream), ACL_SUCCESS);
    }
    EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
    thread.join();
  }
}

TEST_F(Callback, UnsubscribingFailsABlockingCallbackThatHasNotBegun) {
  const auto self = static_cast<uint64_t>(pthread_self());
  std::atomic<int> count{0};
  ASSERT_EQ(aclrtSubscribeReport(self, stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtLaunchCallback(add_one, &count, ACL_CALLBACK_BLOCK, stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream_, 2), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  EXPECT_EQ(aclrtUnSubscribeReport(self, stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_ERROR_RT_STREAM_NO_CB_REG);
  EXPECT_EQ(count, 0);
}

TEST_F(Callback, ABlockingCallbackMustNotWaitForItsStream) {
  const auto self = static_cast<uint64_t>(pthread_self());
  struct Answers {
    aclrtStream stream;
    aclError error;
  } answers{stream_, ACL_SUCCESS};
  const auto wait = [](void* argument) {
    auto* a = static_cast<Answers*>(argument);
    a->error = aclrtSynchronizeStream(a->stream);
  };
  ASSERT_EQ(aclrtSubscribeReport(self, stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtLaunchCallback(wait, &answers, ACL_CALLBACK_BLOCK, stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtProcessReport(-1), ACL_SUCCESS);
  EXPECT_EQ(answers.error, ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtUnSubscribeReport(self, stream_), ACL_SUCCESS);
}

TEST_F(Callback, AStreamWithHostFunctionsTakesNoSubscriber) {
  std::atomic<int> count{0};
  ASSERT_EQ(aclrtLaunchHostFunc(stream_, add_one, &count), ACL_SUCCESS);
  EXPECT_EQ(aclrtSubscribeReport(static_cast<uint64_t>(pthread_self()), stream_),
            ACL_ERROR_RT_STREAM_SUBSCRIBE);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtLaunchHostFunc(stream_, nullptr, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtLaunchCallback(nullptr, nullptr, ACL_CALLBACK_BLOCK, stream_),
            ACL_ERROR_INVALID_PARAM);
}

TEST_F(Callback, ValuesAreWrittenAndAwaitedInStreamOrder) {
  void* memory = nullptr;
  ASSERT_EQ(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemset(memory, 64, 0, 64), ACL_SUCCESS);
  auto* value = static_cast<uint64_t*>(memory);
  const struct {
    uint32_t condition;
    uint64_t awaited;
    uint64_t unsatisfied;
    uint64_t satisfied;
  } cases[] = {{ACL_STREAM_WAIT_VALUE_GEQ, 5, 4, 6},
               {ACL_STREAM_WAIT_VALUE_EQ, 5, 6, 5},
               {ACL_STREAM_WAIT_VALUE_AND, 4, 3, 12},
               {ACL_STREAM_WAIT_VALUE_NOR, UINT64_MAX - 1, 1, 2}};
  for (const auto& c : cases) {
    ASSERT_EQ(aclrtValueWrite(value, c.unsatisfied, 0, stream_), ACL_SUCCESS);
    ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
    ASSERT_EQ(aclrtValueWait(value, c.awaited, c.condition, other_), ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(other_, 2), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    ASSERT_EQ(aclrtValueWrite(value, c.satisfied, 0, stream_), ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeStream(other_), ACL_SUCCESS);
  }
  uint64_t plain = 0;
  EXPECT_EQ(aclrtValueWrite(nullptr, 0, 0, stream_), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtValueWrite(value, 0, 1, stream_), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtValueWait(value, 0, 4, stream_), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtValueWait(static_cast<char*>(memory) + 4, 0, 0, stream_),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtValueWrite(&plain, 0, 0, stream_), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
}

}  // namespace
}  // namespace weft::test
