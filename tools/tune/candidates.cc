// SPDX-License-Identifier: Apache-2.0
#include "tune/candidates.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/op_names.hpp"
#include "command.hpp"
#include "config/rules.hpp"
#include "last_words.hpp"
#include "options.hpp"
#include "proof/prove.hpp"

namespace weft::tools {
namespace {

/// With its parameters, in declared order.
struct Offered {
  const plugin::Algorithm* algorithm;
  std::vector<int64_t> params;

  friend bool operator==(const Offered&, const Offered&) = default;
};

void add(std::vector<Offered>& all, const Offered& next) {
  if (std::ranges::find(all, next) == all.end()) all.push_back(next);
}

std::vector<Offered> offered(const LoadedPolicy& loaded, const config::Query& query) {
  std::vector<Offered> all;
  for (const plugin::Algorithm& each : loaded.registry->algorithms()) {
    if (each.table.op != query.op || !config::why_not(each, query).empty()) continue;
    add(all, {&each, config::default_values(each)});
  }
  for (const config::Rule& rule : loaded.policy.rules()) {
    config::Query some = query;
    some.bytes = rule.bytes.first;
    if (!config::matches(rule, some) || !config::why_not(*rule.algorithm, some).empty()) continue;
    add(all, {rule.algorithm, rule.values});
  }
  return all;
}

/// What the policy itself uses cannot be left out.
void need_no_rule(const LoadedPolicy& loaded, const config::Query& query,
                  const plugin::Algorithm& refused, const std::string& why) {
  for (const config::Rule& rule : loaded.policy.rules()) {
    config::Query some = query;
    some.bytes = rule.bytes.first;
    if (rule.algorithm != &refused || !config::matches(rule, some)) continue;
    throw Failure(fmt::format("{}:{}: {}", loaded.policy.name(), rule.use_place.line, why));
  }
}

}  // namespace

config::Query query_of(uint32_t op, uint64_t bytes, uint32_t ranks, int type, bool deterministic) {
  config::Query query;
  query.op = op;
  query.bytes = bytes;
  query.ranks = ranks;
  query.type = type;
  query.reduce_op = is_reduction(op) ? int32_t{HCCL_REDUCE_SUM} : -1;
  query.deterministic = deterministic;
  query.ranks_per_host = ranks;
  return query;
}

Words known_algorithms(const std::string& list, const plugin::Registry& registry) {
  std::vector<std::string_view> known;
  for (const plugin::Algorithm& each : registry.algorithms()) known.push_back(each.name);
  Words names = parse_list(list);
  for (const std::string& name : names) {
    if (std::ranges::find(known, name) != known.end()) continue;
    throw UsageError(
        fmt::format("--without: there is no algorithm '{}'{}", name, did_you_mean(name, known)));
  }
  return names;
}

Candidates candidates_for(const LoadedPolicy& loaded, const config::Query& query,
                          const Words& unwanted) {
  Candidates found;
  LastWords last_words("weft tune", "; --without leaves an algorithm out");
  for (const Offered& each : offered(loaded, query)) {
    const plugin::Algorithm& algorithm = *each.algorithm;
    if (std::ranges::find(unwanted, algorithm.name) != unwanted.end()) {
      need_no_rule(loaded, query, algorithm,
                   fmt::format("the policy uses {}, so it cannot be left out: --without can leave "
                               "out what no rule names",
                               algorithm.name));
      found.unwanted.push_back(algorithm.name);
      continue;
    }
    last_words.prepare(algorithm.name, query.ranks);
    const proof::Fixed fixed(each.params.begin(), each.params.end());
    const proof::Verdict verdict = proof::prove(algorithm, query.ranks, fixed);
    if (verdict.wrong) {
      need_no_rule(loaded, query, algorithm,
                   fmt::format("the checker refutes {}: `weft check {} --ranks {}` shows why",
                               algorithm.name, algorithm.name, query.ranks));
      found.refused.push_back(fmt::format("{}: `weft check {} --ranks {}` shows a mistake",
                                          algorithm.name, algorithm.name, query.ranks));
      continue;
    }
    const bool in_order = (algorithm.table.flags & WEFT_ALGORITHM_RANK_ORDER) != 0;
    found.all.push_back(
        {arm_of({&algorithm, each.params, "", nullptr}), is_reduction(query.op) && !in_order});
  }
  return found;
}

}  // namespace weft::tools
