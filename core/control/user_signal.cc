// SPDX-License-Identifier: Apache-2.0
#include "control/user_signal.hpp"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>

#include "base/error.hpp"
#include "control/loop.hpp"

namespace weft::control {
namespace {

// For the handler, which may do little: it writes here, and the control thread reads.
std::atomic<int> asked{-1};
std::atomic<pid_t> owner{0};  // a forked child shares the descriptor, but it is not asked

void on_signal(int) {
  const int before = errno;
  const uint64_t one = 1;
  if (getpid() == owner.load()) static_cast<void>(!::write(asked.load(), &one, sizeof one));
  errno = before;
}

[[noreturn]] void fail(const char* what) {
  throw Error(HCCL_E_SYSCALL,
              std::string("cannot answer SIGUSR1: ") + what + ": " + std::strerror(errno));
}

}  // namespace

bool answer_user_signal(std::function<void()> answer) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (owner.load() == getpid()) return true;
  struct sigaction present {};
  if (::sigaction(SIGUSR1, nullptr, &present) != 0) fail("sigaction");
  const bool ours = owner.load() != 0;  // the parent's, inherited
  const bool unused = (present.sa_flags & SA_SIGINFO) == 0 && present.sa_handler == SIG_DFL;
  if (!ours && !unused) return false;
  const int event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (event < 0) fail("eventfd");
  Loop::instance().on_readable(event, [event, answer = std::move(answer)] {
    uint64_t times = 0;
    if (::read(event, &times, sizeof times) == sizeof times) answer();
  });
  asked.store(event);
  owner.store(getpid());
  if (ours) return true;
  struct sigaction wanted {};
  wanted.sa_handler = on_signal;
  wanted.sa_flags = SA_RESTART;
  if (::sigaction(SIGUSR1, &wanted, nullptr) != 0) fail("sigaction");
  return true;
}

}  // namespace weft::control
