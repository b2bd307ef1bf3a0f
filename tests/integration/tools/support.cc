// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace weft::test {
namespace {

using Clock = std::chrono::steady_clock;

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  return static_cast<int>(std::max<int64_t>(0, left.count()));
}

// Takes what is there; closes and forgets the descriptor at the end of the stream.
void take(int& fd, std::string& text) {
  std::array<char, 65536> portion;
  const ssize_t size = read(fd, portion.data(), portion.size());
  if (size > 0) text.append(portion.data(), static_cast<size_t>(size));
  if (size <= 0) {
    close(fd);
    fd = -1;
  }
}

[[noreturn]] void become(const Words& words, const Environment& environment,
                         const std::string& directory) {
  if (!directory.empty() && chdir(directory.c_str()) != 0) _exit(125);
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments = {const_cast<char*>(WEFT_PROGRAM)};
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  _exit(125);
}

}  // namespace

Program::Program(const Words& words, const Environment& environment, const std::string& directory,
                 const Streams& streams) {
  int out[2];
  int err[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) std::abort();
  pid_ = fork();
  if (pid_ == 0) {
    dup2(streams.out >= 0 ? streams.out : out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(streams.in >= 0 ? streams.in : null, STDIN_FILENO);
    become(words, environment, directory);
  }
  close(out[1]);
  close(err[1]);
  out_ = out[0];
  err_ = err[0];
}

Program::~Program() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  for (const int fd : {out_, err_}) {
    if (fd >= 0) close(fd);
  }
}

// One portion of output; false at the end of both streams or at the deadline.
bool Program::pump(Clock::time_point deadline) {
  std::array<pollfd, 2> asked = {{{out_, POLLIN, 0}, {err_, POLLIN, 0}}};
  if (out_ < 0 && err_ < 0) return false;
  if (poll(asked.data(), asked.size(), milliseconds_until(deadline)) <= 0) return false;
  if (asked[0].revents != 0) take(out_, outcome_.out);
  if (asked[1].revents != 0) take(err_, outcome_.err);
  return true;
}

bool Program::wait_for_lines(size_t count) {
  const Clock::time_point deadline = Clock::now() + kDeadline;
  const auto lines = [&] {
    return static_cast<size_t>(std::count(outcome_.out.begin(), outcome_.out.end(), '\n'));
  };
  while (lines() < count) {
    if (!pump(deadline)) return false;
  }
  return true;
}

void Program::signal(int number) const { kill(pid_, number); }

Outcome Program::finish() {
  const Clock::time_point deadline = Clock::now() + kDeadline;
  while (pump(deadline)) {
  }
  if (out_ >= 0 || err_ >= 0) {
    ADD_FAILURE() << "weft did not end in time; so far it wrote:\n" << outcome_.out << outcome_.err;
    kill(pid_, SIGKILL);
  }
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  outcome_.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome_;
}

Outcome weft(const Words& words, const Environment& environment, const std::string& directory) {
  return Program(words, environment, directory).finish();
}

Words sorted_lines(const std::string& text) {
  Words lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

bool ends(pid_t pid) {
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return errno == ESRCH;
  pollfd asked{fd, POLLIN, 0};
  const int ready = poll(&asked, 1, milliseconds_until(Clock::now() + kDeadline));
  close(fd);
  return ready == 1;
}

Folder::Folder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "weft-test-").string();
  pattern.append(6, 'X');  // where mkdtemp() puts its own letters
  if (mkdtemp(pattern.data()) == nullptr) std::abort();
  path_ = pattern;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

bool Folder::empty() const { return std::filesystem::is_empty(path_); }

}  // namespace weft::test
