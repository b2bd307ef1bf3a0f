// SPDX-License-Identifier: Apache-2.0
// Two changes of one communicator: the second waits for the callbacks of the first, not for ever.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <thread>

#include "api/state_callbacks.hpp"
#include "base/error.hpp"
#include "hccl/hccl_comm.h"

namespace weft::api {
namespace {

int first_one = 0;
int other_one = 0;
const HcclComm kFirst = &first_one;  // only its address counts
const HcclComm kOther = &other_one;

HcclResult code_of_change(HcclComm comm, std::chrono::milliseconds patience) {
  try {
    const StateChange change(comm, patience);
    return HCCL_SUCCESS;
  } catch (const Error& error) {
    return error.code();
  }
}

/// A callback that takes as long as the test wants.
struct Slow {
  std::promise<void> begun;
  std::promise<void> may_end;
};

HcclResult wait_there(HcclComm, HcclCommStatePhase, void* args) {
  auto& slow = *static_cast<Slow*>(args);
  slow.begun.set_value();
  slow.may_end.get_future().wait();
  return HCCL_SUCCESS;
}

TEST(StateChange, IsRefusedBesideACallbackThatTakesTooLong) {
  Slow slow;
  ASSERT_EQ(HcclCommRegCommStateCallback("slow", wait_there, &slow), HCCL_SUCCESS);
  std::thread first([] {
    const StateChange change(kFirst);
    change.tell(HCCL_COMM_STATE_PHASE_DESTROY_PRE);
  });
  slow.begun.get_future().wait();
  EXPECT_EQ(code_of_change(kFirst, std::chrono::milliseconds(30)), HCCL_E_AGAIN);
  EXPECT_EQ(code_of_change(kOther, std::chrono::milliseconds(0)), HCCL_SUCCESS);
  std::atomic<HcclResult> patient{HCCL_E_INTERNAL};
  std::thread second([&] { patient = code_of_change(kFirst, StateChange::kPatience); });
  slow.may_end.set_value();
  first.join();
  second.join();
  EXPECT_EQ(patient.load(), HCCL_SUCCESS) << "it did not wait";
  EXPECT_EQ(code_of_change(kFirst, std::chrono::milliseconds(0)), HCCL_SUCCESS);
}

TEST(StateChange, IsRefusedAtOnceOnTheThreadThatIsInOne) {
  const StateChange change(kFirst);
  EXPECT_EQ(code_of_change(kFirst, std::chrono::hours(1)), HCCL_E_AGAIN);
}

}  // namespace
}  // namespace weft::api
