// SPDX-License-Identifier: Apache-2.0
// Parts of a policy as the text of a policy file: read again, they mean the same.
#pragma once

#include <string>
#include <string_view>

#include "config/policy.hpp"
#include "config/rules.hpp"

namespace weft::config {

/// A string of TOML.
[[nodiscard]] std::string toml_string(std::string_view text);

/// "[[rule]]" and its keys, a line each. Not what resolve sets.
[[nodiscard]] std::string toml_of(const Rule& rule);

/// The tables of everything but rules, with an empty line before each. What has no value is left
/// out.
[[nodiscard]] std::string toml_of(const Settings& settings);

}  // namespace weft::config
