// SPDX-License-Identifier: Apache-2.0
// The policy and the plugins as a user meets them when a communicator is made.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cases.hpp"
#include "policy_file.hpp"
#include "unprivileged.hpp"
#include "weft/comm.h"

namespace weft::test {
namespace {

namespace fs = std::filesystem;

/// The functions that read the policy refuse with this code and text.
void expect_refused(const GroupOptions& options, HcclResult code,
                    std::initializer_list<std::string> parts) {
  const auto body = [&](Rank&) {
    HcclRootInfo root{};
    HcclComm comm = nullptr;
    refused(HcclGetRootInfo(&root), code, parts);
    refused(HcclCommInitRootInfo(1, &root, 0, &comm), code, parts);
    int32_t device = 0;
    refused(HcclCommInitAll(1, &device, &comm), code, parts);
    check(comm == nullptr, "a failed call gave a communicator");
  };
  run_alone(body, options);
}

GroupOptions with_policy(const std::string& path) {
  GroupOptions options;
  options.environment["WEFT_POLICY"] = path;
  return options;
}

void sum_once(HcclComm comm, uint64_t count = 100) {
  const Stream stream;
  Arena arena(Memory::kDevice, count * 4);
  std::byte* data = arena.lend(count * 4);
  ok(HcclAllReduce(data, data, count, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm, stream));
  stream.synchronize();
}

TEST(PolicyProblems, AreToldWithFileLineAndColumn) {
  struct Problem {
    std::string text;
    std::string place;
    std::string what;
  };
  const Problem problems[] = {
      {"schema = 1\n[[rule]]\nop = \"all_reduec\"\nuse = \"mesh.two_shot\"\n", ":3:6",
       "all_reduce"},
      {"schema = 1\n\n[[rule]\nop = 1\n", ":3:", ""},
      {"schema = 2\n", ":1:10", "schema 2"},
      {"schema = 1\n[[rule]]\nop = \"all_reduce\"\nuse = \"mesh.two_shto\"\n", ":", ""},
      {policy_text({}, "[contrl]\nexec_timeout = \"1s\"\n"), ":", "control"},
      {policy_text({}, "[control]\nexec_timeout = \"1 week\"\n"), ":", "exec_timeout"},
      {"", ":1:1", "schema = 1"},
  };
  for (const Problem& problem : problems) {
    const PolicyFile policy(problem.text);
    expect_refused(with_policy(policy.path()), HCCL_E_PARA,
                   {policy.path() + problem.place, problem.what});
  }
}

TEST(PolicyProblems, AMissingFileIsNamed) {
  const Folder folder;
  expect_refused(with_policy(folder.path() / "none.toml"), HCCL_E_OPEN_FILE_FAILURE,
                 {folder.path() / "none.toml", "No such file", "WEFT_POLICY"});
  expect_refused(with_policy(folder.path()), HCCL_E_OPEN_FILE_FAILURE,
                 {folder.path(), "regular file"});
}

TEST(PolicyProblems, AnUnreadableFileIsNamed) {
  const PolicyFile policy(policy_text());
  fs::permissions(fs::path(policy.path()).parent_path(), fs::perms(0755));
  fs::permissions(policy.path(), fs::perms::none);
  const auto body = [&](Rank&) {
    const Unprivileged unprivileged;
    HcclRootInfo root{};
    refused(HcclGetRootInfo(&root), HCCL_E_OPEN_FILE_FAILURE, {policy.path(), "Permission denied"});
  };
  run_alone(body, with_policy(policy.path()));
}

TEST(PolicyProblems, AnUnknownAlgorithmAndAWrongParameterAreNamed) {
  const PolicyFile unknown(policy_text({{"barrier", "mesh.barier"}}));
  expect_refused(with_policy(unknown.path()), HCCL_E_NOT_FOUND,
                 {unknown.path() + ":", "mesh.barier", "mesh.barrier"});
  const PolicyFile other(policy_text({{"barrier", "mesh.two_shot"}}));
  expect_refused(with_policy(other.path()), HCCL_E_PARA,
                 {other.path() + ":", "all_reduce", "barrier"});
  const PolicyFile limits(
      policy_text({{"broadcast", "ring.broadcast\"\nparams = { pieces = 1000 } #"}}));
  expect_refused(with_policy(limits.path()), HCCL_E_PARA,
                 {limits.path() + ":", "pieces", "1000", "1..64"});
}

TEST(PolicyProblems, AnEngineThatTheTransportLacksIsNamed) {
  const PolicyFile policy(policy_text({}, "[transport]\nuse = \"nowhere\"\nengine = \"tasks\"\n"));
  GroupOptions options = with_policy(policy.path());
  options.environment["WEFT_PLUGIN_PATH"] = WEFT_TEST_DIRECT_ONLY;
  expect_refused(options, HCCL_E_NOT_SUPPORT, {policy.path(), "nowhere", "\"tasks\""});
}

TEST(PolicyProblems, AfterTheyAreRepairedTheProcessWorks) {
  const PolicyFile policy("nonsense");
  const auto body = [&](Rank& rank) {
    HcclRootInfo root{};
    refused(HcclGetRootInfo(&root), HCCL_E_PARA, {policy.path() + ":1:"});
    policy.write(policy_text());
    HcclComm comm = rank.join();
    sum_once(comm);
    ok(HcclCommDestroy(comm));
  };
  run_alone(body, with_policy(policy.path()));
}

TEST(Policy, OneLineChangesTheAlgorithm) {
  const PolicyFile policy(policy_text());
  const auto body = [&](Rank& rank) {
    for (const std::string algorithm : {"mesh.one_shot", "mesh.two_shot", "ring.all_reduce"}) {
      rank.sync();
      if (rank.rank() == 0) policy.write(policy_text({{"all_reduce", algorithm}}));
      rank.sync();
      HcclComm comm = rank.join();
      sum_once(comm);
      const CallFacts facts = last_call(comm);
      check(facts.algorithm == algorithm, facts.algorithm);
      check(contains(facts.source, policy.path() + ":"), facts.source);
      ok(HcclCommDestroy(comm));
    }
  };
  run_ranks(2, Layout::kProcesses, body, with_policy(policy.path()));
}

TEST(Policy, RulesLookAtBytesRanksAndTypes) {
  const PolicyFile policy(policy_text(
      {{"all_reduce",
        "ring.all_reduce\"\nwhen = { bytes = \"1KiB..\", type = \"int32\", ranks = 2 }\n"
        "[[rule]]\nop = \"all_reduce\"\nuse = \"mesh.one_shot\"\nwhen = { bytes = \"..100\" }\n"
        "[[rule]]\nop = \"all_reduce\"\nuse = \"mesh.two_shot"}}));
  for (const uint32_t ranks : {2u, 3u}) {
    const auto body = [&](Rank& rank) {
      HcclComm comm = rank.join();
      sum_once(comm, 25);
      check(last_call(comm).algorithm == "mesh.one_shot", last_call(comm).algorithm);
      sum_once(comm, 26);
      check(last_call(comm).algorithm == "mesh.two_shot", last_call(comm).algorithm);
      sum_once(comm, 256);
      const std::string wanted = ranks == 2 ? "ring.all_reduce" : "mesh.two_shot";
      check(last_call(comm).algorithm == wanted, last_call(comm).algorithm);
      ok(HcclCommDestroy(comm));
    };
    run_ranks(ranks, Layout::kThreads, body, with_policy(policy.path()));
  }
}

TEST(Policy, ADeterministicCommunicatorGetsNoAlgorithmThatSumsInAnotherOrder) {
  const PolicyFile policy(policy_text({{"all_reduce",
                                        "ring.all_reduce\"\nwhen = { bytes = \"1..\" }\n"
                                        "[[rule]]\nop = \"all_reduce\"\nuse = \"mesh.two_shot"}}));
  const auto body = [](Rank& rank) {
    for (const uint32_t deterministic : {0u, 1u, 2u}) {
      HcclCommConfig config;
      HcclCommConfigInit(&config);
      config.hcclDeterministic = deterministic;
      HcclComm comm = rank.join(&config);
      sum_once(comm);
      const std::string wanted = deterministic == 0 ? "ring.all_reduce" : "mesh.two_shot";
      check(last_call(comm).algorithm == wanted, last_call(comm).algorithm);
      ok(HcclCommDestroy(comm));
    }
  };
  run_ranks(2, Layout::kProcesses, body, with_policy(policy.path()));
}

HcclCommConfig config_named(const std::string& name) {
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  config.hcclBufferSize = 1;
  std::memcpy(config.hcclCommName, name.c_str(), name.size() + 1);
  return config;
}

TEST(Policy, RulesLookAtTheNameOfTheCommunicator) {
  const PolicyFile policy(
      policy_text({{"all_reduce",
                    "ring.all_reduce\"\nwhen = { communicator = \"tp*\" }\n"
                    "[[rule]]\nop = \"all_reduce\"\nuse = \"mesh.one_shot\"\nwhen = { communicator "
                    "= [\"a\", \"b\"] }\n"
                    "[[rule]]\nop = \"all_reduce\"\nuse = \"mesh.two_shot"}}));
  const std::pair<std::string, std::string> cases[] = {{"tp", "ring.all_reduce"},
                                                       {"tp-17", "ring.all_reduce"},
                                                       {"b", "mesh.one_shot"},
                                                       {"ba", "mesh.two_shot"},
                                                       {"", "mesh.two_shot"}};
  const auto body = [&](Rank& rank) {
    for (const auto& [name, wanted] : cases) {
      const HcclCommConfig config = config_named(name);
      HcclComm comm = rank.join(&config);
      sum_once(comm);
      check(last_call(comm).algorithm == wanted, name + ": " + last_call(comm).algorithm);
      // A sub communicator has a name of its own.
      HcclCommConfig inner = config_named("tp_inner");
      uint32_t members[] = {0, 1};
      HcclComm sub = nullptr;
      ok(HcclCreateSubCommConfig(&comm, 2, members, 1, rank.rank(), &inner, &sub));
      sum_once(sub);
      check(last_call(sub).algorithm == "ring.all_reduce", last_call(sub).algorithm);
      ok(HcclCommDestroy(sub));
      ok(HcclCommDestroy(comm));
    }
  };
  run_ranks(2, Layout::kProcesses, body, with_policy(policy.path()));
}

/// What the ranks' processes write to standard error while they make communicators and calls.
std::string log_of(Layout layout, GroupOptions options, const std::function<void(HcclComm)>& calls,
                   int communicators = 1) {
  const Folder folder;
  const fs::path log = folder.path() / "log";
  const auto body = [&](Rank& rank) {
    const int fd = open(log.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    dup2(fd, STDERR_FILENO);
    std::vector<HcclComm> comms;
    for (int i = 0; i < communicators; ++i) {
      const HcclCommConfig config = config_named("c" + std::to_string(i));
      comms.push_back(rank.join(&config));
      calls(comms.back());
    }
    for (HcclComm comm : comms) ok(HcclCommDestroy(comm));
  };
  run_ranks(2, layout, body, options);
  return read_file(log);
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

constexpr const char* kIdle = "no rule of it has decided a call: ";

TEST(IdlePolicy, IsToldOfOnceWhenTheLastCommunicatorEnds) {
  const PolicyFile policy(policy_text());
  for (const Layout layout : {Layout::kThreads, Layout::kProcesses}) {
    GroupOptions options = with_policy(policy.path());
    options.environment["HCCL_ALGO"] = "level0:ring";
    const auto sum = [](HcclComm comm) { sum_once(comm); };
    const std::string log = log_of(layout, options, sum, 3);
    EXPECT_EQ(count(log, kIdle), 1U) << log;
    EXPECT_EQ(count(log, policy.path() + " (WEFT_POLICY)"), 1U) << log;
    EXPECT_EQ(count(log, "HCCL_ALGO or hcclAlgo has decided all"), 1U) << log;
  }
}

TEST(IdlePolicy, IsOneUnderWhichNothingWasCalled) {
  const PolicyFile policy(policy_text());
  const std::string log = log_of(Layout::kProcesses, with_policy(policy.path()), [](HcclComm) {});
  EXPECT_EQ(count(log, "no operator was called that needs an algorithm"), 1U) << log;
}

TEST(IdlePolicy, IsNoneWhenSomeRuleHasDecided) {
  const PolicyFile policy(policy_text());
  const auto sum = [](HcclComm comm) { sum_once(comm); };
  EXPECT_EQ(count(log_of(Layout::kProcesses, with_policy(policy.path()), sum), kIdle), 0U);
  // A wish is fulfilled by the first rule that answers to it.
  GroupOptions options = with_policy(policy.path());
  options.environment["HCCL_ALGO"] = "level0:fullmesh";
  EXPECT_EQ(count(log_of(Layout::kProcesses, options, sum), kIdle), 0U);
  // Nobody chose the policy.
  options = {};
  options.environment["WEFT_POLICY"] = "";
  EXPECT_EQ(count(log_of(Layout::kProcesses, options, [](HcclComm) {}), kIdle), 0U);
}

TEST(IdlePolicy, OnlyRulesWithoutConditionsAreToldOfWithInfo) {
  const PolicyFile policy(policy_text({{"all_reduce",
                                        "ring.all_reduce\"\nwhen = { communicator = \"tp*\" }\n"
                                        "[[rule]]\nop = \"all_reduce\"\nuse = \"mesh.two_shot"}}));
  const auto sum = [](HcclComm comm) { sum_once(comm); };
  GroupOptions options = with_policy(policy.path());
  EXPECT_EQ(count(log_of(Layout::kProcesses, options, sum), "rules with conditions"), 0U);
  options.environment["WEFT_LOG"] = "info";
  const std::string log = log_of(Layout::kProcesses, options, sum);
  EXPECT_EQ(count(log, "none of its 1 rules with conditions has decided a call"), 1U) << log;
}

/// The policy's all-reduce is right for 2 and 4 ranks and wrong for 3.
PolicyFile with_doubling(bool require_check) {
  return PolicyFile(policy_text(
      {{"all_reduce", "mistaken.doubling"}},
      std::string("[plugins]\nrequire_check = ") + (require_check ? "true" : "false") + "\n"));
}

GroupOptions with_mistakes(const PolicyFile& policy) {
  GroupOptions options = with_policy(policy.path());
  options.environment["WEFT_PLUGIN_PATH"] = WEFT_TEST_MISTAKEN;
  return options;
}

void expect_refuted(HcclResult code, const std::string& place) {
  refused(
      code, HCCL_E_PARA,
      {place, "\"mistaken.doubling\" of plugin \"mistaken\"", "with 3 ranks",
       "wrong result (not in place)", "is missing", "`weft check mistaken.doubling --ranks 3`"});
}

TEST(RequireCheck, AcceptsNumbersOfRanksThatAreProved) {
  const PolicyFile policy = with_doubling(true);
  for (const Layout layout : {Layout::kProcesses, Layout::kThreads}) {
    const auto body = [](Rank& rank) {
      HcclComm comm = rank.join();
      sum_once(comm);
      check(last_call(comm).algorithm == "mistaken.doubling", last_call(comm).algorithm);
      ok(HcclCommDestroy(comm));
      comm = rank.join();  // proved before
      ok(HcclCommDestroy(comm));
    };
    run_ranks(2, layout, body, with_mistakes(policy));
  }
}

TEST(RequireCheck, RefusesThoseThatAreNotAndNamesTheRule) {
  const PolicyFile policy = with_doubling(true);
  for (const Layout layout : {Layout::kProcesses, Layout::kThreads}) {
    const auto body = [&](Rank& rank) {
      const HcclRootInfo root = rank.share_root();
      HcclComm comm = nullptr;
      for (int i = 0; i < 2; ++i) {
        // The rule of all_reduce is the third of four lines each.
        expect_refuted(HcclCommInitRootInfo(3, &root, rank.rank(), &comm),
                       policy.path() + ":13:7: ");
        check(comm == nullptr, "a failed call gave a communicator");
      }
    };
    run_ranks(3, layout, body, with_mistakes(policy));
  }
}

TEST(RequireCheck, HoldsForSubCommunicatorsByTheirOwnNumberOfRanks) {
  const PolicyFile policy = with_doubling(true);
  const auto body = [&](Rank& rank) {
    HcclComm comm = rank.join();
    if (rank.rank() < 3) {
      uint32_t members[] = {0, 1, 2};
      HcclCommConfig config;
      HcclCommConfigInit(&config);
      HcclComm sub = nullptr;
      expect_refuted(HcclCreateSubCommConfig(&comm, 3, members, 1, rank.rank(), &config, &sub),
                     policy.path() + ":13:7: ");
      check(sub == nullptr, "a failed call gave a communicator");
    }
    ok(HcclCommDestroy(comm));
  };
  run_ranks(4, Layout::kProcesses, body, with_mistakes(policy));
}

TEST(RequireCheck, LooksAtWhatHcclAlgoAsksFor) {
  const PolicyFile policy(policy_text({}, "[plugins]\nrequire_check = true\n"));
  GroupOptions options = with_mistakes(policy);
  options.environment["HCCL_ALGO"] = "allreduce=level0:H-D_R";
  const auto body = [](Rank& rank) {
    const HcclRootInfo root = rank.share_root();
    HcclComm comm = nullptr;
    expect_refuted(HcclCommInitRootInfo(3, &root, rank.rank(), &comm), "HCCL_ALGO level0:H-D_R: ");
  };
  run_ranks(3, Layout::kProcesses, body, options);
}

TEST(RequireCheck, IsNotAskedForByDefault) {
  const PolicyFile policy = with_doubling(false);
  const auto body = [](Rank& rank) {
    HcclComm comm = rank.join();
    ok(HcclCommDestroy(comm));
  };
  run_ranks(3, Layout::kProcesses, body, with_mistakes(policy));
}

/// An installation of its own, with the plugins of this build but one.
class PrefixWithout {
 public:
  explicit PrefixWithout(const std::string& plugin) {
    const fs::path from = fs::path(WEFT_TEST_PREFIX) / "lib64/weft/plugins";
    const fs::path to = folder_.path() / "lib64/weft/plugins";
    fs::create_directories(to);
    for (const fs::directory_entry& entry : fs::directory_iterator(from)) {
      if (entry.path().filename() == plugin) continue;
      fs::create_symlink(entry.path(), to / entry.path().filename());
    }
    fs::create_directories(folder_.path() / "etc/weft");
    write_file(folder_.path() / "etc/weft/policy.toml", policy_text());
  }
  GroupOptions options() const {
    GroupOptions options;
    options.environment["WEFT_HOME"] = folder_.path();
    return options;
  }

 private:
  Folder folder_;
};

TEST(Plugins, WithoutOneEverythingThatDoesNotNameItWorks) {
  const PrefixWithout prefix("algo-ring.so");
  const auto body = [](Rank& rank) {
    HcclComm comm = rank.join();
    sum_once(comm);
    check(last_call(comm).algorithm == "mesh.two_shot", last_call(comm).algorithm);
    ok(HcclCommDestroy(comm));
  };
  run_ranks(3, Layout::kProcesses, body, prefix.options());
}

TEST(Plugins, APolicyThatNamesOneThatIsNotThereIsRefused) {
  const PrefixWithout prefix("algo-ring.so");
  const PolicyFile policy(policy_text({{"broadcast", "ring.broadcast"}}));
  GroupOptions options = prefix.options();
  options.environment["WEFT_POLICY"] = policy.path();
  // The rule of broadcast is the seventh of four lines each.
  expect_refused(options, HCCL_E_NOT_FOUND,
                 {policy.path() + ":29:7", "ring.broadcast", "no plugin \"ring\""});
}

TEST(Plugins, WithoutTheTransportNothingWorksAndItIsNamed) {
  const PrefixWithout prefix("transport-hccs-sdma.so");
  const auto body = [](Rank&) {
    HcclRootInfo root{};
    check(HcclGetRootInfo(&root) == HCCL_E_NOT_FOUND, "wrong code");
    check(contains(weft_last_error(), "hccs-sdma"), weft_last_error());
  };
  run_alone(body, prefix.options());
}

TEST(Plugins, AFileThatIsNoPluginIsAWarningAndTheOthersWork) {
  const Folder folder;
  const fs::path wrong = folder.path() / "x.so";
  const fs::path log = folder.path() / "log";
  write_file(wrong, "this is text\n");
  GroupOptions options;
  options.environment["WEFT_PLUGIN_PATH"] = wrong;
  const auto body = [&](Rank& rank) {
    const int fd = open(log.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    dup2(fd, STDERR_FILENO);
    HcclComm comm = rank.join();
    sum_once(comm);
    ok(HcclCommDestroy(comm));
    check(contains(read_file(log), wrong), "no warning names the file: " + read_file(log));
  };
  run_ranks(2, Layout::kProcesses, body, options);
}

}  // namespace
}  // namespace weft::test
