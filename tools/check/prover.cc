// SPDX-License-Identifier: Apache-2.0
// Runs the checker over all that was asked for.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/op_names.hpp"
#include "check/spec.hpp"
#include "last_words.hpp"

namespace weft::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kCostRanks = 8;    // or as many as were proved
constexpr uint32_t kLeastToTell = 4;  // any sum of two is in rank order

proof::Fixed fixed_of(const plugin::Algorithm& algorithm, const CheckSpec& spec) {
  proof::Fixed fixed;
  for (const plugin::Param& param : algorithm.params) {
    const auto given = spec.params.find(param.name);
    fixed.push_back(given == spec.params.end() ? std::nullopt
                                               : plugin::value_of(param, given->second));
  }
  return fixed;
}

/// What it takes with about kCostRanks ranks, and what could be declared otherwise.
void look_at_cost(CheckOutcome& outcome, const CheckSpec& spec) {
  const plugin::Algorithm& algorithm = *outcome.algorithm;
  const uint32_t flags = algorithm.table.flags;
  bool writes = false;
  bool in_order = is_reduction(algorithm.table.op);
  for (const uint32_t n : outcome.proved) {
    if (outcome.cost_ranks != 0 && n > kCostRanks) break;
    const proof::Case of = proof::cases(algorithm, n, fixed_of(algorithm, spec)).front();
    const std::vector<schedule::Schedule> schedules = proof::emit(algorithm, of);
    outcome.cost_ranks = n;
    outcome.cost = proof::cost(schedules);
    writes = writes || outcome.cost.writes_to_peers;
    in_order = in_order && schedule::check(schedules, flags | WEFT_ALGORITHM_RANK_ORDER).ok();
  }
  if (outcome.cost_ranks < kLeastToTell) return;
  if (!writes && (flags & WEFT_ALGORITHM_REMOTE_WRITE) != 0) {
    outcome.notes.push_back(fmt::format(
        "with up to {} ranks it writes to no peer: is WEFT_ALGORITHM_REMOTE_WRITE needed?",
        outcome.cost_ranks));
  }
  if (in_order && (flags & WEFT_ALGORITHM_RANK_ORDER) == 0) {
    outcome.notes.push_back(
        fmt::format("with up to {} ranks it sums in rank order: if it always does, declare "
                    "WEFT_ALGORITHM_RANK_ORDER, so that deterministic calls may use it",
                    outcome.cost_ranks));
  }
}

/// For one case: what is left of the time, or more than any should take.
std::chrono::seconds patience(const CheckSpec& spec, Clock::time_point end) {
  if (!spec.time) return LastWords::kPatience;
  const auto left = std::chrono::ceil<std::chrono::seconds>(end - Clock::now());
  return std::clamp(left + std::chrono::seconds(1), std::chrono::seconds(1), LastWords::kPatience);
}

}  // namespace

std::vector<CheckOutcome> check_all(const std::vector<const plugin::Algorithm*>& algorithms,
                                    const CheckSpec& spec) {
  LastWords last_words("weft check");
  const auto end = Clock::now() + spec.time.value_or(std::chrono::nanoseconds(0));
  std::vector<CheckOutcome> outcomes;
  for (const plugin::Algorithm* each : algorithms)
    outcomes.push_back({each, {}, {}, {}, 0, {}, {}});
  for (const uint32_t n : spec.ranks) {
    for (CheckOutcome& outcome : outcomes) {
      if (outcome.wrong || !proof::serves(*outcome.algorithm, n)) continue;
      const auto stop = [&] {
        last_words.prepare(outcome.algorithm->name, n, patience(spec, end));
        return spec.time && Clock::now() >= end;
      };
      proof::Verdict verdict =
          proof::prove(*outcome.algorithm, n, fixed_of(*outcome.algorithm, spec), stop);
      outcome.wrong = std::move(verdict.wrong);
      if (outcome.wrong) continue;
      (verdict.complete ? outcome.proved : outcome.no_time).push_back(n);
    }
  }
  for (CheckOutcome& outcome : outcomes) look_at_cost(outcome, spec);
  return outcomes;
}

}  // namespace weft::tools
