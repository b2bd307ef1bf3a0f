// SPDX-License-Identifier: Apache-2.0
// File descriptors and threads that have run out, each time in a process of its own.
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "control/loop.hpp"
#include "control/root_info.hpp"
#include "support.hpp"
#include "support/no_threads.hpp"

namespace weft::control {
namespace {

/// Runs `body`, whose failures are the test's, in a child; what it logged.
std::string log_of_child(const std::function<void()>& body) {
  int ends[2];
  if (::pipe(ends) != 0) std::abort();
  std::fflush(nullptr);  // or the child prints it again
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::alarm(60);
    ::dup2(ends[1], STDERR_FILENO);
    body();
    std::fflush(stdout);
    std::_Exit(testing::Test::HasFailure() ? 1 : 0);
  }
  ::close(ends[1]);
  std::string log;
  char bytes[4096];
  for (ssize_t got = 0; (got = ::read(ends[0], bytes, sizeof bytes)) > 0;) {
    log.append(bytes, static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << log;
  return log;
}

/// While it lives, this process can open nothing.
class NoDescriptors {
 public:
  NoDescriptors() {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit none{0, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~NoDescriptors() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

void expect_error(const std::function<void()>& body, const std::string& part) {
  try {
    body();
    ADD_FAILURE() << "no error with " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), HCCL_E_SYSCALL) << error.what();
    EXPECT_TRUE(contains(error.what(), part)) << error.what();
  }
}

TEST(ShortageOfDescriptors, AtARootIsToldOnceAndWaitedFor) {
  const std::string log = log_of_child([] {
    const HcclRootInfo info = new_root();
    const RootInfo root = read_root_info(info);
    const Endpoint endpoint = parse_endpoint(root.ip, root.port, "test");
    const Socket guest = Socket::open(endpoint.address.ss_family);
    {
      const NoDescriptors none;
      (void)::connect(guest.fd(), reinterpret_cast<const sockaddr*>(&endpoint.address),
                      endpoint.length);
      std::this_thread::sleep_for(milliseconds(350));  // the root tries several times
    }
    for (const JoinResult& rank : join_all(info, 2)) EXPECT_TRUE(rank.session) << rank.text;
  });
  const std::size_t first = log.find("ulimit -n");
  ASSERT_NE(first, std::string::npos) << log;
  EXPECT_EQ(log.find("ulimit -n", first + 1), std::string::npos) << log;
}

TEST(ShortageOfDescriptors, IsTheReasonWhyThereIsNoRoot) {
  log_of_child([] {
    {
      const NoDescriptors none;
      expect_error([] { new_root(); }, "ulimit -n");
      expect_error([] { Loop::instance(); }, "ulimit -n");
    }
    new_root();
  });
}

TEST(ShortageOfThreads, IsTheReasonWhyThereIsNoRoot) {
  log_of_child([] {
    {
      const test::NoThreads none;
      expect_error([] { new_root(); }, "ulimit -u");
    }
    const HcclRootInfo info = new_root();
    EXPECT_TRUE(try_join(info, hello_of(1, 0)).session);
  });
}

}  // namespace
}  // namespace weft::control
