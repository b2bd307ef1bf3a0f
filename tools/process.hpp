// SPDX-License-Identifier: Apache-2.0
// Child processes that end with this one, and signals as a file descriptor. For programs of one
// thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft::tools {

using Clock = std::chrono::steady_clock;

/// A file descriptor that is closed by whoever holds it last.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset();

 private:
  int fd_ = -1;
};

struct Pipe {
  Fd read;
  Fd write;
};

/// Both ends are closed on exec. Throws Failure.
Pipe make_pipe();
void set_nonblocking(int fd);

/// Holds back SIGCHLD, SIGINT, SIGTERM, SIGHUP and SIGPIPE; all but the last can be read.
class Signals {
 public:
  Signals();

  /// Readable when there is a signal.
  int fd() const { return fd_.get(); }
  /// The next signal, 0 if there is none.
  int next();

 private:
  Fd fd_;
};

/// Raises the number of files this process may have open as far as it goes. Children get the limit
/// back that was there before.
void raise_file_limit();

/// Forks. The child (0 is returned there) has ordinary signals again and is killed when this
/// process ends, however that happens. Throws Failure.
pid_t fork_child();

/// The wait status of a child that has ended, if it has; the child is not reaped.
std::optional<int> peek_end(pid_t child);
/// Reaps a child that has ended or is about to.
void reap(pid_t child);

/// Processes that children leave behind in our own process group, where they cannot be told from
/// our neighbours by the group alone.
class Strays {
 public:
  /// From now on such orphans become our children; those that we have already are spared.
  void adopt();
  /// Kills and reaps them. For after the children that count are gone from our group.
  void end_all() const;

 private:
  std::vector<pid_t> spared_;
};

/// "exited with code 3", "was killed by signal 9 (Killed)".
std::string describe_status(int status);
/// As shells have it: the code, or 128 + signal.
int exit_code(int status);

/// Milliseconds from now until `when`, for poll(): at least 0, rounded up.
int poll_timeout(Clock::time_point when);

/// Processors that this program may use.
int usable_cores();

}  // namespace weft::tools
