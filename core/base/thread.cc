// SPDX-License-Identifier: Apache-2.0
#include "base/thread.hpp"

#include <signal.h>

#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/shortage.hpp"

namespace weft {
namespace {

/// While it lives, a thread that is started has all signals blocked.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t every;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

std::thread start_thread(std::function<void()> body) {
  const SignalsBlocked blocked;
  try {
    return std::thread(std::move(body));
  } catch (const std::system_error& error) {
    throw Error(HCCL_E_SYSCALL,
                "cannot start a thread: " + explain_no_thread(error.code().value()));
  }
}

void start_detached(std::function<void()> body) { start_thread(std::move(body)).detach(); }

}  // namespace weft
