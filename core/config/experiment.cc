// SPDX-License-Identifier: Apache-2.0
#include "config/experiment.hpp"

#include <algorithm>

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

}  // namespace weft::config
