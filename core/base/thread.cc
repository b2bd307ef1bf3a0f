// SPDX-License-Identifier: Apache-2.0
#include "base/thread.hpp"

#include <signal.h>

#include <thread>
#include <utility>

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

void start_detached(std::function<void()> body) {
  const SignalsBlocked blocked;
  std::thread(std::move(body)).detach();
}

}  // namespace weft
