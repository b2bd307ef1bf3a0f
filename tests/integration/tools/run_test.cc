// SPDX-License-Identifier: Apache-2.0
// `weft run`: environment, output, ends.
#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "support.hpp"

namespace weft::test {
namespace {

// Blocks until it is killed.
constexpr const char* kForever = "exec tail -f /dev/null";

Outcome run_shell(int ranks, const std::string& script, const Environment& environment = {}) {
  return weft({"run", "-n", std::to_string(ranks), "--", "sh", "-c", script}, environment);
}

TEST(Run, EveryRankFindsItsPlaceInTheEnvironment) {
  const Outcome outcome = run_shell(3, "echo $RANK_ID $RANK_SIZE $ASCEND_DEVICE_ID $WEFT_DEVICES");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(sorted_lines(outcome.out), Words({"[0] 0 3 0 8", "[1] 1 3 1 8", "[2] 2 3 2 8"}));
}

TEST(Run, ThereAreAsManyDevicesAsRanks) {
  const Words lines = sorted_lines(run_shell(10, "echo $ASCEND_DEVICE_ID $WEFT_DEVICES").out);
  ASSERT_EQ(lines.size(), 10u);
  EXPECT_EQ(lines.back(), "[9] 9 10");
}

TEST(Run, RanksShareTheDevicesThatThereAre) {
  const Outcome outcome =
      run_shell(3, "echo $ASCEND_DEVICE_ID $WEFT_DEVICES", {{"WEFT_DEVICES", "2"}});
  EXPECT_EQ(sorted_lines(outcome.out), Words({"[0] 0 2", "[1] 1 2", "[2] 0 2"}));
}

TEST(Run, AWrongNumberOfDevicesIsAnError) {
  const Outcome outcome = run_shell(1, "true", {{"WEFT_DEVICES", "many"}});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("WEFT_DEVICES"), std::string::npos);
}

TEST(Run, ThereAreNoMoreDevicesThanTheRuntimeKnows) {
  EXPECT_EQ(run_shell(1, "true", {{"WEFT_DEVICES", "1025"}}).code, 2);
  EXPECT_EQ(weft({"run", "-n", "1025", "true"}).code, 2);
}

TEST(Run, RanksShareTheVisibleDevices) {
  const Environment visible = {{"ASCEND_RT_VISIBLE_DEVICES", "2,5"}};
  const Outcome outcome = run_shell(3, "echo $ASCEND_DEVICE_ID $WEFT_DEVICES", visible);
  EXPECT_EQ(sorted_lines(outcome.out), Words({"[0] 0 8", "[1] 1 8", "[2] 0 8"}));
  const Outcome table = weft(
      {"run", "-n", "3", "--no-prefix", "sh", "-c", "[ $RANK_ID != 2 ] || cat $RANK_TABLE_FILE"},
      visible);
  const auto devices = nlohmann::json::parse(table.out)["server_list"][0]["device"];
  EXPECT_EQ(devices[0]["device_id"], "2");
  EXPECT_EQ(devices[1]["device_id"], "5");
  EXPECT_EQ(devices[2]["device_id"], "2");
}

TEST(Run, AWrongListOfVisibleDevicesIsAnError) {
  for (const char* list : {"8", "1,0", "0,,1", "0,", "x"}) {
    const Outcome outcome = run_shell(1, "true", {{"ASCEND_RT_VISIBLE_DEVICES", list}});
    EXPECT_EQ(outcome.code, 2) << list;
    EXPECT_NE(outcome.err.find("ASCEND_RT_VISIBLE_DEVICES"), std::string::npos) << outcome.err;
  }
}

TEST(Run, TheRankTableListsEveryRank) {
  const Outcome outcome = weft(
      {"run", "-n", "3", "--no-prefix", "sh", "-c", "[ $RANK_ID != 2 ] || cat $RANK_TABLE_FILE"});
  const auto table = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(table["status"], "completed");
  EXPECT_EQ(table["version"], "1.0");
  EXPECT_EQ(table["server_count"], "1");
  const auto& devices = table["server_list"][0]["device"];
  ASSERT_EQ(devices.size(), 3u);
  std::set<std::string> ports;
  for (size_t rank = 0; rank < devices.size(); ++rank) {
    EXPECT_EQ(devices[rank]["rank_id"], std::to_string(rank));
    EXPECT_EQ(devices[rank]["device_id"], std::to_string(rank));
    ports.insert(devices[rank]["host_port"].get<std::string>());
  }
  EXPECT_EQ(ports.size(), 3u);
}

TEST(Run, NobodyCanChangeTheRankTable) {
  const Outcome outcome = run_shell(1, "echo x >> $RANK_TABLE_FILE");
  EXPECT_NE(outcome.code, 0);
}

TEST(Run, OutputAndErrorsKeepApartAndLinesWhole) {
  const Outcome outcome = run_shell(2, "printf 'a\\nb\\n\\nrest'; printf 'bad' >&2");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(sorted_lines(outcome.out),
            Words({"[0] ", "[0] a", "[0] b", "[0] rest", "[1] ", "[1] a", "[1] b", "[1] rest"}));
  EXPECT_EQ(sorted_lines(outcome.err), Words({"[0] bad", "[1] bad"}));
}

TEST(Run, ALotOfOutputArrivesWhole) {
  const Outcome outcome = run_shell(3, "yes 0123456789 | head -n 100000");
  EXPECT_EQ(outcome.code, 0);
  const Words lines = sorted_lines(outcome.out);
  ASSERT_EQ(lines.size(), 300000u);
  EXPECT_EQ(lines.front(), "[0] 0123456789");
  EXPECT_EQ(lines[99999], "[0] 0123456789");
  EXPECT_EQ(lines[100000], "[1] 0123456789");
  EXPECT_EQ(lines.back(), "[2] 0123456789");
}

TEST(Run, WithoutPrefixOutputIsUntouched) {
  const Outcome outcome = weft({"run", "-n", "1", "--no-prefix", "printf", "no end"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "no end");
}

TEST(Run, ArgumentsReachTheProgramAsTheyAre) {
  const Outcome outcome =
      weft({"run", "-n", "1", "printf", "<%s>", "-n", "--help", "", "a b", "--"});
  EXPECT_EQ(outcome.out, "[0] <-n><--help><><a b><-->\n");
}

TEST(Run, TheFirstFailureIsTheResultAndEndsTheOthers) {
  const Outcome outcome =
      run_shell(4, fmt::format("[ $RANK_ID = 2 ] && {{ echo last words; exit 7; }}; {}", kForever));
  EXPECT_EQ(outcome.code, 7);
  EXPECT_EQ(outcome.out, "[2] last words\n");
  EXPECT_NE(outcome.err.find("rank 2 exited with code 7"), std::string::npos) << outcome.err;
}

TEST(Run, ASignalIsAFailureToo) {
  const Outcome outcome = run_shell(3, fmt::format("[ $RANK_ID = 1 ] && kill -9 $$; {}", kForever));
  EXPECT_EQ(outcome.code, 128 + SIGKILL);
  EXPECT_NE(outcome.err.find("rank 1 was killed by signal 9"), std::string::npos) << outcome.err;
}

TEST(Run, ARankThatIgnoresTheRequestIsKilled) {
  const Outcome outcome =
      run_shell(2,
                "trap '' TERM; echo ready; "
                "[ $RANK_ID = 1 ] && exit 3; while :; do tail -f /dev/null; done");
  EXPECT_EQ(outcome.code, 3);
}

TEST(Run, WhatARankStartedEndsWithIt) {
  Program program(
      {"run", "-n", "2", "--no-prefix", "--", "sh", "-c", "tail -f /dev/null & echo $!; wait"});
  ASSERT_TRUE(program.wait_for_lines(2));
  const Words pids = sorted_lines(program.out());
  program.signal(SIGTERM);
  EXPECT_EQ(program.finish().code, 128 + SIGTERM);
  for (const std::string& pid : pids) EXPECT_TRUE(ends(std::stoi(pid)));
}

TEST(Run, AnInterruptStopsTheRanks) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    Program program({"run", "-n", "2", "--", "sh", "-c", fmt::format("echo ready; {}", kForever)});
    ASSERT_TRUE(program.wait_for_lines(2));
    program.signal(signal);
    EXPECT_EQ(program.finish().code, 128 + signal);
  }
}

