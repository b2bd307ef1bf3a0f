// SPDX-License-Identifier: Apache-2.0
// The processes of a group: starting them, hearing what went wrong in them, ending them.
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "ranks.hpp"
#include "shared.hpp"

namespace weft::test {
namespace {

using Clock = std::chrono::steady_clock;

// How long the others may go on after a rank has failed: their messages may explain it.
constexpr std::chrono::seconds kAfterFailure{5};

void write_all(int fd, const void* data, size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = write(fd, at, bytes);
    if (written <= 0) std::abort();
    at += written;
    bytes -= static_cast<size_t>(written);
  }
}

thread_local std::string this_rank;  // "rank 3 of 4"

/// In a child: sends every failure to the parent, as "file\0line\0text\0". GoogleTest calls it
/// under its own lock.
class Sender final : public testing::EmptyTestEventListener {
 public:
  Sender(Shared& shared, int fd) : shared_(shared), fd_(fd) {}

  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    shared_.failed.store(1);
    std::string record = result.file_name() == nullptr ? "?" : result.file_name();
    record += '\0';
    record += std::to_string(result.line_number());
    record += '\0';
    record += this_rank + ": " + result.message();
    record += '\0';
    write_all(fd_, record.data(), record.size());
  }

 private:
  Shared& shared_;
  const int fd_;
};

struct Child {
  pid_t pid = -1;
  int pipe = -1;
  std::vector<uint32_t> ranks;
  std::string unread;
};

/// In the parent: takes what a child sent. False at its end.
bool receive(Child& child) {
  char portion[65536];
  const ssize_t size = read(child.pipe, portion, sizeof portion);
  if (size <= 0) return false;
  child.unread.append(portion, static_cast<size_t>(size));
  for (;;) {
    const size_t file = child.unread.find('\0');
    if (file == std::string::npos) return true;
    const size_t line = child.unread.find('\0', file + 1);
    if (line == std::string::npos) return true;
    const size_t text = child.unread.find('\0', line + 1);
    if (text == std::string::npos) return true;
    ADD_FAILURE_AT(child.unread.c_str(), std::atoi(child.unread.c_str() + file + 1))
        << child.unread.c_str() + line + 1;
    child.unread.erase(0, text + 1);
  }
}

std::string where_they_are(const Shared& shared, const std::vector<uint32_t>& ranks) {
  std::string text;
  for (const uint32_t rank : ranks) {
    text += "\n  rank " + std::to_string(rank) + ": " + shared.notes[rank];
  }
  return text;
}

void run_one(Shared& shared, uint32_t rank, uint32_t ranks, const std::function<void(Rank&)>& body,
             bool device) {
  this_rank = "rank " + std::to_string(rank) + " of " + std::to_string(ranks);
  try {
    Rank self(shared, rank, ranks);
    if (device) ok(aclrtSetDevice(self.device()));
    body(self);
    if (device) ok(aclrtResetDevice(self.device()));
  } catch (const Failure& failure) {
    ADD_FAILURE_AT(failure.file, failure.line) << failure.what();
  } catch (const Stopped&) {
    shared.failed.store(1);
  } catch (const std::exception& error) {
    ADD_FAILURE() << "exception: " << error.what();
  }
}

[[noreturn]] void be_child(Shared& shared, const std::vector<uint32_t>& own, uint32_t ranks,
                           int pipe, const std::function<void(Rank&)>& body,
                           const GroupOptions& options) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new Sender(shared, pipe));
  for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
  if (aclInit(nullptr) != ACL_SUCCESS) ADD_FAILURE() << "aclInit: " << aclGetRecentErrMsg();
  if (own.size() == 1) {
    run_one(shared, own[0], ranks, body, options.device);
  } else {
    std::vector<std::thread> threads;
    for (const uint32_t rank : own) {
      threads.emplace_back([&, rank] { run_one(shared, rank, ranks, body, options.device); });
    }
    for (std::thread& thread : threads) thread.join();
  }
  std::exit(0);  // as a program does, with all destructors
}

