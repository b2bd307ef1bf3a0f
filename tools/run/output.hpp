// SPDX-License-Identifier: Apache-2.0
// The output of the ranks on its way to ours: whole lines, each with its rank in front.
#pragma once

#include <cstdint>
#include <string>

#include "process.hpp"

namespace weft::tools {

/// Where lines go: a descriptor that may be slow. Never blocks on files, pipes and sockets, nor on
/// terminals that can be opened a second time.
class Sink {
 public:
  explicit Sink(int fd);

  /// To wait for until it is writable.
  int fd() const { return own_ ? own_.get() : fd_; }
  bool pending() const { return start_ < queue_.size(); }
  /// Full enough that nothing more should be read.
  bool full() const { return queue_.size() - start_ > kEnough; }
  /// The reader is gone; what is added is dropped.
  bool broken() const { return broken_; }

  void add(const std::string& text);
  /// Writes as much as the other side takes now.
  void flush();
  void drop();

 private:
  static constexpr size_t kEnough = size_t{1} << 20;

  bool writable() const;
  ssize_t put(const char* data, size_t size) const;

  int fd_;
  Fd own_;  // a non-blocking way to what fd_ leads to, if it is a pipe or a terminal
  bool socket_ = false;
  bool broken_ = false;
  std::string queue_;
  size_t start_ = 0;  // of what is not yet written
};

/// The pipe of one output of one rank.
class Source {
 public:
  Source(Fd fd, uint32_t rank, Sink& sink);

  int fd() const { return fd_.get(); }
  uint32_t rank() const { return rank_; }
  bool open() const { return static_cast<bool>(fd_); }
  Sink& sink() { return *sink_; }

  /// Takes one portion, if there is one; closes at the end. True if it took something.
  bool read_some();
  /// Hands on a last line without an end, and closes.
  void finish();

 private:
  static constexpr size_t kLongestLine = size_t{1} << 20;

  void hand_on_lines();

  Fd fd_;
  uint32_t rank_;
  std::string prefix_;
  Sink* sink_;
  std::string line_;
};

}  // namespace weft::tools
