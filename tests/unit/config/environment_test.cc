// SPDX-License-Identifier: Apache-2.0
#include "config/environment.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "config/variables.hpp"
#include "support/set_variable.hpp"
#include "support/unprivileged.hpp"

namespace weft::config {
namespace {

void expect_refused(const std::string& name, const std::string& value) {
  const SetVariable set(name, value);
  try {
    (void)read_environment();
    ADD_FAILURE() << name << "=" << value << " was accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), HCCL_E_PARA);
    EXPECT_NE(std::string(e.what()).find(name), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find(value), std::string::npos) << e.what();
  }
}

void expect_accepted(const std::string& name, const std::string& value) {
  const SetVariable set(name, value);
  EXPECT_NO_THROW((void)read_environment()) << name << "=" << value;
}

struct Values {
  std::vector<std::string> good;
  std::vector<std::string> bad;
};

const std::string kLong(128, 'a');
const std::string kNines(400, '9');

/// What each variable that is read with the first communicator takes and refuses.
const std::map<std::string, Values> kValues = {
    {"HCCL_IF_IP",
     {{"127.0.0.1", "192.0.2.77", "::1", "fd00::2", "127.0.0.1%lo", "fe80::1%lo"},
      {"", "localhost", "1.2.3", "::1%nowhere", "0.0.0.0", "::", "127.0.0.1,127.0.0.2"}}},
    {"HCCL_SOCKET_IFNAME",
     {{"", "eth", "eth,en", "^eth", "=eth0,eth1", "^=eth0"},
      {",eth", "eth,", "eth,,en", "^", "=", "^=", "^,eth", "=eth0,"}}},
    {"HCCL_SOCKET_FAMILY", {{"AF_INET", "AF_INET6"}, {"", "af_inet", "AF_INET4", "4", " AF_INET"}}},
    {"HCCL_IF_BASE_PORT",
     {{"1024", "60000", "65520"}, {"", "1023", "65521", "-1", "0", "60000-60031", "auto"}}},
    {"HCCL_HOST_SOCKET_PORT_RANGE",
     {{"1", "65535", "1-65535", "5-5", "50000-50010,60000", " 50000 - 50001 , 7 ", "auto", "2,1"},
      {"", " ", "0", "65536", "2-1", "1-3,3", "3,1-3", "7,7", "1-", "-1", "1,,2", ",1", "1,",
       "auto,1", "AUTO", "1-2-3", "a"}}},
    {"HCCL_NPU_SOCKET_PORT_RANGE", {{"16666", "1-9", "auto"}, {"", "0", "9-1"}}},
    {"HCCL_CONNECT_TIMEOUT",
     {{"120", "7200", "0000000120"},
      {"119", "7201", "-1", "-120", "", "abc", "120 ", "+120", "1e3", "99999999999",
       "00000000120"}}},
    {"HCCL_EXEC_TIMEOUT",
     {{"0", "1.5", "1836", "2147483647", "2147483647.00", "0.01"},
      {"-1", "-0.5", "", ".", "1.", ".5", "1.234", "1.2.3", "x", "2147483648", "2147483647.01",
       "1,5"}}},
    {"HCCL_BUFFSIZE", {{"1", "4294967295"}, {"0", "", "1.5", "MB", "-1", "4294967296"}}},
    {"HCCL_DETERMINISTIC", {{"false", "TRUE", "Strict"}, {"", "yes", "1", "0", "true "}}},
    {"HCCL_ALGO",
     {{"", "level0:ring", "  "},
      {"ring", "level0:", "allredcue=level0:ring", "others=level1:NHR"}}},
    {"HCCL_WHITELIST_DISABLE", {{"0", "1"}, {"", "2", "true", "-1"}}},
    {"HCCL_WHITELIST_FILE",
     {{"", "/no/such/file", std::string(4095, 'a')}, {std::string(4096, 'a')}}},
    {"HCCL_ENTRY_LOG_ENABLE", {{"0", "1"}, {"", "2", "yes", "-1"}}},
    {"HCCL_DEBUG_CONFIG",
     {{"", "ALG", "task,Resource", "^alg", "ALG,ALG"},
      {"ALG, TASK", "ALG,", ",ALG", "^", "ALL", "ALG;TASK", "^ALG,^TASK"}}},
    {"HCCL_DFS_CONFIG",
     {{"", "cluster_heartbeat:off", " Stuck_Detection : ON , inconsistent_check:first",
       "connection_fault_detection_time:0", "connection_fault_detection_time:7200",
       "task_monitor_interval:7200000", "task_exception:nonsense"},
      {"connection_fault_detection_time:19", "connection_fault_detection_time:7201",
       "connection_fault_detection_time:x", "task_monitor_interval:7200001",
       "task_monitor_interval:-1", "cluster_heartbeat", "cluster_heartbeat:", ":on",
       "cluster_hartbeat:on", "cluster_heartbeat:on,",
       "cluster_heartbeat:on,cluster_heartbeat:on"}}},
    {"HCCL_DIAGNOSE_ENABLE", {{"0", "1"}, {"", "2", "on"}}},
    {"HCCL_OP_EXPANSION_MODE",
     {{"", "AI_CPU", "AICPU_TS", "AICPU_CacheDisable", "AIV", "HOST", "HOST_TS", "CCU_MS",
       "CCU_SCHED"},
      {"host", "AIV_ONLY", "0", "HOST "}}},
    {"HCCL_LOGIC_SUPERPOD_ID", {{"", "0", kLong.substr(1)}, {kLong}}},
    {"HCCL_OP_RETRY_ENABLE",
     {{"L1:0,L2:0", "L0:1", "L2:1, L1:0, L0:0"},
      {"", "L1", "L3:0", "L1:2", "L1:0,L1:1", "L1:0,", ",L1:0", "l1:0", "1", "L1:-1"}}},
    {"HCCL_OP_RETRY_PARAMS",
     {{"MaxCnt:1,HoldTime:0,IntervalTime:60000", "MaxCnt:10", "HoldTime:5000, MaxCnt:2"},
      {"", "MaxCnt:0", "MaxCnt:11", "HoldTime:60001", "IntervalTime:-1", "MaxCnt", "MaxCount:1",
       "MaxCnt:1,MaxCnt:2", "MaxCnt:1,"}}},
    {"HCCL_RDMA_TC", {{"0", "252", "132"}, {"", "255", "256", "3", "-4"}}},
    {"HCCL_RDMA_SL", {{"0", "7"}, {"", "8", "-1"}}},
    {"HCCL_RDMA_TIMEOUT", {{"5", "20"}, {"", "4", "21"}}},
    {"HCCL_RDMA_RETRY_CNT", {{"1", "7"}, {"", "0", "8"}}},
    {"HCCL_RDMA_QPS_PER_CONNECTION", {{"1", "32"}, {"", "0", "33"}}},
    {"HCCL_MULTI_QP_THRESHOLD", {{"1", "8192"}, {"", "0", "8193"}}},
    {"HCCL_INTRA_PCIE_ENABLE", {{"1"}, {"", "0", "2"}}},
    {"HCCL_INTRA_ROCE_ENABLE", {{"1"}, {"", "0", "2"}}},
    {"HCCL_INTER_HCCS_DISABLE", {{"true", "FALSE"}, {"", "0", "1", "yes"}}},
    {"HCCL_RDMA_PCIE_DIRECT_POST_NOSTRICT", {{"True", "false"}, {"", "1"}}},
    {"HCCL_RDMA_QP_PORT_CONFIG_PATH", {{"/", "/proc/self/exe"}, {"", "/no/such/path"}}},
    {"HCCL_UB_TIMEOUT", {{"0", "31"}, {"", "32", "-1"}}},
    {"HCCL_UBOE_TIMEOUT", {{"0", "31"}, {"", "32"}}},
    {"HCCL_ALG_MULTIPLE_DIMENSION_SPLIT_RATIO",
     {{"0", "1", "0.25", "1.0", "00.5", "0." + std::string(400, '0') + "1", std::string(400, '0')},
      {"", "1.01", kNines, "1." + std::string(400, '0') + "1", "2", "-0.5", ".5", "0.", "x", "1e-1",
       "0.5.5"}}},
    {"HCCL_DETOUR", {{"", "anything"}, {}}},
    {"WEFT_EXPERIMENTS", {{"", "/tmp"}, {"/no/such/folder", "/proc/self/exe"}}},
    {"WEFT_EARLY_CALLS", {{"", "0", "1"}, {"2", "on", "-1"}}},
    {"WEFT_CHECK",
     {{"", "memory", "memory,memory"},
      {"1", "Memory", "memory,", ",memory", "memory, memory", "memory,leaks"}}},
};

TEST(Environment, EveryVariableTakesWhatIsAllowedAndNothingElse) {
  for (const auto& [name, values] : kValues) {
    for (const std::string& good : values.good) expect_accepted(name, good);
    for (const std::string& bad : values.bad) expect_refused(name, bad);
    expect_accepted(name, "EmptyString");
  }
}

TEST(Environment, APathThatMayNotBeLookedAtIsNotCalledAbsent) {
  std::string folder = testing::TempDir() + "weft-paths-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  std::filesystem::permissions(folder, std::filesystem::perms::none);
  const auto told = [](const std::string& name, const std::string& value) {
    const SetVariable set(name, value);
    Environment unused;
    for (const Variable& each : variables()) {
      if (each.name == name) return read_variable(each, unused);
    }
    return std::string("no such variable");
  };
  const auto expect = [](const std::string& text, const std::string& path, const char* why) {
    EXPECT_NE(text.find("'" + path + "'"), std::string::npos) << text;
    EXPECT_NE(text.find(why), std::string::npos) << text;
  };
  const std::string hidden = folder + "/inside";
  {
    const test::Unprivileged rights;
    expect(told("HCCL_RDMA_QP_PORT_CONFIG_PATH", hidden), hidden, "Permission denied");
    expect(told("WEFT_PLUGIN_PATH", "/:" + hidden), hidden, "Permission denied");
  }
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
  expect(told("HCCL_RDMA_QP_PORT_CONFIG_PATH", hidden), hidden, "there is no");
  expect(told("WEFT_PLUGIN_PATH", "/:" + hidden), hidden, "there is no");
  std::filesystem::remove(folder);
}

TEST(Environment, EveryVariableIsTested) {
  for (const Variable& each : variables()) {
    const bool read = each.at_init && each.effect != Effect::kNotRead;
    EXPECT_EQ(kValues.contains(each.name), read) << each.name;
  }
}

TEST(Environment, IsEmptyWhenNothingIsSet) {
  const Environment env = read_environment();
  EXPECT_FALSE(env.connect_timeout || env.exec_timeout || env.buffer_mb || env.deterministic ||
               env.algo.given || env.entry_log || env.diagnose || env.check_memory);
  EXPECT_FALSE(env.debug.algorithms || env.debug.tasks || env.debug.resources);
  EXPECT_FALSE(env.network.white_list.enforced);
  EXPECT_TRUE(env.network.ports.empty());
  EXPECT_TRUE(env.warnings.empty());
}

TEST(Environment, ReadsValuesInTheirDocumentedUnits) {
  const SetVariable a("HCCL_CONNECT_TIMEOUT", "120");
  const SetVariable b("HCCL_EXEC_TIMEOUT", "1.5");
  const SetVariable c("HCCL_BUFFSIZE", "7");
  const SetVariable d("HCCL_DETERMINISTIC", "TRUE");
  const SetVariable e("HCCL_ENTRY_LOG_ENABLE", "1");
  const SetVariable f("HCCL_DIAGNOSE_ENABLE", "1");
  const SetVariable g("WEFT_CHECK", "memory");
  const Environment env = read_environment();
  EXPECT_EQ(env.connect_timeout, std::chrono::milliseconds(120000));
  EXPECT_EQ(env.exec_timeout, std::chrono::milliseconds(1500));
  EXPECT_EQ(env.buffer_mb, 7u);
  EXPECT_EQ(env.deterministic, 1u);
  EXPECT_TRUE(env.entry_log);
  EXPECT_TRUE(env.diagnose);
  EXPECT_TRUE(env.check_memory);
}

TEST(Environment, ErrorsSayWhatIsWrongAndWhatIsAllowed) {
  const SetVariable set("HCCL_CONNECT_TIMEOUT", "-5");
  try {
    (void)read_environment();
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(),
                 "environment variable HCCL_CONNECT_TIMEOUT=\"-5\": it is out of range; allowed: "
                 "120 to 7200 seconds");
  }
}

TEST(Environment, ReadsTheWishesForAlgorithms) {
  const SetVariable set("HCCL_ALGO", "level0:ring");
  const Environment env = read_environment();
  EXPECT_EQ(env.algo.level0("all_reduce").name, "ring");
  EXPECT_EQ(env.algo.level0("all_reduce").from, "HCCL_ALGO");
}

TEST(Environment, PcieAndRoceExcludeEachOther) {
  const auto both = [](const char* pcie, const char* roce) {
    const SetVariable a("HCCL_INTRA_PCIE_ENABLE", pcie);
    const SetVariable b("HCCL_INTRA_ROCE_ENABLE", roce);
    (void)read_environment();
  };
  EXPECT_NO_THROW(both("1", "0"));
  EXPECT_NO_THROW(both("0", "1"));
  EXPECT_NO_THROW(both("0", "0"));
  EXPECT_THROW(both("1", "1"), Error);
}

TEST(Environment, TheRangeOfPortsWinsOverTheFirstPort) {
  const SetVariable first("HCCL_IF_BASE_PORT", "65520");
  Environment env = read_environment();
  ASSERT_EQ(env.network.ports.size(), 1u);
  EXPECT_EQ(env.network.ports[0].first, 65520);
  EXPECT_EQ(env.network.ports[0].last, 65535);
  const SetVariable range("HCCL_HOST_SOCKET_PORT_RANGE", "7,100-200");
  env = read_environment();
  ASSERT_EQ(env.network.ports.size(), 2u);
  EXPECT_EQ(env.network.ports[1].last, 200);
  EXPECT_EQ(env.network.ports_source, "HCCL_HOST_SOCKET_PORT_RANGE");
  const SetVariable automatic("HCCL_HOST_SOCKET_PORT_RANGE", "auto");
  EXPECT_TRUE(read_environment().network.ports.empty());
}

TEST(Environment, KeepsTheInterfaceOfALinkLocalAddressOnly) {
  for (const auto& [given, kept] :
       std::map<std::string, std::string>{{"127.0.0.1%lo", "127.0.0.1"},
                                          {"fd00::2%lo", "fd00::2"},
                                          {"fe80::1%lo", "fe80::1%lo"}}) {
    const SetVariable ip("HCCL_IF_IP", given);
    EXPECT_EQ(read_environment().network.ip, kept);
  }
}

TEST(Environment, TellsWhetherLinksAreRetried) {
  EXPECT_FALSE(read_environment().retries_links);
  for (const auto& [levels, retried] : std::map<std::string, bool>{
           {"L2:1", true}, {" L0:0, L2 : 01", true}, {"L0:1,L1:1", false}, {"L1:1,L2:0", false}}) {
    const SetVariable set("HCCL_OP_RETRY_ENABLE", levels);
    EXPECT_EQ(read_environment().retries_links, retried) << levels;
  }
}

TEST(Environment, WarnsOfAFamilyThatTheAddressIsNotOf) {
  const SetVariable ip("HCCL_IF_IP", "::1");
  const SetVariable family("HCCL_SOCKET_FAMILY", "AF_INET");
  EXPECT_EQ(read_environment().warnings.size(), 1u);
  const SetVariable same("HCCL_SOCKET_FAMILY", "AF_INET6");
  EXPECT_TRUE(read_environment().warnings.empty());
}

TEST(Environment, NamesTheVariableThatAMisspeltOneIsNear) {
  const SetVariable a("HCCL_BUFSIZE", "1");
  const SetVariable b("HCCL_SOCKET_IFNAMES", "lo");
  const SetVariable c("HCCL_CONECT_TIMEOTU", "200");
  const SetVariable d("HCCL_SOMETHING_OF_OTHERS", "1");
  const SetVariable e("HCCL_EVENT_TIMEOUT", "1");
  const SetVariable f("WEFT_POLICI", "x");
  const SetVariable g("CCL_BUFFSIZE", "1");
  std::map<std::string, std::string> found;
  for (const Misspelt& each : misspelt_variables()) found[each.name] = each.near;
  EXPECT_EQ(found,
            (std::map<std::string, std::string>{{"HCCL_BUFSIZE", "HCCL_BUFFSIZE"},
                                                {"HCCL_SOCKET_IFNAMES", "HCCL_SOCKET_IFNAME"},
                                                {"HCCL_CONECT_TIMEOTU", "HCCL_CONNECT_TIMEOUT"},
                                                {"WEFT_POLICI", "WEFT_POLICY"}}));
}

TEST(Environment, IsKeptOnceItWasRight) {
  {
    const SetVariable set("HCCL_BUFFSIZE", "0");
    for (int i = 0; i < 2; ++i) EXPECT_THROW((void)environment(), Error);
  }
  const SetVariable right("HCCL_BUFFSIZE", "3");
  EXPECT_EQ(environment().buffer_mb, 3u);
  const SetVariable later("HCCL_BUFFSIZE", "0");
  EXPECT_EQ(environment().buffer_mb, 3u);
}

}  // namespace
}  // namespace weft::config
