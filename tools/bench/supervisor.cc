// SPDX-License-Identifier: Apache-2.0
#include "bench/supervisor.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "bench/creation.hpp"
#include "bench/rank.hpp"
#include "bench/team.hpp"
#include "command.hpp"
#include "process.hpp"

namespace weft::tools {
namespace {

// A death also makes other ranks fail, and their complaint may be here first.
constexpr auto kHearOthers = std::chrono::milliseconds(200);

void be_rank(const Spec& spec, Team& team, uint32_t rank) {
  spec.creation ? run_creation(spec, team, rank) : run_rank(spec, team, rank);
  team.finish(rank);
}

[[noreturn]] void be_process(const Spec& spec, Team& team, uint32_t rank) {
  // A variable that is new moves all others: not when threads may be looking for one.
  if (!spec.arms.empty()) setenv("WEFT_POLICY", spec.arms.front().c_str(), 1);
  open_runtime(team, rank);
  if (spec.threads) {
    std::vector<std::thread> others;
    try {
      for (uint32_t each = 1; each < spec.ranks; ++each) {
        others.emplace_back([&spec, &team, each] { be_rank(spec, team, each); });
      }
    } catch (const std::system_error& error) {
      team.fail(0,
                fmt::format("cannot start a thread for rank {}: {}; raise the limit of processes "
                            "(ulimit -u) or use fewer ranks",
                            others.size() + 1, error.what()));
    }
    be_rank(spec, team, 0);
    for (std::thread& each : others) each.join();
  } else {
    be_rank(spec, team, rank);
  }
  close_runtime(team, rank);
  _exit(kOk);
}

class Supervisor {
 public:
  Supervisor(const Spec& spec, Rows& rows)
      : spec_(spec), rows_(rows), team_(spec.ranks), stalled_at_(Clock::now() + spec.timeout) {}
  ~Supervisor() { end_all(); }

  int run();

 private:
  struct Process {
    pid_t pid;
    bool alive = true;
    bool complained = false;
  };

  void wait_for_events();
  void take_messages();
  void take_ends();
  void take_signals();
  void end_all();
  std::string who(size_t process) const;
  bool is_through(size_t process) const;

  const Spec& spec_;
  Rows& rows_;
  Team team_;
  Signals signals_;
  std::vector<Process> processes_;
  Clock::time_point stalled_at_;
  int interrupted_by_ = 0;
  std::optional<std::string> death_;      // the cause, if there is one
  std::optional<std::string> complaint_;  // the first, if there is one
  Clock::time_point conclude_at_;         // once there is a complaint
};

int Supervisor::run() {
  std::fflush(nullptr);  // children must not write it again
  const uint32_t count = spec_.threads ? 1 : spec_.ranks;
  for (uint32_t rank = 0; rank < count; ++rank) {
    const pid_t pid = fork_child();
    if (pid == 0) be_process(spec_, team_, rank);
    processes_.push_back({.pid = pid});
  }
  const auto alive = [](const Process& each) { return each.alive; };
  while (std::any_of(processes_.begin(), processes_.end(), alive)) {
    wait_for_events();
    take_signals();
    take_ends();
    take_messages();
    if (interrupted_by_ != 0) return 128 + interrupted_by_;
    if (death_) throw Failure(*death_);
    if (complaint_ && Clock::now() >= conclude_at_) break;
    if (Clock::now() >= stalled_at_) {
      throw Failure(fmt::format("no progress for {} s: all ranks were ended",
                                std::chrono::duration<double>(spec_.timeout).count()));
    }
  }
  take_messages();
  if (complaint_) throw Failure(*complaint_);
  return 0;
}

void Supervisor::wait_for_events() {
  pollfd asked[] = {{signals_.fd(), POLLIN, 0}, {team_.messages(), POLLIN, 0}};
  poll(asked, 2, poll_timeout(complaint_ ? conclude_at_ : stalled_at_));
}

void Supervisor::take_signals() {
  for (int signal; (signal = signals_.next()) != 0;) {
    if (signal != SIGCHLD) interrupted_by_ = signal;
  }
}

std::string Supervisor::who(size_t process) const {
  return spec_.threads ? "the process of all ranks" : fmt::format("rank {}", process);
}

bool Supervisor::is_through(size_t process) const {
  if (!spec_.threads) return team_.is_through(uint32_t(process));
  bool all = true;
  for (uint32_t rank = 0; rank < spec_.ranks; ++rank) all = all && team_.is_through(rank);
  return all;
}

void Supervisor::take_ends() {
  for (size_t i = 0; i < processes_.size(); ++i) {
    Process& process = processes_[i];
    if (!process.alive) continue;
    const std::optional<int> status = peek_end(process.pid);
    if (!status) continue;
    reap(process.pid);
    process.alive = false;
    take_messages();  // a rank that complains does so before it ends with kFailed
    const bool through = *status == 0 && is_through(i);
    const bool explained = through || (process.complained && exit_code(*status) == kFailed);
    if (explained || death_) continue;
    death_ = fmt::format("{} {}", who(i),
                         *status == 0 ? "ended as if all were done, but is not through: "
                                        "does a plugin call exit()?"
                                      : describe_status(*status));
  }
}

void Supervisor::take_messages() {
  for (Message message; team_.next_message(&message);) {
    stalled_at_ = Clock::now() + spec_.timeout;
    switch (message.kind) {
      case Message::kRow:
        rows_.add(message.row);
        continue;
      case Message::kCreation:
        rows_.add(message.creation);
        continue;
      case Message::kComparison:
        rows_.add(message.comparison);
        continue;
      case Message::kStanding:
        rows_.add(message.standing);
        continue;
      case Message::kProgress:
        rows_.add(message.progress);
        continue;
      case Message::kFailure:
        break;
    }
    processes_[spec_.threads ? 0 : message.rank].complained = true;
    if (!complaint_) {
      complaint_ = fmt::format("rank {}: {}", message.rank, message.text);
      conclude_at_ = Clock::now() + kHearOthers;
    }
  }
}

void Supervisor::end_all() {
  for (const Process& each : processes_) {
    if (each.alive) kill(each.pid, SIGKILL);
  }
  for (Process& each : processes_) {
    if (each.alive) reap(each.pid);
    each.alive = false;
  }
}

}  // namespace

int supervise(const Spec& spec, Rows& rows) { return Supervisor(spec, rows).run(); }

}  // namespace weft::tools
