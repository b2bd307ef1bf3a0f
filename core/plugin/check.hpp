// SPDX-License-Identifier: Apache-2.0
// Checks what a plugin says about itself and copies it into full-size host tables. All functions
// throw Refusal.
#pragma once

#include <vector>

#include "plugin/registry.hpp"
#include "weft/abi.h"

namespace weft::plugin {

/// Checks size, magic, major, kind and name, and copies.
[[nodiscard]] weft_plugin_desc check_descriptor(const weft_plugin_desc& theirs);

/// The algorithms of a checked descriptor of kind WEFT_KIND_ALGORITHMS.
[[nodiscard]] std::vector<Algorithm> check_algorithms(const weft_plugin_desc& desc);

/// The transport of a checked descriptor of kind WEFT_KIND_TRANSPORT.
[[nodiscard]] Transport check_transport(const weft_plugin_desc& desc);

/// The memory plugin of a checked descriptor of kind WEFT_KIND_MEMORY.
[[nodiscard]] Memory check_memory(const weft_plugin_desc& desc);

}  // namespace weft::plugin
