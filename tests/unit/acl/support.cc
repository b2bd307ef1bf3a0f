// SPDX-License-Identifier: Apache-2.0
// Helpers of the tests, and the program's main: a child's function or the tests.
#include "support.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>

namespace weft::test {
namespace {

constexpr int kPatienceMs = static_cast<int>(std::chrono::milliseconds(kPatience).count());

std::map<std::string, ChildMain>& children() {
  static std::map<std::string, ChildMain> all;
  return all;
}

}  // namespace

bool eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    sched_yield();
  }
  return true;
}

std::string error_text() {
  const char* text = aclGetRecentErrMsg();
  return text == nullptr ? "" : text;
}

void Acl::SetUp() {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS) << error_text();
  ASSERT_EQ(aclrtCreateStream(&stream_), ACL_SUCCESS) << error_text();
  error_text();
  aclrtGetLastError(ACL_RT_THREAD_LEVEL);
}

void Acl::TearDown() {
  if (stream_ != nullptr) {
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(aclrtDestroyStream(stream_), ACL_SUCCESS) << error_text();
    EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  }
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS) << error_text();
  error_text();
}

int32_t Gate::step(void* self) {
  auto* gate = static_cast<Gate*>(self);
  ++gate->visits_;
  return gate->open_ ? ACLHOST_DONE : ACLHOST_AGAIN;
}

aclError launch(aclrtStream stream, std::function<int32_t()>& function, uint32_t flags) {
  return aclhostLaunchTask(
      stream,
      [](void* argument) -> int32_t {
        return (*static_cast<std::function<int32_t()>*>(argument))();
      },
      nullptr, &function, flags);
}

Child::Child(const std::string& name, const std::vector<std::string>& arguments,
             const Environment& environment) {
  int input[2];
  int output[2];
  if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0) std::abort();
  std::vector<std::string> words = {"/proc/self/exe", "--child", name};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    dup2(input[0], STDIN_FILENO);
    dup2(output[1], STDOUT_FILENO);
    for (const auto& [key, value] : environment) setenv(key.c_str(), value.c_str(), 1);
    execv(argv[0], argv.data());
    _exit(127);
  }
  close(input[0]);
  close(output[1]);
  to_ = input[1];
  from_ = output[0];
}

Child::~Child() {
  close(to_);
  close(from_);
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
}

void Child::write_line(const std::string& line) const {
  const std::string text = line + "\n";
  EXPECT_EQ(write(to_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

std::string Child::read_line() const {
  std::string line;
  for (;;) {
    pollfd ready{from_, POLLIN, 0};
    char letter = 0;
    if (poll(&ready, 1, kPatienceMs) != 1 || read(from_, &letter, 1) != 1) return "";
    if (letter == '\n') return line;
    line += letter;
  }
}

void Child::kill() {
  ::kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

int Child::wait() {
  const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  pollfd ended{descriptor, POLLIN, 0};
  const bool in_time = poll(&ended, 1, kPatienceMs) == 1;
  close(descriptor);
  if (!in_time) return -1;
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int register_child(const std::string& name, ChildMain function) {
  children()[name] = function;
  return 0;
}

void demand(bool condition, const std::string& what) {
  if (condition) return;
  std::fprintf(stderr, "child: %s: %s\n", what.c_str(), error_text().c_str());
  _exit(1);
}

}  // namespace weft::test

int main(int argc, char** argv) {
  if (argc >= 3 && std::string(argv[1]) == "--child") {
    return weft::test::children().at(argv[2])(std::vector<std::string>(argv + 3, argv + argc));
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
