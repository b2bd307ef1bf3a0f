// SPDX-License-Identifier: Apache-2.0
// Time limits by what is strongest: the variable, the policy, the built-in value. A communicator's
// own configuration is stronger than all of them.
#pragma once

#include <chrono>
#include <string_view>

#include "config/environment.hpp"
#include "config/policy.hpp"

namespace weft::config {

struct Limit {
  std::chrono::milliseconds time{0};
  std::string_view from;  // the variable, "policy" or "built in"
};

/// For making a communicator.
[[nodiscard]] Limit connect_limit(const Environment& environment, const Settings& settings);
/// For an operation that waits for its peers; 0: none.
[[nodiscard]] Limit exec_limit(const Environment& environment, const Settings& settings);

}  // namespace weft::config
