// SPDX-License-Identifier: Apache-2.0
#include "config/lint.hpp"

#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

#include "command.hpp"
#include "config/experiment.hpp"
#include "last_words.hpp"
#include "loaded_policy.hpp"
#include "policy/verbs.hpp"
#include "proof/prove.hpp"

namespace weft::tools {
namespace {

/// Algorithms that the policy asks to be proved and that are wrong with few ranks already.
std::vector<std::string> refuted(const LoadedPolicy& loaded) {
  constexpr uint32_t kFewRanks = 9;
  std::vector<std::string> found;
  if (!loaded.policy.settings().require_check) return found;
  std::set<std::string> names;
  for (const config::Rule& each : loaded.policy.rules()) names.insert(each.use);
  for (const config::Experiment& each : loaded.policy.experiments()) {
    for (const config::Arm& arm : each.arms) names.insert(arm.rule.use);
  }
  LastWords last_words("weft policy lint");
  for (const plugin::Algorithm& each : loaded.registry->algorithms()) {
    if (!names.contains(each.name)) continue;
    for (uint32_t ranks = 2; ranks <= kFewRanks; ++ranks) {
      last_words.prepare(each.name, ranks);
      if (!proof::serves(each, ranks) || !proof::prove(each, ranks).wrong) continue;
      found.push_back(
          fmt::format("{}: require_check, and {} is wrong with {} ranks: `weft check {} "
                      "--ranks {}` shows why",
                      loaded.policy.name(), each.name, ranks, each.name, ranks));
      break;
    }
  }
  return found;
}

}  // namespace

int lint_policy(const std::string& file, bool strict, bool overlaps) {
  using config::Severity;
  LoadedPolicy loaded = read_policy(file);
  size_t errors = 0;
  size_t warnings = 0;
  size_t ordered = 0;
  for (const config::Finding& each : config::lint(loaded.policy, *loaded.registry)) {
    const char* kind = "error";
    if (each.severity == Severity::kWarning) kind = "warning";
    if (each.severity == Severity::kOverlap) kind = "overlap";
    errors += each.severity == Severity::kError;
    warnings += each.severity == Severity::kWarning;
    ordered += each.severity == Severity::kOverlap;
    if (each.severity != Severity::kOverlap || overlaps) fmt::print("{} ({})\n", each.text, kind);
  }
  for (const plugin::Plugin& each : loaded.registry->plugins()) {
    if (each.refusal.empty()) continue;
    ++warnings;
    fmt::print("{}: {} (warning)\n", each.path.string(), each.refusal);
  }
  for (const std::string& each : refuted(loaded)) {
    ++errors;
    fmt::print("{} (error)\n", each);
  }
  fmt::print("{}: {} rules, {} errors, {} warnings, {} overlaps\n", loaded.policy.name(),
             loaded.policy.rules().size(), errors, warnings, ordered);
  return errors != 0 || (strict && warnings != 0) ? kFailed : kOk;
}

}  // namespace weft::tools
