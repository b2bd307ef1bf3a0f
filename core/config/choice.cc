// SPDX-License-Identifier: Apache-2.0
#include "config/choice.hpp"

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

}  // namespace weft::config