TEST(Run, NoRankSurvivesAKilledWeftAndNoFileIsLeft) {
  const Folder folder;
  Program program({"run", "-n", "3", "--no-prefix", "--", "sh", "-c",
                   fmt::format("cat $RANK_TABLE_FILE > /dev/null; echo $$; {}", kForever)},
                  {{"TMPDIR", folder.path()}}, folder.path());
  ASSERT_TRUE(program.wait_for_lines(3));
  const Words pids = sorted_lines(program.out());
  program.signal(SIGKILL);
  EXPECT_EQ(program.finish().code, 128 + SIGKILL);
  for (const std::string& pid : pids) EXPECT_TRUE(ends(std::stoi(pid))) << pid;
  EXPECT_TRUE(folder.empty());
}

TEST(Run, AProgramThatIsNotThereIsNamed) {
  const Outcome outcome = weft({"run", "-n", "2", "no-such-program"});
  EXPECT_EQ(outcome.code, 127);
  EXPECT_NE(outcome.err.find("'no-such-program': No such file"), std::string::npos) << outcome.err;
}

TEST(Run, AFileThatIsNoProgramIsNamed) {
  const Outcome outcome = weft({"run", "-n", "2", "/etc/passwd"});
  EXPECT_EQ(outcome.code, 127);
  EXPECT_NE(outcome.err.find("'/etc/passwd'"), std::string::npos) << outcome.err;
}

