// SPDX-License-Identifier: Apache-2.0
#include "config/rules.hpp"

#include <algorithm>
#include <string_view>

#include "base/op_names.hpp"
#include "plugin/registry.hpp"

namespace weft::config {
namespace {

bool has_bit(uint32_t mask, int32_t bit) {
  return mask == kAny || (bit >= 0 && bit < 32 && ((mask >> bit) & 1U) != 0);
}

bool covers_bits(uint32_t earlier, uint32_t later) { return (earlier & later) == later; }

const plugin::Plugin* find_plugin(const plugin::Registry& registry, std::string_view name,
                                  bool used) {
  for (const plugin::Plugin& each : registry.plugins()) {
    if (each.name == name && each.refusal.empty() == used) return &each;
  }
  return nullptr;
}

// The files that were refused, and why: of this plugin, or of unknown ones, which may have been it.
std::string refusals(const plugin::Registry& registry, std::string_view plugin) {
  const plugin::Plugin* refused = find_plugin(registry, plugin, false);
  if (refused != nullptr) {
    return ": " + refused->path.string() + " is not used: " + refused->refusal;
  }
  std::string text;
  for (const plugin::Plugin& each : registry.plugins()) {
    if (!each.name.empty()) continue;
    text += "; " + each.path.string() + " is not used: " + each.refusal;
  }
  return text;
}

// `what` is missing: names what is near among the algorithms of the operation.
[[noreturn]] void complain_missing(const Rule& rule, const plugin::Registry& registry,
                                   const std::string& file) {
  const std::string plugin = rule.use.substr(0, rule.use.find('.'));
  std::string what = "no algorithm \"" + rule.use + "\"";
  if (find_plugin(registry, plugin, true) == nullptr) {
    what += " because no plugin \"" + plugin + "\" is loaded" + refusals(registry, plugin);
  }
  std::vector<std::string_view> known;
  for (const plugin::Algorithm& each : registry.algorithms()) {
    if (each.table.op == rule.op) known.emplace_back(each.name);
  }
  complain(file, rule.use_place, what + suggestion(rule.use, known), HCCL_E_NOT_FOUND);
}

std::vector<int64_t> ordered_values(const Rule& rule, const std::string& file) {
  const std::vector<plugin::Param>& declared = rule.algorithm->params;
  std::vector<int64_t> values = default_values(*rule.algorithm);
  std::vector<std::string_view> names;
  for (const plugin::Param& each : declared) names.emplace_back(each.name);
  for (const RuleParam& given : rule.params) {
    const auto found = std::find(names.begin(), names.end(), given.name);
    if (found == names.end()) {
      complain(file, given.place,
               "algorithm \"" + rule.use + "\" has no parameter \"" + given.name + "\"" +
                   suggestion(given.name, names));
    }
    const auto index = static_cast<std::size_t>(found - names.begin());
    const plugin::Param& limits = declared[index];
    if (given.value < limits.min || given.value > limits.max) {
      complain(file, given.place,
               "parameter \"" + given.name + "\" of \"" + rule.use + "\" is " +
                   std::to_string(given.value) + ", outside its limits " +
                   std::to_string(limits.min) + ".." + std::to_string(limits.max));
    }
    values[index] = given.value;
  }
  return values;
}

void check_reachable(std::span<const Rule> rules, std::size_t index, const std::string& file) {
  const Rule& rule = rules[index];
  for (const Rule& earlier : rules.first(index)) {
    if (earlier.op != rule.op || !covers(earlier, rule)) continue;
    complain(file, rule.place,
             "this rule is never reached: the rule in line " + std::to_string(earlier.place.line) +
                 " already takes every call that it matches; put it before that one or remove it");
  }
}

void check_catch_all(std::span<const Rule> rules, uint32_t op, const std::string& file) {
  const auto last =
      std::find_if(rules.rbegin(), rules.rend(), [op](const Rule& r) { return r.op == op; });
  const std::string name(operation_name(op));
  if (last == rules.rend()) {
    complain(file, {}, "no rule for " + name + ": add one without \"when\"");
  }
  if (is_catch_all(*last)) return;
  complain(file, last->place,
           "the last rule of " + name + " has conditions: add one without \"when\" after it");
}

void append(std::string& text, const Range& range) {
  text += ' ' + std::to_string(range.first) + ".." + std::to_string(range.last);
}

void append(std::string& text, const Rule& rule) {
  text += std::string(operation_name(rule.op));
  append(text, rule.bytes);
  append(text, rule.ranks);
  for (const uint32_t mask : {rule.types, rule.reduce_ops, rule.deterministic}) {
    text += ' ' + std::to_string(mask);
  }
  text += ' ' + rule.use;
  std::vector<RuleParam> params = rule.params;
  std::sort(params.begin(), params.end(),
            [](const RuleParam& a, const RuleParam& b) { return a.name < b.name; });
  for (const RuleParam& each : params) text += ' ' + each.name + '=' + std::to_string(each.value);
  text += '\n';
}

}  // namespace

bool is_catch_all(const Rule& rule) {
  Rule anything;
  anything.op = rule.op;
  return covers(rule, anything);
}

bool matches(const Rule& rule, const Query& query) {
  return rule.op == query.op && rule.bytes.contains(query.bytes) &&
         rule.ranks.contains(query.ranks) && has_bit(rule.types, query.type) &&
         has_bit(rule.reduce_ops, query.reduce_op) &&
         has_bit(rule.deterministic, query.deterministic ? 1 : 0);
}

bool covers(const Rule& earlier, const Rule& later) {
  return earlier.op == later.op && earlier.bytes.covers(later.bytes) &&
         earlier.ranks.covers(later.ranks) && covers_bits(earlier.types, later.types) &&
         covers_bits(earlier.reduce_ops, later.reduce_ops) &&
         covers_bits(earlier.deterministic, later.deterministic);
}

void check_complete(std::span<const Rule> rules, const std::string& file) {
  for (std::size_t i = 0; i < rules.size(); ++i) check_reachable(rules, i, file);
  for (uint32_t op = 1; op < WEFT_OP_COUNT; ++op) check_catch_all(rules, op, file);
}

void resolve(Rule& rule, const plugin::Registry& registry, const std::string& file) {
  rule.algorithm = registry.find_algorithm(rule.use);
  if (rule.algorithm == nullptr) complain_missing(rule, registry, file);
  if (rule.algorithm->table.op != rule.op) {
    complain(file, rule.use_place,
             "algorithm \"" + rule.use + "\" is for " +
                 std::string(operation_name(rule.algorithm->table.op)) + ", this rule is for " +
                 std::string(operation_name(rule.op)));
  }
  rule.values = ordered_values(rule, file);
}

std::vector<int64_t> default_values(const plugin::Algorithm& algorithm) {
  std::vector<int64_t> values;
  for (const plugin::Param& each : algorithm.params) values.push_back(each.def);
  return values;
}

std::string why_not(const plugin::Algorithm& algorithm, const Query& query) {
  const weft_algorithm& table = algorithm.table;
  if (query.ranks < table.min_ranks) {
    return "needs at least " + std::to_string(table.min_ranks) + " ranks";
  }
  if (table.max_ranks != 0 && query.ranks > table.max_ranks) {
    return "serves at most " + std::to_string(table.max_ranks) + " ranks";
  }
  const bool in_order = (table.flags & WEFT_ALGORITHM_RANK_ORDER) != 0;
  if (query.deterministic && is_reduction(query.op) && !in_order) {
    return "does not sum in rank order, and a deterministic result is asked for";
  }
  return {};
}

std::string canonical_text(std::span<const Rule> rules) {
  std::string text;
  for (uint32_t op = 1; op < WEFT_OP_COUNT; ++op) {
    for (const Rule& rule : rules) {
      if (rule.op == op) append(text, rule);
    }
  }
  return text;
}

}  // namespace weft::config
