// SPDX-License-Identifier: Apache-2.0
#include "config/rules.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "base/names.hpp"
#include "base/op_names.hpp"
#include "plugin/registry.hpp"

namespace weft::config {
namespace {

bool has_bit(uint32_t mask, int32_t bit) {
  return mask == kAny || (bit >= 0 && bit < 32 && ((mask >> bit) & 1U) != 0);
}

bool covers_bits(uint32_t earlier, uint32_t later) { return (earlier & later) == later; }

/// Every name that fits one of `later` fits one of `earlier`.
bool covers_names(const std::vector<std::string>& earlier, const std::vector<std::string>& later) {
  if (earlier.empty() || std::ranges::find(earlier, "*") != earlier.end()) return true;
  return !later.empty() && std::ranges::all_of(later, [&](const std::string& name) {
    return std::ranges::any_of(earlier, [&](const std::string& each) { return fits(each, name); });
  });
}

bool has_name(const Conditions& conditions, std::string_view name) {
  const auto& all = conditions.communicators;
  return all.empty() ||
         std::ranges::any_of(all, [&](const std::string& each) { return fits(each, name); });
}

Range common(const Range& a, const Range& b) {
  return {std::max(a.first, b.first), std::min(a.last, b.last)};
}

/// Of two lists that both say something, what is left when both must hold.
std::vector<std::string> common(const std::vector<std::string>& a,
                                const std::vector<std::string>& b) {
  if (a.empty() || b.empty()) return a.empty() ? b : a;
  std::vector<std::string> both;
  for (const std::string& each : a) {
    if (covers_names(b, {each})) both.push_back(each);
  }
  for (const std::string& each : b) {
    const bool known = std::ranges::find(both, each) != both.end();
    if (!known && covers_names(a, {each})) both.push_back(each);
  }
  return both;
}

/// The names of the bits of a mask.
template <class Name>
std::string bit_names(uint32_t mask, Name name) {
  std::string text;
  for (int bit = 0; bit < 32; ++bit) {
    if ((mask >> bit & 1) == 0 || name(bit) == "unknown") continue;
    text += (text.empty() ? "" : " ") + std::string(name(bit));
  }
  return text;
}

std::string names_text(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& each : names) text += (text.empty() ? "\"" : " \"") + each + '"';
  return text;
}

std::string asked_text(uint32_t deterministic) {
  return (deterministic & 2) != 0 ? "true" : "false";
}

std::string out_of(const std::string& value, const char* what, const std::string& range) {
  return value + ' ' + what + " are not in " + range;
}

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

[[noreturn]] void complain_value(const Rule& rule, const plugin::Param& param,
                                 const RuleParam& given, const std::string& file) {
  std::string text = "parameter \"" + given.name + "\" of \"" + rule.use + "\" is " +
                     plugin::value_text(given.value);
  const bool is_number = std::holds_alternative<int64_t>(given.value);
  if (param.type == WEFT_PARAM_INTEGER && is_number) {
    complain(file, given.place, text + ", outside its limits " + plugin::range_text(param));
  }
  complain(file, given.place, text + "; allowed: " + plugin::range_text(param));
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
    const std::optional<int64_t> value = plugin::value_of(declared[index], given.value);
    if (!value) complain_value(rule, declared[index], given, file);
    values[index] = *value;
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
  append(text, rule.hosts);
  append(text, rule.ranks_per_host);
  std::vector<std::string> names = rule.communicators;
  std::sort(names.begin(), names.end());
  text += ' ' + names_text(names);
  for (const uint32_t mask : {rule.types, rule.reduce_ops, rule.deterministic}) {
    text += ' ' + std::to_string(mask);
  }
  text += ' ' + rule.use;
  std::vector<RuleParam> params = rule.params;
  std::sort(params.begin(), params.end(),
            [](const RuleParam& a, const RuleParam& b) { return a.name < b.name; });
  for (const RuleParam& each : params)
    text += ' ' + each.name + '=' + plugin::value_text(each.value);
  text += '\n';
}

}  // namespace

bool is_catch_all(const Rule& rule) {
  Rule anything;
  anything.op = rule.op;
  return covers(rule, anything);
}

bool may_match(const Rule& rule, const Query& query) {
  return rule.ranks.contains(query.ranks) && rule.hosts.contains(query.hosts) &&
         rule.ranks_per_host.contains(query.ranks_per_host) && has_name(rule, query.communicator);
}

bool matches(const Rule& rule, const Query& query) {
  return rule.op == query.op && rule.bytes.contains(query.bytes) &&
         has_bit(rule.types, query.type) && has_bit(rule.reduce_ops, query.reduce_op) &&
         has_bit(rule.deterministic, query.deterministic ? 1 : 0) && may_match(rule, query);
}

bool covers(const Rule& earlier, const Rule& later) {
  return earlier.op == later.op && earlier.bytes.covers(later.bytes) &&
         earlier.ranks.covers(later.ranks) && earlier.hosts.covers(later.hosts) &&
         earlier.ranks_per_host.covers(later.ranks_per_host) &&
         covers_bits(earlier.types, later.types) &&
         covers_bits(earlier.reduce_ops, later.reduce_ops) &&
         covers_bits(earlier.deterministic, later.deterministic) &&
         covers_names(earlier.communicators, later.communicators);
}

