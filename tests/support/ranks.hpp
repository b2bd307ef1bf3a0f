// SPDX-License-Identifier: Apache-2.0
// Runs a function as the ranks of a group. The test's own process never uses ACL or HCCL: ranks
// live in forked children, as threads of one or as processes of their own, so that every group
// starts from nothing and a rank may crash or be killed. What GoogleTest finds wrong in a rank
// becomes a failure of the test that runs the group.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <source_location>
#include <stdexcept>
#include <string>

#include "acl/acl.h"
#include "hccl/hccl.h"

namespace weft::test {

struct Shared;

enum class Layout {
  kThreads,    // one process
  kProcesses,  // one process per rank
  kPairs       // two ranks in each process
};

/// For names of parameterised tests.
std::string layout_name(Layout layout);

struct GroupOptions {
  std::chrono::seconds deadline{60};               // of the whole group; then it is killed
  std::map<std::string, std::string> environment;  // set in the children only
  bool device = true;                              // each rank begins with its device set
};

/// Ends a rank: the test fails with this text.
class Failure : public std::runtime_error {
 public:
  Failure(const std::string& text, const std::source_location& where)
      : std::runtime_error(text), file(where.file_name()), line(static_cast<int>(where.line())) {}

  const char* file;
  int line;
};

/// One rank of a group. Used on its own thread only.
class Rank {
 public:
  Rank(Shared& shared, uint32_t rank, uint32_t ranks);

  uint32_t rank() const { return rank_; }
  uint32_t ranks() const { return ranks_; }
  int32_t device() const { return device_; }

  /// What this rank is doing now, for the message when the group hangs or dies.
  void note(const std::string& what);

  /// Waits on the host until all ranks are here.
  void sync();

  /// Counters of the group: event() adds one to a counter, await() waits until it has that value.
  static constexpr uint32_t kCounters = 16;
  void event(uint32_t counter);
  void await(uint32_t counter, uint32_t value);
  uint32_t counted(uint32_t counter) const;

  /// Bytes made by rank 0 come to all ranks. Collective.
  HcclRootInfo share_root();
  /// A communicator of the whole group. Collective.
  HcclComm join(const HcclCommConfig* config = nullptr);

  /// Kills this rank's process at once, as no handler could notice.
  [[noreturn]] void die();
  /// Ends this rank's process as a program that returns from main; nothing is destroyed before.
  [[noreturn]] void exit_process();

 private:
  Shared& shared_;
  const uint32_t rank_;
  const uint32_t ranks_;
  int32_t device_ = -1;
};

/// Runs body as rank 0 .. ranks - 1 and waits for all of them.
void run_ranks(uint32_t ranks, Layout layout, const std::function<void(Rank&)>& body,
               const GroupOptions& options = {});

/// The same as a single rank: for what one process does alone.
void run_alone(const std::function<void(Rank&)>& body, const GroupOptions& options = {});

/// Fail the rank, with the library's own text, unless the call succeeded.
void ok(HcclResult code, const std::source_location& where = std::source_location::current());
void ok(aclError code, const std::source_location& where = std::source_location::current());

/// Fails the rank unless the call failed with this code and told every one of the parts in its
/// error text, the same through weft_last_error() and aclGetRecentErrMsg().
void refused(HcclResult code, HcclResult wanted, std::initializer_list<std::string> parts = {},
             const std::source_location& where = std::source_location::current());

void check(bool condition, const std::string& what,
           const std::source_location& where = std::source_location::current());

/// Waits for a condition that another thread or process brings about, 10 s at most.
void eventually(const std::function<bool()>& condition, const std::string& what,
                const std::source_location& where = std::source_location::current());

bool contains(const std::string& text, const std::string& part);

/// Of this process.
size_t open_descriptors();

/// A stream of the current device.
class Stream {
 public:
  Stream() { ok(aclrtCreateStream(&stream_)); }
  ~Stream() { aclrtDestroyStream(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator aclrtStream() const { return stream_; }

  void synchronize(const std::source_location& where = std::source_location::current()) const {
    ok(aclrtSynchronizeStream(stream_), where);
  }

 private:
  aclrtStream stream_ = nullptr;
};

}  // namespace weft::test
