// SPDX-License-Identifier: Apache-2.0
#include "run/launcher.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <optional>

#include "command.hpp"
#include "process.hpp"
#include "run/output.hpp"

namespace weft::tools {
namespace {

constexpr int kTimedOut = 124;                       // as timeout(1)
constexpr int kCannotExecute = 127;                  // as shells
constexpr auto kPatience = std::chrono::seconds(2);  // between SIGTERM and SIGKILL

struct Rank {
  pid_t pid = -1;
  bool alive = true;
  bool own_group = true;

  void kill_all(int signal) const { kill(own_group ? -pid : pid, signal); }
};

void set_environment(const Launch& launch, uint32_t rank) {
  const auto set = [](const char* name, const std::string& value) {
    setenv(name, value.c_str(), 1);
  };
  set("RANK_ID", std::to_string(rank));
  set("RANK_SIZE", std::to_string(launch.ranks));
  set("ASCEND_DEVICE_ID", std::to_string(rank % launch.visible_devices));
  set("RANK_TABLE_FILE", launch.rank_table);
  set("WEFT_DEVICES", std::to_string(launch.devices));
}

class Launcher {
 public:
  explicit Launcher(const Launch& launch)
      : launch_(launch), out_(STDOUT_FILENO), err_(STDERR_FILENO) {
    if (launch.timeout.count() > 0) deadline_ = Clock::now() + launch.timeout;
  }

  int run();

 private:
  int start(uint32_t rank);
  [[noreturn]] void become(uint32_t rank, const Pipe& out, const Pipe& err, int report);
  void step();
  void wait_for_events();
  Clock::time_point next_alarm() const;
  void take_signals();
  void take_ends();
  void reap_strays();
  void take_output();
  void drain(size_t rank);
  void take_alarms();
  void stop(int code);
  void say(const std::string& text);
  void finish_output();
  bool any_alive() const;

