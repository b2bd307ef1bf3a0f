// SPDX-License-Identifier: Apache-2.0
// Communicators from rank tables.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "cases.hpp"
#include "policy_file.hpp"
#include "rank_table.hpp"
#include "weft/comm.h"

namespace weft::test {
namespace {

const char* const kOneSecond = "[control]\nconnect_timeout = \"1s\"\n";

bool somebody_listens(uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  const int result = connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  close(socket);
  return result == 0;
}

class TableOf : public RankTable {
 public:
  using RankTable::RankTable;
  HcclComm join(const Rank& rank) const {
    HcclComm comm = nullptr;
    ok(HcclCommInitClusterInfo(path().c_str(), rank.rank(), &comm));
    return comm;
  }
  void refuse(uint32_t rank, HcclResult code, std::initializer_list<std::string> parts,
              const std::source_location& where = std::source_location::current()) const {
    HcclComm comm = &comm;
    refused(HcclCommInitClusterInfo(path().c_str(), rank, &comm), code, parts, where);
    check(comm == nullptr, "a failed call gave a communicator", where);
  }
};

HcclCommConfig config_named(const char* name) {
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  std::strcpy(config.hcclCommName, name);
  return config;
}

class RanksOfATable : public testing::TestWithParam<Layout> {};
INSTANTIATE_TEST_SUITE_P(ClusterInfo, RanksOfATable,
                         testing::Values(Layout::kThreads, Layout::kProcesses, Layout::kPairs),
                         [](const auto& given) { return layout_name(given.param); });

TEST_P(RanksOfATable, MakeTheWorld) {
  const TableOf table({4});
  run_ranks(4, GetParam(), [&](Rank& rank) {
    HcclComm comm = table.join(rank);
    uint32_t ranks = 0;
    uint32_t id = 99;
    ok(HcclGetRankSize(comm, &ranks));
    ok(HcclGetRankId(comm, &id));
    check(ranks == 4 && id == rank.rank(), "wrong facts");
    check(comm_name(comm) == "hccl_world_group", "the name is " + comm_name(comm));
    for (int i = 0; i < 3; ++i) expect_working(comm, 4);
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(RanksOfATable, CanMakeTheWorldAgainAndAgain) {
  const TableOf table({3});
  run_ranks(3, GetParam(), [&](Rank& rank) {
    for (int i = 0; i < 5; ++i) {
      HcclComm comm = table.join(rank);  // others may still be in the last one
      expect_working(comm, 3);
      ok(HcclCommDestroy(comm));
    }
  });
}

TEST_P(RanksOfATable, AreOnAsManyHostsForThePolicyAsTheTableHasServers) {
  const PolicyFile policy(policy_text(
      {{"all_gather",
        "tree.nhr_all_gather\"\nwhen = { hosts = 2, ranks_per_host = 2 }\n"
        "[[rule]]\nop = \"all_gather\"\nuse = \"ring.all_gather\"\nwhen = { hosts = \"2..\" }\n"
        "[[rule]]\nop = \"all_gather\"\nuse = \"mesh.all_gather"}}));
  struct Case {
    std::vector<uint32_t> servers;  // ranks on each
    const char* algorithm;
  };
  for (const Case& each : {Case{{2, 2}, "tree.nhr_all_gather"}, Case{{3, 1}, "ring.all_gather"},
                           Case{{1, 1, 1, 1}, "ring.all_gather"}, Case{{4}, "mesh.all_gather"}}) {
    const TableOf table(each.servers);
    const auto body = [&](Rank& rank) {
      HcclComm comm = table.join(rank);
      const Stream stream;
      Arena arena(Memory::kDevice, 5 * 64);
      std::byte* data = arena.lend(5 * 64);
      ok(HcclAllGather(data, data + 64, 16, HCCL_DATA_TYPE_INT32, comm, stream));
      stream.synchronize();
      check(last_call(comm).algorithm == each.algorithm, last_call(comm).algorithm);
      ok(HcclCommDestroy(comm));
    };
    GroupOptions options;
    options.environment = policy.environment();
    run_ranks(4, GetParam(), body, options);
  }
}

TEST_P(RanksOfATable, MayBeOnSeveralServersOfOneHostAndShareDevices) {
  const TableOf table({5, 5});
  run_ranks(10, GetParam(), [&](Rank& rank) {  // ranks 8 and 9 on devices 0 and 1
    HcclComm comm = table.join(rank);
    expect_working(comm, 10);
    ok(HcclCommDestroy(comm));
  });
}

TEST(ClusterInfo, OfEveryVersionIsTaken) {
  const TableOf one(R"({"status": "completed", "version": "1.1", "node_list": [
    {"node_addr": "n", "ranks": [{"rank_id": "1", "device_id": "1"},
                                 {"rank_id": "0", "device_id": "0"}]}]})");
  const TableOf superpod(R"({"status": "completed", "version": "1.2", "server_list": [
    {"server_id": "h", "device": [{"rank_id": "0", "device_id": "0", "super_device_id": "0"},
                                  {"rank_id": "1", "device_id": "1", "super_device_id": "1"}]}],
    "super_pod_list": [{"super_pod_id": "p", "server_list": [{"server_id": "h"}]}]})");
  const TableOf two(R"({"version": "2.0", "rank_count": 2, "rank_list": [
    {"rank_id": 0, "local_id": 0, "device_id": 0, "level_list": []},
    {"rank_id": 1, "local_id": 1, "device_id": 1, "level_list": []}]})");
  const TableOf groups(R"({"status": "completed", "group_count": "1", "group_list": [
    {"instance_count": "1", "device_count": "2", "instance_list": [{"pod_name": "p",
     "server_id": "h", "devices": [{"device_id": "1"}, {"device_id": "0"}]}]}]})");
  // Where rank 0 listens follows from its device; another port, so that tests can go side by side.
  GroupOptions options;
  options.environment["HCCL_IF_BASE_PORT"] = std::to_string(free_port());
  const auto body = [&](Rank& rank) {
    for (const TableOf* table : {&one, &superpod, &two, &groups}) {
      HcclComm comm = table->join(rank);
      expect_working(comm, 2);
      ok(HcclCommDestroy(comm));
    }
  };
  run_ranks(2, Layout::kProcesses, body, options);
}