std::vector<Child> start(Shared& shared, uint32_t ranks, uint32_t per_process,
                         const std::function<void(Rank&)>& body, const GroupOptions& options) {
  std::vector<Child> children;
  fflush(nullptr);
  for (uint32_t first = 0; first < ranks; first += per_process) {
    Child child;
    for (uint32_t r = first; r < std::min(ranks, first + per_process); ++r)
      child.ranks.push_back(r);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
    child.pid = fork();
    if (child.pid == 0) {
      close(ends[0]);
      for (const Child& other : children) close(other.pipe);
      be_child(shared, child.ranks, ranks, ends[1], body, options);
    }
    close(ends[1]);
    child.pipe = ends[0];
    children.push_back(std::move(child));
  }
  return children;
}

/// Takes reports until every child has closed its pipe, or kills those that are late.
void listen(Shared& shared, std::vector<Child>& children) {
  Clock::time_point deadline = shared.deadline;
  bool failed = false;
  for (;;) {
    std::vector<pollfd> asked;
    for (const Child& child : children) asked.push_back({child.pipe, POLLIN, 0});
    const bool all_closed = std::all_of(children.begin(), children.end(),
                                        [](const Child& child) { return child.pipe < 0; });
    if (all_closed) return;
    if (!failed && shared.failed.load() != 0) {
      failed = true;
      deadline = std::min(deadline, Clock::now() + kAfterFailure);
    }
    if (Clock::now() > deadline) break;
    poll(asked.data(), asked.size(), 100);
    for (size_t i = 0; i < children.size(); ++i) {
      if (asked[i].revents == 0 || children[i].pipe < 0) continue;
      if (!receive(children[i])) close(std::exchange(children[i].pipe, -1));
    }
  }
  for (Child& child : children) {
    if (child.pipe < 0) continue;
    ADD_FAILURE() << "ranks did not end in time and were killed:"
                  << where_they_are(shared, child.ranks);
    kill(child.pid, SIGKILL);
    close(std::exchange(child.pipe, -1));
  }
}

void reap(const Shared& shared, const std::vector<Child>& children) {
  for (const Child& child : children) {
    int status = 0;
    waitpid(child.pid, &status, 0);
    const bool on_purpose = std::any_of(child.ranks.begin(), child.ranks.end(),
                                        [&](uint32_t r) { return shared.may_end[r].load(); });
    if ((WIFEXITED(status) && WEXITSTATUS(status) == 0) || on_purpose) continue;
    ADD_FAILURE() << "a process ended with "
                  << (WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                                          : "status " + std::to_string(WEXITSTATUS(status)))
                  << " at:" << where_they_are(shared, child.ranks);
  }
}

}  // namespace

std::string layout_name(Layout layout) {
  switch (layout) {
    case Layout::kThreads:
      return "threads";
    case Layout::kProcesses:
      return "processes";
    default:
      return "pairs";
  }
}

void run_ranks(uint32_t ranks, Layout layout, const std::function<void(Rank&)>& body,
               const GroupOptions& options) {
  ASSERT_LE(ranks, kMaxRanks);
  void* memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto& shared = *new (memory) Shared{};
  shared.deadline = Clock::now() + options.deadline;
  const uint32_t per_process = layout == Layout::kThreads ? ranks
                               : layout == Layout::kPairs ? 2
                                                          : 1;
  std::vector<Child> children = start(shared, ranks, per_process, body, options);
  listen(shared, children);
  reap(shared, children);
  if (shared.failed.load() != 0 && !testing::Test::HasFailure()) {
    ADD_FAILURE() << "the group failed and nobody said why; the ranks were at:"
                  << where_they_are(shared, {0});
  }
  munmap(memory, sizeof(Shared));
}

void run_alone(const std::function<void(Rank&)>& body, const GroupOptions& options) {
  run_ranks(1, Layout::kProcesses, body, options);
}

}  // namespace weft::test
