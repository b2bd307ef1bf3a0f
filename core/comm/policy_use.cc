// SPDX-License-Identifier: Apache-2.0
#include "comm/policy_use.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.hpp"
#include "config/rules.hpp"

namespace weft::comm {

void PolicyUse::enter(uint32_t rank) noexcept {
  if (rank == 0) leads_ = true;
  ++living_;
}

bool PolicyUse::leave() noexcept { return --living_ == 0 && leads_; }

void PolicyUse::note(const config::Choice& choice) noexcept {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  if (choice.experiment != nullptr) {
    by_rule_.store(true, kRelaxed);
    return by_condition_.store(true, kRelaxed);
  }
  if (choice.rule == nullptr) return by_wish_.store(true, kRelaxed);
  by_rule_.store(true, kRelaxed);
  if (!config::is_catch_all(*choice.rule)) by_condition_.store(true, kRelaxed);
}

void PolicyUse::tell_if_idle(const config::Policy& policy) {
  const auto rules = policy.rules();
  const auto narrow = std::ranges::count_if(
      rules, [](const config::Rule& rule) { return !config::is_catch_all(rule); });
  if (by_condition_ || (by_rule_ && narrow == 0) || told_.exchange(true)) return;
  const std::string file = fmt::format("the policy {} (WEFT_POLICY)", policy.name());
  if (by_rule_) {
    log::info(
        fmt::format("{}: none of its {} rules with conditions has decided a call; those "
                    "without have decided all",
                    file, narrow));
    return;
  }
  log::warn(fmt::format("{}: no rule of it has decided a call: {}", file,
                        by_wish_ ? "HCCL_ALGO or hcclAlgo has decided all"
                                 : "no operator was called that needs an algorithm"));
}

}  // namespace weft::comm
