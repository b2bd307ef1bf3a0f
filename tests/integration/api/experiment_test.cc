// SPDX-License-Identifier: Apache-2.0
// Experiments of the policy on the calls of a program.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "cases.hpp"
#include "policy_file.hpp"
#include "weft/comm.h"

namespace weft::test {
namespace {

namespace fs = std::filesystem;

const std::string kTwo = "{ use = \"mesh.two_shot\" }, { use = \"mesh.one_shot\" }";

std::string experiment(const std::string& arms, const std::string& more = "") {
  return "[[experiment]]\nname = \"x\"\nop = \"all_reduce\"\narms = [" + arms + "]\n" + more + "\n";
}

GroupOptions with(const PolicyFile& policy, const Folder& results) {
  GroupOptions options;
  options.environment = policy.environment();
  options.environment["WEFT_EXPERIMENTS"] = results.path();
  return options;
}

std::string algorithm_of(HcclComm comm) {
  weft_call_info info{};
  info.head = WEFT_HEAD(weft_call_info);
  ok(weft_comm_last_call(comm, &info));
  const bool wish = contains(info.source, "hcclAlgo level0:fullmesh");
  check(wish || contains(info.source, "policy.toml:"), info.source);
  return info.algorithm;
}

weft_experiment_result result_of(HcclComm comm, uint32_t index = 0) {
  weft_experiment_result result{};
  result.head = WEFT_HEAD(weft_experiment_result);
  ok(weft_comm_experiment(comm, index, &result));
  return result;
}

/// Sums of all ranks' numbers, each checked.
class Sums {
 public:
  Sums(Rank& rank, HcclComm comm) : rank_(rank), comm_(comm), arena_(Memory::kDevice, 2 * kRoom) {
    in_ = reinterpret_cast<int32_t*>(arena_.lend(2 * kRoom));
    out_ = in_ + kRoom / sizeof(int32_t);
  }

  /// `queued` calls, then a wait. Returns how often each algorithm was used.
  std::map<std::string, uint32_t> make(uint64_t count, uint32_t calls, uint32_t queued = 1) {
    std::map<std::string, uint32_t> used;
    for (uint32_t call = 0; call < calls; call += queued) {
      const auto value = static_cast<int32_t>(round_++ * 100);
      for (uint64_t i = 0; i < count; ++i) {
        in_[i] = value + static_cast<int32_t>(rank_.rank() * 7 + i);
        out_[i] = -1;
      }
      rank_.sync();
      for (uint32_t i = 0; i < queued; ++i) {
        ok(HcclAllReduce(in_, out_, count, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm_, stream_));
        ++used[algorithm_of(comm_)];
      }
      stream_.synchronize();
      const auto n = static_cast<int32_t>(rank_.ranks());
      for (uint64_t i = 0; i < count; ++i) {
        const int32_t sum = n * (value + static_cast<int32_t>(i)) + 7 * n * (n - 1) / 2;
        check(out_[i] == sum, "element " + std::to_string(i) + " is " + std::to_string(out_[i]));
      }
    }
    return used;
  }

