// SPDX-License-Identifier: Apache-2.0
// Helpers of the tests of libascendcl.so: a thread bound to a device, waiting with a deadline,
// tasks that wait for a flag, and other processes.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "acl/acl.h"
#include "acl/acl_host.h"

namespace weft::test {

/// An enumerator by its number, which need not exist: C callers can pass any.
template <class Enum>
Enum enum_value(int number) {
  return std::bit_cast<Enum>(number);
}

/// Every wait of a test gives up after this.
constexpr std::chrono::seconds kPatience{30};

/// Polls until the condition holds; false when the patience is at its end.
bool eventually(const std::function<bool()>& condition);

/// The texts stored for this thread, "" if there are none. Clears them.
std::string error_text();

/// A test whose thread is bound to device 0, with a stream.
class Acl : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  aclrtStream stream_ = nullptr;
};

/// A task that says AGAIN until it is opened. It outlives its time in the stream.
class Gate {
 public:
  void open() { open_ = true; }
  bool visited() const { return visits_ > 0; }
  aclError launch(aclrtStream stream) {
    return aclhostLaunchTask(stream, &Gate::step, nullptr, this, 0);
  }

 private:
  static int32_t step(void* self);

  std::atomic<bool> open_{false};
  std::atomic<int> visits_{0};
};

/// Queues a function as a host task; the function outlives it.
aclError launch(aclrtStream stream, std::function<int32_t()>& function, uint32_t flags = 0);

/// Another process: this program, running one of the functions below.
class Child {
 public:
  using Environment = std::vector<std::pair<std::string, std::string>>;

  /// Starts `name` with arguments; its standard input and output are pipes.
  Child(const std::string& name, const std::vector<std::string>& arguments,
        const Environment& environment = {});
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  pid_t pid() const { return pid_; }
  void write_line(const std::string& line) const;
  std::string read_line() const;  // "" at the end, or when the patience is at its end
  void kill();
  int wait();  // exit status; -1 for anything but an exit within the patience

 private:
  pid_t pid_ = -1;
  int to_ = -1;
  int from_ = -1;
};

/// What a child can run; the result is its exit status.
using ChildMain = int (*)(const std::vector<std::string>& arguments);
int register_child(const std::string& name, ChildMain function);

/// In a child: ends the process with a message unless the condition holds.
void demand(bool condition, const std::string& what);

}  // namespace weft::test
