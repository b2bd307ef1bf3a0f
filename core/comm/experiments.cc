// SPDX-License-Identifier: Apache-2.0
#include "comm/experiments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/log.hpp"
#include "config/rules.hpp"

namespace weft::comm {
namespace {

uint64_t hash_of(std::string_view text) noexcept { return std::hash<std::string_view>()(text); }

std::string_view bytes_of(const CallKey& key) noexcept {
  return {reinterpret_cast<const char*>(&key), sizeof key};
}

}  // namespace

ExperimentTimes::ExperimentTimes(const config::Experiment& experiment)
    : experiment_(experiment),
      blocks_(std::make_unique_for_overwrite<stats::Block[]>(kMost)),
      off_(experiment.arms.size()) {}

uint32_t ExperimentTimes::add_series(const CallKey& key, uint64_t bytes,
                                     const std::vector<std::string>& off) {
  const std::lock_guard lock(mutex_);
  for (size_t arm = 0; arm < off_.size(); ++arm) {
    if (off_[arm].empty()) off_[arm] = off[arm];
  }
  series_.push_back(key);
  bytes_ = {std::min(bytes_.first, bytes), std::max(bytes_.last, bytes)};
  return static_cast<uint32_t>(series_.size() - 1);
}

void ExperimentTimes::add(const stats::Block& block) noexcept {
  const uint32_t count = count_.load(std::memory_order_relaxed);
  if (count == kMost) return;
  blocks_[count] = block;
  count_.store(count + 1, std::memory_order_release);
}

ExperimentTimes::Snapshot ExperimentTimes::snapshot() const {
  Snapshot all;
  const uint32_t count = count_.load(std::memory_order_acquire);
  all.blocks.assign(blocks_.get(), blocks_.get() + count);
  for (size_t arm = 0; arm < experiment_.arms.size(); ++arm) {
    all.calls.push_back(calls_[arm].load(std::memory_order_relaxed));
  }
  const std::lock_guard lock(mutex_);
  all.series = series_;
  all.bytes = bytes_;
  all.off = off_;
  return all;
}

Trial::Trial(ExperimentTimes& times, const CallKey& key, uint64_t bytes,
             std::vector<std::string> off, TurnOrder order)
    : times_(times),
      key_(key),
      bytes_(bytes),
      off_(std::move(off)),
      order_(std::move(order)),
      issued_(order_),
      ended_(order_) {}

bool Trial::advance() {
  const bool first = !std::exchange(begun_, true);
  if (first) series_ = times_.add_series(key_, bytes_, off_);
  issued_.advance();
  return first;
}

/// The first round is of caches that are cold, and so is the first call of a block, for which the
/// arm before it is to blame.
void Trial::add(std::chrono::nanoseconds time) noexcept {
  times_.add_call(ended_.arm());
  if (order_.block == 1 || !ended_.block_begins()) block_ += time;
  if (ended_.block_ends() && ended_.round() != 0) {
    const uint32_t calls = std::max(1U, order_.block - 1);
    const double us = std::max(1e-3, static_cast<double>(block_.count()) / 1e3 / calls);
    times_.add({series_, ended_.round(), ended_.arm(), ended_.paired() ? 1U : 0U, us});
  }
  if (ended_.block_ends()) block_ = {};
  ended_.advance();
}

Experiments::Experiments(std::shared_ptr<const config::Policy> policy, uint64_t seed,
                         ExperimentQuestions questions)
    : policy_(std::move(policy)), seed_(seed), questions_(std::move(questions)) {
  for (const config::Experiment& each : policy_->experiments()) {
    operations_ |= 1U << each.calls.op;
  }
}

size_t Experiments::KeyHash::operator()(const CallKey& key) const noexcept {
  return hash_of(bytes_of(key));
}

Trial* Experiments::look_up(const CallKey& key) {
  // Kinds without a trial are many, and may be asked about again.
  constexpr size_t kMostKept = 4 * kMostKinds;
  CallKey kept = key;
  kept.arm = deterministic_ ? 1 : 0;
  const auto found = by_key_.find(kept);
  Trial* trial = nullptr;
  if (found != by_key_.end()) {
    trial = found->second;
  } else if (kinds_ < kMostKinds) {
    trial = make(key);
    if (trial != nullptr || by_key_.size() < kMostKept) by_key_.emplace(kept, trial);
  }
  last_key_ = key;
  last_ = trial;
  looked_up_ = true;
  return trial;
}

void Experiments::tell_full() const noexcept {
  if (!questions_.speaks) return;
  log::warn("1024 kinds of calls take part in experiments: others are left to the rules");
  static_assert(kMostKinds == 1024);
}

/// Once for each experiment that would match.
void Experiments::tell_why_not(const config::Query& query, const CallKey& key) {
  for (const config::Experiment& each : policy_->experiments()) {
    if (!questions_.speaks || !config::matches(each.calls, query)) continue;
    const std::string why = config::why_not(each, query);
    if (why.empty() || !unfit_.insert(&each).second) continue;
    log::warn(fmt::format("experiment \"{}\" does not take {}: {}", each.name, describe(key), why));
  }
}

Trial* Experiments::make(const CallKey& key) {
  const config::Query query = questions_.query(key);
  const config::Experiment* experiment = policy_->experiment(query);
  if (experiment == nullptr) {
    tell_why_not(query, key);
    return nullptr;
  }
  TurnOrder order;
  order.block = experiment->block;
  order.seed = seed_ ^ hash_of(experiment->name) ^ hash_of(bytes_of(key));
  std::vector<std::string> off;
  for (size_t arm = 0; arm < experiment->arms.size(); ++arm) {
    const config::Arm& about = experiment->arms[arm];
    off.push_back(questions_.doubt(about.rule, key));
    if (off.back().empty()) {
      for (uint32_t i = 0; i < about.weight; ++i) {
        order.turns.push_back({static_cast<uint8_t>(arm), static_cast<uint8_t>(i == 0)});
      }
    } else if (questions_.speaks && warned_.emplace(experiment, arm).second) {
      log::warn(fmt::format("experiment \"{}\": its arm {} does not do {}: {}", experiment->name,
                            about.rule.use, describe(key), off.back()));
    }
  }
  ExperimentTimes& times = times_of(*experiment);
  if (order.turns.empty()) return nullptr;
  return trials_
      .emplace_back(
          std::make_unique<Trial>(times, key, query.bytes, std::move(off), std::move(order)))
      .get();
}

ExperimentTimes& Experiments::times_of(const config::Experiment& experiment) {
  const std::lock_guard lock(mutex_);
  for (const auto& each : times_) {
    if (&each->experiment() == &experiment) return *each;
  }
  return *times_.emplace_back(std::make_unique<ExperimentTimes>(experiment));
}

std::vector<const ExperimentTimes*> Experiments::times() const {
  const std::lock_guard lock(mutex_);
  std::vector<const ExperimentTimes*> all;
  for (const auto& each : times_) all.push_back(each.get());
  return all;
}

}  // namespace weft::comm
