// SPDX-License-Identifier: Apache-2.0
// From a file to its descriptor (P1, P8, P11).
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>

#include "weft/abi.h"

namespace weft::plugin {

/// Why a file is not used as a plugin: what is wrong, by which rule of docs/abi.md, and what to do.
class Refusal : public std::runtime_error {
 public:
  Refusal(const std::string& what, const char* rule, const std::string& remedy)
      : std::runtime_error(what + " (ABI rule " + rule + "); " + remedy) {}
};

/// Loads a file for the life of the process and asks it for its descriptor, which is neither null
/// nor checked otherwise. Throws Refusal.
[[nodiscard]] const weft_plugin_desc& open_plugin(const std::filesystem::path& absolute);

}  // namespace weft::plugin
