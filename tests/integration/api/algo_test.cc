// SPDX-License-Identifier: Apache-2.0
// HCCL_ALGO and HcclCommConfig.hcclAlgo as a user meets them: what they choose, what they refuse.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#include "cases.hpp"
#include "policy_file.hpp"

namespace weft::test {
namespace {

constexpr size_t kCapacity = 1 << 16;

/// Of a mesh policy, unless `use` says otherwise.
GroupOptions with_variable(const PolicyFile& policy, const char* text) {
  GroupOptions options;
  options.environment = policy.environment();
  if (text != nullptr) options.environment["HCCL_ALGO"] = text;
  return options;
}

HcclCommConfig asking_for(const std::string& text) {
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  std::memcpy(config.hcclAlgo, text.c_str(), text.size() + 1);
  return config;
}

Case some(Op op) {
  Case one;
  one.op = op;
  one.count = 1001;
  return one;
}

struct Expected {
  Op op;
  std::string algorithm;
  std::string source;  // the end of it
};

/// Runs each operation, checks its result, and who chose what.
void expect_choices(Rank& rank, HcclComm comm, const std::vector<Expected>& all) {
  Runner runner(rank, kCapacity);
  for (const Expected& expected : all) {
    runner.run(comm, some(expected.op), expected.algorithm);
    const std::string source = last_call(comm).source;
    check(source.ends_with(expected.source), source + " does not end in " + expected.source);
  }
}

class Algo : public testing::TestWithParam<Layout> {};
INSTANTIATE_TEST_SUITE_P(Each, Algo, testing::Values(Layout::kThreads, Layout::kProcesses),
                         [](const auto& given) { return layout_name(given.param); });

TEST_P(Algo, OfTheVariableChoosesForEveryOperatorThatHasIt) {
  const PolicyFile policy(policy_text());
  const auto body = [](Rank& rank) {
    HcclComm comm = rank.join();
    const std::string wish = "HCCL_ALGO level0:ring";
    expect_choices(rank, comm,
                   {{Op::kAllReduce, "ring.all_reduce", wish},
                    {Op::kBroadcast, "ring.broadcast", wish},
                    {Op::kAllGather, "ring.all_gather", wish},
                    {Op::kReduceScatter, "ring.reduce_scatter", wish},
                    {Op::kAllToAll, "mesh.all_to_all",
                     " (HCCL_ALGO level0:ring: no such algorithm for all_to_all)"}});
    const Stream stream;
    ok(HcclBarrier(comm, stream));
    stream.synchronize();
    const CallFacts barrier = last_call(comm);
    check(barrier.algorithm == "mesh.barrier" && !contains(barrier.source, "HCCL_ALGO"),
          barrier.algorithm + " by " + barrier.source);
    ok(HcclCommDestroy(comm));
  };
  run_ranks(3, GetParam(), body, with_variable(policy, " level0:ring "));
}

TEST_P(Algo, OfAnOperatorLeavesTheOthersToThePolicy) {
  const PolicyFile policy(policy_text({{"broadcast", "ring.broadcast"}}));
  const auto body = [](Rank& rank) {
    HcclComm comm = rank.join();
    expect_choices(rank, comm,
                   {{Op::kAllReduce, "ring.all_reduce", "HCCL_ALGO level0:ring"},
                    {Op::kBroadcast, "mesh.broadcast", "HCCL_ALGO level0:fullmesh"},
                    {Op::kAllToAll, "mesh.pairwise", "HCCL_ALGO level0:pairwise"},
                    {Op::kAllGather, "mesh.all_gather", ""}});
    check(!contains(last_call(comm).source, "HCCL_ALGO"), last_call(comm).source);
    ok(HcclCommDestroy(comm));
  };
  run_ranks(2, GetParam(), body,
            with_variable(policy,
                          "allreduce=level0:ring/broadcast=level0:fullmesh;level1:NHR/"
                          "alltoall=level0:pairwise/"
                          "allgather=level0:NA;level1:ring"));
}

TEST_P(Algo, OfTheConfigurationIsStrongerThanTheVariable) {
  const PolicyFile policy(policy_text({{"all_reduce", "mesh.one_shot"}}));
  const auto body = [](Rank& rank) {
    const auto expect = [&](const std::string& text, const std::string& algorithm,
                            const std::string& source) {
      const HcclCommConfig config = asking_for(text);
      HcclComm comm = rank.join(&config);
      expect_choices(rank, comm, {{Op::kAllReduce, algorithm, source}});
      check(contains(last_call(comm).source, "HCCL_ALGO") == contains(source, "HCCL_ALGO"),
            last_call(comm).source);
      ok(HcclCommDestroy(comm));
    };
    expect("", "ring.all_reduce", "HCCL_ALGO level0:ring");
    expect("   ", "ring.all_reduce", "HCCL_ALGO level0:ring");
    expect("level0:fullmesh", "mesh.one_shot", "hcclAlgo level0:fullmesh");
    expect("allreduce=level0:fullmesh", "mesh.one_shot", "hcclAlgo level0:fullmesh");
    // It wins as a whole: what it leaves open is the policy's.
    expect("level0:NA", "mesh.one_shot", "");
    expect("broadcast=level0:ring", "mesh.one_shot", "");
    // An operator that nobody knows is no error here.
    expect("allredcue=level0:ring", "mesh.one_shot", "");
  };
  run_ranks(2, GetParam(), body, with_variable(policy, "level0:ring"));
}

TEST_P(Algo, ThatNobodyHasLeavesTheChoiceToThePolicy) {
  const PolicyFile policy(policy_text());
  const auto body = [](Rank& rank) {
    HcclComm comm = rank.join();
    expect_choices(rank, comm,
                   {{Op::kAllReduce, "mesh.two_shot",
                     " (HCCL_ALGO level0:AHC_BROKE: no such algorithm for all_reduce)"}});
    ok(HcclCommDestroy(comm));
  };
  run_ranks(2, GetParam(), body, with_variable(policy, "level0:AHC_BROKE"));
}

TEST_P(Algo, DoesNotOverruleDeterminism) {
  const PolicyFile policy(policy_text());
  const auto body = [](Rank& rank) {
    HcclCommConfig config = asking_for("level0:ring");
    config.hcclDeterministic = 1;
    HcclComm comm = rank.join(&config);
    expect_choices(rank, comm,
                   {{Op::kAllReduce, "mesh.two_shot",
                     " (hcclAlgo level0:ring: ring.all_reduce does not sum in rank order, and a "
                     "deterministic result is asked for)"},
                    {Op::kAllGather, "ring.all_gather", "hcclAlgo level0:ring"}});
    ok(HcclCommDestroy(comm));
  };
  run_ranks(2, GetParam(), body, with_variable(policy, nullptr));
}

TEST_P(Algo, MayBeWrittenDifferentlyByRanksThatMeanTheSame) {
  const PolicyFile policy(policy_text());
  const auto body = [](Rank& rank) {
    const HcclCommConfig config =
        asking_for(rank.rank() == 0 ? "" : " broadcast = level0:NA / allreduce=level0:ring");
    HcclComm comm = rank.join(&config);
    const std::string from = rank.rank() == 0 ? "HCCL_ALGO" : "hcclAlgo";
    expect_choices(rank, comm, {{Op::kAllReduce, "ring.all_reduce", from + " level0:ring"}});
    ok(HcclCommDestroy(comm));
  };
  run_ranks(2, GetParam(), body, with_variable(policy, "allreduce=level0:ring"));
}

TEST_P(Algo, ThatDiffersIsToldToAllRanks) {
  const auto body = [](Rank& rank) {
    const HcclCommConfig config = asking_for(rank.rank() == 1 ? "scatter=level0:NB" : "");
    const HcclRootInfo root = rank.share_root();
    HcclComm comm = nullptr;
    refused(HcclCommInitRootInfoConfig(3, &root, rank.rank(), &config, &comm), HCCL_E_PARA,
            {"HCCL_ALGO / hcclAlgo", "'scatter=level0:NB'", "rank 1", "'built-in'", "ranks 0"});
    check(comm == nullptr, "a failed call gave a communicator");
  };
  run_ranks(3, GetParam(), body);
}

TEST(AlgoProblems, OfTheVariableStopEveryCommunicator) {
  const PolicyFile policy(policy_text());
  const auto body = [](Rank& rank) {
    HcclRootInfo root{};
    HcclRootInfo unused{};
    HcclComm comm = nullptr;
    const std::initializer_list<std::string> parts = {"environment variable HCCL_ALGO",
                                                      "level0:rign", "column 8", "ring"};
    refused(HcclGetRootInfo(&unused), HCCL_E_PARA, parts);
    refused(HcclCommInitRootInfo(1, &root, 0, &comm), HCCL_E_PARA, parts);
    const HcclCommConfig config = asking_for("level0:ring");
    refused(HcclCommInitRootInfoConfig(1, &root, 0, &config, &comm), HCCL_E_PARA, parts);
    int32_t device = 0;
    refused(HcclCommInitAll(1, &device, &comm), HCCL_E_PARA, parts);
    check(comm == nullptr, "a failed call gave a communicator");
    unsetenv("HCCL_ALGO");
    comm = rank.join();
    expect_working(comm, 1);
    ok(HcclCommDestroy(comm));
  };
  run_alone(body, with_variable(policy, "level0:rign"));
}

TEST(AlgoProblems, OfTheConfigurationAreNamed) {
  run_alone([](Rank&) {
    HcclRootInfo root{};
    HcclComm comm = nullptr;
    ok(HcclGetRootInfo(&root));
    HcclCommConfig config = asking_for("allreduce=level0:null");
    refused(HcclCommInitRootInfoConfig(1, &root, 0, &config, &comm), HCCL_E_PARA,
            {"HcclCommConfig.hcclAlgo", "allreduce=level0:null", "column 18", "NA"});
    std::memset(config.hcclAlgo, ' ', sizeof config.hcclAlgo);
    refused(HcclCommInitRootInfoConfig(1, &root, 0, &config, &comm), HCCL_E_PARA,
            {"hcclAlgo has no end", "1599"});
    check(comm == nullptr, "a failed call gave a communicator");
    config.hcclAlgo[sizeof config.hcclAlgo - 1] = '\0';
    ok(HcclCommInitRootInfoConfig(1, &root, 0, &config, &comm));
    ok(HcclCommDestroy(comm));
  });
}

}  // namespace
}  // namespace weft::test
