// SPDX-License-Identifier: Apache-2.0
// A policy with the plugins that a program would load for it. No transport is opened and no device
// is touched.
#pragma once

#include <memory>
#include <string>

#include "config/policy.hpp"
#include "plugin/registry.hpp"

namespace weft::tools {

struct LoadedPolicy {
  std::unique_ptr<plugin::Registry> registry;
  config::Policy policy;
  std::string from;  // "given", "WEFT_POLICY" or "default"
};

/// Reads a file, or the one that a program would read if it is empty; the rules are not resolved.
/// Throws Error.
[[nodiscard]] LoadedPolicy read_policy(const std::string& file);

/// The same, with its rules tied to algorithms and its engine found. Throws Error.
[[nodiscard]] LoadedPolicy load_policy(const std::string& file);

}  // namespace weft::tools
