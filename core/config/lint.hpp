// SPDX-License-Identifier: Apache-2.0
// What is wrong or doubtful in a policy whose text is in order: what this machine's plugins cannot
// do, rules that never decide a call, rules whose order matters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/policy.hpp"

namespace weft::config {

enum class Severity : uint8_t {
  kError,    // no communicator can be made with it
  kWarning,  // a rule never applies on this machine
  kOverlap   // two rules match some calls and differ: the first of them decides
};

struct Finding {
  Severity severity = Severity::kError;
  std::string text;  // begins with "file:line:column: "
  Place place = {};  // of the rule, if it is no error
};

/// The errors; or else the warnings, then the overlaps, each in the order of the file. Resolves the
/// policy.
[[nodiscard]] std::vector<Finding> lint(Policy& policy, const plugin::Registry& registry);

}  // namespace weft::config