TEST(Run, TheTimeoutEndsAllRanks) {
  const Outcome outcome = weft({"run", "-n", "2", "--timeout", "0.2", "tail", "-f", "/dev/null"});
  EXPECT_EQ(outcome.code, 124);
  EXPECT_NE(outcome.err.find("timeout"), std::string::npos);
}

TEST(Run, AReaderThatGoesAwayStopsTheRanks) {
  const std::string command = fmt::format("{} run -n 2 yes | head -n 1", WEFT_PROGRAM);
  const Outcome outcome = weft({"run", "-n", "1", "--no-prefix", "sh", "-c", command});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(sorted_lines(outcome.out).size(), 1u);
}

// Both ends of a way out that nobody reads from.
struct Unread {
  std::array<int, 2> ends = {-1, -1};  // ours, that of weft

  explicit Unread(const std::string& kind) {
    if (kind == "terminal") {
      ends[0] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
      if (grantpt(ends[0]) == 0 && unlockpt(ends[0]) == 0) {
        ends[1] = open(ptsname(ends[0]), O_RDWR | O_NOCTTY | O_CLOEXEC);
      }
    } else if (kind == "pipe") {
      EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    } else {
      EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    }
    EXPECT_GE(ends[1], 0);
  }
  ~Unread() {
    for (const int end : ends) close(end);
  }
};

class NobodyReads : public testing::TestWithParam<const char*> {};

TEST_P(NobodyReads, TheTimeoutEndsRanksThatWriteForEver) {
  const Unread unread(GetParam());
  Program program({"run", "-n", "2", "--timeout", "0.3", "yes"}, {}, "", {.out = unread.ends[1]});
  EXPECT_EQ(program.finish().code, 124);
}

TEST_P(NobodyReads, TheTimeoutHoldsAfterTheRanksHaveEnded) {
  const Unread unread(GetParam());
  Program program({"run", "-n", "1", "--timeout", "0.3", "--", "sh", "-c", "yes | head -c 400000"},
                  {}, "", {.out = unread.ends[1]});
  EXPECT_EQ(program.finish().code, 124);
}

INSTANTIATE_TEST_SUITE_P(Run, NobodyReads, testing::Values("pipe", "terminal", "socket"),
                         [](const auto& each) { return std::string(each.param); });

TEST(Run, ChildrenOfARankAtATerminalEndWithIt) {
  const Unread terminal("terminal");
  Program program(
      {"run", "-n", "1", "--no-prefix", "--", "sh", "-c", "tail -f /dev/null & echo $!; wait"}, {},
      "", {.in = terminal.ends[1]});
  ASSERT_TRUE(program.wait_for_lines(1));
  const pid_t child = std::stoi(program.out());
  program.signal(SIGTERM);
  EXPECT_EQ(program.finish().code, 128 + SIGTERM);
  EXPECT_TRUE(ends(child));
}

TEST(Run, TheSoftLimitOfFilesIsNotThatOfWeftButThatOfTheRanks) {
  const std::string command =
      fmt::format("ulimit -S -n 40 && exec {} run -n 30 sh -c 'ulimit -S -n'", WEFT_PROGRAM);
  const Outcome outcome = weft({"run", "-n", "1", "--no-prefix", "sh", "-c", command});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const Words lines = sorted_lines(outcome.out);
  ASSERT_EQ(lines.size(), 30u);
  for (const std::string& line : lines) EXPECT_EQ(line.substr(line.find(' ')), " 40");
}

TEST(Run, ARankThatCannotBeStartedStopsTheOthers) {
  const std::string command =
      fmt::format("ulimit -n 40 && exec {} run -n 30 tail -f /dev/null", WEFT_PROGRAM);
  const Outcome outcome = weft({"run", "-n", "1", "--no-prefix", "sh", "-c", command});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("cannot make a pipe"), std::string::npos) << outcome.err;
}

TEST(Run, OnlyRankZeroHasTheStandardInput) {
  const std::string command =
      fmt::format("echo input | {} run -n 2 sh -c 'cat; echo end'", WEFT_PROGRAM);
  const Outcome outcome = weft({"run", "-n", "1", "--no-prefix", "sh", "-c", command});
  EXPECT_EQ(sorted_lines(outcome.out), Words({"[0] end", "[0] input", "[1] end"}));
}

}  // namespace
}  // namespace weft::test
