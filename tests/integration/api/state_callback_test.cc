// SPDX-License-Identifier: Apache-2.0
// Callbacks that are told when communicators are destroyed and resumed.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cases.hpp"

namespace weft::test {
namespace {

using Event = std::pair<HcclComm, HcclCommStatePhase>;

/// What a callback saw, and what it does.
struct Witness {
  std::mutex mutex;  // destroying may run on other threads
  std::vector<Event> events;
  HcclResult answer = HCCL_SUCCESS;
  bool throws = false;
  std::vector<HcclResult> queries;  // of HcclGetRankId
  HcclResult destroying = HCCL_SUCCESS;
};

HcclResult witness(HcclComm comm, HcclCommStatePhase phase, void* args) {
  auto& seen = *static_cast<Witness*>(args);
  const std::lock_guard lock(seen.mutex);
  seen.events.emplace_back(comm, phase);
  uint32_t rank = 0;
  seen.queries.push_back(HcclGetRankId(comm, &rank));
  seen.destroying = HcclCommDestroy(comm);
  HcclCommStatus status = HCCL_COMM_STATUS_RESERVED;
  HcclCommGetStatus("no such name", &status);
  // Registering takes the lock of the callbacks.
  HcclCommRegCommStateCallback(
      "inner", [](HcclComm, HcclCommStatePhase, void*) { return HCCL_SUCCESS; }, nullptr);
  if (seen.throws) throw std::runtime_error("of the caller");
  return seen.answer;
}

void expect_events(const Witness& seen, const std::vector<Event>& wanted,
                   const std::source_location& where = std::source_location::current()) {
  check(seen.events == wanted, "there were " + std::to_string(seen.events.size()) + " other events",
        where);
}

TEST(StateCallback, IsToldOfDestroyingBeforeAndAfter) {
  run_alone([](Rank& rank) {
    Witness seen;
    ok(HcclCommRegCommStateCallback("witness", witness, &seen));
    HcclComm comm = rank.join();
    expect_working(comm, 1);
    expect_events(seen, {});
    ok(HcclCommDestroy(comm));
    expect_events(seen, {{comm, HCCL_COMM_STATE_PHASE_DESTROY_PRE},
                         {comm, HCCL_COMM_STATE_PHASE_DESTROY_POST}});
    check(seen.queries == std::vector<HcclResult>{HCCL_SUCCESS, HCCL_E_PARA},
          "it is alive before and dead after");
    check(seen.destroying == HCCL_E_AGAIN, "it is destroyed once");
    refused(HcclCommDestroy(comm), HCCL_E_PARA, {"destroyed"});
    refused(HcclCommDestroy(&seen), HCCL_E_PARA);
    check(seen.events.size() == 2, "what fails is no change");
  });
}

TEST(StateCallback, IsToldOfResumingWhatWasSuspended) {
  run_alone([](Rank& rank) {
    Witness seen;
    ok(HcclCommRegCommStateCallback("witness", witness, &seen));
    HcclComm comm = rank.join();
    ok(HcclCommResume(comm));
    ok(HcclCommSuspend(comm));
    expect_events(seen, {});
    ok(HcclCommResume(comm));
    expect_events(seen, {{comm, HCCL_COMM_STATE_PHASE_RESUME_PRE},
                         {comm, HCCL_COMM_STATE_PHASE_RESUME_POST}});
    check(seen.destroying == HCCL_E_AGAIN, "not while it is resumed");
    expect_working(comm, 1);
    ok(HcclCommDestroy(comm));
  });
}

TEST(StateCallback, ResumingMeanwhileFindsNothing) {
  run_alone([](Rank& rank) {
    struct Other {
      std::atomic<bool> begun{false};
      std::thread thread;
      HcclResult code = HCCL_SUCCESS;
    } other;
    const auto start = [](HcclComm comm, HcclCommStatePhase phase, void* args) {
      auto& seen = *static_cast<Other*>(args);
      if (phase != HCCL_COMM_STATE_PHASE_DESTROY_PRE) return HCCL_SUCCESS;
      seen.thread = std::thread([&seen, comm] {
        seen.begun = true;
        seen.code = HcclCommResume(comm);
      });
      while (!seen.begun) std::this_thread::yield();
      return HCCL_SUCCESS;
    };
    for (int round = 0; round < 20; ++round) {
      HcclComm comm = rank.join();
      ok(HcclCommSuspend(comm));
      ok(HcclCommRegCommStateCallback("start", start, &other));
      ok(HcclCommDestroy(comm));
      other.thread.join();
      check(other.code == HCCL_E_PARA, "it was resumed: " + std::to_string(other.code));
      other.begun = false;
    }
  });
}

TEST(StateCallback, InAGroupHasTheCallersDevice) {
  static int32_t device = -1;
  run_alone([](Rank& rank) {
    ok(aclrtSetDevice(3));
    HcclComm comm = rank.join();
    ok(HcclCommRegCommStateCallback(
        "device",
        [](HcclComm, HcclCommStatePhase, void*) {
          return aclrtGetDevice(&device) == ACL_SUCCESS ? HCCL_SUCCESS : HCCL_E_RUNTIME;
        },
        nullptr));
    ok(HcclGroupStart());
    ok(HcclCommDestroy(comm));
    ok(HcclGroupEnd());
    check(device == 3, "the device is " + std::to_string(device));
  });
}

TEST(StateCallback, AFailingOneStopsNothing) {
  run_alone([](Rank& rank) {
    Witness failing;
    failing.answer = HCCL_E_INTERNAL;
    Witness throwing;
    throwing.throws = true;
    Witness last;
    ok(HcclCommRegCommStateCallback("1", witness, &failing));
    ok(HcclCommRegCommStateCallback("2", witness, &throwing));
    ok(HcclCommRegCommStateCallback("3", witness, &last));
    HcclComm comm = rank.join();
    ok(HcclCommSuspend(comm));
    ok(HcclCommResume(comm));
    expect_working(comm, 1);
    ok(HcclCommDestroy(comm));
    for (const Witness* each : {&failing, &throwing, &last}) {
      check(each->events.size() == 4, "not all were told of all changes");
    }
  });
}

TEST(StateCallback, TheSecondOfANameReplacesTheFirst) {
  run_alone([](Rank& rank) {
    Witness first;
    Witness second;
    const std::string name(159, 'n');
    ok(HcclCommRegCommStateCallback(name.c_str(), witness, &first));
    ok(HcclCommRegCommStateCallback(name.c_str(), witness, &second));
    HcclComm comm = rank.join();
    ok(HcclCommDestroy(comm));
    expect_events(first, {});
    check(second.events.size() == 2, "the second one was not told");
  });
}

/// Destroys the communicator that it is given at the end of any other.
HcclResult destroy_other(HcclComm comm, HcclCommStatePhase phase, void* other) {
  if (comm == other || phase != HCCL_COMM_STATE_PHASE_DESTROY_PRE) return HCCL_SUCCESS;
  return HcclCommDestroy(other);
}

TEST(StateCallback, MayDestroyAnotherCommunicator) {
  run_alone([](Rank& rank) {
    HcclComm first = rank.join();
    HcclComm second = rank.join();
    Witness seen;
    ok(HcclCommRegCommStateCallback("destroys", destroy_other, second));
    ok(HcclCommRegCommStateCallback("witness", witness, &seen));
    ok(HcclCommDestroy(first));
    expect_events(seen, {{second, HCCL_COMM_STATE_PHASE_DESTROY_PRE},
                         {second, HCCL_COMM_STATE_PHASE_DESTROY_POST},
                         {first, HCCL_COMM_STATE_PHASE_DESTROY_PRE},
                         {first, HCCL_COMM_STATE_PHASE_DESTROY_POST}});
    refused(HcclCommDestroy(second), HCCL_E_PARA, {"destroyed"});
  });
}

TEST(StateCallback, ABusyCommunicatorDoesNotChange) {
  run_ranks(2, Layout::kProcesses, [](Rank& rank) {
    Witness seen;
    ok(HcclCommRegCommStateCallback("witness", witness, &seen));
    HcclComm comm = rank.join();
    const Stream stream;
    if (rank.rank() == 0) {
      ok(HcclBarrier(comm, stream));
      refused(HcclCommDestroy(comm), HCCL_E_AGAIN, {"synchronise"});
      expect_events(seen, {});
      rank.event(0);
    } else {
      rank.await(0, 1);
      ok(HcclBarrier(comm, stream));
    }
    stream.synchronize();
    ok(HcclCommDestroy(comm));
    check(seen.events.size() == 2, "it was not told in the end");
  });
}

TEST(StateCallback, IsToldOfEveryCommunicatorOfAProcess) {
  run_alone([](Rank&) {
    Witness seen;
    ok(HcclCommRegCommStateCallback("witness", witness, &seen));
    int32_t devices[] = {0, 1, 2};
    HcclComm comms[3] = {};
    ok(HcclCommInitAll(3, devices, comms));
    ok(HcclGroupStart());
    for (HcclComm comm : comms) ok(HcclCommDestroy(comm));
    expect_events(seen, {});
    ok(HcclGroupEnd());
    check(seen.events.size() == 6, "not all were told of");
    for (HcclComm comm : comms) {
      check(std::count(seen.events.begin(), seen.events.end(),
                       Event{comm, HCCL_COMM_STATE_PHASE_DESTROY_POST}) == 1,
            "one was not destroyed");
    }
  });
}

}  // namespace
}  // namespace weft::test
