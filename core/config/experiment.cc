// SPDX-License-Identifier: Apache-2.0
#include "config/experiment.hpp"

#include <algorithm>

#include "base/names.hpp"
#include "config/choice.hpp"
#include "config/difference.hpp"
#include "plugin/registry.hpp"

namespace weft::config {
namespace {

bool same_use(const Rule& a, const Rule& b) {
  const auto same = [](const RuleParam& x, const RuleParam& y) {
    return x.name == y.name && x.value == y.value;
  };
  return a.use == b.use && std::ranges::is_permutation(a.params, b.params, same);
}

void check_arms(const Experiment& experiment, const std::string& file) {
  const std::vector<Arm>& arms = experiment.arms;
  for (size_t later = 1; later < arms.size(); ++later) {
    for (size_t i = 0; i < later; ++i) {
      if (!same_use(arms[i].rule, arms[later].rule)) continue;
      complain(file, arms[later].rule.place,
               "arms " + std::to_string(i + 1) + " and " + std::to_string(later + 1) +
                   " of experiment \"" + experiment.name +
                   "\" are alike: give them other algorithms or parameters, or leave one out");
    }
  }
}

std::string quoted(const std::string& text) { return '"' + text + '"'; }

/// A list of names if there are several.
std::string list_of(const std::vector<std::string>& names) {
  if (names.size() == 1) return quoted(names.front());
  std::string text;
  for (const std::string& each : names) text += (text.empty() ? "[" : ", ") + quoted(each);
  return text + ']';
}

template <class Name>
std::vector<std::string> names_of(uint32_t mask, Name name) {
  std::vector<std::string> names;
  for (int bit = 0; bit < 32; ++bit) {
    if ((mask >> bit & 1) != 0 && name(bit) != "unknown") names.emplace_back(name(bit));
  }
  return names;
}

}  // namespace

std::string why_not(const Experiment& experiment, const Query& query) {
  if (std::string why = why_unmatched(experiment.calls, query); !why.empty()) return why;
  if (!query.wish.name.empty()) {
    return std::string(query.wish.from) + " wishes for " + std::string(query.wish.name);
  }
  for (const Arm& arm : experiment.arms) {
    const std::string why = why_not(*arm.rule.algorithm, query);
    if (!why.empty()) return "its arm " + arm.rule.use + ' ' + why;
  }
  return {};
}

const Experiment* find_experiment(std::span<const Experiment> experiments, const Query& query) {
  for (const Experiment& each : experiments) {
    if (each.calls.op == query.op && why_not(each, query).empty()) return &each;
  }
  return nullptr;
}

void check_experiments(std::span<const Experiment> experiments, const std::string& file) {
  for (const Experiment& each : experiments) {
    for (const Experiment& earlier : experiments.first(size_t(&each - experiments.data()))) {
      const std::string line = std::to_string(earlier.calls.place.line);
      if (earlier.name == each.name) {
        complain(file, each.calls.place,
                 "the experiment in line " + line + " is called \"" + each.name + "\" too");
      }
    }
    check_arms(each, file);
  }
}

std::string text_of(const Arm& arm) {
  return text_of(Choice{arm.rule.algorithm, arm.rule.values, {}});
}

std::string text_of(const Experiment& experiment) {
  std::string text;
  for (const Arm& arm : experiment.arms) text += (text.empty() ? "" : " against ") + text_of(arm);
  return text;
}

std::string canonical_text(std::span<const Experiment> experiments) {
  std::string text;
  for (const Experiment& each : experiments) {
    text += "experiment " + each.name + ' ' + std::to_string(each.block) + '\n';
    text += canonical_text(std::span(&each.calls, 1));
    for (const Arm& arm : each.arms) {
      text += std::to_string(arm.weight) + ' ' + canonical_text(std::span(&arm.rule, 1));
    }
  }
  return text;
}

std::string toml_of(const Conditions& conditions) {
  const Conditions& c = conditions;
  std::string text;
  const auto add = [&](bool always, const char* key, const std::string& value) {
    if (!always) text += (text.empty() ? "{ " : ", ") + std::string(key) + " = " + value;
  };
  add(c.bytes == Range{}, "bytes", quoted(text_of_bytes(c.bytes)));
  add(c.ranks == kAnyRanks, "ranks", quoted(text_of(c.ranks, kAnyRanks)));
  add(c.hosts == kAnyHosts, "hosts", quoted(text_of(c.hosts, kAnyHosts)));
  add(c.ranks_per_host == kAnyPerHost, "ranks_per_host",
      quoted(text_of(c.ranks_per_host, kAnyPerHost)));
  add(c.types == kAny, "type", list_of(names_of(c.types, type_name)));
  add(c.reduce_ops == kAny, "reduce", list_of(names_of(c.reduce_ops, op_name)));
  add((c.deterministic & 3) == 3, "deterministic", (c.deterministic & 2) != 0 ? "true" : "false");
  add(c.communicators.empty(), "communicator", list_of(c.communicators));
  return text.empty() ? text : text + " }";
}

}  // namespace weft::config
