// SPDX-License-Identifier: Apache-2.0
#include "config/lint.hpp"

#include <fmt/format.h>

#include "command.hpp"
#include "loaded_policy.hpp"
#include "policy/verbs.hpp"

namespace weft::tools {

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
  fmt::print("{}: {} rules, {} errors, {} warnings, {} overlaps\n", loaded.policy.name(),
             loaded.policy.rules().size(), errors, warnings, ordered);
  return errors != 0 || (strict && warnings != 0) ? kFailed : kOk;
}

}  // namespace weft::tools
