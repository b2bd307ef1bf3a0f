// SPDX-License-Identifier: Apache-2.0
// Environment variables as programs meet them: addresses, ports, the white list, logs on request.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "buffers.hpp"
#include "cases.hpp"
#include "policy_file.hpp"

namespace weft::test {
namespace {

GroupOptions with(const std::map<std::string, std::string>& environment) {
  GroupOptions options;
  options.environment = environment;
  return options;
}

/// The address of a root is the beginning of its communicator's name.
void expect_address(const std::map<std::string, std::string>& environment, const std::string& ip) {
  const auto body = [&](Rank& rank) {
    HcclComm comm = rank.join();
    check(comm_name(comm).starts_with(ip + "_"), comm_name(comm) + " is not at " + ip);
    expect_working(comm, 2);
    ok(HcclCommDestroy(comm));
  };
  run_ranks(2, Layout::kProcesses, body, with(environment));
}

bool has_version_six() {
  const int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  const bool good = bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  close(fd);
  return good;
}

/// All interfaces of this host but lo.
std::string other_interfaces() {
  std::string names;
  struct if_nameindex* const all = if_nameindex();
  for (const struct if_nameindex* each = all; each->if_index != 0; ++each) {
    if (std::string(each->if_name) != "lo")
      names += (names.empty() ? "" : ",") + std::string(each->if_name);
  }
  if_freenameindex(all);
  return names.empty() ? "none" : names;
}

TEST(SocketIfname, FindsLoopbackInAllItsForms) {
  for (const std::string& value : {std::string("nothing,lo"), std::string("=l,lo"),
                                   "^" + other_interfaces(), "^=" + other_interfaces()}) {
    expect_address({{"HCCL_SOCKET_IFNAME", value}}, "127.0.0.1");
  }
}

TEST(SocketIfname, ThatMatchesNothingIsAnError) {
  const auto body = [](Rank&) {
    HcclRootInfo root{};
    refused(HcclGetRootInfo(&root), HCCL_E_NOT_FOUND,
            {"HCCL_SOCKET_IFNAME==wlan99", "lo 127.0.0.1"});
    HcclComm comm = nullptr;
    int32_t device = 0;
    refused(HcclCommInitAll(1, &device, &comm), HCCL_E_NOT_FOUND, {"HCCL_SOCKET_IFNAME"});
  };
  run_alone(body, with({{"HCCL_SOCKET_IFNAME", "=wlan99"}}));
}

TEST(SocketFamily, MayBeVersionSix) {
  if (!has_version_six()) GTEST_SKIP() << "this host has no IPv6";
  expect_address({{"HCCL_SOCKET_IFNAME", "lo"}, {"HCCL_SOCKET_FAMILY", "AF_INET6"}}, "::1");
  expect_address({{"HCCL_IF_IP", "::1"}, {"HCCL_SOCKET_IFNAME", "ignored"}}, "::1");
}

/// Ports of an address that were free a moment ago.
std::vector<std::string> free_ports(size_t count, const char* ip) {
  std::vector<int> held;
  std::vector<std::string> ports;
  while (ports.size() < count) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    held.push_back(fd);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    inet_pton(AF_INET, ip, &address.sin_addr);
    socklen_t size = sizeof address;
    bind(fd, reinterpret_cast<sockaddr*>(&address), size);
    getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
    ports.push_back(std::to_string(ntohs(address.sin_port)));
  }
  for (const int fd : held) close(fd);
  return ports;
}

TEST(Ports, TwoJobsThatStartTogetherShareASmallRange) {
  constexpr const char* kIp = "127.0.0.6";
  const std::vector<std::string> ports = free_ports(2, kIp);
  // Each process is a job of two ranks.
  const auto body = [&](Rank& rank) {
    for (int round = 0; round < 10; ++round) {
      rank.sync();
      int32_t devices[] = {0, 1};
      HcclComm comms[2] = {};
      ok(HcclCommInitAll(2, devices, comms));
      const std::string name = comm_name(comms[0]);
      check(name.starts_with(kIp + ("_" + ports[0] + "_")) ||
                name.starts_with(kIp + ("_" + ports[1] + "_")),
            name + " has a port of no range");
      for (HcclComm comm : comms) ok(HcclCommDestroy(comm));
    }
  };
  run_ranks(
      2, Layout::kProcesses, body,
      with({{"HCCL_IF_IP", kIp}, {"HCCL_HOST_SOCKET_PORT_RANGE", ports[0] + " , " + ports[1]}}));
}

TEST(Ports, ThatAreAllTakenAreAnErrorUntilOneIsFree) {
  constexpr const char* kIp = "127.0.0.7";
  const std::string port = free_ports(1, kIp)[0];
  const auto body = [&](Rank& rank) {
    HcclRootInfo root{};
    HcclComm comm = nullptr;
    if (rank.rank() == 0) ok(HcclGetRootInfo(&root));
    rank.sync();
    if (rank.rank() == 1) {
      refused(HcclGetRootInfo(&root), HCCL_E_UNAVAIL,
              {"HCCL_HOST_SOCKET_PORT_RANGE=" + port, kIp, "more ports"});
    }
    rank.sync();
    if (rank.rank() == 0) ok(HcclCommInitRootInfo(1, &root, 0, &comm));
    rank.sync();
    // The other job's communicator lives; its port is free.
    if (rank.rank() == 1) {
      ok(HcclGetRootInfo(&root));
      ok(HcclCommInitRootInfo(1, &root, 0, &comm));
    }
    rank.sync();
    expect_working(comm, 1);
    ok(HcclCommDestroy(comm));
  };
  run_ranks(2, Layout::kProcesses, body,
            with({{"HCCL_IF_IP", kIp}, {"HCCL_HOST_SOCKET_PORT_RANGE", port}}));
}

TEST(Ports, AreThirtyTwoFromTheFirst) {
  const auto body = [](Rank& rank) {
    HcclComm comm = rank.join();
    const std::string name = comm_name(comm);
    const int port = std::atoi(name.c_str() + name.find('_') + 1);
    check(port >= 23456 && port < 23456 + 32, name);
    ok(HcclCommDestroy(comm));
  };
  run_alone(body, with({{"HCCL_IF_BASE_PORT", "23456"}}));
}

/// What the process has set, by HcclGetConfig.
int32_t deterministic() {
  HcclConfigValue value{-7};
  ok(HcclGetConfig(HCCL_DETERMINISTIC, &value));
  return value.value;
}

HcclResult set_deterministic(int32_t value) { return HcclSetConfig(HCCL_DETERMINISTIC, {value}); }

TEST(SetConfig, IsCheckedAndKept) {
  const auto body = [](Rank&) {
    refused(HcclGetConfig(HCCL_DETERMINISTIC, nullptr), HCCL_E_PTR, {"configValue"});
    check(deterministic() == 0, "not off at first");
    for (const int32_t value : {2, 1, 0, 2}) {
      ok(set_deterministic(value));
      check(deterministic() == value, "not kept");
    }
    for (const int32_t value : {-1, 3}) {
      refused(set_deterministic(value), HCCL_E_PARA, {"0, 1 and 2"});
      check(deterministic() == 2, "a wrong value was kept");
    }
    HcclConfigValue value{-7};
    ok(HcclSetConfig(HCCL_CONFIG_RESERVED, {99}));
    ok(HcclGetConfig(HCCL_CONFIG_RESERVED, &value));
    check(value.value == -7, "another configuration was written");
  };
  run_alone(body);
}

TEST(SetConfig, IsIgnoredIfTheVariableIsSet) {
  for (const auto& [text, value] : {std::pair("false", 0), {"TRUE", 1}, {"strict", 2}}) {
    const auto body = [value = value](Rank&) {
      ok(set_deterministic(1 - value % 2));
      check(deterministic() == value, "the variable was overruled");
      ok(set_deterministic(99));
    };
    run_alone(body, with({{"HCCL_DETERMINISTIC", text}}));
  }
  const auto body = [](Rank&) {
    ok(set_deterministic(1));
    HcclConfigValue value{-7};
    refused(HcclGetConfig(HCCL_DETERMINISTIC, &value), HCCL_E_PARA, {"HCCL_DETERMINISTIC"});
    check(value.value == -7, "written in spite of an error");
  };
  run_alone(body, with({{"HCCL_DETERMINISTIC", "perhaps"}}));
}

TEST(SetConfig, ActsOnCommunicatorsThatAreThereAndOnLaterOnes) {
  const PolicyFile policy(policy_text({{"all_reduce",
                                        "ring.all_reduce\"\nwhen = { bytes = \"1..\" }\n"
                                        "[[rule]]\nop = \"all_reduce\"\nuse = \"mesh.two_shot"}}));
  const auto body = [](Rank& rank) {
    const auto uses = [](HcclComm comm, const std::string& algorithm) {
      expect_working(comm, 2);
      check(last_call(comm).algorithm == algorithm, last_call(comm).algorithm);
    };
    HcclComm comm = rank.join();
    uses(comm, "ring.all_reduce");
    ok(set_deterministic(1));
    uses(comm, "mesh.two_shot");
    HcclComm later = rank.join();
    uses(later, "mesh.two_shot");
    HcclCommConfig config;
    HcclCommConfigInit(&config);
    config.hcclDeterministic = 0;
    strcpy(config.hcclCommName, "configured");
    HcclComm configured = rank.join(&config);
    uses(configured, "ring.all_reduce");
    ok(set_deterministic(0));
    for (HcclComm each : {comm, later, configured}) uses(each, "ring.all_reduce");
    // Of another device.
    const int32_t other = 2 + static_cast<int32_t>(rank.rank());
    ok(aclrtSetDevice(other));
    ok(set_deterministic(2));
    ok(aclrtResetDevice(other));
    ok(aclrtSetDevice(rank.device()));
    uses(comm, "ring.all_reduce");
    // The environment was read with the first communicator.
    setenv("HCCL_DETERMINISTIC", "false", 1);
    ok(set_deterministic(1));
    check(deterministic() == 1, "a variable that was set later counts");
    for (HcclComm each : {comm, later, configured}) ok(HcclCommDestroy(each));
  };
  run_ranks(2, Layout::kProcesses, body, with(policy.environment()));
}

class WhiteList : public testing::Test {
 protected:
  GroupOptions listing(const std::string& addresses) {
    write_file(folder_.path() / "list.json", "{\"host_ip\": [" + addresses + "]}");
    return with({{"HCCL_IF_IP", "127.0.0.1"},
                 {"HCCL_WHITELIST_DISABLE", "0"},
                 {"HCCL_WHITELIST_FILE", folder_.path() / "list.json"}});
  }

