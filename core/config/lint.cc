// SPDX-License-Identifier: Apache-2.0
#include "config/lint.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/names.hpp"
#include "base/op_names.hpp"
#include "config/cells.hpp"
#include "config/experiment.hpp"
#include "config/rules.hpp"
#include "plugin/registry.hpp"

namespace weft::config {
namespace {

std::string at(const Policy& policy, Place place) {
  return policy.name() + ':' + std::to_string(place.line) + ':' + std::to_string(place.column) +
         ": ";
}

void check_transport(const Policy& policy, const plugin::Registry& registry) {
  const std::string& name = policy.settings().transport;
  if (registry.find_transport(name) == nullptr) {
    std::vector<std::string_view> known;
    for (const plugin::Plugin& each : registry.plugins()) {
      if (each.refusal.empty() && each.kind == WEFT_KIND_TRANSPORT) known.push_back(each.name);
    }
    complain(policy.name(), policy.written_at("transport.use").value_or(Place{}),
             "no transport \"" + name + '"' + suggestion(name, known));
  }
  policy.check_engine(registry);
}

/// Of every rule, and of [transport] and [memory].
std::vector<Finding> errors(Policy& policy, const plugin::Registry& registry) {
  std::vector<Finding> found;
  const auto attempt = [&](const auto& action) {
    try {
      action();
    } catch (const Error& error) {
      found.push_back({Severity::kError, error.what()});
    }
  };
  for (Rule rule : policy.rules()) attempt([&] { resolve(rule, registry, policy.name()); });
  for (const Experiment& experiment : policy.experiments()) {
    for (Arm arm : experiment.arms) attempt([&] { resolve(arm.rule, registry, policy.name()); });
  }
  attempt([&] { check_transport(policy, registry); });
  // Once more, for what is not about rules, and so that rules have their algorithms.
  if (found.empty()) attempt([&] { policy.resolve(registry); });
  return found;
}

/// What calls of one operation come to, cell by cell.
struct Census {
  std::set<const Rule*> matched;                          // match some cell
  std::set<const Rule*> winners;                          // decide one
  std::map<const Rule*, std::set<const Rule*>> stronger;  // what decides the cells that it could
};

Census count(const Policy& policy, uint32_t op) {
  Census census;
  Cells(op, {&policy}).visit([&](const Cell& cell) {
    if (!cell.possible) return;
    const Rule* winner = nullptr;
    for (const Rule& rule : policy.rules()) {
      if (!matches(rule, cell.query)) continue;
      census.matched.insert(&rule);
      if (winner == nullptr && why_not(*rule.algorithm, cell.query).empty()) winner = &rule;
    }
    if (winner == nullptr) return;
    census.winners.insert(winner);
    for (const Rule& rule : policy.rules()) {
      if (!matches(rule, cell.query) || !why_not(*rule.algorithm, cell.query).empty()) continue;
      census.stronger[&rule].insert(winner);
    }
  });
  return census;
}

/// The algorithm can serve no call that the rule matches: why.
std::string never_serves(const Rule& rule) {
  const weft_algorithm& table = rule.algorithm->table;
  Query query;
  query.op = rule.op;
  // The nearest numbers of ranks that it might serve.
  query.ranks = static_cast<uint32_t>(
      std::clamp<uint64_t>(table.min_ranks, rule.ranks.first, rule.ranks.last));
  query.deterministic = rule.deterministic == 2;
  return why_not(*rule.algorithm, query);
}

/// The transport can carry out no reduction that the rule matches.
bool never_reduces(const Rule& rule, const weft_transport& transport) {
  for (int type = 0; type < 32; ++type) {
    for (int op = HCCL_REDUCE_SUM; op <= HCCL_REDUCE_MIN; ++op) {
      const bool asked = (rule.types >> type & 1) != 0 && (rule.reduce_ops >> op & 1) != 0;
      if (asked && reducible(type) && transport.reduces(type, op) != 0) return false;
    }
  }
  return true;
}

/// All arms together: an experiment takes only calls that each of them can serve.
std::string why_never(const Experiment& experiment, const plugin::Transport& transport) {
  if (is_reduction(experiment.calls.op) && never_reduces(experiment.calls, transport.table)) {
    return "transport \"" + transport.name + "\" cannot reduce its data";
  }
  for (const Arm& arm : experiment.arms) {
    Rule served = arm.rule;
    static_cast<Conditions&>(served) = experiment.calls;
    if (std::string why = never_serves(served); !why.empty()) return served.use + ' ' + why;
  }
  return {};
}

/// An earlier one matches all its calls, and serves where it can.
std::string taken_before(const Experiment& experiment, std::span<const Experiment> all) {
  const auto limits = [](const Experiment& each) {
    Range ranks;
    for (const Arm& arm : each.arms) {
      const weft_algorithm& table = arm.rule.algorithm->table;
      ranks.first = std::max<uint64_t>(ranks.first, table.min_ranks);
      if (table.max_ranks != 0) ranks.last = std::min<uint64_t>(ranks.last, table.max_ranks);
    }
    return ranks;
  };
  const auto any_order = [](const Experiment& each) {
    return std::ranges::any_of(each.arms, [](const Arm& arm) {
      return (arm.rule.algorithm->table.flags & WEFT_ALGORITHM_RANK_ORDER) == 0;
    });
  };
  for (const Experiment& earlier : all.first(static_cast<size_t>(&experiment - all.data()))) {
    const bool serves = limits(earlier).covers(limits(experiment)) &&
                        (!any_order(earlier) || any_order(experiment));
    if (serves && covers(earlier.calls, experiment.calls)) {
      return "the one in line " + std::to_string(earlier.calls.place.line) + " takes all its calls";
    }
  }
  return {};
}

std::string why_never(const Rule& rule, const Census& census, const plugin::Transport& transport) {
  if (is_reduction(rule.op) && never_reduces(rule, transport.table)) {
    Conditions data;
    data.types = rule.types;
    data.reduce_ops = rule.reduce_ops;
    const bool anything = rule.types == kAny && rule.reduce_ops == kAny;
    return "transport \"" + transport.name + "\" cannot reduce " +
           (anything ? "anything" : text_of(data));
  }
  if (census.winners.contains(&rule) || is_catch_all(rule)) return {};
  if (!census.matched.contains(&rule)) {
    return "no call has such numbers of ranks, hosts and ranks on each host";
  }
  if (const std::string why = never_serves(rule); !why.empty()) return rule.use + ' ' + why;
  std::string lines;
  const auto found = census.stronger.find(&rule);
  if (found == census.stronger.end()) return rule.use + " can serve none of its calls";
  std::set<uint32_t> sorted;
  for (const Rule* each : found->second) sorted.insert(each->place.line);
  for (const uint32_t line : sorted) {
    lines += (lines.empty() ? "" : ", ") + std::to_string(line);
  }
  return "the rules in lines " + lines + " decide every call that it matches and " + rule.use +
         " can serve";
}

bool alike(const Rule& a, const Rule& b) {
  return a.algorithm == b.algorithm && a.values == b.values;
}

std::vector<Finding> overlaps(const Policy& policy) {
  std::vector<Finding> found;
  const std::span<const Rule> rules = policy.rules();
  for (const Rule& later : rules) {
    for (const Rule& earlier : rules.first(static_cast<size_t>(&later - rules.data()))) {
      if (alike(earlier, later) || covers(later, earlier)) continue;
      const std::optional<Conditions> both = common(earlier, later);
      if (!both) continue;
      found.push_back({Severity::kOverlap,
                       at(policy, later.place) + "overlaps with the rule in line " +
                           std::to_string(earlier.place.line) + ": for " + text_of(*both) +
                           ", that one comes first",
                       later.place});
    }
  }
  return found;
}

}  // namespace

std::vector<Finding> lint(Policy& policy, const plugin::Registry& registry) {
  std::vector<Finding> found = errors(policy, registry);
  if (!found.empty()) return found;
  const plugin::Transport& transport = *registry.find_transport(policy.settings().transport);
  for (uint32_t op = 1; op < WEFT_OP_COUNT; ++op) {
    const Census census = count(policy, op);
    for (const Rule& rule : policy.rules()) {
      if (rule.op != op) continue;
      const std::string why = why_never(rule, census, transport);
      if (why.empty()) continue;
      found.push_back({Severity::kWarning,
                       at(policy, rule.place) + "this rule never applies here: " + why,
                       rule.place});
    }
  }
  for (const Experiment& each : policy.experiments()) {
    std::string why = why_never(each, transport);
    if (why.empty()) why = taken_before(each, policy.experiments());
    if (why.empty()) continue;
    found.push_back({Severity::kWarning,
                     at(policy, each.calls.place) + "this experiment never applies here: " + why});
  }
  for (Finding& each : overlaps(policy)) found.push_back(std::move(each));
  return found;
}

}  // namespace weft::config
