// SPDX-License-Identifier: Apache-2.0
// The experiments of a policy on the live calls of one communicator: which arm does a call, and how
// long the arms took.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "comm/call.hpp"
#include "comm/turns.hpp"
#include "config/experiment.hpp"
#include "config/policy.hpp"
#include "exec/call_times.hpp"
#include "stats/judge.hpp"

namespace weft::comm {

/// Of one experiment on one communicator. Written by the executor without a lock, read by any
/// thread.
class ExperimentTimes {
 public:
  explicit ExperimentTimes(const config::Experiment& experiment);

  [[nodiscard]] const config::Experiment& experiment() const noexcept { return experiment_; }

  /// A kind of calls has had its first call. `off` says by arm why it takes no part; empty: it
  /// does. Returns the number of its series.
  uint32_t add_series(const CallKey& key, uint64_t bytes, const std::vector<std::string>& off);
  void add_call(uint32_t arm) noexcept { calls_[arm].fetch_add(1, std::memory_order_relaxed); }
  /// Once kMost are there others are not kept.
  void add(const stats::Block& block) noexcept;

  static constexpr uint32_t kMost = 1 << 15;

  struct Snapshot {
    std::vector<stats::Block> blocks;  // the first round of a series is not among them
    std::vector<uint64_t> calls;       // by arm
    std::vector<CallKey> series;
    config::Range bytes;           // of all series
    std::vector<std::string> off;  // by arm: why it took no part in some series; or empty
  };
  [[nodiscard]] Snapshot snapshot() const;

 private:
  const config::Experiment& experiment_;
  std::unique_ptr<stats::Block[]> blocks_;
  std::atomic<uint32_t> count_{0};  // of them
  std::array<std::atomic<uint64_t>, config::kMostArms> calls_{};
  mutable std::mutex mutex_;  // guards the rest
  std::vector<CallKey> series_;
  config::Range bytes_{UINT64_MAX, 0};  // of all of them
  std::vector<std::string> off_;
};

/// An experiment on calls of one kind.
class Trial final : public exec::CallTimes {
 public:
  /// The times must outlive it; some arm takes part. `off` as above.
  Trial(ExperimentTimes& times, const CallKey& key, uint64_t bytes, std::vector<std::string> off,
        TurnOrder order);

  /// Of the call that is issued next.
  [[nodiscard]] uint32_t arm() const noexcept { return issued_.arm(); }
  /// Whether that call is the first of its arm's block.
  [[nodiscard]] bool block_begins() const noexcept { return issued_.block_begins(); }
  /// That call was issued. True if it was the first one. What is refused before does not count, so
  /// that ranks number their series alike.
  bool advance();

  void add(std::chrono::nanoseconds time) noexcept override;

  [[nodiscard]] const config::Experiment& experiment() const noexcept {
    return times_.experiment();
  }

 private:
  ExperimentTimes& times_;
  const CallKey key_;
  const uint64_t bytes_;
  const std::vector<std::string> off_;
  const TurnOrder order_;
  bool begun_ = false;
  uint32_t series_ = 0;  // known before a call of the second round is issued
  Turns issued_;
  Turns ended_;
  std::chrono::nanoseconds block_{0};  // so far, but for its first call if it has several
};

/// What experiments ask a communicator, the same on all ranks.
struct ExperimentQuestions {
  std::function<config::Query(const CallKey&)> query;
  /// Why an arm cannot do calls of the key on some rank; empty if it can.
  std::function<std::string(const config::Rule& arm, const CallKey&)> doubt;
  bool speaks = false;  // this rank, of all, logs doubts
};

/// Of one communicator. One thread at a time, but for times().
class Experiments {
 public:
  /// `seed` is the communicator's, the same on all its ranks.
  Experiments(std::shared_ptr<const config::Policy> policy, uint64_t seed,
              ExperimentQuestions questions);

  /// The trial that calls with this key are of; null: the rules decide. No allocation for a key
  /// that has a trial.
  [[nodiscard]] Trial* find(const CallKey& key) {
    if ((operations_ >> key.op & 1) == 0) return nullptr;
    if (looked_up_ && key == last_key_) return last_;
    return look_up(key);
  }

  /// A call of the trial was issued.
  void advance(Trial& trial) {
    if (trial.advance() && ++kinds_ == kMostKinds) tell_full();
  }

  /// What the questions are about has changed: each level has trials of its own, which go on when
  /// it comes back.
  void set_deterministic(bool deterministic) noexcept {
    deterministic_ = deterministic;
    looked_up_ = false;
  }

  /// All that had calls. Any thread.
  [[nodiscard]] std::vector<const ExperimentTimes*> times() const;

  /// Kinds of calls that have trials. Later ones are left to the rules.
  static constexpr size_t kMostKinds = 1024;

 private:
  Trial* look_up(const CallKey& key);
  void tell_full() const noexcept;
  void tell_why_not(const config::Query& query, const CallKey& key);
  Trial* make(const CallKey& key);
  ExperimentTimes& times_of(const config::Experiment& experiment);

  struct KeyHash {
    size_t operator()(const CallKey& key) const noexcept;
  };

  const std::shared_ptr<const config::Policy> policy_;
  const uint64_t seed_;
  const ExperimentQuestions questions_;
  mutable std::mutex mutex_;  // guards the next one
  std::vector<std::unique_ptr<ExperimentTimes>> times_;
  std::vector<std::unique_ptr<Trial>> trials_;
  uint32_t operations_ = 0;  // bit by operation: some experiment is about it
  bool deterministic_ = false;
  std::unordered_map<CallKey, Trial*, KeyHash> by_key_;  // `arm` is whether it is deterministic
  std::set<std::pair<const config::Experiment*, size_t>> warned_;  // of which arms
  std::set<const config::Experiment*> unfit_;                      // that were told of
  size_t kinds_ = 0;                                               // that had a call
  bool looked_up_ = false;
  CallKey last_key_;
  Trial* last_ = nullptr;  // that of last_key_, if it was looked up
};

}  // namespace weft::comm