TEST(ClusterInfo, LooksAtItsArgumentsInTheDocumentedOrder) {
  const TableOf table({1});
  run_alone([&](Rank&) {
    const std::string file = table.path();
    HcclComm comm = nullptr;
    HcclCommConfig config = config_named("");
    HcclCommConfig broken = config;
    broken.hcclBufferSize = 0;
    refused(HcclCommInitClusterInfo(nullptr, 9, nullptr), HCCL_E_PTR,
            {"HcclCommInitClusterInfo", "clusterInfo"});
    refused(HcclCommInitClusterInfo(file.c_str(), 9, nullptr), HCCL_E_PTR, {"comm"});
    refused(HcclCommInitClusterInfoConfig(nullptr, 9, nullptr, nullptr), HCCL_E_PTR,
            {"HcclCommInitClusterInfoConfig", "clusterInfo"});
    refused(HcclCommInitClusterInfoConfig("/none", 9, nullptr, nullptr), HCCL_E_PTR, {"comm"});
    refused(HcclCommInitClusterInfoConfig("/none", 9, nullptr, &comm), HCCL_E_PTR, {"config"});
    setenv("HCCL_BUFFSIZE", "0", 1);
    refused(HcclCommInitClusterInfo("/none", 9, &comm), HCCL_E_PARA, {"HCCL_BUFFSIZE"});
    refused(HcclCommInitClusterInfoConfig("/none", 9, &broken, &comm), HCCL_E_PARA,
            {"HCCL_BUFFSIZE"});
    unsetenv("HCCL_BUFFSIZE");
    refused(HcclCommInitClusterInfoConfig("/none", 9, &broken, &comm), HCCL_E_PARA,
            {"hcclBufferSize"});
    refused(HcclCommInitClusterInfo("/none", 9, &comm), HCCL_E_INTERNAL, {"'/none'", "No such"});
    check(comm == nullptr, "a failed call gave a communicator");
    ok(HcclCommInitClusterInfoConfig(file.c_str(), 0, &config, &comm));
    // One is there already: that comes before what is wrong in the table.
    HcclComm second = nullptr;
    HcclCommConfig named = config_named("other");
    refused(HcclCommInitClusterInfo("/none", 9, &second), HCCL_E_INTERNAL, {"'/none'"});
    table.write("{}");
    refused(HcclCommInitClusterInfoConfig(file.c_str(), 0, &named, &second), HCCL_E_UNAVAIL,
            {"multiple initialization", "device 0"});
    expect_working(comm, 1);
    ok(HcclCommDestroy(comm));
    HcclCommConfig clash = config_named("clash");
    HcclRootInfo root;
    ok(HcclGetRootInfo(&root));
    ok(HcclCommInitRootInfoConfig(1, &root, 0, &clash, &comm));
    refused(HcclCommInitClusterInfoConfig(file.c_str(), 0, &clash, &second), HCCL_E_PARA,
            {"'clash'"});
    refused(HcclCommInitClusterInfoConfig(file.c_str(), 0, &named, &second), HCCL_E_NOT_FOUND,
            {"status is missing"});
    ok(HcclCommDestroy(comm));
  });
}

