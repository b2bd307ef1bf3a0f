// SPDX-License-Identifier: Apache-2.0
// HcclCommInitAll: all ranks in one process, driven by one thread or by many.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "cases.hpp"

namespace weft::test {
namespace {

TEST(InitAll, ChecksItsArguments) {
  run_alone([](Rank&) {
    int32_t devices[] = {0, 1, 0};
    HcclComm comms[3];
    refused(HcclCommInitAll(0, nullptr, nullptr), HCCL_E_PARA, {"HcclCommInitAll", "ndev"});
    refused(HcclCommInitAll(2, nullptr, nullptr), HCCL_E_PTR, {"comms"});
    refused(HcclCommInitAll(2, nullptr, comms), HCCL_E_PTR, {"devices"});
    refused(HcclCommInitAll(3, devices, comms), HCCL_E_PARA, {"twice"});
    std::vector<int32_t> many(32769);
    std::iota(many.begin(), many.end(), 0);
    std::vector<HcclComm> handles(many.size(), devices);
    refused(HcclCommInitAll(32769, many.data(), handles.data()), HCCL_E_PARA,
            {"ndev is 32769", "32768"});
    check(handles.front() == devices && handles.back() == devices, "it wrote its output");
  });
}

TEST(InitAll, AFailureLeavesNothing) {
  run_alone([](Rank&) {
    for (const int32_t wrong : {1000, -1}) {
      int32_t devices[] = {0, wrong, 2};
      HcclComm comms[3] = {devices, devices, devices};
      refused(HcclCommInitAll(3, devices, comms), HCCL_E_INTERNAL,
              {"HcclCommInitAll", "device " + std::to_string(wrong)});
      for (HcclComm comm : comms) check(comm == nullptr, "a communicator was left");
    }
  });
}

TEST(InitAll, AFailureGivesItsPortBack) {
  GroupOptions options;
  options.environment = {{"HCCL_IF_BASE_PORT", "61000"}};
  run_alone(
      [](Rank&) {
        for (int round = 0; round < 40; ++round) {  // more than there are ports
          int32_t devices[] = {0, 1000};
          HcclComm comms[2] = {};
          refused(HcclCommInitAll(2, devices, comms), HCCL_E_INTERNAL, {"device 1000"});
        }
        int32_t devices[] = {0, 1};
        HcclComm comms[2] = {};
        ok(HcclCommInitAll(2, devices, comms));
        for (HcclComm comm : comms) ok(HcclCommDestroy(comm));
      },
      options);
}

TEST(InitAll, ARankThatFailsBehindItsDeviceEndsItAtOnceWithItsReason) {
  GroupOptions options;  // long before ranks give up waiting for each other
  options.environment = {{"WEFT_DEVICE_MEMORY", "1G"}};
  run_alone(
      [](Rank&) {
        ok(aclrtSetDevice(1));
        void* most = nullptr;
        ok(aclrtMalloc(&most, size_t{900} << 20, ACL_MEM_MALLOC_HUGE_FIRST));
        ok(aclrtSetDevice(0));
        int32_t devices[] = {0, 2, 1};
        HcclComm comms[3] = {};
        ok(HcclCommInitAll(2, devices, comms));
        const size_t descriptors = open_descriptors();
        for (HcclComm comm : {comms[0], comms[1]}) ok(HcclCommDestroy(comm));
        refused(HcclCommInitAll(3, devices, comms), HCCL_E_INTERNAL,
                {"rank 2 on device 1", "no room"});
        for (HcclComm comm : comms) check(comm == nullptr, "a communicator was left");
        eventually([&] { return open_descriptors() < descriptors; }, "nothing listens");
        ok(aclrtFree(most));
      },
      options);
}

TEST(InitAll, MakesOneRankOnEveryDeviceAndKeepsTheCurrentOne) {
  run_alone([](Rank&) {
    ok(aclrtSetDevice(5));
    int32_t devices[] = {3, 0, 7, 5};
    HcclComm comms[4] = {};
    ok(HcclCommInitAll(4, devices, comms));
    int32_t current = -1;
    ok(aclrtGetDevice(&current));
    check(current == 5, "the current device changed");
    std::set<std::string> names;
    for (uint32_t i = 0; i < 4; ++i) {
      uint32_t id = 99;
      uint32_t ranks = 0;
      ok(HcclGetRankId(comms[i], &id));
      ok(HcclGetRankSize(comms[i], &ranks));
      check(id == i && ranks == 4, "wrong rank");
      names.insert(comm_name(comms[i]));
    }
    check(names.size() == 1, "the ranks have different names");
    for (HcclComm comm : comms) ok(HcclCommDestroy(comm));
  });
}

TEST(InitAll, OfOneDeviceWorks) {
  run_alone([](Rank&) {
    int32_t device = 0;
    HcclComm comm = nullptr;
    ok(HcclCommInitAll(1, &device, &comm));
    expect_working(comm, 1);
    ok(HcclCommDestroy(comm));
  });
}

TEST(InitAll, OneThreadCanDriveAllRanks) {
  run_alone([](Rank&) {
    constexpr uint32_t kRanks = 4;
    constexpr uint64_t kCount = 65537;
    int32_t devices[kRanks] = {0, 1, 2, 3};
    HcclComm comms[kRanks] = {};
    ok(HcclCommInitAll(kRanks, devices, comms));
    std::vector<std::unique_ptr<Arena>> arenas;
    std::vector<Trial> trials;
    aclrtStream streams[kRanks] = {};
    for (uint32_t round = 0; round < 3; ++round) {
      for (uint32_t r = 0; r < kRanks; ++r) {
        ok(aclrtSetDevice(devices[r]));
        if (round == 0) ok(aclrtCreateStream(&streams[r]));
        arenas.push_back(std::make_unique<Arena>(Memory::kDevice, kCount * 4));
        arenas.push_back(std::make_unique<Arena>(Memory::kDevice, kCount * 4));
        const Case c{Op::kAllReduce, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, kCount};
        trials.emplace_back(c, r, kRanks, *arenas[arenas.size() - 2], *arenas.back());
        trials.back().run(comms[r], streams[r]);
      }
    }
    // Waiting for one rank must let the others go on.
    for (uint32_t r = kRanks; r-- > 0;) ok(aclrtSynchronizeStream(streams[r]));
    for (const Trial& trial : trials) trial.verify();
    for (uint32_t r = 0; r < kRanks; ++r) {
      ok(aclrtSetDevice(devices[r]));
      ok(HcclCommDestroy(comms[r]));
      ok(aclrtDestroyStream(streams[r]));
    }
  });
}

TEST(InitAll, EveryRankCanHaveAThread) {
  run_alone([](Rank&) {
    constexpr uint32_t kRanks = 3;
    int32_t devices[kRanks] = {0, 1, 2};
    HcclComm comms[kRanks] = {};
    ok(HcclCommInitAll(kRanks, devices, comms));
    std::vector<std::thread> threads;
    std::atomic<uint32_t> right{0};
    for (uint32_t r = 0; r < kRanks; ++r) {
      threads.emplace_back([&, r] {
        try {
          ok(aclrtSetDevice(devices[r]));
          for (int i = 0; i < 100; ++i) expect_working(comms[r], kRanks);
          ok(HcclCommDestroy(comms[r]));
          ++right;
        } catch (const Failure& failure) {
          ADD_FAILURE_AT(failure.file, failure.line) << failure.what();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    check(right == kRanks, "not all threads got the sum");
  });
}

}  // namespace
}  // namespace weft::test
