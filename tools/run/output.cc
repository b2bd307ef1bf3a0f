// SPDX-License-Identifier: Apache-2.0
#include "run/output.hpp"

#include <fmt/core.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace weft::tools {

void Sink::add(const std::string& text) {
  if (!broken_) queue_ += text;
}

bool Sink::writable() const {
  pollfd ask{fd_, POLLOUT, 0};
  return poll(&ask, 1, 0) == 1;
}

void Sink::flush() {
  // A pipe that is writable takes PIPE_BUF bytes without blocking, and our descriptor may be shared
  // with other programs, so it cannot be made non-blocking.
  while (pending() && writable()) {
    const size_t size = std::min<size_t>(queue_.size() - start_, PIPE_BUF);
    const ssize_t done = write(fd_, queue_.data() + start_, size);
    if (done < 0 && errno != EINTR && errno != EAGAIN) {
      broken_ = true;
      drop();
    }
    if (done > 0) start_ += static_cast<size_t>(done);
  }
  if (!pending()) drop();
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
