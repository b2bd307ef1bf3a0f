// SPDX-License-Identifier: Apache-2.0
// Making, asking and destroying communicators: arguments, names, configurations, HcclCommInitAll.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "cases.hpp"

namespace weft::test {
namespace {

HcclCommConfig fresh_config() {
  HcclCommConfig config;
  memset(static_cast<void*>(&config), 0x5A, sizeof config);  // as uninitialised memory
  HcclCommConfigInit(&config);
  return config;
}

HcclRootInfo new_root() {
  HcclRootInfo root;
  ok(HcclGetRootInfo(&root));
  return root;
}

/// Joins a communicator of one rank.
HcclResult join_alone(const HcclCommConfig* config, HcclComm* comm) {
  const HcclRootInfo root = new_root();
  return HcclCommInitRootInfoConfig(1, &root, 0, config, comm);
}

TEST(InitRootInfo, LooksAtItsArgumentsInTheDocumentedOrder) {
  run_alone([](Rank&) {
    const HcclRootInfo root = new_root();
    HcclComm comm = nullptr;
    refused(HcclGetRootInfo(nullptr), HCCL_E_PTR, {"HcclGetRootInfo", "rootInfo"});
    refused(HcclCommInitRootInfo(0, nullptr, 5, nullptr), HCCL_E_PARA, {"nRanks"});
    refused(HcclCommInitRootInfo(2, nullptr, 2, nullptr), HCCL_E_PARA, {"rank", "0..1"});
    refused(HcclCommInitRootInfo(2, nullptr, UINT32_MAX, nullptr), HCCL_E_PARA, {"rank"});
    refused(HcclCommInitRootInfo(2, nullptr, 1, nullptr), HCCL_E_PTR, {"comm"});
    refused(HcclCommInitRootInfo(2, nullptr, 1, &comm), HCCL_E_PTR, {"rootInfo"});
    refused(HcclCommInitRootInfoConfig(0, nullptr, 5, nullptr, nullptr), HCCL_E_PARA, {"nRanks"});
    refused(HcclCommInitRootInfoConfig(1, nullptr, 0, nullptr, nullptr), HCCL_E_PTR, {"comm"});
    refused(HcclCommInitRootInfoConfig(1, nullptr, 0, nullptr, &comm), HCCL_E_PTR, {"rootInfo"});
    refused(HcclCommInitRootInfoConfig(1, &root, 0, nullptr, &comm), HCCL_E_PARA, {"null"});
    check(comm == nullptr, "a failed call gave a communicator");
    ok(HcclCommInitRootInfo(1, &root, 0, &comm));
    expect_working(comm, 1);
    ok(HcclCommDestroy(comm));
  });
}

TEST(Suite, RunsInTheEnvironmentThatItsListAsksFor) {
  const auto is_set = [](const char* name) { return std::getenv(name) != nullptr; };
  if (!is_set("WEFT_TEST_LIST")) GTEST_SKIP() << "run by hand";
  EXPECT_TRUE(is_set("WEFT_HOME") && is_set("WEFT_DEVICE_MEMORY"));
  const bool tasks = std::string(std::getenv("WEFT_TEST_LIST")) == "tasks.all";
  EXPECT_EQ(is_set("WEFT_TEST_ENGINE") && is_set("WEFT_POLICY"), tasks);
}

TEST(Init, NeedsACurrentDeviceBeforeAnythingElse) {
  GroupOptions options;
  options.device = false;
  const auto body = [](Rank&) {
    HcclRootInfo root{};
    HcclComm comm = nullptr;
    refused(HcclGetRootInfo(&root), HCCL_E_RUNTIME, {"HcclGetRootInfo", "aclrtSetDevice"});
    refused(HcclCommInitRootInfo(0, nullptr, 0, nullptr), HCCL_E_RUNTIME, {"aclrtSetDevice"});
    refused(HcclCommInitRootInfo(1, &root, 0, &comm), HCCL_E_RUNTIME, {"aclrtSetDevice"});
    refused(HcclCommInitAll(0, nullptr, nullptr), HCCL_E_RUNTIME, {"aclrtSetDevice"});
  };
  run_alone(body, options);
}

TEST(InitRootInfo, BadEnvironmentVariablesAreNamed) {
  GroupOptions options;
  options.environment["HCCL_BUFFSIZE"] = "0";
  const auto body = [](Rank&) {
    HcclComm comm = nullptr;
    const HcclRootInfo root{};
    HcclRootInfo unused;
    const HcclCommConfig config = fresh_config();
    refused(HcclGetRootInfo(&unused), HCCL_E_PARA, {"HCCL_BUFFSIZE", "\"0\""});
    refused(HcclCommInitRootInfo(1, nullptr, 0, &comm), HCCL_E_PTR, {"rootInfo"});
    refused(HcclCommInitRootInfo(1, &root, 0, &comm), HCCL_E_PARA, {"HCCL_BUFFSIZE", "\"0\""});
    refused(HcclCommInitRootInfoConfig(1, &root, 0, &config, &comm), HCCL_E_PARA,
            {"HCCL_BUFFSIZE"});
    int32_t device = 0;
    refused(HcclCommInitAll(1, &device, &comm), HCCL_E_PARA, {"HCCL_BUFFSIZE"});
    unsetenv("HCCL_BUFFSIZE");
    ok(HcclCommInitAll(1, &device, &comm));
    // What was right once is kept.
    setenv("HCCL_BUFFSIZE", "0", 1);
    ok(HcclGetRootInfo(&unused));
    ok(HcclCommDestroy(comm));
  };
  run_alone(body, options);
}

TEST(Queries, CheckTheirArguments) {
  run_alone([](Rank& rank) {
    HcclComm comm = rank.join();
    uint32_t number = 99;
    char name[COMM_NAME_MAX_LENGTH] = "untouched";
    HcclResult state = HCCL_E_INTERNAL;
    HcclComm wrong = &number;
    refused(HcclGetRankSize(nullptr, &number), HCCL_E_PTR, {"HcclGetRankSize", "comm"});
    refused(HcclGetRankSize(comm, nullptr), HCCL_E_PTR, {"HcclGetRankSize", "rankSize"});
    refused(HcclGetRankSize(wrong, &number), HCCL_E_PARA, {"HcclGetRankSize", "comm"});
    refused(HcclGetRankId(nullptr, &number), HCCL_E_PTR, {"HcclGetRankId", "comm"});
    refused(HcclGetRankId(comm, nullptr), HCCL_E_PTR, {"HcclGetRankId", "rank"});
    refused(HcclGetRankId(wrong, &number), HCCL_E_PARA, {"HcclGetRankId", "comm"});
    refused(HcclGetCommName(nullptr, name), HCCL_E_PTR, {"HcclGetCommName", "comm"});
    refused(HcclGetCommName(comm, nullptr), HCCL_E_PTR, {"HcclGetCommName", "commName"});
    refused(HcclGetCommName(wrong, name), HCCL_E_PARA, {"HcclGetCommName", "comm"});
    refused(HcclGetCommAsyncError(nullptr, &state), HCCL_E_PTR, {"HcclGetCommAsyncError", "comm"});
    refused(HcclGetCommAsyncError(comm, nullptr), HCCL_E_PTR, {"asyncError"});
    refused(HcclGetCommAsyncError(wrong, &state), HCCL_E_PARA, {"comm"});
    check(number == 99 && std::string(name) == "untouched" && state == HCCL_E_INTERNAL,
          "a failed query wrote its output");
    check(HcclGetCommConfigCapability() == HCCL_COMM_CONFIG_RESERVED, "wrong capability");
    ok(HcclCommDestroy(comm));
  });
}

TEST(Queries, TellWhatTheCommunicatorIs) {
  run_ranks(4, Layout::kPairs, [](Rank& rank) {
    HcclComm comm = rank.join();
    uint32_t ranks = 0;
    uint32_t id = 0;
    HcclResult state = HCCL_E_INTERNAL;
    ok(HcclGetRankSize(comm, &ranks));
    ok(HcclGetRankId(comm, &id));
    ok(HcclGetCommAsyncError(comm, &state));
    check(ranks == 4 && id == rank.rank() && state == HCCL_SUCCESS, "wrong facts");
    ok(HcclCommDestroy(comm));
  });
}

TEST(Destroy, OfNothingIsASuccessAndOfARubbishHandleAParameterError) {
  run_alone([](Rank& rank) {
    ok(HcclCommDestroy(nullptr));
    HcclComm comm = rank.join();
    int elsewhere = 0;
    refused(HcclCommDestroy(&elsewhere), HCCL_E_PARA, {"HcclCommDestroy", "comm"});
    HcclComm other = rank.join();
    ok(HcclCommDestroy(comm));
    refused(HcclCommDestroy(comm), HCCL_E_PARA, {"HcclCommDestroy", "destroyed"});
    uint32_t number = 0;
    refused(HcclGetRankId(comm, &number), HCCL_E_PARA, {"destroyed"});
    expect_working(other, 1);
    ok(HcclCommDestroy(other));
  });
}

TEST(Destroy, ABusyCommunicatorAsksToTryAgain) {
  run_ranks(2, Layout::kProcesses, [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    Arena arena(Memory::kDevice, 64);
    std::byte* data = arena.lend(64);
    if (rank.rank() == 0) {
      ok(HcclAllReduce(data, data, 16, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm, stream));
      for (int i = 0; i < 3; ++i) {
        refused(HcclCommDestroy(comm), HCCL_E_AGAIN, {"HcclCommDestroy", "synchronise"});
      }
      rank.event(0);
    } else {
      rank.await(0, 1);
      ok(HcclAllReduce(data, data, 16, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm, stream));
    }
    stream.synchronize();
    ok(HcclCommDestroy(comm));
  });
}

TEST(Destroy, MayHappenOnAnotherThreadAndWithAnotherDevice) {
  run_alone([](Rank& rank) {
    HcclComm comm = rank.join();
    HcclResult code = HCCL_E_INTERNAL;
    std::thread([&] {
      aclrtSetDevice(1);
      code = HcclCommDestroy(comm);
    }).join();
    ok(code);
  });
}

TEST(Destroy, CommunicatorsCanBeMadeAndDestroyedManyTimes) {
  run_ranks(2, Layout::kProcesses, [](Rank& rank) {
    size_t descriptors = 0;
    for (uint32_t i = 0; i < 30; ++i) {
      HcclComm comm = rank.join();
      expect_working(comm, 2);
      ok(HcclCommDestroy(comm));
      rank.sync();  // both have left: the root's sockets are closed soon
      if (i == 10) descriptors = open_descriptors();
    }
    eventually([&] { return open_descriptors() <= descriptors; }, "descriptors are given back");
  });
}

TEST(Memory, ThatWasUsedAndFreedBeforeDoesNoHarm) {
  run_ranks(2, Layout::kProcesses, [](Rank& rank) {
    // The communicator's own memory comes out of these blocks, put together.
    std::vector<void*> blocks(4096);
    for (void*& block : blocks) {
      ok(aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
      memset(block, 0xFF, 4096);
    }
    for (void* block : blocks) ok(aclrtFree(block));
    HcclCommConfig config = fresh_config();
    config.hcclBufferSize = 1;
    HcclComm comm = rank.join(&config);
    for (int i = 0; i < 10; ++i) expect_working(comm, 2);
    ok(HcclCommDestroy(comm));
  });
}

TEST(Names, AreGivenOrMadeFromTheRootAndTheSameOnAllRanks) {
  run_ranks(2, Layout::kProcesses, [](Rank& rank) {
    HcclCommConfig config = fresh_config();
    const std::string wanted(127, 'x');
    memcpy(config.hcclCommName, wanted.c_str(), wanted.size() + 1);
    HcclComm named = rank.join(&config);
    check(comm_name(named) == wanted, "the name is " + comm_name(named));
    HcclComm unnamed = rank.join();
    const std::string name = comm_name(unnamed);
    check(!name.empty() && name != wanted, "the name is '" + name + "'");
    ok(HcclCommDestroy(named));
    ok(HcclCommDestroy(unnamed));
  });
}

TEST(Names, AreUniqueOnADeviceUntilTheyAreGivenBack) {
  run_alone([](Rank&) {
    HcclCommConfig config = fresh_config();
    strcpy(config.hcclCommName, "twice");
    HcclComm first = nullptr;
    HcclComm second = nullptr;
    ok(join_alone(&config, &first));
    refused(join_alone(&config, &second), HCCL_E_PARA, {"'twice'", "device 0"});
    check(second == nullptr, "a failed call gave a communicator");
    ok(aclrtSetDevice(1));
    ok(join_alone(&config, &second));  // another device
    ok(HcclCommDestroy(second));
    ok(aclrtResetDevice(1));
    ok(aclrtSetDevice(0));
    ok(HcclCommDestroy(first));
    ok(join_alone(&config, &first));
    ok(HcclCommDestroy(first));
  });
}

TEST(Names, OfAllRanksMustBeTheSame) {
  run_ranks(2, Layout::kProcesses, [](Rank& rank) {
    HcclCommConfig config = fresh_config();
    strcpy(config.hcclCommName, rank.rank() == 0 ? "one" : "two");
    const HcclRootInfo root = rank.share_root();
    HcclComm comm = nullptr;
    refused(HcclCommInitRootInfoConfig(2, &root, rank.rank(), &config, &comm), HCCL_E_PARA,
            {"name", "'one'", "'two'"});
  });
}

TEST(Config, EveryGenerationOfTheStructIsTaken) {
  run_alone([](Rank&) {
    struct Generation {
      uint64_t size;
      uint32_t version;
    };
    const Generation generations[] = {{2248, 11}, {2240, 10}, {2232, 10}, {2104, 8},
                                      {160, 2},   {160, 1},   {4096, 12}};
    for (const Generation& generation : generations) {
      // What lies behind an older struct is not the library's to read.
      std::vector<char> bytes(std::max<size_t>(generation.size, sizeof(HcclCommConfig)), '\xEE');
      const HcclCommConfig good = fresh_config();
      memcpy(bytes.data(), &good, std::min<size_t>(generation.size, sizeof good));
      memcpy(bytes.data(), &generation.size, 8);
      memcpy(bytes.data() + 12, &generation.version, 4);
      HcclComm comm = nullptr;
      ok(join_alone(reinterpret_cast<const HcclCommConfig*>(bytes.data()), &comm));
      expect_working(comm, 1);
      ok(HcclCommDestroy(comm));
    }
  });
}

TEST(Config, FieldsOfTheOldestVersionAreHonoured) {
  run_alone([](Rank&) {
    HcclCommConfig config = fresh_config();
    const uint64_t size = 160;
    const uint32_t version = 2;
    memcpy(config.reserved, &size, 8);
    memcpy(config.reserved + 12, &version, 4);
    strcpy(config.hcclCommName, "short");
    HcclComm comm = nullptr;
    ok(join_alone(&config, &comm));
    check(comm_name(comm) == "short", "the name of a short struct was not read");
    ok(HcclCommDestroy(comm));
    config.hcclBufferSize = 0;
    refused(join_alone(&config, &comm), HCCL_E_PARA, {"hcclBufferSize"});
  });
}

TEST(Config, WrongValuesAreNamed) {
  run_alone([](Rank&) {
    HcclComm comm = nullptr;
    HcclCommConfig config = fresh_config();
    config.reserved[8] = 0;
    refused(join_alone(&config, &comm), HCCL_E_PARA, {"HcclCommConfigInit", "magic"});
    config = fresh_config();
    memset(config.reserved, 0, 8);
    refused(join_alone(&config, &comm), HCCL_E_PARA, {"size"});
    config = fresh_config();
    config.hcclBufferSize = 0;
    refused(join_alone(&config, &comm), HCCL_E_PARA, {"hcclBufferSize"});
    config = fresh_config();
    config.hcclDeterministic = 3;
    refused(join_alone(&config, &comm), HCCL_E_PARA, {"hcclDeterministic", "3"});
    config = fresh_config();
    config.aclGraphZeroCopyEnable = 2;
    refused(join_alone(&config, &comm), HCCL_E_PARA, {"aclGraphZeroCopyEnable"});
    config = fresh_config();
    memset(config.hcclCommName, 'n', sizeof config.hcclCommName);
    refused(join_alone(&config, &comm), HCCL_E_PARA, {"hcclCommName"});
    config = fresh_config();
    config.hcclRdmaTrafficClass = 254;
    refused(join_alone(&config, &comm), HCCL_E_PARA, {"hcclRdmaTrafficClass", "multiple of 4"});
    config = fresh_config();
    config.hcclRdmaServiceLevel = 8;
    refused(join_alone(&config, &comm), HCCL_E_PARA, {"hcclRdmaServiceLevel", "8"});
    for (const char* levels : {"L1:0,", ",", "L0:0,,L1:0", "L0:0,L1:0,L2:0,L3:0"}) {
      config = fresh_config();
      strcpy(config.hcclRetryEnable, levels);
      refused(join_alone(&config, &comm), HCCL_E_PARA, {"hcclRetryEnable"});
    }
    config = fresh_config();
    strcpy(config.hcclRetryParams, "MaxCnt:11");
    refused(join_alone(&config, &comm), HCCL_E_PARA, {"hcclRetryParams", "MaxCnt"});
    check(comm == nullptr, "a failed call gave a communicator");
    // Of these a wrong one is ignored.
    config = fresh_config();
    strcpy(config.hcclRetryEnable, "L1:1, nonsense");
    strcpy(config.hcclRetryParams, "MaxCnt:3,HoldTime:5000,IntervalTime:1000");
    strcpy(config.hcclAlgo, "EmptyString");
    config.hcclOpExpansionMode = 7;
    config.hcclRdmaTrafficClass = 252;
    config.hcclRdmaServiceLevel = 7;
    ok(join_alone(&config, &comm));
    ok(HcclCommDestroy(comm));
    for (const uint32_t deterministic : {0u, 1u, 2u}) {
      config = fresh_config();
      config.hcclDeterministic = deterministic;
      ok(join_alone(&config, &comm));
      ok(HcclCommDestroy(comm));
    }
  });
}

TEST(Config, RanksThatDifferLearnWhoDiffersInWhat) {
  run_ranks(3, Layout::kProcesses, [](Rank& rank) {
    HcclCommConfig config = fresh_config();
    config.hcclBufferSize = rank.rank() == 2 ? 20 : 10;
    const HcclRootInfo root = rank.share_root();
    HcclComm comm = nullptr;
    refused(HcclCommInitRootInfoConfig(3, &root, rank.rank(), &config, &comm), HCCL_E_PARA,
            {"buffer", "10485760", "20971520", "ranks 0-1", "rank 2"});
  });
}

TEST(Config, TheBufferSizeIsUsed) {
  run_ranks(2, Layout::kThreads, [](Rank& rank) {
    HcclCommConfig config = fresh_config();
    config.hcclBufferSize = 1;
    HcclComm comm = rank.join(&config);
    const Stream stream;
    const uint64_t count = 2 << 20;
    Arena send(Memory::kDevice, count * 4);
    Arena recv(Memory::kDevice, count * 4);
    const Case c{Op::kAllReduce, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, count};
    const Trial trial(c, rank.rank(), 2, send, recv);
    trial.run(comm, stream);
    stream.synchronize();
    trial.verify();
    ok(HcclCommDestroy(comm));
  });
}

/// A thread that begins when others have ended may have the id of one of them.
TEST(Names, HandlesOfThreadsThatHaveEndedAreNobodys) {
  GroupOptions options;
  options.environment = {{"WEFT_DEVICES", "1"}};
  const auto body = [](Rank& rank) {
    const HcclRootInfo root = rank.share_root();
    HcclComm comms[2] = {};
    const auto make = [&](uint32_t i) {
      ok(aclrtSetDevice(0));
      ok(HcclCommInitRootInfo(2, &root, i, &comms[i]));
    };
    std::thread first(make, 0);
    std::thread second(make, 1);
    first.join();
    second.join();
    for (int i = 0; i < 2; ++i) {
      std::thread([&] {
        ok(aclrtSetDevice(0));
        HcclComm found = nullptr;
        refused(HcclCommGetHandleWithName(comm_name(comms[0]).c_str(), &found), HCCL_E_PARA,
                {"2 ranks"});
      }).join();
    }
    for (HcclComm comm : comms) ok(HcclCommDestroy(comm));
  };
  run_ranks(1, Layout::kThreads, body, options);
}

}  // namespace
}  // namespace weft::test