 private:
  static constexpr size_t kRoom = 8192;
  Rank& rank_;
  HcclComm comm_;
  const Stream stream_;
  Arena arena_;
  int32_t* in_;
  int32_t* out_;
  uint32_t round_ = 0;
};

class Experiment : public testing::TestWithParam<Layout> {};
INSTANTIATE_TEST_SUITE_P(Layouts, Experiment, testing::Values(Layout::kThreads, Layout::kProcesses),
                         [](const auto& given) { return layout_name(given.param); });

TEST_P(Experiment, SharesOutCallsByWeightAndTellsWhatItFound) {
  const PolicyFile policy(policy_text(
      {}, experiment("{ use = \"mesh.two_shot\", weight = 3 }, { use = \"mesh.one_shot\" }",
                     "when = { bytes = \"..1KiB\" }\nblock = 5")));
  const Folder results;
  const auto body = [](Rank& rank) {
    HcclComm comm = rank.join();
    Sums sums(rank, comm);
    const auto used = sums.make(50, 200);
    check(used.at("mesh.two_shot") == 150 && used.at("mesh.one_shot") == 50,
          std::to_string(used.at("mesh.one_shot")));
    const auto queued = sums.make(7, 80, 20);
    check(queued.at("mesh.two_shot") == 60 && queued.at("mesh.one_shot") == 20, "queued");
    check(sums.make(1000, 3).at("mesh.two_shot") == 3, "too large: the rules decide");
    const weft_experiment_result found = result_of(comm);
    check(std::string(found.name) == "x" && found.arms == 2, found.name);
    check(found.arm[0].calls == 210 && found.arm[1].calls == 70, "calls that have ended");
    check(found.rounds == 9 + 3, "all but the first of each: " + std::to_string(found.rounds));
    check(std::string(found.arm[1].algorithm) == "mesh.one_shot", found.arm[1].algorithm);
    check(found.arm[0].median_us > 0 && found.arm[1].mean_us > 0 && found.arm[1].ratio > 0,
          "times");
    check(found.arm[0].ratio == 1 && found.arm[0].off[0] == '\0', "the first arm");
    ok(HcclCommDestroy(comm));
  };
  run_ranks(3, GetParam(), body, with(policy, results));
  uint32_t files = 0;
  for (const auto& entry : fs::directory_iterator(results.path())) {
    EXPECT_EQ(entry.path().extension(), ".json") << entry.path();
    ++files;
  }
  EXPECT_EQ(files, 3u);
}

TEST_P(Experiment, AnArmThatFailsOnOneRankIsOffOnAll) {
  const PolicyFile policy(
      policy_text({}, experiment("{ use = \"mesh.two_shot\" }, { use = \"unwilling.all_reduce\" }, "
                                 "{ use = \"mesh.one_shot\" }",
                                 "block = 1")));
  const Folder results;
  for (const uint32_t ranks : {2u, 3u}) {
    const auto body = [](Rank& rank) {
      HcclComm comm = rank.join();
      Sums sums(rank, comm);
      auto used = sums.make(10, 30);
      const bool off = rank.ranks() == 3;
      check(used["unwilling.all_reduce"] == (off ? 0 : 10), "used the arm that fails");
      check(used["mesh.one_shot"] == (off ? 15 : 10), "the others go on");
      const weft_experiment_result found = result_of(comm);
      check(contains(found.arm[1].off, off ? "unwilling.all_reduce" : ""), found.arm[1].off);
      check((found.arm[1].off[0] == '\0') == !off, found.arm[1].off);
      ok(HcclCommDestroy(comm));
    };
    GroupOptions options = with(policy, results);
    options.environment["WEFT_PLUGIN_PATH"] = WEFT_TEST_UNWILLING;
    run_ranks(ranks, GetParam(), body, options);
  }
}

TEST(Experiments, TakesNoCallOfOthers) {
  const PolicyFile policy(policy_text({}, experiment(kTwo, "when = { communicator = \"mine*\" }")));
  const Folder results;
  const auto body = [](Rank& rank) {
    for (const bool named : {false, true}) {
      HcclCommConfig config;
      HcclCommConfigInit(&config);
      std::strcpy(config.hcclCommName, named ? "mine-1" : "other");
      HcclComm comm = rank.join(&config);
      Sums sums(rank, comm);
      const auto used = sums.make(10, 40);
      check(used.size() == (named ? 2u : 1u), "algorithms: " + std::to_string(used.size()));
      weft_experiment_result result{};
      result.head = WEFT_HEAD(weft_experiment_result);
      if (!named) refused(weft_comm_experiment(comm, 0, &result), HCCL_E_NOT_FOUND);
      ok(HcclCommDestroy(comm));
    }
  };
  run_ranks(2, Layout::kProcesses, body, with(policy, results));
}

TEST(Experiments, IsStoppedByAWishAndByADeterministicCommunicator) {
  const PolicyFile policy(policy_text(
      {}, experiment("{ use = \"mesh.two_shot\" }, { use = \"ring.all_reduce\" }", "block = 1")));
  const Folder results;
  const auto body = [](Rank& rank) {
    HcclComm comm = rank.join();
    Sums sums(rank, comm);
    check(sums.make(10, 20).size() == 2, "two arms");
    for (const uint32_t level : {1u, 0u}) {
      HcclConfigValue value{};
      value.value = static_cast<int32_t>(level);
      ok(HcclSetConfig(HCCL_DETERMINISTIC, value));
      rank.sync();
      HcclComm next = rank.join();
      Sums more(rank, next);
      check(more.make(10, 20).size() == (level == 1 ? 1u : 2u), "arms that serve");
      ok(HcclCommDestroy(next));
    }
    HcclCommConfig config;
    HcclCommConfigInit(&config);
    std::strcpy(config.hcclAlgo, "level0:fullmesh");
    HcclComm wished = rank.join(&config);
    Sums more(rank, wished);
    check(more.make(10, 20).count("ring.all_reduce") == 0, "fullmesh was wished for");
    ok(HcclCommDestroy(wished));
    ok(HcclCommDestroy(comm));
  };
  run_ranks(3, Layout::kProcesses, body, with(policy, results));
}

TEST(Experiments, AnswersSigusr1) {
  const PolicyFile policy(policy_text({}, experiment(kTwo)));
  const Folder results;
  const auto body = [&](Rank& rank) {
    HcclComm comm = rank.join();
    Sums sums(rank, comm);
    sums.make(10, 40);
    rank.sync();
    check(fs::is_empty(results.path()) || rank.rank() != 0, "written too early");
    rank.sync();
    ok(kill(getpid(), SIGUSR1) == 0 ? HCCL_SUCCESS : HCCL_E_SYSCALL);
    const std::string end = "-rank" + std::to_string(rank.rank()) + ".json";
    eventually(
        [&] {
          for (const auto& entry : fs::directory_iterator(results.path())) {
            if (entry.path().string().ends_with(end)) return true;
          }
          return false;
        },
        "a file of this rank");
    sums.make(10, 40);
    ok(HcclCommDestroy(comm));
  };
  run_ranks(2, Layout::kProcesses, body, with(policy, results));
}

TEST(Experiments, LeavesSigusr1ToAProgramThatUsesIt) {
  const PolicyFile policy(policy_text({}, experiment(kTwo)));
  const Folder results;
  const auto body = [&](Rank& rank) {
    static volatile sig_atomic_t seen = 0;
    signal(SIGUSR1, [](int) { seen = 1; });
    HcclComm comm = rank.join();
    Sums sums(rank, comm);
    sums.make(10, 40);
    rank.sync();
    ok(raise(SIGUSR1) == 0 ? HCCL_SUCCESS : HCCL_E_SYSCALL);
    check(seen == 1, "the program's own handler");
    check(fs::is_empty(results.path()), "nobody asked the library");
    rank.sync();
    ok(HcclCommDestroy(comm));
  };
  run_ranks(2, Layout::kProcesses, body, with(policy, results));
}

TEST(Experiments, ChecksItsArguments) {
  const auto body = [](Rank& rank) {
    HcclComm comm = rank.join();
    weft_experiment_result result{};
    result.head = WEFT_HEAD(weft_experiment_result);
    refused(weft_comm_experiment(nullptr, 0, &result), HCCL_E_PTR);
    refused(weft_comm_experiment(comm, 0, nullptr), HCCL_E_PTR);
    refused(weft_comm_experiment(comm, 0, &result), HCCL_E_NOT_FOUND);
    result.head = {};
    refused(weft_comm_experiment(comm, 0, &result), HCCL_E_PARA, {"WEFT_HEAD"});
    ok(HcclCommDestroy(comm));
    refused(weft_comm_experiment(comm, 0, &result), HCCL_E_PARA);
  };
  run_alone(body);
}

}  // namespace
}  // namespace weft::test
