// SPDX-License-Identifier: Apache-2.0
// Runs `weft` and says what came of it. Nothing waits for longer than kDeadline.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace weft::test {

constexpr std::chrono::seconds kDeadline{60};

using Words = std::vector<std::string>;
using Environment = std::map<std::string, std::string>;  // added to ours

struct Outcome {
  int code = -1;  // 128 + signal if it was killed
  std::string out;
  std::string err;
};

/// Descriptors to run `weft` with; -1: nothing to read, and output that Program reads.
struct Streams {
  int in = -1;
  int out = -1;
};

/// A running `weft`. It is killed if it is still there at the end.
class Program {
 public:
  /// `directory` becomes its working directory if it is not empty.
  explicit Program(const Words& words, const Environment& environment = {},
                   const std::string& directory = "", const Streams& streams = {});
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  /// Waits until it has written so many lines to its standard output. False at the deadline or the
  /// end.
  bool wait_for_lines(size_t count);
  const std::string& out() const { return outcome_.out; }
  void signal(int number) const;
  /// Waits for the end. A test failure, and killed, if it is too late.
  Outcome finish();

 private:
  bool pump(std::chrono::steady_clock::time_point deadline);

  pid_t pid_ = -1;
  int out_ = -1;
  int err_ = -1;
  Outcome outcome_;
};

Outcome weft(const Words& words, const Environment& environment = {},
             const std::string& directory = "");

/// The lines of a text, sorted.
Words sorted_lines(const std::string& text);

/// True as soon as a process is gone; false at the deadline.
bool ends(pid_t pid);

/// An empty folder that is removed with all that is in it.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::string& path() const { return path_; }
  bool empty() const;

 private:
  std::string path_;
};

}  // namespace weft::test
