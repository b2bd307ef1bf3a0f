// SPDX-License-Identifier: Apache-2.0
// Every function of hccl_comm.h by one table: its right use and each error that is documented. What
// the functions do is the matter of other tests.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "cases.hpp"
#include "sym_win.hpp"

namespace weft::test {
namespace {

HcclResult ignore_state(HcclComm, HcclCommStatePhase, void*) { return HCCL_SUCCESS; }

/// A communicator of one rank, and what arguments point to.
struct Desk {
  explicit Desk(Rank& rank) : comm(rank.join()), name(comm_name(comm)) {
    ok(HcclGetRootInfo(&root));
    HcclCommConfigInit(&config);
    unmade = config;
    unmade.reserved[8] = 0;  // of the magic word
    ok(HcclCommRegister(comm, memory.data(), kUnit, &registration, 0));
    ok(HcclCommSetMemoryRange(comm, range.base(), 2 * kUnit, 0, 0));
  }
  ~Desk() { HcclCommDestroy(comm); }
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;

  HcclComm comm;
  std::string name;
  HcclComm made = nullptr;
  HcclRootInfo root{};
  HcclCommConfig config{};
  HcclCommConfig unmade{};
  Stream stream;
  Mapped memory{kUnit};
  Reserved range{2 * kUnit};
  Physical block{kUnit};
  void* registration = nullptr;
  void* pointer = nullptr;
  HcclCommSymWindow window = nullptr;
  size_t offset = 0;
  uint32_t number = 0;
  uint32_t ranks[2] = {0, 0};
  uint32_t far_rank[1] = {1};
  bool backup[2] = {false, true};
  bool flag = false;
  HcclResult state = HCCL_SUCCESS;
  HcclCommStatus status = HCCL_COMM_STATUS_RESERVED;
  HcclOpExpansionMode mode = HCCL_OP_EXPANSION_MODE_INVALID;
  HcclConfigValue value{};
  int32_t devices[2] = {1, 1};
  HcclComm comms[2] = {};
  char text[HCCL_COMM_ALGO_MAX_LENGTH] = {};
};

/// One call; of the rows of a function the later ones may need what the earlier ones did.
struct Row {
  const char* function;
  const char* what;
  HcclResult code;
  std::function<HcclResult(Desk&)> call;
};

HcclConfigValue value_of(int32_t number) {
  HcclConfigValue value;
  value.value = number;
  return value;
}

HcclResult register_callback(const std::string& name) {
  return HcclCommRegCommStateCallback(name.c_str(), ignore_state, nullptr);
}

#define ROW(function, what, code, expression)                                       \
  {                                                                                 \
#function, what, code,                                                          \
        []([[maybe_unused]] Desk & d) -> HcclResult { return function expression; } \
  }

std::vector<Row> making() {
  return {
      ROW(HcclGetRootInfo, "null", HCCL_E_PTR, (nullptr)),
      ROW(HcclGetRootInfo, "right", HCCL_SUCCESS, (&d.root)),
      ROW(HcclCommInitRootInfo, "no ranks", HCCL_E_PARA, (0, &d.root, 0, &d.made)),
      ROW(HcclCommInitRootInfo, "rank", HCCL_E_PARA, (1, &d.root, 1, &d.made)),
      ROW(HcclCommInitRootInfo, "null comm", HCCL_E_PTR, (1, &d.root, 0, nullptr)),
      ROW(HcclCommInitRootInfo, "null root", HCCL_E_PTR, (1, nullptr, 0, &d.made)),
      ROW(HcclCommInitRootInfo, "right", HCCL_SUCCESS, (1, &d.root, 0, &d.made)),
      ROW(HcclCommInitRootInfo, "used root", HCCL_E_PARA, (1, &d.root, 0, &d.comms[0])),
      ROW(HcclCommDestroy, "right", HCCL_SUCCESS, (d.made)),
      ROW(HcclCommDestroy, "null", HCCL_SUCCESS, (nullptr)),
      ROW(HcclCommDestroy, "twice", HCCL_E_PARA, (d.made)),
      ROW(HcclGetRootInfo, "another", HCCL_SUCCESS, (&d.root)),
      ROW(HcclCommInitRootInfoConfig, "no ranks", HCCL_E_PARA, (0, &d.root, 0, &d.config, &d.made)),
      ROW(HcclCommInitRootInfoConfig, "rank", HCCL_E_PARA, (2, &d.root, 2, &d.config, &d.made)),
      ROW(HcclCommInitRootInfoConfig, "null comm", HCCL_E_PTR, (1, &d.root, 0, &d.config, nullptr)),
      ROW(HcclCommInitRootInfoConfig, "null root", HCCL_E_PTR, (1, nullptr, 0, &d.config, &d.made)),
      ROW(HcclCommInitRootInfoConfig, "null config", HCCL_E_PARA,
          (1, &d.root, 0, nullptr, &d.made)),
      ROW(HcclCommInitRootInfoConfig, "magic", HCCL_E_PARA, (1, &d.root, 0, &d.unmade, &d.made)),
      ROW(HcclCommInitRootInfoConfig, "right", HCCL_SUCCESS, (1, &d.root, 0, &d.config, &d.made)),
      ROW(HcclCommDestroy, "right", HCCL_SUCCESS, (d.made)),
      ROW(HcclCommInitAll, "none", HCCL_E_PARA, (0, d.devices, d.comms)),
      ROW(HcclCommInitAll, "null comms", HCCL_E_PTR, (1, d.devices, nullptr)),
      ROW(HcclCommInitAll, "null devices", HCCL_E_PTR, (1, nullptr, d.comms)),
      ROW(HcclCommInitAll, "twice", HCCL_E_PARA, (2, d.devices, d.comms)),
      ROW(HcclCommInitAll, "right", HCCL_SUCCESS, (1, d.devices, d.comms)),
      ROW(HcclCommDestroy, "right", HCCL_SUCCESS, (d.comms[0])),
  };
}

std::vector<Row> asking() {
  return {
      ROW(HcclGetRankSize, "null comm", HCCL_E_PTR, (nullptr, &d.number)),
      ROW(HcclGetRankSize, "null output", HCCL_E_PTR, (d.comm, nullptr)),
      ROW(HcclGetRankSize, "right", HCCL_SUCCESS, (d.comm, &d.number)),
      ROW(HcclGetRankId, "null comm", HCCL_E_PTR, (nullptr, &d.number)),
      ROW(HcclGetRankId, "null output", HCCL_E_PTR, (d.comm, nullptr)),
      ROW(HcclGetRankId, "right", HCCL_SUCCESS, (d.comm, &d.number)),
      ROW(HcclGetCommName, "null comm", HCCL_E_PTR, (nullptr, d.text)),
      ROW(HcclGetCommName, "null output", HCCL_E_PTR, (d.comm, nullptr)),
      ROW(HcclGetCommName, "right", HCCL_SUCCESS, (d.comm, d.text)),
      ROW(HcclGetCommAsyncError, "null comm", HCCL_E_PTR, (nullptr, &d.state)),
      ROW(HcclGetCommAsyncError, "null output", HCCL_E_PTR, (d.comm, nullptr)),
      ROW(HcclGetCommAsyncError, "right", HCCL_SUCCESS, (d.comm, &d.state)),
      ROW(HcclCommGetStatus, "null name", HCCL_E_PTR, (nullptr, &d.status)),
      ROW(HcclCommGetStatus, "null output", HCCL_E_PTR, (d.name.c_str(), nullptr)),
      ROW(HcclCommGetStatus, "unknown", HCCL_E_PARA, ("nobody", &d.status)),
      ROW(HcclCommGetStatus, "right", HCCL_SUCCESS, (d.name.c_str(), &d.status)),
      ROW(HcclConfigGetInfo, "null comm", HCCL_E_PTR,
          (nullptr, HCCL_CONFIG_TYPE_OP_EXPANSION_MODE, 4, &d.mode)),
      ROW(HcclConfigGetInfo, "null output", HCCL_E_PTR,
          (d.comm, HCCL_CONFIG_TYPE_OP_EXPANSION_MODE, 4, nullptr)),
      ROW(HcclConfigGetInfo, "short mode", HCCL_E_PARA,
          (d.comm, HCCL_CONFIG_TYPE_OP_EXPANSION_MODE, 3, &d.mode)),
      ROW(HcclConfigGetInfo, "long mode", HCCL_E_PARA,
          (d.comm, HCCL_CONFIG_TYPE_OP_EXPANSION_MODE, 8, &d.text)),
      ROW(HcclConfigGetInfo, "short text", HCCL_E_PARA,
          (d.comm, HCCL_CONFIG_TYPE_HCCL_ALGO, HCCL_COMM_ALGO_MAX_LENGTH - 1, &d.text)),
      ROW(HcclConfigGetInfo, "type", HCCL_E_PARA,
          (d.comm, HCCL_CONFIG_TYPE_INVALID, HCCL_COMM_ALGO_MAX_LENGTH, &d.text)),
      ROW(HcclConfigGetInfo, "right mode", HCCL_SUCCESS,
          (d.comm, HCCL_CONFIG_TYPE_OP_EXPANSION_MODE, 4, &d.mode)),
      ROW(HcclConfigGetInfo, "right text", HCCL_SUCCESS,
          (d.comm, HCCL_CONFIG_TYPE_HCCL_ALGO, HCCL_COMM_ALGO_MAX_LENGTH, &d.text)),
  };
}

std::vector<Row> steering() {
  return {
      ROW(HcclBarrier, "null comm", HCCL_E_PTR, (nullptr, d.stream)),
      ROW(HcclBarrier, "null stream", HCCL_E_PTR, (d.comm, nullptr)),
      ROW(HcclBarrier, "right", HCCL_SUCCESS, (d.comm, d.stream)),
      ROW(HcclSetCommConfig, "null", HCCL_E_PTR, (nullptr, HCCL_DETERMINISTIC, value_of(1))),
      ROW(HcclSetCommConfig, "above", HCCL_E_PARA, (d.comm, HCCL_DETERMINISTIC, value_of(3))),
      ROW(HcclSetCommConfig, "below", HCCL_E_PARA, (d.comm, HCCL_DETERMINISTIC, value_of(-1))),
      ROW(HcclSetCommConfig, "other", HCCL_SUCCESS, (d.comm, HCCL_CONFIG_RESERVED, value_of(7))),
      ROW(HcclSetCommConfig, "right", HCCL_SUCCESS, (d.comm, HCCL_DETERMINISTIC, value_of(2))),
      ROW(HcclGetCommConfig, "null comm", HCCL_E_PTR, (nullptr, HCCL_DETERMINISTIC, &d.value)),
      ROW(HcclGetCommConfig, "null output", HCCL_E_PTR, (d.comm, HCCL_DETERMINISTIC, nullptr)),
      ROW(HcclGetCommConfig, "other", HCCL_SUCCESS, (d.comm, HCCL_CONFIG_RESERVED, &d.value)),
      ROW(HcclGetCommConfig, "right", HCCL_SUCCESS, (d.comm, HCCL_DETERMINISTIC, &d.value)),
      ROW(HcclCommSuspend, "null", HCCL_E_PTR, (nullptr)),
      ROW(HcclCommSuspend, "right", HCCL_SUCCESS, (d.comm)),
      ROW(HcclBarrier, "suspended", HCCL_E_SUSPENDING, (d.comm, d.stream)),
      ROW(HcclCommResume, "null", HCCL_E_PTR, (nullptr)),
      ROW(HcclCommResume, "right", HCCL_SUCCESS, (d.comm)),
      ROW(HcclCommWorkingDevNicSet, "null comm", HCCL_E_PTR, (nullptr, d.ranks, d.backup, 1)),
      ROW(HcclCommWorkingDevNicSet, "null ranks", HCCL_E_PTR, (d.comm, nullptr, d.backup, 1)),
      ROW(HcclCommWorkingDevNicSet, "null switches", HCCL_E_PTR, (d.comm, d.ranks, nullptr, 1)),
      ROW(HcclCommWorkingDevNicSet, "rank", HCCL_E_PARA, (d.comm, d.far_rank, d.backup, 1)),
      ROW(HcclCommWorkingDevNicSet, "twice", HCCL_E_PARA, (d.comm, d.ranks, d.backup, 2)),
      ROW(HcclCommWorkingDevNicSet, "right", HCCL_SUCCESS, (d.comm, d.ranks, d.backup, 1)),
      ROW(HcclCommRegCommStateCallback, "null name", HCCL_E_PTR, (nullptr, ignore_state, &d)),
      ROW(HcclCommRegCommStateCallback, "null function", HCCL_E_PTR, ("name", nullptr, &d)),
      ROW(HcclCommRegCommStateCallback, "no name", HCCL_E_PARA, ("", ignore_state, &d)),
      {"HcclCommRegCommStateCallback", "long name", HCCL_E_PARA,
       [](Desk&) { return register_callback(std::string(160, 'n')); }},
      {"HcclCommRegCommStateCallback", "right", HCCL_SUCCESS,
       [](Desk&) { return register_callback(std::string(159, 'n')); }},
      {"HcclGroupEnd", "no start", HCCL_E_NOT_SUPPORT, [](Desk&) { return HcclGroupEnd(); }},
      {"HcclGroupStart", "right", HCCL_SUCCESS, [](Desk&) { return HcclGroupStart(); }},
      ROW(HcclGroupStatusGet, "null", HCCL_E_PTR, (nullptr)),
      ROW(HcclGroupStatusGet, "right", HCCL_SUCCESS, (&d.flag)),
      {"HcclGroupEnd", "right", HCCL_SUCCESS, [](Desk&) { return HcclGroupEnd(); }},
  };
}

std::vector<Row> sharing_ranges() {
  return {
      ROW(HcclCommSetMemoryRange, "null comm", HCCL_E_PTR, (nullptr, d.range.base(), kUnit, 0, 0)),
      ROW(HcclCommSetMemoryRange, "null base", HCCL_E_PTR, (d.comm, nullptr, kUnit, 0, 0)),
      ROW(HcclCommActivateCommMemory, "null comm", HCCL_E_PTR,
          (nullptr, d.range.base(), kUnit, 0, d.block.handle(), 0)),
      ROW(HcclCommActivateCommMemory, "null address", HCCL_E_PTR,
          (d.comm, nullptr, kUnit, 0, d.block.handle(), 0)),
      ROW(HcclCommActivateCommMemory, "null handle", HCCL_E_PTR,
          (d.comm, d.range.base(), kUnit, 0, nullptr, 0)),
      ROW(HcclCommDeactivateCommMemory, "null comm", HCCL_E_PTR, (nullptr, d.range.base())),
      ROW(HcclCommDeactivateCommMemory, "null address", HCCL_E_PTR, (d.comm, nullptr)),
      ROW(HcclCommUnsetMemoryRange, "null comm", HCCL_E_PTR, (nullptr, d.range.base())),
      ROW(HcclCommUnsetMemoryRange, "null base", HCCL_E_PTR, (d.comm, nullptr)),
      // The rest of their errors needs two ranks: a single one has no ranges.
      ROW(HcclCommUnsetMemoryRange, "right", HCCL_SUCCESS, (d.comm, d.range.base())),
      ROW(HcclCommSetMemoryRange, "right", HCCL_SUCCESS, (d.comm, d.range.base(), 2 * kUnit, 0, 1)),
      ROW(HcclCommActivateCommMemory, "right", HCCL_SUCCESS,
          (d.comm, d.range.base(), kUnit, 0, d.block.handle(), 0)),
      ROW(HcclCommDeactivateCommMemory, "right", HCCL_SUCCESS, (d.comm, d.range.base())),
  };
}

std::vector<Row> sharing_windows() {
  return {
      ROW(HcclCommSymWinRegister, "null comm", HCCL_E_PTR,
          (nullptr, d.memory.data(), kUnit, &d.window, 1)),
      ROW(HcclCommSymWinRegister, "null address", HCCL_E_PTR,
          (d.comm, nullptr, kUnit, &d.window, 1)),
      ROW(HcclCommSymWinRegister, "null output", HCCL_E_PTR,
          (d.comm, d.memory.data(), kUnit, nullptr, 1)),
      ROW(HcclCommSymWinRegister, "size", HCCL_E_PARA, (d.comm, d.memory.data(), 0, &d.window, 1)),
      ROW(HcclCommSymWinRegister, "flag", HCCL_E_PARA,
          (d.comm, d.memory.data(), kUnit, &d.window, 0)),
      ROW(HcclCommSymWinRegister, "right", HCCL_SUCCESS,
          (d.comm, d.memory.data(), kUnit, &d.window, 1)),
      ROW(HcclCommSymWinGet, "null comm", HCCL_E_PTR,
          (nullptr, d.memory.data(), kUnit, &d.window, &d.offset)),
      ROW(HcclCommSymWinGet, "null address", HCCL_E_PTR,
          (d.comm, nullptr, kUnit, &d.window, &d.offset)),
      ROW(HcclCommSymWinGet, "null window", HCCL_E_PTR,
          (d.comm, d.memory.data(), kUnit, nullptr, &d.offset)),
      ROW(HcclCommSymWinGet, "null offset", HCCL_E_PTR,
          (d.comm, d.memory.data(), kUnit, &d.window, nullptr)),
      ROW(HcclCommSymWinGet, "size", HCCL_E_PARA,
          (d.comm, d.memory.data(), 0, &d.window, &d.offset)),
      ROW(HcclCommSymWinGet, "elsewhere", HCCL_E_NOT_FOUND,
          (d.comm, &d.number, 4, &d.window, &d.offset)),
      ROW(HcclCommSymWinDeregister, "null", HCCL_E_PTR, (nullptr)),
      ROW(HcclCommSymWinDeregister, "right", HCCL_SUCCESS, (d.window)),
      ROW(HcclCommSymWinDeregister, "twice", HCCL_E_PARA, (d.window)),
      ROW(HcommMemAlloc, "null", HCCL_E_PARA, (nullptr, kUnit)),
      ROW(HcommMemAlloc, "size", HCCL_E_PARA, (&d.pointer, 0)),
      ROW(HcommMemAlloc, "right", HCCL_SUCCESS, (&d.pointer, kUnit)),
      ROW(HcommMemFree, "right", HCCL_SUCCESS, (d.pointer)),
      ROW(HcommMemFree, "twice", HCCL_E_PARA, (d.pointer)),
      ROW(HcommMemFree, "null", HCCL_SUCCESS, (nullptr)),
  };
}

std::vector<Row> registering() {
  return {
      ROW(HcclCommRegister, "null comm", HCCL_E_PTR,
          (nullptr, d.memory.data(), 8, &d.registration, 0)),
      ROW(HcclCommRegister, "null address", HCCL_E_PTR, (d.comm, nullptr, 8, &d.registration, 0)),
      ROW(HcclCommRegister, "null output", HCCL_E_PTR, (d.comm, d.memory.data(), 8, nullptr, 0)),
      ROW(HcclCommRegister, "size", HCCL_E_PARA, (d.comm, d.memory.data(), 0, &d.registration, 0)),
      ROW(HcclCommRegister, "end", HCCL_E_PARA,
          (d.comm, d.memory.data(), UINT64_MAX, &d.registration, 0)),
      ROW(HcclCommExchangeMem, "null comm", HCCL_E_PTR, (nullptr, d.registration, d.ranks, 1)),
      ROW(HcclCommExchangeMem, "null handle", HCCL_E_PTR, (d.comm, nullptr, d.ranks, 1)),
      ROW(HcclCommExchangeMem, "null peers", HCCL_E_PTR, (d.comm, d.registration, nullptr, 1)),
      ROW(HcclCommExchangeMem, "no peers", HCCL_E_PARA, (d.comm, d.registration, d.ranks, 0)),
      ROW(HcclCommExchangeMem, "many peers", HCCL_E_PARA, (d.comm, d.registration, d.ranks, 769)),
      ROW(HcclCommExchangeMem, "rank", HCCL_E_PARA, (d.comm, d.registration, d.far_rank, 1)),
      ROW(HcclCommExchangeMem, "twice", HCCL_E_PARA, (d.comm, d.registration, d.ranks, 2)),
      ROW(HcclCommExchangeMem, "handle", HCCL_E_PARA, (d.comm, &d, d.ranks, 1)),
      ROW(HcclCommExchangeMem, "right", HCCL_SUCCESS, (d.comm, d.registration, d.ranks, 1)),
      ROW(HcclCommDeregister, "null comm", HCCL_E_PTR, (nullptr, d.registration)),
      ROW(HcclCommDeregister, "null handle", HCCL_E_PTR, (d.comm, nullptr)),
      ROW(HcclCommDeregister, "handle", HCCL_E_PARA, (d.comm, &d)),
      ROW(HcclCommDeregister, "right", HCCL_SUCCESS, (d.comm, d.registration)),
      ROW(HcclCommDeregister, "twice", HCCL_E_PARA, (d.comm, d.registration)),
      ROW(HcclCommExchangeMem, "gone", HCCL_E_PARA, (d.comm, d.registration, d.ranks, 1)),
      ROW(HcclCommRegister, "right", HCCL_SUCCESS,
          (d.comm, d.memory.data(), 8, &d.registration, 7)),
  };
}

#undef ROW

struct Table {
  const char* name;
  std::vector<Row> (*rows)();
};
std::vector<Table> tables() {
  return {{"Making", making},         {"Asking", asking},           {"Steering", steering},
          {"Ranges", sharing_ranges}, {"Windows", sharing_windows}, {"Registrations", registering}};
}

class Manage : public testing::TestWithParam<Table> {};
std::string name_of_table(const testing::TestParamInfo<Table>& given) { return given.param.name; }
INSTANTIATE_TEST_SUITE_P(, Manage, testing::ValuesIn(tables()), name_of_table);

TEST_P(Manage, EachFunctionHasTheDocumentedCodes) {
  run_alone([](Rank& rank) {
    Desk desk(rank);
    for (const Row& row : GetParam().rows()) {
      const HcclResult code = row.call(desk);
      const std::string told = weft_last_error();
      check(code == row.code, std::string(row.function) + ", " + row.what + ": returned " +
                                  std::to_string(code) + ", " + told);
      check(code == HCCL_SUCCESS || told.starts_with(std::string(row.function) + ": "),
            std::string(row.function) + ", " + row.what + ": tells " + told);
    }
    expect_working(desk.comm, 1);
  });
}

TEST(ManageTable, HasEveryFunctionOfTheHeader) {
  std::ifstream file(WEFT_TEST_HEADER);
  const std::string header((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
  const std::regex declaration("extern HcclResult (\\w+)\\(");
  std::set<std::string> declared;
  for (std::sregex_iterator at(header.begin(), header.end(), declaration), end; at != end; ++at) {
    declared.insert((*at)[1]);
  }
  ASSERT_GT(declared.size(), 30u);
  std::set<std::string> known = {// With tests of their own.
                                 "HcclCommInitClusterInfo", "HcclCommInitClusterInfoConfig",
                                 "HcclCreateSubCommConfig", "HcclCommGetHandleWithName",
                                 "HcclSetConfig",           "HcclGetConfig"};
  for (const Table& table : tables()) {
    for (const Row& row : table.rows()) known.insert(row.function);
  }
  EXPECT_EQ(known, declared);
}

}  // namespace
}  // namespace weft::test