  const Launch& launch_;
  Signals signals_;
  Strays strays_;  // of rank 0, if it has no group of its own
  Sink out_;
  Sink err_;
  std::deque<Source> sources_;
  std::vector<Rank> ranks_;
  std::optional<int> code_;  // set once the ranks are being stopped
  std::optional<Clock::time_point> deadline_;
  std::optional<Clock::time_point> kill_at_;
};

// In the child: never returns.
void Launcher::become(uint32_t rank, const Pipe& out, const Pipe& err, int report) {
  // Its own process group, so that what the rank starts can be ended with it. Rank 0 stays in ours
  // while it may read from a terminal, which only the foreground group can; giving it the
  // foreground would take Ctrl-C and Ctrl-Z from us. Its children are ended as strays.
  if (rank != 0 || isatty(STDIN_FILENO) == 0) setpgid(0, 0);
  if (rank != 0) {
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(null, STDIN_FILENO);
  }
  if (out.write) dup2(out.write.get(), STDOUT_FILENO);
  if (err.write) dup2(err.write.get(), STDERR_FILENO);
  set_environment(launch_, rank);
  std::vector<char*> arguments;
  for (const std::string& each : launch_.program)
    arguments.push_back(const_cast<char*>(each.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  const int error = errno;
  [[maybe_unused]] const ssize_t told = write(report, &error, sizeof error);
  _exit(kCannotExecute);
}

// Returns 0, or why the program cannot be executed.
int Launcher::start(uint32_t rank) {
  Pipe out;
  Pipe err;
  if (launch_.prefix) {
    out = make_pipe();
    err = make_pipe();
  }
  Pipe report = make_pipe();  // closed by a successful exec
  Rank started;
  started.own_group = rank != 0 || isatty(STDIN_FILENO) == 0;
  started.pid = fork_child();
  if (started.pid == 0) become(rank, out, err, report.write.get());
  ranks_.push_back(started);
  report.write.reset();
  if (launch_.prefix) {
    sources_.emplace_back(std::move(out.read), rank, out_);
    sources_.emplace_back(std::move(err.read), rank, err_);
  }
  int error = 0;
  while (read(report.read.get(), &error, sizeof error) < 0 && errno == EINTR) {
  }
  return error;
}

int Launcher::run() {
  if (isatty(STDIN_FILENO) == 1) strays_.adopt();
  for (uint32_t rank = 0; rank < launch_.ranks && !code_; ++rank) {
    try {
      const int error = start(rank);
      if (error == 0) continue;
      say(fmt::format("cannot execute '{}': {}", launch_.program[0], std::strerror(error)));
      stop(kCannotExecute);
    } catch (const Failure& failure) {
      say(fmt::format("rank {}: {}", rank, failure.what()));
      stop(kFailed);
    }
  }
  while (any_alive()) step();
  finish_output();
  return code_.value_or(0);
}

void Launcher::step() {
  wait_for_events();
  take_signals();
  take_output();
  take_ends();
  reap_strays();
  take_alarms();
}

bool Launcher::any_alive() const {
  return std::any_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.alive; });
}

Clock::time_point Launcher::next_alarm() const {
  Clock::time_point next = Clock::now() + std::chrono::hours(1);
  if (kill_at_) next = std::min(next, *kill_at_);
  if (deadline_) next = std::min(next, *deadline_);
  return next;
}

void Launcher::wait_for_events() {
  std::vector<pollfd> asked = {{signals_.fd(), POLLIN, 0}};
  for (Source& each : sources_) {
    if (each.open() && !each.sink().full()) asked.push_back({each.fd(), POLLIN, 0});
  }
  for (Sink* each : {&out_, &err_}) {
    if (each->pending()) asked.push_back({each->fd(), POLLOUT, 0});
  }
  poll(asked.data(), asked.size(), poll_timeout(next_alarm()));
}

void Launcher::take_signals() {
  for (int signal; (signal = signals_.next()) != 0;) {
    if (signal == SIGCHLD) continue;
    if (code_) kill_at_ = Clock::now();  // asked twice: no more patience
    stop(128 + signal);
  }
}

void Launcher::take_output() {
  for (Source& each : sources_) {
    if (each.open() && !each.sink().full()) each.read_some();
  }
  for (Sink* each : {&out_, &err_}) {
    each->flush();
    if (each->broken()) stop(128 + SIGPIPE);
  }
}

// All that is in the pipes of a rank now, but not what somebody it left behind goes on to write.
void Launcher::drain(size_t rank) {
  constexpr int kPortions = 16;  // of 64 KiB: more than a pipe holds, unless it was enlarged
  for (Source& each : sources_) {
    if (each.rank() != rank) continue;
    for (int i = 0; i < kPortions && each.open() && each.read_some(); ++i) {
    }
  }
}

void Launcher::take_ends() {
  for (size_t i = 0; i < ranks_.size(); ++i) {
    Rank& rank = ranks_[i];
    if (!rank.alive) continue;
    const std::optional<int> status = peek_end(rank.pid);
    if (!status) continue;
    drain(i);  // its last words come before ours
    if (*status != 0 && !code_) {
      say(fmt::format("rank {} {}{}", i, describe_status(*status),
                      ranks_.size() > 1 ? ": stopping all ranks" : ""));
      stop(exit_code(*status));
    }
    // Its group is certain to be its own only until it is reaped.
    if (code_) rank.kill_all(SIGKILL);
    reap(rank.pid);
    rank.alive = false;
    if (code_ && !rank.own_group) strays_.end_all();
  }
}

// Orphans of rank 0 that have come to us and ended.
void Launcher::reap_strays() {
  const auto is_rank = [&](pid_t pid) {
    return std::any_of(ranks_.begin(), ranks_.end(),
                       [&](const Rank& rank) { return rank.alive && rank.pid == pid; });
  };
  for (;;) {
    siginfo_t info{};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0) return;
    if (info.si_pid == 0 || is_rank(info.si_pid)) return;  // a rank has its turn at the next signal
    reap(info.si_pid);
  }
}

void Launcher::take_alarms() {
  const Clock::time_point now = Clock::now();
  if (deadline_ && now >= *deadline_) {
    deadline_.reset();
    if (!code_) say("timeout: stopping all ranks");
    stop(kTimedOut);
  }
  if (kill_at_ && now >= *kill_at_) {
    kill_at_.reset();
    for (const Rank& rank : ranks_) {
      if (rank.alive) rank.kill_all(SIGKILL);
    }
  }
}

void Launcher::stop(int code) {
  if (code_) return;
  code_ = code;
  kill_at_ = Clock::now() + kPatience;
  for (const Rank& rank : ranks_) {
    if (!rank.alive) continue;
    rank.kill_all(SIGTERM);
    rank.kill_all(SIGCONT);  // one that is stopped would not notice
  }
}

void Launcher::say(const std::string& text) { err_.add("weft run: " + text + "\n"); }

// Somebody the ranks left behind may hold the pipes open: what that writes is not waited for. A
// slow reader is waited for until the timeout, or until we are told to stop.
void Launcher::finish_output() {
  for (Source& each : sources_) {
    if (each.open()) each.finish();
  }
  kill_at_.reset();
  if (code_) kill_at_ = Clock::now() + kPatience;
  for (;;) {
    out_.flush();
    err_.flush();
    if (!out_.pending() && !err_.pending()) return;
    wait_for_events();
    take_signals();
    const Clock::time_point now = Clock::now();
    if (deadline_ && now >= *deadline_) {
      deadline_.reset();
      if (!code_) say("timeout: nobody reads the output");
      stop(kTimedOut);
    }
    if (kill_at_ && now >= *kill_at_) return;
  }
}

}  // namespace

int launch(const Launch& launch) { return Launcher(launch).run(); }

}  // namespace weft::tools
