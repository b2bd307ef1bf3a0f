// SPDX-License-Identifier: Apache-2.0
// `weft bench` against a library that does wrong: it is noticed, named, and over soon.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <string>

#include "support.hpp"

namespace weft::test {
namespace {

using nlohmann::json;

Environment with_fault(const std::string& fault) {
  return {{"LD_PRELOAD", WEFT_FAULTY_HCCL}, {"FAULT", fault}};
}

Words of(const std::string& op, const Words& more) {
  Words words = {"bench", op, "-n", "3", "-b", "4K", "-e", "4K", "--min-time", "0.005"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Words broadcast(const Words& more = {}) { return of("broadcast", more); }

class Faults : public testing::TestWithParam<bool> {
 protected:
  static Words mode(Words words = {}) {
    if (GetParam()) words.emplace_back("--threads");
    return words;
  }
};

// Without it, the other tests would say nothing.
TEST_P(Faults, TheRealLibraryBehindIsRight) {
  const Outcome outcome = weft(broadcast(mode()), with_fault("none"));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST_P(Faults, WrongResultsAreCounted) {
  const Outcome outcome = weft(broadcast(mode({"--json"})), with_fault("lazy"));
  EXPECT_EQ(outcome.code, 1);
  // Half of 1024 elements, on two ranks, before and after the timing.
  EXPECT_EQ(json::parse(outcome.out)["results"][0]["wrong"], 512 * 2 * 2);
  EXPECT_NE(outcome.err.find("2048 elements are wrong"), std::string::npos) << outcome.err;
}

TEST_P(Faults, AResultWhereNoneBelongsIsCounted) {
  const Outcome outcome = weft(of("reduce", mode({"--json"})), with_fault("spill"));
  EXPECT_EQ(outcome.code, 1);
  // All elements on the two ranks that are not the root, before and after the timing.
  EXPECT_EQ(json::parse(outcome.out)["results"][0]["wrong"], 1024 * 2 * 2);
}

TEST_P(Faults, AResultInAGapIsCounted) {
  const Outcome outcome = weft(of("all_gather_v", mode({"--json"})), with_fault("spill"));
  EXPECT_EQ(outcome.code, 1);
  // One element on every rank, before and after the timing.
  EXPECT_EQ(json::parse(outcome.out)["results"][0]["wrong"], 1 * 3 * 2);
}

TEST_P(Faults, WithoutACheckNothingIsCounted) {
  const Outcome outcome = weft(broadcast(mode({"--json", "--no-check"})), with_fault("lazy"));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(json::parse(outcome.out)["results"][0]["wrong"].is_null());
}

TEST_P(Faults, ABarrierThatDoesNotHoldIsNoticed) {
  const Outcome outcome =
      weft(mode({"bench", "barrier", "-n", "3", "--min-time", "0.005"}), with_fault("hasty"));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("left a barrier before"), std::string::npos) << outcome.err;
}

TEST_P(Faults, AnErrorNamesRankFunctionAndCode) {
  const Outcome outcome = weft(broadcast(mode({"--json"})), with_fault("error"));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("rank 1: HcclBroadcast failed with 3"), std::string::npos)
      << outcome.err;
  EXPECT_NE(json::parse(outcome.out)["error"].get<std::string>().find("rank 1"), std::string::npos);
}

TEST_P(Faults, AnErrorNamesTheOneOfTwoFunctionsThatFailed) {
  const Outcome outcome = weft(of("send_recv", mode()), with_fault("error"));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("rank 1: HcclRecv failed with 3"), std::string::npos) << outcome.err;
}

TEST_P(Faults, ADeadRankIsNamed) {
  const Outcome outcome = weft(broadcast(mode()), with_fault("dead"));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find(GetParam() ? "the process of all ranks was killed by signal 9"
                                        : "rank 1 was killed by signal 9"),
            std::string::npos)
      << outcome.err;
}

TEST_P(Faults, ARankThatExitsWithoutAWordIsNamed) {
  const Outcome outcome = weft(broadcast(mode()), with_fault("gone"));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("exited with code 1"), std::string::npos) << outcome.err;
}

TEST_P(Faults, ARankThatHangsEndsTheBench) {
  const Outcome outcome = weft(broadcast(mode({"--timeout", "2"})), with_fault("stuck"));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("no progress for 2 s"), std::string::npos) << outcome.err;
}

TEST_P(Faults, AnInterruptEndsTheBench) {
  Program program(broadcast(mode()), with_fault("stuck"));
  ASSERT_TRUE(program.wait_for_lines(3));  // the head of the table
  program.signal(SIGINT);
  EXPECT_EQ(program.finish().code, 128 + SIGINT);
}

TEST_P(Faults, AnInterruptedBenchPrintsItsDocument) {
  Program program(broadcast(mode({"--json"})), with_fault("stuck"));
  ASSERT_TRUE(program.wait_for_lines(1));  // of the rank that is stuck
  program.signal(SIGINT);
  const Outcome outcome = program.finish();
  EXPECT_EQ(outcome.code, 128 + SIGINT);
  const json document = json::parse(outcome.out.substr(outcome.out.find('{')), nullptr, false);
  ASSERT_FALSE(document.is_discarded()) << outcome.out;
  EXPECT_EQ(document["error"], "interrupted by signal 2 (Interrupt)");
}

INSTANTIATE_TEST_SUITE_P(All, Faults, testing::Bool(), [](const auto& each) {
  return std::string(each.param ? "threads" : "processes");
});

TEST(Bench, NoRankSurvivesAKilledBench) {
  Program program({"run", "-n", "1", "--no-prefix", "sh", "-c",
                   fmt::format("echo $$; exec {} bench broadcast -n 3 --no-check", WEFT_PROGRAM)},
                  with_fault("stuck"));
  // Its output closes when the last process that could write to it is gone.
  ASSERT_TRUE(program.wait_for_lines(4));
  const pid_t bench = std::stoi(program.out());
  kill(bench, SIGKILL);
  EXPECT_EQ(program.finish().code, 128 + SIGKILL);
}

}  // namespace
}  // namespace weft::test