TEST(ClusterInfo, NeedsACurrentDeviceBeforeAnythingElse) {
  GroupOptions options;
  options.device = false;
  const auto body = [](Rank&) {
    refused(HcclCommInitClusterInfo(nullptr, 0, nullptr), HCCL_E_RUNTIME, {"aclrtSetDevice"});
    refused(HcclCommInitClusterInfoConfig(nullptr, 0, nullptr, nullptr), HCCL_E_RUNTIME,
            {"aclrtSetDevice"});
  };
  run_alone(body, options);
}

TEST(ClusterInfo, OfARankThatIsNotThereOrElsewhereIsRefused) {
  const TableOf table({2});
  const TableOf shifted(table_text({2}, 1, {.shift = 3}));
  run_alone([&](Rank&) {
    table.refuse(2, HCCL_E_PARA, {table.path(), "rank is 2", "0..1"});
    table.refuse(1, HCCL_E_UNAVAIL, {"rank 1 is on device 1", "device 0"});
    shifted.refuse(0, HCCL_E_UNAVAIL, {"rank 0 is on device 3 of server 's0'", "device 0"});
    table.write(table_text({2}, 1) + "x");
    table.refuse(0, HCCL_E_INTERNAL, {table.path(), "not JSON"});
    table.write("{\"status\": \"completed\", \"version\": \"7\"}");
    table.refuse(0, HCCL_E_NOT_SUPPORT, {"version is \"7\""});
    std::string wrong = table_text({2}, 1);
    wrong.replace(wrong.find("\"rank_id\": \"1\""), 13, "\"rank_id\": \"7");
    table.write(wrong);
    table.refuse(0, HCCL_E_PARA, {"server_list[0].device[1].rank_id is \"7\"", "from 0 to 1"});
  });
}

TEST(ClusterInfo, CountsDevicesAsTheHostDoes) {
  const TableOf table(R"({"status": "completed", "version": "1.0", "server_list": [
    {"server_id": "h", "device": [{"rank_id": "0", "device_id": "5"}]}]})");
  GroupOptions options;
  options.environment["ASCEND_RT_VISIBLE_DEVICES"] = "2,5";
  options.environment["HCCL_IF_BASE_PORT"] = std::to_string(free_port() - 5);
  const auto body = [&](Rank&) {
    table.refuse(0, HCCL_E_UNAVAIL, {"device 0, which has the number 2 on the host"});
    ok(aclrtSetDevice(1));
    HcclComm comm = nullptr;
    ok(HcclCommInitClusterInfo(table.path().c_str(), 0, &comm));
    ok(HcclCommDestroy(comm));
  };
  run_alone(body, options);
}

