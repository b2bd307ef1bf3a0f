// SPDX-License-Identifier: Apache-2.0
// Sub communicators whose members have not met: what is told of them, and what reaches them.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cases.hpp"
#include "sub_comm.hpp"

namespace weft::test {
namespace {

namespace fs = std::filesystem;

/// Of all ranks, with the name "sub".
HcclComm create(HcclComm parent, const Rank& rank, uint32_t deterministic = UINT32_MAX) {
  HcclCommConfig config = small_config("sub");
  if (deterministic != UINT32_MAX) config.hcclDeterministic = deterministic;
  return sub_of(parent, everybody(rank), rank.rank(), config);
}

HcclCommStatus status_of(const char* name) {
  HcclCommStatus status = HCCL_COMM_STATUS_RESERVED;
  ok(HcclCommGetStatus(name, &status));
  return status;
}

TEST(Joining, HasAStatus) {
  run_ranks(2, Layout::kProcesses, [](Rank& rank) {
    HcclComm comm = rank.join();
    HcclComm sub = nullptr;
    if (rank.rank() == 1) {
      sub = create(comm, rank, 0);
      check(status_of("sub") == HCCL_COMM_STATUS_READY, "waiting is no failure");
    }
    rank.sync();
    if (rank.rank() == 0) sub = create(comm, rank, 1);  // they differ
    eventually([] { return status_of("sub") == HCCL_COMM_STATUS_INVALID; }, "a failure is told");
    HcclConfigValue value;
    refused(HcclGetCommConfig(sub, HCCL_DETERMINISTIC, &value), HCCL_E_PARA, {"deterministic"});
    rank.sync();
    ok(HcclCommDestroy(sub));
    ok(HcclCommDestroy(comm));
  });
}

TEST(Joining, FollowsTheConfigurationOfTheProcess) {
  run_ranks(2, Layout::kProcesses, [](Rank& rank) {
    HcclComm comm = rank.join();
    HcclConfigValue value;
    value.value = 1;
    HcclComm sub = nullptr;
    if (rank.rank() == 1) {
      sub = create(comm, rank);
      ok(HcclSetConfig(HCCL_DETERMINISTIC, value));
    }
    rank.sync();
    if (rank.rank() == 0) {
      sub = create(comm, rank);
      ok(HcclSetConfig(HCCL_DETERMINISTIC, value));
    }
    expect_working(sub, 2);
    for (const HcclComm each : {comm, sub}) {
      value.value = 9;
      ok(HcclGetCommConfig(each, HCCL_DETERMINISTIC, &value));
      check(value.value == 1, "the level is " + std::to_string(value.value));
    }
    rank.sync();
    ok(HcclCommDestroy(sub));
    ok(HcclCommDestroy(comm));
  });
}

TEST(Joining, TellsCallbacksOfItsEnd) {
  static std::vector<HcclCommStatePhase> phases;
  run_ranks(2, Layout::kProcesses, [](Rank& rank) {
    HcclComm comm = rank.join();
    if (rank.rank() == 1) {
      ok(HcclCommRegCommStateCallback(
          "end",
          [](HcclComm, HcclCommStatePhase phase, void*) {
            phases.push_back(phase);
            return HCCL_SUCCESS;
          },
          nullptr));
      HcclComm sub = create(comm, rank);
      ok(HcclCommDestroy(sub));
      check(phases ==
                std::vector{HCCL_COMM_STATE_PHASE_DESTROY_PRE, HCCL_COMM_STATE_PHASE_DESTROY_POST},
            "there were " + std::to_string(phases.size()) + " phases");
    }
    rank.sync();
    if (rank.rank() == 0) ok(HcclCommDestroy(comm));
  });
}

/// IPv4 addresses at which this process listens.
std::set<std::string> own_listeners() {
  constexpr const char* kListening = "0A";
  std::set<std::string> inodes;
  for (const auto& each : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = fs::read_symlink(each.path(), gone).string();
    if (target.starts_with("socket:[")) inodes.insert(target.substr(8, target.size() - 9));
  }
  std::set<std::string> addresses;
  std::ifstream table("/proc/self/net/tcp");
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::vector<std::string> word{std::istream_iterator<std::string>(words), {}};
    if (word.size() < 10 || word[3] != kListening || !inodes.contains(word[9])) continue;
    in_addr address{static_cast<in_addr_t>(std::stoul(word[1].substr(0, 8), nullptr, 16))};
    addresses.insert(inet_ntoa(address));
  }
  return addresses;
}

TEST(Joining, ItsRootListensWhereOthersDo) {
  GroupOptions options;
  options.environment = {{"HCCL_IF_IP", "127.0.0.9"}, {"HCCL_HOST_SOCKET_PORT_RANGE", "auto"}};
  const auto body = [](Rank& rank) {
    HcclComm comm = rank.join();
    HcclComm sub = create(comm, rank);
    if (rank.rank() == 0) {
      check(own_listeners() == std::set<std::string>{"127.0.0.9"}, "it listens elsewhere");
    }
    expect_working(sub, 2);
    rank.sync();
    ok(HcclCommDestroy(sub));
    ok(HcclCommDestroy(comm));
  };
  run_ranks(2, Layout::kProcesses, body, options);
}

}  // namespace
}  // namespace weft::test
