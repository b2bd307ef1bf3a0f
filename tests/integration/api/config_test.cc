// SPDX-License-Identifier: Apache-2.0
// Fields of HcclCommConfig, what is told of them, and what can be changed later.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "cases.hpp"
#include "policy_file.hpp"

namespace weft::test {
namespace {

HcclCommConfig plain_config() {
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  return config;
}

/// As older headers made it.
void set_generation(HcclCommConfig& config, uint64_t size, uint32_t version) {
  memcpy(config.reserved, &size, sizeof size);
  memcpy(config.reserved + 12, &version, sizeof version);
}

HcclResult join_by(const HcclCommConfig& config, HcclComm* comm) {
  HcclRootInfo root;
  ok(HcclGetRootInfo(&root));
  return HcclCommInitRootInfoConfig(1, &root, 0, &config, comm);
}

HcclOpExpansionMode told_mode(HcclComm comm) {
  HcclOpExpansionMode mode = HCCL_OP_EXPANSION_MODE_INVALID;
  ok(HcclConfigGetInfo(comm, HCCL_CONFIG_TYPE_OP_EXPANSION_MODE, sizeof mode, &mode));
  return mode;
}

std::string told_algo(HcclComm comm) {
  std::vector<char> text(HCCL_COMM_ALGO_MAX_LENGTH + 10, 'x');
  ok(HcclConfigGetInfo(comm, HCCL_CONFIG_TYPE_HCCL_ALGO, static_cast<uint32_t>(text.size()),
                       text.data()));
  const std::string told = text.data();
  check(std::all_of(text.begin() + static_cast<long>(told.size()), text.end(),
                    [](char c) { return c == '\0'; }),
        "what is behind the text is not zero");
  return told;
}

int32_t told_determinism(HcclComm comm) {
  HcclConfigValue value{};
  ok(HcclGetCommConfig(comm, HCCL_DETERMINISTIC, &value));
  return value.value;
}

void set_determinism(HcclComm comm, int32_t level) {
  HcclConfigValue value{};
  value.value = level;
  ok(HcclSetCommConfig(comm, HCCL_DETERMINISTIC, value));
}

TEST(ConfigFields, QualityOfServiceIsChecked) {
  run_alone([](Rank&) {
    HcclComm comm = nullptr;
    HcclCommConfig config = plain_config();
    config.hcclQos = 8;
    refused(join_by(config, &comm), HCCL_E_PARA, {"hcclQos", "8", "0 to 7"});
    set_generation(config, 2240, 9);  // too old to know it
    ok(join_by(config, &comm));
    ok(HcclCommDestroy(comm));
    set_generation(config, 2228, 11);  // it ends before
    ok(join_by(config, &comm));
    ok(HcclCommDestroy(comm));
    config = plain_config();
    config.hcclQos = 7;
    config.hcclChannelSqDepth = 0;
    config.hcclWorldRankID = UINT32_MAX;
    config.hcclJobID = UINT64_MAX;
    memset(config.hcclUdi, 'u', sizeof config.hcclUdi);
    ok(join_by(config, &comm));
    ok(HcclCommDestroy(comm));
  });
}

TEST(ConfigFields, AWindowSizeCountsInVersionsThatKnowIt) {
  run_ranks(2, Layout::kProcesses, [](Rank& rank) {
    for (const uint32_t version : {9u, 10u}) {
      HcclCommConfig config = plain_config();
      config.hcclSymWinMaxMemSizePerRank = 0;  // refused by the first window
      set_generation(config, 2240, version);
      HcclComm comm = rank.join(&config);
      void* memory = nullptr;
      HcclCommSymWindow window = nullptr;
      ok(HcommMemAlloc(&memory, 1));
      const HcclResult code = HcclCommSymWinRegister(comm, memory, 1, &window, 1);
      if (version == 9) ok(code);
      if (version == 10) refused(code, HCCL_E_PARA, {"hcclSymWinMaxMemSizePerRank"});
      rank.sync();
      ok(HcclCommDestroy(comm));
      ok(HcommMemFree(memory));
    }
  });
}

TEST(ConfigFields, TheNameOfTheBufferIsTheSameOnAllRanks) {
  run_ranks(2, Layout::kProcesses, [](Rank& rank) {
    HcclCommConfig config = plain_config();
    memset(config.hcclBufferName, 'b', sizeof config.hcclBufferName);  // 128 bytes without an end
    HcclComm first = rank.join(&config);
    HcclComm second = rank.join(&config);
    for (HcclComm comm : {second, first}) {  // on streams of their own
      expect_working(comm, 2);
      rank.sync();
      ok(HcclCommDestroy(comm));
    }
    strcpy(config.hcclBufferName, rank.rank() == 0 ? "one" : "two");
    const HcclRootInfo root = rank.share_root();
    HcclComm comm = nullptr;
    refused(HcclCommInitRootInfoConfig(2, &root, rank.rank(), &config, &comm), HCCL_E_PARA,
            {"hcclBufferName", "one", "two"});
  });
}

TEST(ConfigInfo, TellsTheExpansionModeAsDocumented) {
  run_alone([](Rank&) {
    const HcclOpExpansionMode told[] = {
        HCCL_OP_EXPANSION_MODE_CCU_SCHED, HCCL_OP_EXPANSION_MODE_HOST_TS,
        HCCL_OP_EXPANSION_MODE_AI_CPU,    HCCL_OP_EXPANSION_MODE_AIV,
        HCCL_OP_EXPANSION_AIV_ONLY,       HCCL_OP_EXPANSION_MODE_CCU_MS,
        HCCL_OP_EXPANSION_MODE_CCU_SCHED, HCCL_OP_EXPANSION_MODE_CCU_SCHED};  // unknown: default
    for (uint32_t mode = 0; mode < std::size(told); ++mode) {
      HcclCommConfig config = plain_config();
      config.hcclOpExpansionMode = mode;
      HcclComm comm = nullptr;
      ok(join_by(config, &comm));
      check(told_mode(comm) == told[mode],
            "mode " + std::to_string(mode) + " is told as " + std::to_string(told_mode(comm)));
      ok(HcclCommDestroy(comm));
    }
  });
}

TEST(ConfigInfo, TellsTheAlgorithmsAskedFor) {
  GroupOptions options;
  options.environment["HCCL_ALGO"] = "level0:NA;level1:ring";
  const auto body = [](Rank& rank) {
    HcclCommConfig config = plain_config();
    strcpy(config.hcclAlgo, "level0:fullmesh");
    HcclComm configured = rank.join(&config);
    HcclComm plain = rank.join();
    check(told_algo(configured) == "level0:fullmesh", "told: " + told_algo(configured));
    check(told_algo(plain) == "level0:NA;level1:ring", "told: " + told_algo(plain));
    ok(HcclCommDestroy(configured));
    ok(HcclCommDestroy(plain));
  };
  run_alone(body, options);
  run_alone([](Rank& rank) {
    HcclComm comm = rank.join();
    check(told_algo(comm).empty(), "told: " + told_algo(comm));
    ok(HcclCommDestroy(comm));
  });
}

TEST(CommConfig, StartsWithTheConfigurationOfTheCommunicator) {
  run_alone([](Rank& rank) {
    for (const int32_t level : {0, 1, 2}) {
      HcclCommConfig config = plain_config();
      config.hcclDeterministic = static_cast<uint32_t>(level);
      HcclComm comm = rank.join(&config);
      check(told_determinism(comm) == level, "told: " + std::to_string(told_determinism(comm)));
      for (const int32_t later : {2, 1, 0}) {
        set_determinism(comm, later);
        check(told_determinism(comm) == later, "told: " + std::to_string(told_determinism(comm)));
      }
      ok(HcclCommDestroy(comm));
    }
  });
}

TEST(CommConfig, DecidesWhichAlgorithmsLaterCallsMayUse) {
  const PolicyFile policy(policy_text());
  GroupOptions options;
  options.environment = policy.environment();
  options.environment["HCCL_ALGO"] = "level0:ring";  // where it may be
  options.environment["HCCL_DETERMINISTIC"] = "false";
  for (const Layout layout : {Layout::kThreads, Layout::kProcesses}) {
    run_ranks(
        3, layout,
        [](Rank& rank) {
          HcclComm comm = rank.join();
          HcclComm other = rank.join();
          for (int i = 0; i < 3; ++i) {
            for (const int32_t level : {0, 2, 1, 0}) {
              set_determinism(comm, level);
              expect_working(comm, 3);
              const bool ring = last_call(comm).algorithm == "ring.all_reduce";
              check(ring == (level == 0), std::to_string(level) + ": " + last_call(comm).algorithm);
            }
            expect_working(other, 3);
            check(last_call(other).algorithm == "ring.all_reduce", "another one changed");
          }
          rank.sync();
          ok(HcclCommDestroy(comm));
          ok(HcclCommDestroy(other));
        },
        options);
  }
}

TEST(WorkingPorts, WithRetriesSomeOperatorMustHaveRun) {
  const auto body = [](Rank& rank) {
    HcclCommConfig config = plain_config();
    HcclComm by_default = rank.join(&config);
    strcpy(config.hcclRetryEnable, "L0:0, L2:1");
    HcclComm retries = rank.join(&config);
    strcpy(config.hcclRetryEnable, "L1:1,L2:0");
    HcclComm does_not = rank.join(&config);
    uint32_t ranks[] = {1, 0};
    bool backup[] = {true, false};
    strcpy(config.hcclRetryEnable, "L2:01");
    HcclComm also_retries = rank.join(&config);
    const bool in_environment = std::getenv("HCCL_OP_RETRY_ENABLE") != nullptr;
    strcpy(config.hcclRetryEnable, in_environment ? "L2:0,L3:1" : "L2:1,L3:1");
    HcclComm malformed = rank.join(&config);
    strcpy(config.hcclRetryEnable, "  ");
    HcclComm spaces = rank.join(&config);
    ok(HcclCommWorkingDevNicSet(does_not, ranks, backup, 2));
    for (HcclComm comm : {retries, also_retries}) {
      refused(HcclCommWorkingDevNicSet(comm, ranks, backup, 2), HCCL_E_PARA,
              {"HcclCommWorkingDevNicSet", "no operator"});
    }
    for (HcclComm comm : {by_default, malformed, spaces}) {  // as the variable says
      if (in_environment) {
        refused(HcclCommWorkingDevNicSet(comm, ranks, backup, 2), HCCL_E_PARA, {"no operator"});
      } else {
        ok(HcclCommWorkingDevNicSet(comm, ranks, backup, 2));
      }
    }
    for (HcclComm comm : {by_default, retries, does_not, also_retries, malformed, spaces}) {
      expect_working(comm, 2);
      ok(HcclCommWorkingDevNicSet(comm, ranks, backup, 2));
      ok(HcclCommWorkingDevNicSet(comm, ranks, backup, 0));
      expect_working(comm, 2);
      rank.sync();
      ok(HcclCommDestroy(comm));
    }
  };
  run_ranks(2, Layout::kProcesses, body);
  GroupOptions options;
  options.environment["HCCL_OP_RETRY_ENABLE"] = "L1:0,L2:1";
  run_ranks(2, Layout::kProcesses, body, options);
}

}  // namespace
}  // namespace weft::test
