// SPDX-License-Identifier: Apache-2.0
// Whether a policy that somebody chose has had an effect in this process.
#pragma once

#include <atomic>
#include <cstdint>

#include "config/policy.hpp"

namespace weft::comm {

/// Shared by the communicators under one policy. Any thread.
class PolicyUse {
 public:
  /// A communicator is made, with this rank.
  void enter(uint32_t rank) noexcept;
  /// It ends. True if it was the last one and a rank 0 has been among them: of all processes with
  /// the policy, that one speaks.
  [[nodiscard]] bool leave() noexcept;

  /// When a plan is made.
  void note(const config::Choice& choice) noexcept;

  /// Logs once that no rule has decided a call, or that only rules without conditions have though
  /// there are others.
  void tell_if_idle(const config::Policy& policy);

 private:
  std::atomic<uint32_t> living_{0};
  std::atomic<bool> leads_{false};         // some rank was 0
  std::atomic<bool> by_wish_{false};       // HCCL_ALGO or hcclAlgo alone have decided
  std::atomic<bool> by_rule_{false};       // any rule has
  std::atomic<bool> by_condition_{false};  // one with conditions has
  std::atomic<bool> told_{false};
};

}  // namespace weft::comm