 private:
  const Folder folder_;
};

TEST_F(WhiteList, LetsInWhoIsListed) {
  const auto body = [](Rank& rank) {
    HcclComm comm = rank.join();
    expect_working(comm, 2);
    ok(HcclCommDestroy(comm));
  };
  run_ranks(2, Layout::kProcesses, body, listing("\"10.1.2.3\", \"127.0.0.1\""));
}

TEST_F(WhiteList, RefusesOthersOnAllRanks) {
  const auto body = [](Rank& rank) {
    const HcclRootInfo root = rank.share_root();
    HcclComm comm = nullptr;
    refused(HcclCommInitRootInfo(3, &root, rank.rank(), &comm), HCCL_E_TCP_CONNECT,
            {"connects from 127.0.0.1", "white list", "list.json", "host_ip"});
    check(comm == nullptr, "a failed call gave a communicator");
    rank.sync();
  };
  run_ranks(3, Layout::kProcesses, body, listing("\"10.1.2.3\""));
}

TEST_F(WhiteList, ThatIsEmptyOrWrongIsAnErrorAtOnce) {
  const auto refuse = [](std::initializer_list<std::string> parts) {
    return [parts = std::vector<std::string>(parts)](Rank&) {
      HcclRootInfo root{};
      for (const std::string& part : parts) refused(HcclGetRootInfo(&root), HCCL_E_PARA, {part});
    };
  };
  run_alone(refuse({"HCCL_WHITELIST_DISABLE=0", "list.json", "empty"}), listing(""));
  run_alone(refuse({"HCCL_WHITELIST_FILE", "10.1.2"}), listing("\"10.1.2\""));
  run_alone(refuse({"HCCL_WHITELIST_DISABLE=0", "HCCL_WHITELIST_FILE"}),
            with({{"HCCL_WHITELIST_DISABLE", "0"}}));
}

/// Runs two ranks as processes and returns what they wrote to standard error.
std::string log_of(const std::map<std::string, std::string>& environment,
                   const std::function<void(Rank&)>& body) {
  const Folder folder;
  const std::string log = folder.path() / "log";
  write_file(log, "");
  const auto logged = [&](Rank& rank) {
    dup2(open(log.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC), STDERR_FILENO);
    body(rank);
  };
  run_ranks(2, Layout::kProcesses, logged, with(environment));
  return read_file(log);
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// Three equal sums, and a message from rank 0 to rank 1.
void call_four_times(Rank& rank) {
  HcclComm comm = rank.join();
  for (int i = 0; i < 3; ++i) expect_working(comm, 2);
  const Stream stream;
  Arena arena(Memory::kDevice, 64);
  std::byte* data = arena.lend(64);
  const auto message = rank.rank() == 0 ? HcclSend : HcclRecv;
  ok(message(data, 5, HCCL_DATA_TYPE_INT16, 1 - rank.rank(), comm, stream));
  stream.synchronize();
  ok(HcclCommDestroy(comm));
}

TEST(EntryLog, TellsOfEveryCall) {
  const std::string log = log_of({{"HCCL_ENTRY_LOG_ENABLE", "1"}}, call_four_times);
  EXPECT_EQ(count(log, "entry: "), 8u) << log;
  EXPECT_EQ(count(log, "rank 1/2, device 1: all_reduce of 1 int32, sum, sendBuf 0x"), 3u) << log;
  EXPECT_EQ(count(log, "send 5 int16 to rank 1, buffer 0x"), 1u) << log;
  EXPECT_EQ(count(log, "receive 5 int16 from rank 0, buffer 0x"), 1u) << log;
}

TEST(EntryLog, IsOffByDefaultAndByTheLogLevel) {
  EXPECT_EQ(log_of({}, call_four_times), "");
  EXPECT_EQ(log_of({{"HCCL_ENTRY_LOG_ENABLE", "1"}, {"WEFT_LOG", "off"}}, call_four_times), "");
}

TEST(DebugConfig, LogsWhatIsAskedFor) {
  const std::string some = log_of({{"HCCL_DEBUG_CONFIG", "alg,resource"}}, call_four_times);
  EXPECT_EQ(count(some, "ALG: "), 2u) << some;
  EXPECT_EQ(count(some, "RESOURCE: "), 2u) << some;
  EXPECT_EQ(count(some, "TASK: "), 0u) << some;
  EXPECT_TRUE(contains(some, "all_reduce of 1 int32, sum is done by mesh.")) << some;
  const std::string others = log_of({{"HCCL_DEBUG_CONFIG", "^ALG,RESOURCE"}}, call_four_times);
  EXPECT_EQ(count(others, "TASK: "), 8u) << others;
  EXPECT_EQ(count(others, "ALG: ") + count(others, "RESOURCE: "), 0u) << others;
}

TEST(Misspelt, NamesAreWarnedOfOnce) {
  const std::string log =
      log_of({{"HCCL_BUFSIZE", "7"}, {"HCCL_FOR_OTHERS_ONLY", "7"}}, [](Rank& rank) {
        for (int i = 0; i < 2; ++i) ok(HcclCommDestroy(rank.join()));
      });
  EXPECT_EQ(count(log, "HCCL_BUFSIZE is unknown and ignored; did you mean HCCL_BUFFSIZE?"), 2u)
      << log;
  EXPECT_FALSE(contains(log, "OTHERS")) << log;
}

TEST(Diagnostics, BadSwitchesAreWarnedOf) {
  const std::string log = log_of({{"HCCL_DFS_CONFIG", "stuck_detection:maybe"}},
                                 [](Rank& rank) { ok(HcclCommDestroy(rank.join())); });
  EXPECT_EQ(count(log, "stuck_detection:maybe is ignored"), 2u) << log;
}

/// Rank 1 comes to a call only when rank 0 has complained.
TEST(Diagnostics, LongWaitsAreLogged) {
  const Folder folder;
  const std::string log = folder.path() / "log";
  write_file(log, "");
  const auto body = [&](Rank& rank) {
    if (rank.rank() == 0) dup2(open(log.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC), STDERR_FILENO);
    HcclComm comm = rank.join();
    if (rank.rank() == 1) {
      eventually([&] { return count(read_file(log), "rank 0 has waited ") >= 2; }, "two lines");
    }
    expect_working(comm, 2);
    ok(HcclCommDestroy(comm));
  };
  run_ranks(2, Layout::kProcesses, body, with({{"HCCL_DFS_CONFIG", "task_monitor_interval:20"}}));
  EXPECT_TRUE(contains(read_file(log), "rank 1 (host ")) << read_file(log);
  EXPECT_TRUE(contains(read_file(log), "all_reduce of 1 int32, sum")) << read_file(log);
}

/// Both ranks make one call, then different ones.
void differ(Rank& rank) {
  HcclComm comm = rank.join();
  expect_working(comm, 2);
  const Stream stream;
  Arena arena(Memory::kDevice, 64);
  std::byte* data = arena.lend(64);
  const HcclResult issued = HcclAllReduce(data, data, 1 + rank.rank(), HCCL_DATA_TYPE_INT32,
                                          HCCL_REDUCE_SUM, comm, stream);
  check(end_of(issued, comm, stream) == ACL_ERROR_RT_PARAM_INVALID, "did not fail");
  ok(HcclCommDestroy(comm));
}

TEST(Diagnostics, AFailureIsExplainedIfWanted) {
  const std::string log = log_of({{"HCCL_DIAGNOSE_ENABLE", "1"}}, differ);
  EXPECT_EQ(count(log, "has failed: call 2 differs: rank "), 2u) << log;
  // Of the four, the other rank may have left when the second fails.
  EXPECT_GE(count(log, ": alive, 1 calls ended"), 3u) << log;
  EXPECT_EQ(
      log_of({{"HCCL_DIAGNOSE_ENABLE", "1"}, {"HCCL_DFS_CONFIG", "task_exception:off"}}, differ),
      "");
  EXPECT_EQ(log_of({}, differ), "");
}

}  // namespace
}  // namespace weft::test
