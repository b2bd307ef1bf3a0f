// SPDX-License-Identifier: Apache-2.0
// From a file to its descriptor (P1, P8, P11).
#pragma once

#include <filesystem>
#include <stdexcept>

#include "weft/abi.h"

namespace weft::plugin {

/// Why a file is not used as a plugin.
class Refusal : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Loads a file for the life of the process and asks it for its descriptor, which is neither null
/// nor checked otherwise. Throws Refusal.
[[nodiscard]] const weft_plugin_desc& open_plugin(const std::filesystem::path& absolute);

}  // namespace weft::plugin
