// SPDX-License-Identifier: Apache-2.0
#include "config/choice.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/op_names.hpp"
#include "plugin/registry.hpp"

namespace weft::config {
namespace {

Choice choose_by_rules(const Offer& offer, const Query& query) {
  std::string reasons;
  for (const Rule& rule : offer.rules) {
    if (!matches(rule, query)) continue;
    const std::string source = offer.policy + ':' + std::to_string(rule.place.line);
    const std::string reason =
        rule.algorithm == nullptr ? "is not resolved" : why_not(*rule.algorithm, query);
    if (reason.empty()) return {rule.algorithm, rule.values, source, &rule};
    reasons.append("; ").append(source).append(": ").append(rule.use).append(" ").append(reason);
  }
  throw Error(HCCL_E_NOT_SUPPORT, "no rule of the policy " + offer.policy + " can serve " +
                                      std::string(operation_name(query.op)) + " of " +
                                      std::to_string(query.bytes) + " bytes with " +
                                      std::to_string(query.ranks) + " ranks" + reasons);
}

bool answers(const plugin::Algorithm* algorithm, const Query& query) {
  return algorithm != nullptr && algorithm->table.op == query.op &&
         algorithm->table.hccl_algo != nullptr && algorithm->table.hccl_algo == query.wish.name;
}

}  // namespace

Choice choose(const Offer& offer, const Query& query) {
  if (query.wish.name.empty()) return choose_by_rules(offer, query);
  const std::string wish = std::string(query.wish.from) + " level0:" + std::string(query.wish.name);
  for (const Rule& rule : offer.rules) {
    if (!matches(rule, query) || !answers(rule.algorithm, query)) continue;
    if (why_not(*rule.algorithm, query).empty()) return {rule.algorithm, rule.values, wish, &rule};
  }
  std::string obstacle;
  for (const plugin::Algorithm* each : offer.wishable) {
    if (!answers(each, query)) continue;
    const std::string reason = why_not(*each, query);
    if (reason.empty()) return {each, default_values(*each), wish, nullptr};
    if (obstacle.empty()) obstacle = each->name + ' ' + reason;
  }
  if (obstacle.empty()) {
    obstacle = "no such algorithm for " + std::string(operation_name(query.op));
  }
  Choice choice = choose_by_rules(offer, query);
  choice.source += " (" + wish + ": " + obstacle + ')';
  return choice;
}

std::vector<Candidate> candidates(const Offer& offer, uint32_t ranks, const HcclAlgo& wishes) {
  std::vector<Candidate> all;
  const auto serves = [ranks](const plugin::Algorithm& algorithm) {
    Query query;
    query.op = algorithm.table.op;
    query.ranks = ranks;
    return why_not(algorithm, query).empty();
  };
  const auto add = [&](const Rule& rule) {
    all.push_back({rule.algorithm, rule.values,
                   offer.policy + ':' + std::to_string(rule.use_place.line) + ':' +
                       std::to_string(rule.use_place.column)});
  };
  for (const Rule& rule : offer.rules) {
    if (rule.ranks.contains(ranks) && serves(*rule.algorithm)) add(rule);
  }
  for (const Experiment& experiment : offer.experiments) {
    const bool all_serve = std::ranges::all_of(
        experiment.arms, [&](const Arm& arm) { return serves(*arm.rule.algorithm); });
    if (!experiment.calls.ranks.contains(ranks) || !all_serve) continue;
    for (const Arm& arm : experiment.arms) add(arm.rule);
  }
  // Of those that answer to a wish the first one serves, or the first in rank order.
  uint32_t served = 0;  // bit by operation
  uint32_t served_in_order = 0;
  for (const plugin::Algorithm* each : offer.wishable) {
    const Wish wish = wishes.level0(operation_name(each->table.op));
    if (each->table.hccl_algo != wish.name || !serves(*each)) continue;
    const uint32_t bit = 1U << each->table.op;
    const uint32_t order_bit = (each->table.flags & WEFT_ALGORITHM_RANK_ORDER) != 0 ? bit : 0;
    if ((served & bit) != 0 && (order_bit & ~served_in_order) == 0) continue;
    served |= bit;
    served_in_order |= order_bit;
    all.push_back({each, default_values(*each),
                   std::string(wish.from) + " level0:" + std::string(wish.name)});
  }
  return all;
}

}  // namespace weft::config
