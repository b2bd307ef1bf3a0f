// SPDX-License-Identifier: Apache-2.0
// Groups by name at the C interface: arguments, codes, servers, and how they end. What Python
// programs see of them is tested in tests/integration/python.
#include "hccl/hcom.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cases.hpp"
#include "rank_table.hpp"
#include "sub_comm.hpp"
#include "weft/comm.h"

namespace weft::test {
namespace {

const char* const kWorld = "hccl_world_group";

class Table : public RankTable {
 public:
  using RankTable::RankTable;
  void init(const Rank& rank) const {
    ok(HcomInitByFile(path().c_str(), std::to_string(rank.rank()).c_str()));
  }
};

GroupOptions small_buffers() {
  GroupOptions options;
  options.environment = {{"HCCL_BUFFSIZE", "1"}};
  return options;
}

uint32_t asked(HcclResult (*function)(const char*, uint32_t*), const char* group) {
  uint32_t answer = 99;
  ok(function(group, &answer));
  return answer;
}

HcclComm comm_of(const char* group) {
  HcclComm comm = nullptr;
  ok(HcclCommGetHandleWithName(group, &comm));
  return comm;
}

TEST(Hcom, LooksAtItsArgumentsInTheDocumentedOrder) {
  const Table table({2});
  const auto body = [&](Rank& rank) {
    const std::string longest(127, 'g');
    const std::string too_long(128, 'g');
    uint32_t ids[] = {1, 0};
    uint32_t beyond[] = {0, 2};
    uint32_t twice[] = {rank.rank(), rank.rank()};
    uint32_t three[] = {0, 1, 2};
    uint32_t other[] = {1 - rank.rank()};
    uint32_t number = 99;
    refused(HcomInitByFile(nullptr, "0"), HCCL_E_PTR, {"HcomInitByFile", "rankTablePath"});
    refused(HcomInitByFile("no file", nullptr), HCCL_E_PTR, {"identify"});
    for (const char* wrong : {"", "x", "-1", "1x", "99999999999"}) {
      refused(HcomInitByFile("no file", wrong), HCCL_E_PARA, {"identify", "decimal"});
    }
    refused(HcomInitByFile("no file", "0"), HCCL_E_INTERNAL, {"HcomInitByFile", "no file"});
    refused(HcomCreateGroup("g", 2, ids), HCCL_E_PTR, {"HcomInitByFile"});
    refused(HcomGetRankSize(nullptr, &number), HCCL_E_NOT_FOUND, {kWorld});
    ok(HcomDestroy());  // of nothing
    table.init(rank);
    refused(HcomInitByFile(table.path().c_str(), "0"), HCCL_E_UNAVAIL);

    refused(HcomCreateGroup(nullptr, 0, ids), HCCL_E_PTR, {"HcomCreateGroup", "group"});
    refused(HcomCreateGroup("", 0, nullptr), HCCL_E_PTR, {"rankIds"});
    refused(HcomCreateGroup("", 0, ids), HCCL_E_PARA, {"empty"});
    refused(HcomCreateGroup(too_long.c_str(), 0, ids), HCCL_E_PARA, {"127"});
    refused(HcomCreateGroup(kWorld, 0, ids), HCCL_E_PARA, {kWorld});
    refused(HcomCreateGroup("g", 0, ids), HCCL_E_PARA, {"rankNum"});
    refused(HcomCreateGroup("g", 3, three), HCCL_E_PARA, {"rankNum is 3", "2 ranks"});
    refused(HcomCreateGroup("g", 2, beyond), HCCL_E_PARA, {"rankIds has 2", "0..1"});
    refused(HcomCreateGroup("g", 2, twice), HCCL_E_PARA, {"twice"});
    refused(HcomCreateGroup("g", 1, other), HCCL_E_NOT_FOUND, {"without this rank"});
    ok(HcomCreateGroup(longest.c_str(), 2, ids));
    check(ids[0] == 1 && ids[1] == 0, "the caller's list was sorted");
    refused(HcomCreateGroup(longest.c_str(), 2, beyond), HCCL_E_PARA, {"already"});

    refused(HcomGetRankSize(kWorld, nullptr), HCCL_E_PTR, {"rankSize"});
    refused(HcomGetRankId("", &number), HCCL_E_PARA, {"empty"});
    refused(HcomGetLocalRankSize("g", &number), HCCL_E_NOT_FOUND, {"'g'"});
    refused(HcomGetLocalRankId(too_long.c_str(), &number), HCCL_E_PARA, {"127"});
    refused(HcomGetWorldRankFromGroupRank("g", 0, nullptr), HCCL_E_PTR, {"worldRank"});
    refused(HcomGetWorldRankFromGroupRank("g", 2, &number), HCCL_E_PARA, {"groupRank is 2"});
    refused(HcomGetWorldRankFromGroupRank("g", 0, &number), HCCL_E_NOT_FOUND, {"'g'"});
    refused(HcomGetGroupRankFromWorldRank(0, "g", nullptr), HCCL_E_PTR, {"groupRank"});
    refused(HcomGetGroupRankFromWorldRank(0, "g", &number), HCCL_E_NOT_FOUND, {"'g'"});
    refused(HcomGetGroupRankFromWorldRank(2, nullptr, &number), HCCL_E_PARA);
    check(number == 99, "a failed query wrote its output");
    check(asked(HcomGetRankId, nullptr) == rank.rank(), "NULL is not the world");

    refused(HcomDestroyGroup(nullptr), HCCL_E_PTR, {"group"});
    refused(HcomDestroyGroup(""), HCCL_E_PARA, {"empty"});
    refused(HcomDestroyGroup(kWorld), HCCL_E_PARA, {"HcomDestroy"});
    refused(HcomDestroyGroup("g"), HCCL_E_NOT_FOUND, {"'g'"});
    ok(HcomDestroyGroup(longest.c_str()));
    rank.sync();
    ok(HcomDestroy());
    refused(HcomGetRankId(nullptr, &number), HCCL_E_NOT_FOUND, {kWorld});
  };
  run_ranks(2, Layout::kProcesses, body, small_buffers());
}

TEST(Hcom, StrategiesOfSplittingAreCheckedKeptAndReplaced) {
  const Table table({1});
  const auto body = [&](Rank& rank) {
    const uint32_t indices[] = {1, 2, 7};
    const uint32_t flat[] = {1, 1};
    const float shares[] = {70.3F, 29.7F};  // as floats not 100 together
    const float much[] = {50, 50.0001F};
    const float less[] = {101, -1};
    refused(HcomSetGradFusionByIndex("", 0, nullptr), HCCL_E_PARA, {"empty"});
    refused(HcomSetGradFusionByIndex(nullptr, 0, nullptr), HCCL_E_PTR, {"IdxList"});
    refused(HcomSetGradFusionByIndex(nullptr, 0, indices), HCCL_E_PARA, {"segmentNum"});
    refused(HcomSetGradFusionByIndex(nullptr, 2, flat), HCCL_E_PARA, {"ascending"});
    refused(HcomSetGradFusionByIndex(nullptr, 3, indices), HCCL_E_NOT_FOUND, {kWorld});
    refused(HcomSetGradFusionBySize(nullptr, 2, nullptr), HCCL_E_PTR, {"sizeList"});
    refused(HcomSetGradFusionBySize(nullptr, 0, shares), HCCL_E_PARA, {"segmentNum"});
    refused(HcomSetGradFusionBySize(nullptr, 2, much), HCCL_E_PARA, {"100.0001", "not 100"});
    refused(HcomSetGradFusionBySize(nullptr, 2, less), HCCL_E_PARA, {"-1"});
    refused(HcomSetGradFusionBySize(nullptr, 2, shares), HCCL_E_NOT_FOUND, {kWorld});

    table.init(rank);
    uint32_t kind = 99;
    uint32_t count = 99;
    uint32_t numbers[3] = {};
    float sizes[3] = {};
    const auto strategy = [&] { ok(weft_grad_fusion(nullptr, 3, &kind, &count, numbers, sizes)); };
    strategy();
    check(kind == WEFT_FUSION_DEFAULT && count == 2 && sizes[0] == 96.54F && sizes[1] == 3.46F,
          "the default");
    ok(HcomSetGradFusionByIndex(nullptr, 2, indices));
    ok(HcomSetGradFusionByIndex(kWorld, 3, indices));
    strategy();
    check(kind == WEFT_FUSION_BY_INDEX && count == 3 && numbers[2] == 7, "by index");
    ok(HcomSetGradFusionBySize(nullptr, 2, shares));
    strategy();
    check(kind == WEFT_FUSION_BY_SIZE && count == 2 && sizes[0] == 70.3F, "by size");
    ok(HcomSetGradFusionByIndex(nullptr, 1, indices));
    strategy();
    check(kind == WEFT_FUSION_BY_INDEX && count == 1 && numbers[0] == indices[0], "the last one");
    ok(HcomSetGradFusionBySize(nullptr, 2, shares));
    refused(weft_grad_fusion(nullptr, 1, &kind, &count, numbers, sizes), HCCL_E_PARA, {"room"});
    refused(weft_grad_fusion("g", 0, &kind, &count, nullptr, nullptr), HCCL_E_NOT_FOUND, {"'g'"});
    ok(HcomDestroy());
    table.init(rank);
    strategy();
    check(kind == WEFT_FUSION_DEFAULT, "a new world has the strategy of the old one");
    ok(HcomDestroy());
  };
  run_ranks(1, Layout::kProcesses, body, small_buffers());
}

TEST(Hcom, WhatIsKnownOfAGroupGoesWithItsCommunicator) {
  const Table table({1});
  const auto body = [&](Rank& rank) {
    uint32_t only[] = {0};
    const uint32_t index[] = {4};
    for (int round = 0; round < 2; ++round) {
      table.init(rank);
      ok(HcomCreateGroup("g", 1, only));
      uint32_t kind = 99;
      uint32_t count = 99;
      ok(weft_grad_fusion("g", 0, &kind, &count, nullptr, nullptr));
      check(kind == WEFT_FUSION_DEFAULT, "a new group has the strategy of an old one");
      ok(HcomSetGradFusionByIndex("g", 1, index));
      expect_working(comm_of("g"), 1);
      ok(HcclCommDestroy(comm_of("g")));
      refused(HcomDestroyGroup("g"), HCCL_E_NOT_FOUND, {"'g'"});
      ok(HcclCommDestroy(comm_of(kWorld)));
      ok(HcomDestroy());  // nothing is left to do
      refused(HcomCreateGroup("g", 1, only), HCCL_E_PTR, {"HcomInitByFile"});
    }
  };
  run_ranks(1, Layout::kProcesses, body, small_buffers());
}

TEST(Hcom, GroupsOutliveAWorldThatIsDestroyedByItsHandle) {
  const Table table({1});
  const auto body = [&](Rank& rank) {
    uint32_t only[] = {0};
    table.init(rank);
    ok(HcomCreateGroup("g", 1, only));
    expect_working(comm_of("g"), 1);
    ok(HcclCommDestroy(comm_of(kWorld)));
    table.init(rank);
    refused(HcomCreateGroup("g", 1, only), HCCL_E_PARA, {"'g'"});
    ok(HcomDestroy());
    expect_working(comm_of("g"), 1);
    ok(HcomDestroyGroup("g"));
    refused(HcomDestroyGroup("g"), HCCL_E_NOT_FOUND, {"'g'"});
  };
  run_ranks(1, Layout::kProcesses, body, small_buffers());
}

TEST(Hcom, MakesAndDestroysNothingInAGroupOfCalls) {
  const Table table({1});
  const auto body = [&](Rank& rank) {
    ok(HcclGroupStart());
    refused(HcomInitByFile(table.path().c_str(), "0"), HCCL_E_PARA, {"HcclGroupEnd"});
    ok(HcclGroupEnd());
    table.init(rank);
    uint32_t only[] = {0};
    ok(HcomCreateGroup("g", 1, only));
    ok(HcclGroupStart());
    refused(HcomDestroyGroup("g"), HCCL_E_PARA, {"HcclGroupEnd"});
    refused(HcomDestroy(), HCCL_E_PARA, {"HcclGroupEnd"});
    ok(HcclGroupEnd());
    expect_working(comm_of("g"), 1);
    ok(HcomDestroy());
  };
  run_ranks(1, Layout::kProcesses, body, small_buffers());
}

class HcomIn : public testing::TestWithParam<Layout> {};
INSTANTIATE_TEST_SUITE_P(All, HcomIn, testing::Values(Layout::kThreads, Layout::kProcesses),
                         [](const auto& test) { return layout_name(test.param); });

TEST_P(HcomIn, ServersAreThoseOfTheRankTable) {
  const Table table({3, 2});
  const auto body = [&](Rank& rank) {
    table.init(rank);
    check(asked(HcomGetRankSize, kWorld) == 5, "the size");
    check(asked(HcomGetLocalRankSize, kWorld) == 2, "5 ranks on 2 servers are 2 each");
    check(asked(HcomGetLocalRankId, kWorld) == rank.rank() % 2, "the rank modulo that");
    if (rank.rank() < 3) {
      uint32_t ids[] = {2, 0, 1};
      ok(HcomCreateGroup("first", 3, ids));
      check(asked(HcomGetLocalRankSize, "first") == 3, "all on one server");
      check(asked(HcomGetLocalRankId, "first") == rank.rank(), "the rank itself");
      expect_working(comm_of("first"), 3);
    }
    expect_working(comm_of(kWorld), 5);
    rank.sync();
    ok(HcomDestroy());
  };
  run_ranks(5, GetParam(), body, small_buffers());
}

TEST_P(HcomIn, AWorldOfTheCInterfaceAnswersButIsNotSplit) {
  const auto body = [&](Rank& rank) {
    const HcclCommConfig config = small_config(kWorld);
    HcclComm comm = rank.join(&config);
    check(asked(HcomGetRankSize, nullptr) == 2, "the size");
    check(asked(HcomGetLocalRankSize, nullptr) == 2, "one host");
    check(asked(HcomGetRankId, nullptr) == rank.rank(), "the rank");
    uint32_t ids[] = {0, 1};
    refused(HcomCreateGroup("g", 2, ids), HCCL_E_INTERNAL, {"HcclCreateSubCommConfig"});
    HcclComm sub = sub_of(comm, {0, 1}, rank.rank());
    check(asked(HcomGetRankSize, "sub") == 2, "communicators answer by their names");
    uint32_t number = 99;
    refused(HcomGetWorldRankFromGroupRank("sub", 0, &number), HCCL_E_NOT_FOUND, {"no group"});
    refused(HcomDestroyGroup("sub"), HCCL_E_NOT_FOUND, {"no group"});
    expect_working(sub, 2);
    ok(HcomDestroy());  // nothing of its own
    expect_working(comm, 2);
    ok(HcclCommDestroy(sub));
    ok(HcclCommDestroy(comm));
  };
  run_ranks(2, GetParam(), body, small_buffers());
}

TEST(Hcom, RanksThatShareADeviceHaveGroupsOfTheirOwn) {
  const Table table({3}, {.count = 1});
  const auto body = [&](Rank& rank) {
    table.init(rank);
    rank.sync();
    check(asked(HcomGetRankId, nullptr) == rank.rank(), "another rank's world");
    if (rank.rank() != 1) {
      uint32_t ids[] = {2, 0};
      ok(HcomCreateGroup("outer", 2, ids));
      refused(HcomCreateGroup("outer", 2, ids), HCCL_E_PARA, {"already"});
    }
    rank.sync();
    if (rank.rank() != 1) {
      check(asked(HcomGetRankId, "outer") == rank.rank() / 2, "another rank's group");
      expect_working(comm_of("outer"), 2);
      rank.event(0);
    }
    rank.await(0, 2);
    ok(HcomDestroy());
  };
  GroupOptions options = small_buffers();
  options.environment["WEFT_DEVICES"] = "1";
  run_ranks(3, Layout::kThreads, body, options);
}

TEST(Hcom, WhatIsBusyIsDestroyedLater) {
  const Table table({2});
  const auto body = [&](Rank& rank) {
    table.init(rank);
    uint32_t ids[] = {0, 1};
    ok(HcomCreateGroup("busy", 2, ids));
    HcclComm comm = comm_of("busy");
    const Stream stream;
    Arena arena(Memory::kDevice, 64);
    std::byte* data = arena.lend(64);
    if (rank.rank() == 1) rank.await(0, 1);
    ok(HcclAllReduce(data, data, 16, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm, stream));
    if (rank.rank() == 0) {
      refused(HcomDestroyGroup("busy"), HCCL_E_AGAIN, {"HcomDestroyGroup"});
      refused(HcomDestroy(), HCCL_E_AGAIN, {"HcomDestroy"});
      check(asked(HcomGetRankSize, "busy") == 2, "the group is still there");
      rank.event(0);
    }
    stream.synchronize();
    rank.sync();
    ok(HcomDestroy());
    uint32_t number = 99;
    refused(HcomGetRankSize("busy", &number), HCCL_E_NOT_FOUND);
  };
  run_ranks(2, Layout::kProcesses, body, small_buffers());
}

}  // namespace
}  // namespace weft::test
