// SPDX-License-Identifier: Apache-2.0
#include "process.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>

#include "command.hpp"

namespace weft::tools {
namespace {

[[noreturn]] void fail(const char* what) {
  throw Failure(fmt::format("{}: {}", what, std::strerror(errno)));
}

std::optional<rlimit> inherited_limit;  // of open files, once it is raised

sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  return set;
}

void ordinary_signals() {
  const sigset_t set = watched_signals();
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_DFL);
}

// Empty if the kernel does not tell.
std::vector<pid_t> children() {
  std::ifstream list(fmt::format("/proc/self/task/{}/children", getpid()));
  return {std::istream_iterator<pid_t>(list), std::istream_iterator<pid_t>()};
}

}  // namespace

void Fd::reset() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail("cannot make a pipe");
  return {Fd(ends[0]), Fd(ends[1])};
}

void set_nonblocking(int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }

Signals::Signals() {
  const sigset_t set = watched_signals();
  // An inherited "ignore" would make children vanish without a status.
  std::signal(SIGCHLD, SIG_DFL);
  std::signal(SIGPIPE, SIG_IGN);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  fd_ = Fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_) fail("cannot watch signals");
}

int Signals::next() {
  signalfd_siginfo info{};
  return read(fd_.get(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
}

void raise_file_limit() {
  rlimit limit{};
  if (inherited_limit || getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  inherited_limit = limit;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);  // if not, what needs more files fails and says so
}

pid_t fork_child() {
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) fail("cannot start a process");
  if (child > 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(128 + SIGKILL);  // it ended before prctl()
  ordinary_signals();
  if (inherited_limit) setrlimit(RLIMIT_NOFILE, &*inherited_limit);
  return 0;
}

std::optional<int> peek_end(pid_t child) {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid == 0) {
    return std::nullopt;
  }
  return info.si_code == CLD_EXITED ? W_EXITCODE(info.si_status, 0) : W_EXITCODE(0, info.si_status);
}

void reap(pid_t child) {
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Strays::adopt() {
  spared_ = children();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void Strays::end_all() const {
  for (bool found = true; found;) {  // the children of a stray come to us when it ends
    found = false;
    for (const pid_t child : children()) {
      const bool spared = std::find(spared_.begin(), spared_.end(), child) != spared_.end();
      if (spared || getpgid(child) != getpgrp()) continue;
      kill(child, SIGKILL);
      reap(child);
      found = true;
    }
  }
}

std::string describe_status(int status) {
  if (WIFEXITED(status)) return fmt::format("exited with code {}", WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  return fmt::format("was killed by signal {} ({})", signal, strsignal(signal));
}

int exit_code(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int poll_timeout(Clock::time_point when) {
  constexpr int64_t kLongest = 3'600'000;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(when - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, kLongest));
}

int usable_cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

}  // namespace weft::tools