std::optional<Conditions> common(const Rule& a, const Rule& b) {
  if (a.op != b.op) return std::nullopt;
  Conditions both;
  both.bytes = common(a.bytes, b.bytes);
  both.ranks = common(a.ranks, b.ranks);
  both.hosts = common(a.hosts, b.hosts);
  both.ranks_per_host = common(a.ranks_per_host, b.ranks_per_host);
  both.types = a.types & b.types;
  both.reduce_ops = a.reduce_ops & b.reduce_ops;
  both.deterministic = a.deterministic & b.deterministic;
  both.communicators = common(a.communicators, b.communicators);
  for (const Range& each : {both.bytes, both.ranks, both.hosts, both.ranks_per_host}) {
    if (each.first > each.last) return std::nullopt;
  }
  if (both.types == 0 || both.reduce_ops == 0 || both.deterministic == 0) return std::nullopt;
  const bool named = !a.communicators.empty() || !b.communicators.empty();
  if (named && both.communicators.empty()) return std::nullopt;
  return both;
}

bool fits(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

std::string why_meaningless(std::string_view key, uint32_t op) {
  const std::string quoted = '"' + std::string(key) + '"';
  if (key == "memory") {
    return quoted +
           " cannot choose an algorithm: the ranks of a call may pass buffers of different kinds, "
           "and all must choose alike; [memory] says where buffers are looked for";
  }
  const bool about_reduction = key == "reduce" || key == "deterministic";
  const bool about_data = key == "bytes" || key == "type";
  if ((about_reduction && !is_reduction(op)) || (about_data && op == WEFT_OP_BARRIER)) {
    return quoted + " means nothing for " + std::string(operation_name(op));
  }
  if (key == "bytes" && op == WEFT_OP_ALL_TO_ALL_V) {
    return quoted + " cannot choose for all_to_all_v: no two ranks need to have the same";
  }
  return {};
}

std::string why_unmatched(const Rule& rule, const Query& query) {
  if (!rule.bytes.contains(query.bytes)) {
    return out_of(text_of_bytes(query.bytes), "bytes", text_of_bytes(rule.bytes));
  }
  if (!rule.ranks.contains(query.ranks)) {
    return out_of(std::to_string(query.ranks), "ranks", text_of(rule.ranks, kAnyRanks));
  }
  if (!rule.hosts.contains(query.hosts)) {
    return out_of(std::to_string(query.hosts), "hosts", text_of(rule.hosts, kAnyHosts));
  }
  if (!rule.ranks_per_host.contains(query.ranks_per_host)) {
    if (query.ranks_per_host == 0) return "hosts have different numbers of ranks";
    return out_of(std::to_string(query.ranks_per_host), "ranks per host",
                  text_of(rule.ranks_per_host, kAnyPerHost));
  }
  if (!has_bit(rule.types, query.type)) {
    return "the type is not " + bit_names(rule.types, type_name);
  }
  if (!has_bit(rule.reduce_ops, query.reduce_op)) {
    return "the reduction is not " + bit_names(rule.reduce_ops, op_name);
  }
  if (!has_bit(rule.deterministic, query.deterministic ? 1 : 0)) {
    return query.deterministic ? "a deterministic result is asked for"
                               : "no deterministic result is asked for";
  }
  if (has_name(rule, query.communicator)) return {};
  return "the communicator is not " + names_text(rule.communicators);
}

std::string text_of(const Conditions& conditions) {
  std::string text;
  const auto add = [&](bool always, const char* key, const std::string& value) {
    if (always) return;
    text += (text.empty() ? "" : ", ") + std::string(key) + ' ' + value;
  };
  const Conditions& c = conditions;
  add(c.bytes == Range{}, "bytes", text_of_bytes(c.bytes));
  add(c.ranks == kAnyRanks, "ranks", text_of(c.ranks, kAnyRanks));
  add(c.hosts == kAnyHosts, "hosts", text_of(c.hosts, kAnyHosts));
  add(c.ranks_per_host == kAnyPerHost, "ranks_per_host", text_of(c.ranks_per_host, kAnyPerHost));
  add(c.types == kAny, "type", bit_names(c.types, type_name));
  add(c.reduce_ops == kAny, "reduce", bit_names(c.reduce_ops, op_name));
  add((c.deterministic & 3) == 3, "deterministic", asked_text(c.deterministic));
  add(c.communicators.empty(), "communicator", names_text(c.communicators));
  return text.empty() ? "every call" : text;
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

std::string digest_of(std::string_view text) {
  uint64_t state = 0xcbf29ce484222325ULL;
  for (const char letter : text) {
    state = (state ^ static_cast<unsigned char>(letter)) * 0x100000001b3ULL;
  }
  std::array<char, 17> hex{};
  std::snprintf(hex.data(), hex.size(), "%016llx", static_cast<unsigned long long>(state));
  return hex.data();
}

}  // namespace weft::config
