// SPDX-License-Identifier: Apache-2.0
// A policy with the plugins that a program would load for it. No transport is opened and no device
// is touched.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "config/policy.hpp"
#include "plugin/registry.hpp"

namespace weft::tools {

struct LoadedPolicy {
  std::unique_ptr<plugin::Registry> registry;
  config::Policy policy;
  std::string from;  // "given", "WEFT_POLICY" or "default"
};

/// Where a program finds plugins: the folder of the installation, then what WEFT_PLUGIN_PATH and
/// the policy name, if there is one.
[[nodiscard]] std::vector<std::filesystem::path> plugin_places(const config::Policy* policy);

/// Reads a file, or the one that a program would read if it is empty; the rules are not resolved.
/// Throws Error.
[[nodiscard]] LoadedPolicy read_policy(const std::string& file);

/// The same, with its rules tied to algorithms and its engine found. Throws Error.
[[nodiscard]] LoadedPolicy load_policy(const std::string& file);

}  // namespace weft::tools