TEST(ClusterInfo, WithoutAPortMeetsAtThatOfTheDevice) {
  const TableOf table(R"({"status": "completed", "version": "1.0", "server_list": [
    {"server_id": "h", "device": [{"rank_id": "0", "device_id": "3"}]}]})");
  const TakenPort port;
  GroupOptions options;
  options.environment["HCCL_IF_BASE_PORT"] = std::to_string(port.number() - 3);
  const auto body = [&](Rank&) {
    ok(aclrtSetDevice(3));
    table.refuse(0, HCCL_E_NETWORK,
                 {"127.0.0.1 port " + std::to_string(port.number()), "the port is in use"});
  };
  run_alone(body, options);
}

TEST(ClusterInfo, IsWaitedForUntilItIsCompleted) {
  const TableOf table("{\"status\": \"initializing\"}");
  const uint16_t port = free_port();
  run_ranks(3, Layout::kProcesses, [&](Rank& rank) {
    rank.event(0);
    if (rank.rank() == 2) {  // the job's scheduler
      rank.await(0, 3);
      table.write(table_text({2}, port));
      return;
    }
    HcclComm comm = table.join(rank);
    expect_working(comm, 2);
    ok(HcclCommDestroy(comm));
  });
}

TEST(ClusterInfo, HasTheNameThatTheConfigGives) {
  const TableOf table({2});
  run_ranks(2, Layout::kProcesses, [&](Rank& rank) {
    HcclCommConfig config = config_named("mine");
    HcclComm comm = nullptr;
    ok(HcclCommInitClusterInfoConfig(table.path().c_str(), rank.rank(), &config, &comm));
    check(comm_name(comm) == "mine", "the name is " + comm_name(comm));
    expect_working(comm, 2);
    ok(HcclCommDestroy(comm));
    config.hcclBufferSize = 1 + rank.rank();
    refused(HcclCommInitClusterInfoConfig(table.path().c_str(), rank.rank(), &config, &comm),
            HCCL_E_PARA, {table.path(), "HCCL buffer", "1048576", "2097152"});
  });
}

TEST(ClusterInfo, NamesRanksThatDoNotCome) {
  const TableOf table({3});
  const PolicyFile policy(policy_text({}, kOneSecond));
  GroupOptions options;
  options.environment = policy.environment();
  const auto body = [&](Rank& rank) {
    if (rank.rank() == 1) table.refuse(1, HCCL_E_TIMEOUT, {table.path(), "rank 0 did not come"});
    rank.sync();
    if (rank.rank() != 2) {
      table.refuse(rank.rank(), HCCL_E_TIMEOUT, {"rank 2 of 3 did not join", "HCCL_CONNECT"});
    }
    rank.sync();
    if (rank.rank() == 2) table.refuse(2, HCCL_E_TIMEOUT, {"rank 2 of 3 did not join"});
    rank.sync();
    HcclComm comm = table.join(rank);  // nothing of the failures is left
    expect_working(comm, 3);
    ok(HcclCommDestroy(comm));
  };
  run_ranks(3, Layout::kProcesses, body, options);
}

TEST(ClusterInfo, OfAPeerThatDiesIsAnErrorForTheOthers) {
  const TableOf table({2});
  run_ranks(2, Layout::kProcesses, [&](Rank& rank) {
    HcclComm comm = table.join(rank);
    expect_working(comm, 2);
    if (rank.rank() == 0) rank.die();
    HcclResult state = HCCL_SUCCESS;
    eventually([&] { return HcclGetCommAsyncError(comm, &state) == HCCL_SUCCESS && state != 0; },
               "the death is noticed");
    check(state == HCCL_E_REMOTE, "the state is " + std::to_string(state));
    ok(HcclCommDestroy(comm));
  });
}

