// SPDX-License-Identifier: Apache-2.0
// One of several algorithms that are compared, and the policy that lets it do the work.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "command.hpp"
#include "config/policy.hpp"
#include "config/rules.hpp"
#include "plugin/registry.hpp"

namespace weft::tools {

struct Arm {
  std::string use;  // "plugin.algorithm"
  std::vector<std::pair<std::string, plugin::Written>> params;

  /// As on the command line: "plugin.algorithm:name=value:name=value".
  [[nodiscard]] std::string text() const;

  friend bool operator==(const Arm&, const Arm&) = default;
};

/// Throws UsageError.
[[nodiscard]] Arm parse_arm(std::string_view text);

/// The parameters that are not the default ones are named.
[[nodiscard]] Arm arm_of(const config::Choice& choice);

/// Lets the arm do every call of the operation.
[[nodiscard]] config::Rule rule_of(const Arm& arm, uint32_t op);

/// A whole policy with the transport, the memory and the plugins of `base`: the arm for `op`, and
/// for every other operation any algorithm that there is. Throws UsageError if the arm cannot serve
/// `op`.
[[nodiscard]] std::string policy_of(const Arm& arm, uint32_t op, const config::Settings& base,
                                    const plugin::Registry& registry);

}  // namespace weft::tools
