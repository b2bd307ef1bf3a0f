// SPDX-License-Identifier: Apache-2.0
#include "run/output.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <limits.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace weft::tools {

namespace {

// Our descriptor may be shared with other programs, so it cannot be made non-blocking itself. Empty
// if there is no other way to where it leads.
Fd open_again(int fd) {
  unsigned number = 0;
  // The leading side of a pseudo-terminal would open a new one.
  if (ioctl(fd, TIOCGPTN, &number) == 0) return Fd();
  return Fd(open(fmt::format("/proc/self/fd/{}", fd).c_str(),
                 O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

}  // namespace

Sink::Sink(int fd) : fd_(fd) {
  struct stat about {};
  if (fstat(fd, &about) != 0) return;
  socket_ = S_ISSOCK(about.st_mode);
  if (S_ISFIFO(about.st_mode) || isatty(fd) == 1) own_ = open_again(fd);
}

void Sink::add(const std::string& text) {
  if (!broken_) queue_ += text;
}

bool Sink::writable() const {
  pollfd ask{fd(), POLLOUT, 0};
  return poll(&ask, 1, 0) == 1;
}

ssize_t Sink::put(const char* data, size_t size) const {
  return socket_ ? send(fd_, data, size, MSG_DONTWAIT | MSG_NOSIGNAL) : write(fd(), data, size);
}

void Sink::flush() {
  while (pending() && writable()) {
    // What a writable pipe takes without blocking, should it be the descriptor itself.
    const size_t size = std::min<size_t>(queue_.size() - start_, PIPE_BUF);
    const ssize_t done = put(queue_.data() + start_, size);
    if (done < 0 && errno == EAGAIN) break;
    if (done < 0 && errno != EINTR) {
      broken_ = true;
      drop();
    }
    if (done > 0) start_ += static_cast<size_t>(done);
  }
  if (!pending()) drop();
  if (start_ > kEnough) {  // a reader that never catches up must not make us keep it all
    queue_.erase(0, start_);
    start_ = 0;
  }
}

void Sink::drop() {
  queue_.clear();
  start_ = 0;
}

Source::Source(Fd fd, uint32_t rank, Sink& sink)
    : fd_(std::move(fd)), rank_(rank), prefix_(fmt::format("[{}] ", rank)), sink_(&sink) {
  set_nonblocking(fd_.get());
}

bool Source::read_some() {
  std::array<char, 65536> portion;
  const ssize_t size = read(fd_.get(), portion.data(), portion.size());
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (size <= 0) {
    finish();
    return false;
  }
  line_.append(portion.data(), static_cast<size_t>(size));
  hand_on_lines();
  return true;
}

void Source::hand_on_lines() {
  size_t start = 0;
  for (size_t end; (end = line_.find('\n', start)) != std::string::npos; start = end + 1) {
    sink_->add(prefix_ + line_.substr(start, end + 1 - start));
  }
  line_.erase(0, start);
  if (line_.size() > kLongestLine) {  // not a line: cut it, so that memory stays bounded
    sink_->add(prefix_ + line_ + "\n");
    line_.clear();
  }
}

void Source::finish() {
  if (!line_.empty()) sink_->add(prefix_ + line_ + "\n");
  line_.clear();
  fd_.reset();
}

}  // namespace weft::tools