// Two jobs of two ranks each whose tables name the same port.
TEST(ClusterInfo, JobsWithOnePortDoNotMixTheirRanks) {
  const TableOf first({2});
  const TableOf second(table_text({2}, first.port(), {.shift = 2}));
  run_ranks(4, Layout::kProcesses, [&](Rank& rank) {
    if (rank.rank() < 2) {  // the first: rank 0 listens meanwhile
      if (rank.rank() == 1) rank.await(0, 2);
      HcclComm comm = first.join(rank);
      expect_working(comm, 2);
      ok(HcclCommDestroy(comm));
    } else {
      eventually([&] { return somebody_listens(first.port()); }, "rank 0 of the first job listens");
      const HcclResult wanted = rank.rank() == 2 ? HCCL_E_NETWORK : HCCL_E_PARA;
      HcclResult code = HCCL_SUCCESS;
      const auto try_second = [&] {  // until that rank 0 is there
        HcclComm comm = nullptr;
        code = HcclCommInitClusterInfo(second.path().c_str(), rank.rank() - 2, &comm);
        return code == wanted;
      };
      eventually(try_second, "the first job has the port");
      refused(code, wanted,
              {second.path(), rank.rank() == 2 ? "the port is in use" : "another rank table",
               "host_port"});
      rank.event(0);
    }
    rank.sync();
  });
}

TEST(ClusterInfo, InAGroupIsMadeAtItsEnd) {
  const TableOf table({3});
  run_alone([&](Rank&) {
    const std::string path = table.path();
    HcclComm comms[3] = {};
    ok(HcclGroupStart());
    refused(HcclCommInitClusterInfo(nullptr, 0, &comms[0]), HCCL_E_PTR, {"clusterInfo"});
    for (int32_t device = 0; device < 3; ++device) {
      ok(aclrtSetDevice(device));
      ok(HcclCommInitClusterInfo(path.c_str(), static_cast<uint32_t>(device), &comms[device]));
      check(comms[device] == nullptr, "it was made at once");
    }
    ok(HcclGroupEnd());
    std::vector<std::thread> threads;
    for (int32_t device = 0; device < 3; ++device) {
      threads.emplace_back([&, device] {
        try {
          ok(aclrtSetDevice(device));
          expect_working(comms[device], 3);
          ok(HcclCommDestroy(comms[device]));
        } catch (const Failure& failure) {
          ADD_FAILURE_AT(failure.file, failure.line) << failure.what();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    ok(HcclGroupStart());
    ok(HcclCommInitClusterInfo("/none", 0, &comms[0]));
    refused(HcclGroupEnd(), HCCL_E_INTERNAL, {"HcclCommInitClusterInfo", "'/none'"});
  });
}

// Rank 0 is on device 3: the fourth port of the range, counted around.
TEST(ClusterInfo, WithoutAPortMeetsAtOneOfTheRange) {
  const TableOf table(R"({"status": "completed", "version": "1.0", "server_list": [
    {"server_id": "h", "device": [{"rank_id": "0", "device_id": "3"}]}]})");
  const TakenPort port;
  const std::string taken = std::to_string(port.number());
  for (const std::string& range : {"1," + taken, "7-9," + taken + ",10"}) {
    GroupOptions options;
    options.environment["HCCL_HOST_SOCKET_PORT_RANGE"] = range;
    options.environment["HCCL_IF_BASE_PORT"] = "60000";
    const auto body = [&](Rank&) {
      ok(aclrtSetDevice(3));
      table.refuse(0, HCCL_E_NETWORK, {"127.0.0.1 port " + taken, "the port is in use"});
    };
    run_alone(body, options);
  }
}

TEST(ClusterInfo, WithoutMemoryTakesNoPort) {
  const std::string port = std::to_string(free_port());
  const TableOf table(R"({"status": "completed", "version": "1.0", "server_list": [
    {"server_id": "h", "host_ip": "127.0.0.1", "device": [
      {"rank_id": "0", "device_id": "0", "host_port": ")" +
                      port + R"("}, {"rank_id": "1", "device_id": "1"}]}]})");
  run_alone([&](Rank&) {
    HcclCommConfig config = config_named("large");
    config.hcclBufferSize = 1 << 30;  // MB
    HcclComm comm = &comm;
    refused(HcclCommInitClusterInfoConfig(table.path().c_str(), 0, &config, &comm), HCCL_E_OOM,
            {table.path(), "allocating the HCCL buffer"});
    check(comm == nullptr, "a failed call gave a communicator");
    check(!somebody_listens(static_cast<uint16_t>(std::stoi(port))), "the port is taken");
  });
}

}  // namespace
}  // namespace weft::test
