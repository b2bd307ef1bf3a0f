// SPDX-License-Identifier: Apache-2.0
// Ranks as processes: deaths, orderly ends, forks. The test's own process never starts a thread, so
// it may fork at any time; its children take commands and report events, one line each, over pipes.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <utility>

#include "support.hpp"

// The thread sanitizer ends a forked child that starts a thread, which is what one of these tests
// is about.
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_options() {
  return "die_after_fork=0";
}

namespace weft::control {
namespace {

std::string to_hex(const HcclRootInfo& info) {
  std::string text;
  for (const char c : info.internal) {
    text += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
    text += "0123456789abcdef"[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

HcclRootInfo from_hex(const std::string& text) {
  HcclRootInfo info;
  for (std::size_t i = 0; i < sizeof info.internal; ++i)
    info.internal[i] = static_cast<char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  return info;
}

// The child's side.
class Rank final : public Listener {
 public:
  Rank(std::uint32_t ranks, std::uint32_t rank, int commands, int reports)
      : ranks_(ranks), rank_(rank), commands_(::fdopen(commands, "r")), reports_(reports) {}

  [[noreturn]] void serve() {
    char* line = nullptr;
    std::size_t size = 0;
    while (::getline(&line, &size, commands_) > 0) {
      std::istringstream words(line);
      std::string command;
      words >> command;
      try {
        obey(command, words);
      } catch (const Error& error) {
        say("error " + std::to_string(error.code()) + " " + error.what());
      }
    }
    std::exit(0);
  }

  void on_peer_lost(std::uint32_t rank, const std::string& what) noexcept override {
    say("lost " + std::to_string(rank) + " " + what);
  }
  void on_peer_left(std::uint32_t rank) noexcept override { say("left " + std::to_string(rank)); }
  void on_message(std::uint32_t from, std::span<const std::byte> bytes) noexcept override {
    if (expected_ == 0) {
      const bool right = is_blob(bytes, blob_of(from, bytes.size() - blob_of(from).size()));
      return say((right ? "got " : "wrong ") + std::to_string(bytes.size()) + " from " +
                 std::to_string(from));
    }
    if (!is_blob(bytes, blob_of(from, counts_[from]++))) say("out of order");
    if (--expected_ == 0) say("got all");
  }

 private:
  void obey(const std::string& command, std::istringstream& words) {
    if (command == "open") {
      say("info " + to_hex(new_root()));
    } else if (command == "open-and-log") {
      ::setenv("WEFT_LOG", "debug", 1);
      ::dup2(reports_, STDERR_FILENO);
      say("info " + to_hex(new_root()));
    } else if (command == "join") {
      std::string info;
      words >> info;
      Hello hello = hello_of(ranks_, rank_);
      hello.pid = ::getpid();
      session_ = Session::join(from_hex(info), hello, kDeadline);
      session_->watch(this);
      say("joined");
    } else if (command == "gather") {
      const auto parts = session_->all_gather(blob_of(rank_), kDeadline);
      for (std::uint32_t peer = 0; peer < ranks_; ++peer)
        if (parts[peer] != blob_of(peer)) throw Error(HCCL_E_INTERNAL, "wrong bytes");
      say("gathered");
    } else if (command == "post") {
      std::uint32_t to = 0;
      std::size_t extra = 0;
      words >> to >> extra;
      session_->post(to, blob_of(rank_, extra));
      say("posted");
    } else if (command == "expect") {
      std::uint32_t each = 0;
      words >> each;
      expected_ = each * ranks_;
      say("ready");
    } else if (command == "flood") {
      std::uint32_t each = 0;
      words >> each;
      for (std::uint32_t i = 0; i < each; ++i)
        for (std::uint32_t to = 0; to < ranks_; ++to) session_->post(to, blob_of(rank_, i));
    } else if (command == "pour") {
      std::uint32_t to = 0;
      for (words >> to; std::size_t extra : std::vector<std::size_t>(40, 1'000'000))
        session_->post(to, blob_of(rank_, extra));
      say("poured");
    } else if (command == "identities") {
      std::set<std::uint64_t> all;
      for (const Peer& peer : session_->peers()) all.insert(peer.process);
      say(std::to_string(all.size() - all.count(0)) + " identities");
    } else if (command == "fork") {
      fork_a_helper();
    } else if (command == "leave") {
      session_->leave();
      say("gone");
    } else if (command == "leave-and-exit") {
      session_->leave();
      std::exit(0);
    } else if (command == "exit") {
      std::exit(0);  // with the session open and the control thread running
    }
  }

  // A process like a data loader's worker: it outlives this one, and may use a session of its own.
  void fork_a_helper() {
    const std::uint64_t parent = session_->peers()[rank_].process;
    const pid_t child = ::fork();
    if (child != 0) return;
    say("forked " + std::to_string(::getpid()));
    session_.reset();  // must not touch the parent's connection
    const std::unique_ptr<Session> own = try_join(new_root(), hello_of(1, 0)).session;
    const bool fine = own != nullptr && own->peers()[0].process != parent;
    say(fine ? "helper works" : "helper fails");
    for (;;) ::pause();
  }

  void say(const std::string& text) noexcept {
    const std::lock_guard lock(mutex_);
    const std::string line = text + "\n";
    if (::write(reports_, line.data(), line.size()) < 0) std::abort();
  }

  std::uint32_t ranks_;
  std::uint32_t rank_;
  FILE* commands_;
  int reports_;
  std::mutex mutex_;
  std::atomic<std::uint32_t> expected_{0};         // messages still to come in a flood
  std::map<std::uint32_t, std::uint32_t> counts_;  // by sender
  std::unique_ptr<Session> session_;
};

// The test's side of one rank.
class Process {
 public:
  Process(std::uint32_t ranks, std::uint32_t rank) {
    int down[2];
    int up[2];
    if (::pipe2(down, 0) != 0 || ::pipe2(up, 0) != 0) std::abort();
    std::fflush(nullptr);  // or the child prints it again
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // should the test itself be killed
      ::close(down[1]);
      ::close(up[0]);
      Rank(ranks, rank, down[0], up[1]).serve();
    }
    ::close(down[0]);
    ::close(up[1]);
    commands_ = down[1];
    reports_ = up[0];
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  ~Process() {
    if (pid_ > 0) kill();
    ::close(commands_);
    ::close(reports_);
  }

  pid_t pid() const { return pid_; }

  void tell(const std::string& command) {
    const std::string line = command + "\n";
    ASSERT_EQ(::write(commands_, line.data(), line.size()), static_cast<ssize_t>(line.size()));
  }

  // The next report, or "silence" at the deadline, or "end".
  std::string hear(std::chrono::milliseconds patience = kDeadline) {
    std::size_t end = 0;
    while ((end = heard_.find('\n')) == std::string::npos) {
      pollfd waiting{reports_, POLLIN, 0};
      if (::poll(&waiting, 1, static_cast<int>(patience.count())) != 1) return "silence";
      char bytes[4096];
      const ssize_t got = ::read(reports_, bytes, sizeof bytes);
      if (got <= 0) return "end";
      heard_.append(bytes, static_cast<std::size_t>(got));
    }
    const std::string line = heard_.substr(0, end);
    heard_.erase(0, end + 1);
    return line;
  }

  void kill() {
    ::kill(pid_, SIGKILL);
    reap();
  }

  // Waits for its end and gives the exit code, -1 after a signal.
  int reap() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = -1;
  int commands_ = -1;
  int reports_ = -1;
  std::string heard_;
};

class Job {
 public:
  explicit Job(std::uint32_t ranks, const std::string& open = "open") {
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      processes_.push_back(std::make_unique<Process>(ranks, rank));
    processes_[0]->tell(open);
    const std::string answer = processes_[0]->hear();
    info_ = answer.substr(answer.find(' ') + 1);
  }

  Process& operator[](std::uint32_t rank) { return *processes_[rank]; }

  void tell_join(std::uint32_t rank) { processes_[rank]->tell("join " + info_); }

  void join() {
    for (std::uint32_t rank = 0; rank < processes_.size(); ++rank) tell_join(rank);
    for (const auto& process : processes_) ASSERT_EQ(process->hear(), "joined");
  }

  void expect_all(const std::string& command, const std::string& answer) {
    for (const auto& process : processes_) process->tell(command);
    for (const auto& process : processes_) EXPECT_EQ(process->hear(), answer);
  }

 private:
  std::vector<std::unique_ptr<Process>> processes_;
  std::string info_;
};

std::string lost_text(std::uint32_t rank, pid_t pid) {
  return "lost " + std::to_string(rank) + " rank " + std::to_string(rank) + " (process " +
         std::to_string(pid) + " on host host" + std::to_string(rank) + ")";
}

class Processes : public testing::TestWithParam<std::uint32_t> {};

TEST_P(Processes, JoinExchangeAndExit) {
  Job job(GetParam());
  job.join();
  job.expect_all("identities", std::to_string(GetParam()) + " identities");
  job.expect_all("gather", "gathered");
  job.expect_all("gather", "gathered");
  for (std::uint32_t rank = 0; rank < GetParam(); ++rank) job[rank].tell("leave-and-exit");
  for (std::uint32_t rank = 0; rank < GetParam(); ++rank) EXPECT_EQ(job[rank].reap(), 0);
}

INSTANTIATE_TEST_SUITE_P(Ranks, Processes, testing::Values(1u, 2u, 3u, 8u, 33u));

TEST(Death, OfARankIsToldToAllOthers) {
  Job job(4);
  job.join();
  const pid_t victim = job[2].pid();
  job[2].kill();
  for (const std::uint32_t rank : {0u, 1u, 3u}) {
    const std::string heard = job[rank].hear();
    EXPECT_TRUE(heard.starts_with(lost_text(2, victim))) << heard;
  }
  job[3].tell("gather");
  const std::string heard = job[3].hear();
  EXPECT_TRUE(heard.starts_with("error " + std::to_string(HCCL_E_REMOTE) + " rank 2")) << heard;
}

TEST(Death, OfTheRootIsToldToAllOthers) {
  Job job(3);
  job.join();
  job[1].tell("gather");
  const pid_t victim = job[0].pid();
  job[0].kill();
  std::string heard = job[2].hear();
  EXPECT_TRUE(heard.starts_with(lost_text(0, victim))) << heard;
  // The rank in the exchange gets the event and the error, in either order.
  heard = job[1].hear() + "\n" + job[1].hear();
  EXPECT_TRUE(contains(heard, lost_text(0, victim))) << heard;
  EXPECT_TRUE(contains(heard, "error " + std::to_string(HCCL_E_REMOTE))) << heard;
}

TEST(Death, BeforeAllJoinedFailsTheOthersNamingTheRank) {
  Job job(3, "open-and-log");
  job.tell_join(1);
  const std::string name = "rank 1 (process " + std::to_string(job[1].pid()) + " on host host1)";
  const std::string heard = job[0].hear();
  EXPECT_TRUE(contains(heard, name + " has joined, 1 of 3")) << heard;
  job[1].kill();
  job.tell_join(2);
  const std::string error = job[2].hear();
  EXPECT_TRUE(error.starts_with("error " + std::to_string(HCCL_E_REMOTE) + " " + name)) << error;
}

TEST(Death, OfTheRootBeforeAllJoinedFailsTheOthers) {
  Job job(3, "open-and-log");
  job.tell_join(1);
  const std::string heard = job[0].hear();
  EXPECT_TRUE(contains(heard, "has joined, 1 of 3")) << heard;
  const std::string name = "the root process (process " + std::to_string(job[0].pid());
  job[0].kill();
  const std::string error = job[1].hear();
  EXPECT_TRUE(error.starts_with("error " + std::to_string(HCCL_E_REMOTE) + " " + name)) << error;
}

TEST(Death, IsNoticedThoughAForkedHelperLivesOn) {
  Job job(3);
  job.join();
  job[1].tell("fork");
  const std::string heard = job[1].hear();
  ASSERT_TRUE(heard.starts_with("forked ")) << heard;
  EXPECT_EQ(job[1].hear(), "helper works");
  job.expect_all("gather", "gathered");
  const pid_t victim = job[1].pid();
  job[1].kill();
  for (const std::uint32_t rank : {0u, 2u}) {
    const std::string news = job[rank].hear();
    EXPECT_TRUE(news.starts_with(lost_text(1, victim))) << news;
  }
  ::kill(std::stoi(heard.substr(7)), SIGKILL);
}

TEST(Exit, WithoutLeavingIsADeathAndDoesNotHang) {
  Job job(3);
  job.join();
  const pid_t victim = job[1].pid();
  job[1].tell("exit");
  EXPECT_EQ(job[1].reap(), 0);
  for (const std::uint32_t rank : {0u, 2u}) {
    const std::string heard = job[rank].hear();
    EXPECT_TRUE(heard.starts_with(lost_text(1, victim))) << heard;
  }
}

TEST(Exit, OfTheRootAfterLeavingIsOrderly) {
  Job job(3);
  job.join();
  job[0].tell("leave-and-exit");
  EXPECT_EQ(job[0].reap(), 0);
  EXPECT_EQ(job[1].hear(), "left 0");
  EXPECT_EQ(job[2].hear(), "left 0");
  // Were the end of the process reported, then before the answer to a later command.
  for (const std::uint32_t rank : {1u, 2u}) {
    job[rank].tell("leave");
    EXPECT_EQ(job[rank].hear(), "gone");
    job[rank].tell("exit");
    EXPECT_EQ(job[rank].reap(), 0);
  }
}

TEST(Leave, OfTheRootFirstKeepsTheOthersInformed) {
  Job job(4);
  job.join();
  job[0].tell("leave");
  EXPECT_EQ(job[0].hear(), "gone");
  for (const std::uint32_t rank : {1u, 2u, 3u}) EXPECT_EQ(job[rank].hear(), "left 0");
  job[1].tell("leave");
  EXPECT_EQ(job[1].hear(), "gone");
  EXPECT_EQ(job[2].hear(), "left 1");
  EXPECT_EQ(job[3].hear(), "left 1");
  const pid_t victim = job[2].pid();
  job[2].kill();
  const std::string heard = job[3].hear();
  EXPECT_TRUE(heard.starts_with(lost_text(2, victim))) << heard;
}

TEST_P(Processes, PostToEachOtherInOrder) {
  Job job(GetParam());
  job.join();
  job.expect_all("expect 25", "ready");
  for (std::uint32_t rank = 0; rank < GetParam(); ++rank) job[rank].tell("flood 25");
  for (std::uint32_t rank = 0; rank < GetParam(); ++rank) EXPECT_EQ(job[rank].hear(), "got all");
}

TEST(Post, ReachesEveryOtherProcess) {
  Job job(3);
  job.join();
  for (const auto& [from, to] : {std::pair(0u, 1u), {0u, 2u}, {1u, 0u}, {1u, 2u}, {2u, 1u}}) {
    job[from].tell("post " + std::to_string(to) + " 100000");
    EXPECT_EQ(job[from].hear(), "posted");
    EXPECT_EQ(job[to].hear(), "got " + std::to_string(blob_of(from, 100'000).size()) + " from " +
                                  std::to_string(from));
  }
}

TEST(Post, DoesNotWaitForAStoppedReceiver) {
  Job job(3);
  job.join();
  ::kill(job[2].pid(), SIGSTOP);
  for (const std::uint32_t from : {0u, 1u}) {
    job[from].tell("pour 2");
    EXPECT_EQ(job[from].hear(), "poured");
  }
  job[1].tell("post 0 0");
  EXPECT_EQ(job[1].hear(), "posted");
  EXPECT_EQ(job[0].hear(), "got " + std::to_string(blob_of(1).size()) + " from 1");
  ::kill(job[2].pid(), SIGCONT);
  std::map<std::string, int> heard;
  for (int i = 0; i < 80; ++i) ++heard[job[2].hear()];
  for (const std::uint32_t from : {0u, 1u})
    EXPECT_EQ(heard["got " + std::to_string(blob_of(from, 1'000'000).size()) + " from " +
                    std::to_string(from)],
              40);
}

TEST(Post, ArrivesThoughTheSenderLeavesAtOnce) {
  for (const std::uint32_t sender : {0u, 1u}) {
    Job job(3);
    job.join();
    job[sender].tell("pour 2");
    EXPECT_EQ(job[sender].hear(), "poured");
    job[sender].tell("leave");
    const std::string size = std::to_string(blob_of(sender, 1'000'000).size());
    for (int i = 0; i < 40; ++i)
      EXPECT_EQ(job[2].hear(), "got " + size + " from " + std::to_string(sender));
    EXPECT_EQ(job[2].hear(), "left " + std::to_string(sender));
  }
}

void expect_post_fails(Process& process, std::uint32_t to, const std::string& text) {
  process.tell("post " + std::to_string(to) + " 0");
  const std::string heard = process.hear();
  EXPECT_TRUE(
      heard.starts_with("error " + std::to_string(HCCL_E_REMOTE) + " rank " + std::to_string(to)))
      << heard;
  EXPECT_TRUE(contains(heard, text)) << heard;
}

TEST(Post, ToADeadRankFailsNamingIt) {
  Job job(3);
  job.join();
  job[2].kill();
  for (const std::uint32_t rank : {0u, 1u}) {
    EXPECT_TRUE(job[rank].hear().starts_with("lost 2"));
    expect_post_fails(job[rank], 2, "ended without leaving");
  }
  job[0].tell("post 1 0");
  EXPECT_EQ(job[0].hear(), "posted");
  EXPECT_TRUE(job[1].hear().starts_with("got "));
}

TEST(Post, WithoutTheRootFailsNamingTheReceiver) {
  Job job(3);
  job.join();
  const pid_t victim = job[0].pid();
  job[0].kill();
  EXPECT_TRUE(job[1].hear().starts_with("lost 0"));
  expect_post_fails(job[1], 0, "ended without leaving");
  expect_post_fails(job[1], 2, "the root process (process " + std::to_string(victim));
}

TEST(Join, OfARootThatEndedIsRefused) {
  Job job(2);
  job[0].kill();
  job.tell_join(1);
  const std::string heard = job[1].hear();
  EXPECT_TRUE(heard.starts_with("error " + std::to_string(HCCL_E_TCP_CONNECT))) << heard;
}

}  // namespace
}  // namespace weft::control
