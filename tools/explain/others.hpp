// SPDX-License-Identifier: Apache-2.0
// The algorithms that were not chosen for a call.
#pragma once

#include <string>
#include <vector>

#include "config/policy.hpp"
#include "loaded_policy.hpp"

namespace weft::tools {

struct Other {
  std::string algorithm;
  std::string why;
};

/// Of all loaded algorithms of the operation but the chosen one, why each was not: those that rules
/// name first, in their order, then the rest.
[[nodiscard]] std::vector<Other> others(const LoadedPolicy& loaded, const config::Query& query,
                                        const config::Choice& choice);

}  // namespace weft::tools
