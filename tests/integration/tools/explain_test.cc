// SPDX-License-Identifier: Apache-2.0
// `weft explain` and the trace: what decided, which way every buffer took, and why not a better
// one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
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

TEST(Explain, WrongWordsAreUsageErrors) {
  EXPECT_EQ(weft({"explain"}).code, 2);
  EXPECT_EQ(weft({"explain", "all_reduce"}).code, 2);
  const Outcome memory = weft({"explain", "all_reduce", "-n", "2", "--memory", "symwim"});
  EXPECT_EQ(memory.code, 2);
  EXPECT_TRUE(has(memory.err, "did you mean 'symwin'?")) << memory.err;
}

}  // namespace
}  // namespace weft::test
