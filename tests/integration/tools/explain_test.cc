// SPDX-License-Identifier: Apache-2.0
// `weft explain` and the trace: what decided, which way every buffer took, and why not a better
// one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "support.hpp"

namespace weft::test {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string explain(const Words& more, const Environment& environment = {}) {
  Words words = {"explain"};
  words.insert(words.end(), more.begin(), more.end());
  const Outcome outcome = weft(words, environment);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return outcome.out;
}

TEST(Explain, NamesTheAlgorithmItsRuleAndTheWayOfEveryBuffer) {
  const std::string out = explain({"all_reduce", "-n", "3", "-b", "64K"});
  EXPECT_TRUE(has(out, "all_reduce of 65536 bytes, 3 processes, heap memory")) << out;
  EXPECT_TRUE(has(out, "mesh.two_shot chosen by ")) << out;
  EXPECT_TRUE(has(out, "policy.toml:")) << out;
  for (const char* rank : {"rank 0", "rank 1", "rank 2"}) {
    EXPECT_TRUE(has(out, std::string(rank) + "  in: heap (")) << out;
  }
}

TEST(Explain, TheFirstWayOfThePolicyNeedsNoReason) {
  EXPECT_TRUE(has(explain({"all_gather", "-n", "2", "--memory", "symwin"}),
                  "rank 1  in: window, out: window\n"));
}

TEST(Explain, SaysWhyABetterWayWasNotTaken) {
  const std::string range = explain({"all_gather", "-n", "2", "--memory", "zerocopy"});
  EXPECT_TRUE(has(range, "in: range (symwin: ")) << range;
  const std::string malloc = explain({"all_gather", "-n", "2", "--memory", "malloc"});
  EXPECT_TRUE(has(malloc, "in: staged (symwin: ")) << malloc;
  EXPECT_TRUE(has(malloc, "zerocopy: ")) << malloc;
  EXPECT_TRUE(has(malloc, "heap: not device memory of aclrtMalloc")) << malloc;
}

TEST(Explain, ThreadsSeeAnyMemory) {
  EXPECT_TRUE(has(explain({"broadcast", "-n", "4", "--threads", "--memory", "malloc"}),
                  "rank 3  in: local ("));
}

TEST(Explain, TheTraceTellsTheSameOfEveryCall) {
  char name[] = "/tmp/weft_trace_XXXXXX";
  close(mkstemp(name));
  explain({"reduce_scatter", "-n", "2", "-b", "4K"}, {{"WEFT_TRACE", name}});
  std::ifstream file(name);
  std::string all(std::istreambuf_iterator<char>(file), {});
  std::remove(name);
  EXPECT_TRUE(has(all, "rank 0/2: reduce_scatter of 512 fp32, sum by mesh.reduce_scatter ("))
      << all;
  EXPECT_TRUE(has(all, "rank 1/2: ")) << all;
  EXPECT_TRUE(has(all, "out: heap (")) << all;
}

std::string with_rules(const Folder& folder, const std::string& rules) {
  const std::string file = folder.path() + "/policy.toml";
  std::ifstream shipped(std::string(getenv("WEFT_HOME")) + "/etc/weft/policy.toml");
  std::string text(std::istreambuf_iterator<char>(shipped), {});
  text.insert(text.find("[[rule]]"), rules);
  std::ofstream(file) << text;
  return file;
}

TEST(ExplainPlan, NeedsNoRanksAndTellsWhyTheOthersLost) {
  const std::string out =
      explain({"--op", "all_reduce", "--bytes", "4M", "--ranks", "64", "--type", "fp16"},
              {{"HCCL_ALGO", ""}});
  EXPECT_TRUE(has(out, "all_reduce of 4194304 bytes, fp16, sum, 64 ranks\n")) << out;
  EXPECT_TRUE(has(out, "  algorithm   mesh.two_shot: ")) << out;
  EXPECT_TRUE(has(out, "etc/weft/policy.toml:")) << out;
  EXPECT_TRUE(has(out, "is for every call")) << out;
  EXPECT_TRUE(has(out, "hcclAlgo: not given; HCCL_ALGO: not set; policy: ")) << out;
  EXPECT_TRUE(has(out, "  rounds      2\n")) << out;
  EXPECT_TRUE(has(out, "reads 4128768 and writes 4128768 of other ranks\n")) << out;
  EXPECT_TRUE(has(out, "all ranks together: 528482304\n")) << out;
  EXPECT_TRUE(has(out, "4MiB bytes are not in ..512")) << out;
  EXPECT_TRUE(has(out, "  ring.all_reduce: no rule names it\n")) << out;
  EXPECT_FALSE(has(out, "\n  mesh.two_shot: ")) << out;
}

TEST(ExplainPlan, SaysWhichConditionOfARuleDoesNotHold) {
  const Folder folder;
  const std::string file = with_rules(
      folder,
      "[[rule]]\nop = \"all_reduce\"\nwhen = { communicator = \"tp*\" }\nuse = "
      "\"ring.all_reduce\"\n"
      "[[rule]]\nop = \"all_reduce\"\nwhen = { hosts = 2 }\nuse = \"tree.nhr_all_reduce\"\n");
  const Words call = {"--op", "all_reduce", "--ranks", "6", "--policy", file};
  const auto with = [&](Words more) {
    more.insert(more.begin(), call.begin(), call.end());
    return explain(more, {{"HCCL_ALGO", ""}});
  };
  const std::string none = with({});
  EXPECT_TRUE(has(none, "algorithm   mesh.two_shot")) << none;
  EXPECT_TRUE(has(none, "the communicator is not \"tp*\"")) << none;
  EXPECT_TRUE(has(none, "1 hosts are not in 2")) << none;
  const std::string named = with({"--name", "tp3", "--hosts", "2"});
  EXPECT_TRUE(has(named, "algorithm   ring.all_reduce")) << named;
  EXPECT_TRUE(has(named, " is for communicator \"tp*\"\n")) << named;
  EXPECT_TRUE(has(named, "tree.nhr_all_reduce: line ")) << named;
  EXPECT_TRUE(has(named, ": comes after line ")) << named;
  EXPECT_TRUE(has(named, " on 2 hosts, communicator tp3\n")) << named;
  const std::string ordered = with({"--name", "tp3", "--deterministic"});
  EXPECT_TRUE(has(ordered, "algorithm   mesh.two_shot")) << ordered;
  EXPECT_TRUE(has(ordered, "does not sum in rank order")) << ordered;
}

TEST(ExplainPlan, KnowsWhatIsStrongerThanThePolicy) {
  const Words call = {"--op", "all_reduce", "--ranks", "4"};
  const std::string variable = explain(call, {{"HCCL_ALGO", "level0:ring"}});
  EXPECT_TRUE(has(variable, "algorithm   ring.all_reduce")) << variable;
  EXPECT_TRUE(has(variable, "chosen by   HCCL_ALGO level0:ring\n")) << variable;
  EXPECT_TRUE(has(variable, "HCCL_ALGO: level0:ring;")) << variable;
  EXPECT_TRUE(has(variable, "matches, but HCCL_ALGO level0:ring decides")) << variable;
  EXPECT_TRUE(has(variable, "it does not answer to HCCL_ALGO level0:ring")) << variable;
  Words more = call;
  more.insert(more.end(), {"--hccl-algo", "level0:NHR"});
  const std::string field = explain(more, {{"HCCL_ALGO", "level0:ring"}});
  EXPECT_TRUE(has(field, "algorithm   tree.nhr_all_reduce")) << field;
  EXPECT_TRUE(has(field, "chosen by   hcclAlgo level0:NHR\n")) << field;
}

TEST(ExplainPlan, ListsTheStepsOfARank) {
  const std::string out =
      explain({"--op", "broadcast", "--ranks", "3", "--root", "1", "--steps", "--rank", "2"});
  EXPECT_TRUE(has(out, "# broadcast, rank 2 of 3, root 1, ")) << out;
  EXPECT_TRUE(has(out, "\nr2    0: ")) << out;
}

TEST(ExplainPlan, SaysWhichEngineAndWhyNotTheOther) {
  const Folder folder;
  const std::string file = folder.path() + "/tasks.toml";
  std::ifstream shipped(std::string(getenv("WEFT_HOME")) + "/etc/weft/a3-supernode.toml");
  std::ofstream(file) << shipped.rdbuf();
  const Words call = {"--op", "all_reduce", "--ranks", "4", "--policy", file};
  EXPECT_TRUE(has(explain(call), "engine      tasks, by transport hccs-sdma\n"));
  Words product = call;
  product.insert(product.end(), {"-o", "prod"});
  EXPECT_TRUE(has(explain(product),
                  "direct, by transport hccs-sdma, since inline reduce has no prod "
                  "of fp32\n"));
}

TEST(ExplainPlan, OfEveryOperationHasACost) {
  for (const char* op : {"all_reduce", "reduce", "reduce_scatter", "reduce_scatter_v", "broadcast",
                         "scatter", "all_gather", "all_gather_v", "all_to_all", "all_to_all_v"}) {
    const std::string out = explain({"--op", op, "--ranks", "5", "--bytes", "1M"});
    EXPECT_TRUE(has(out, "the busiest, reads ")) << out;
    EXPECT_FALSE(has(out, "together: 0")) << out;
  }
  EXPECT_FALSE(has(explain({"--op", "barrier", "--ranks", "5"}), "busiest"));
  EXPECT_TRUE(has(explain({"--op", "all_reduce", "--ranks", "1"}), "a single rank copies"));
}

TEST(ExplainPlan, AWrongPolicyIsAFailure) {
  const Outcome none =
      weft({"explain", "--op", "barrier", "--ranks", "2", "--policy", "/no/such/file"});
  EXPECT_EQ(none.code, 1);
  EXPECT_TRUE(has(none.err, "/no/such/file")) << none.err;
}

TEST(Explain, WrongWordsAreUsageErrors) {
  EXPECT_EQ(weft({"explain"}).code, 2);
  EXPECT_EQ(weft({"explain", "all_reduce"}).code, 2);
  const Outcome memory = weft({"explain", "all_reduce", "-n", "2", "--memory", "symwim"});
  EXPECT_EQ(memory.code, 2);
  EXPECT_TRUE(has(memory.err, "did you mean 'symwin'?")) << memory.err;
}

}  // namespace
}  // namespace weft::test
