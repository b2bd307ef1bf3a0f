// SPDX-License-Identifier: Apache-2.0
// The plans of one communicator by call. Bounded: a set of ways, the least recently used one makes
// room.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "exec/executor.hpp"

namespace weft::comm {

class PlanCache {
 public:
  /// Null if there is none. No allocation, no lock.
  [[nodiscard]] exec::ExecPlan* find(const CallKey& key) noexcept {
    if (recent_ != nullptr && recent_->plan->key == key) return recent_->plan.get();
    for (Way& way : sets_[index(key)]) {
      if (way.plan != nullptr && way.plan->key == key) return use(way);
    }
    return nullptr;
  }

  /// Keeps a plan. A plan that makes room is freed once no task can use it: `done` is the last
  /// completed call.
  exec::ExecPlan* insert(std::unique_ptr<exec::ExecPlan> plan, uint64_t done);

  /// No plan is found any more.
  void forget(uint64_t done);

  /// Plans so far, and those of them that made room for others.
  [[nodiscard]] uint64_t made() const noexcept { return made_; }
  [[nodiscard]] uint64_t evicted() const noexcept { return evicted_; }

  static constexpr uint32_t kSets = 128;
  static constexpr uint32_t kWays = 4;

 private:
  struct Way {
    std::unique_ptr<exec::ExecPlan> plan;
    uint64_t used = 0;
  };

  exec::ExecPlan* use(Way& way) noexcept {
    way.used = ++clock_;
    recent_ = &way;
    return way.plan.get();
  }

  static uint32_t index(const CallKey& key) noexcept {
    uint64_t h = key.count * 0x9e3779b97f4a7c15 + key.root;
    h = (h ^ (uint64_t{key.op} << 16 | uint64_t{key.type} << 8 | key.reduce_op)) *
        0xff51afd7ed558ccd;
    return static_cast<uint32_t>(h >> 32) % kSets;
  }

  std::array<std::array<Way, kWays>, kSets> sets_;
  std::vector<std::unique_ptr<exec::ExecPlan>> retired_;  // replaced while a task used them
  Way* recent_ = nullptr;  // the last one that was found: calls repeat
  uint64_t clock_ = 0;
  uint64_t made_ = 0;
  uint64_t evicted_ = 0;
};

}  // namespace weft::comm
