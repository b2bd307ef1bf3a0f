// SPDX-License-Identifier: Apache-2.0
#include "explain/others.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/rules.hpp"

namespace weft::tools {
namespace {

using config::Query;
using config::Rule;

bool by_wish(const config::Choice& choice, const Query& query) {
  // A wish that was fulfilled is the whole source; one that was not stands behind the rule.
  return !query.wish.name.empty() && choice.source.starts_with(query.wish.from);
}

std::string why_rule_lost(const Rule& rule, const Query& query, const config::Choice& choice) {
  const std::string where = fmt::format("line {}: ", rule.place.line);
  if (const std::string why = config::why_unmatched(rule, query); !why.empty()) return where + why;
  if (const std::string why = config::why_not(*rule.algorithm, query); !why.empty()) {
    return where + why;
  }
  if (by_wish(choice, query)) return where + "matches, but " + choice.source + " decides";
  return fmt::format("{}comes after line {}", where, choice.rule->place.line);
}

std::string why_unnamed(const plugin::Algorithm& algorithm, const Query& query,
                        const config::Choice& choice) {
  const std::string why = config::why_not(algorithm, query);
  std::string text = "no rule names it";
  if (!why.empty()) return text + ", and it " + why;
  if (!by_wish(choice, query)) return text;
  const char* answers = algorithm.table.hccl_algo;
  if (answers == nullptr || answers != query.wish.name) {
    return fmt::format("{}, and it does not answer to {}", text, choice.source);
  }
  return fmt::format("{}; of those that answer to {}, it is not the first", text, choice.source);
}

}  // namespace

std::vector<Other> others(const LoadedPolicy& loaded, const Query& query,
                          const config::Choice& choice) {
  std::vector<Other> found;
  for (const Rule& rule : loaded.policy.rules()) {
    if (rule.op != query.op || rule.algorithm == choice.algorithm) continue;
    const std::string why = why_rule_lost(rule, query, choice);
    const auto known = std::ranges::find(found, rule.use, &Other::algorithm);
    if (known == found.end()) {
      found.push_back({rule.use, why});
    } else {
      known->why += "; " + why;
    }
  }
  const auto named = found.size();
  for (const plugin::Algorithm& each : loaded.registry->algorithms()) {
    if (each.table.op != query.op || &each == choice.algorithm) continue;
    const auto end = found.begin() + static_cast<std::ptrdiff_t>(named);
    const bool has_rule = std::any_of(
        found.begin(), end, [&](const Other& other) { return other.algorithm == each.name; });
    if (!has_rule) found.push_back({each.name, why_unnamed(each, query, choice)});
  }
  return found;
}

}  // namespace weft::tools
