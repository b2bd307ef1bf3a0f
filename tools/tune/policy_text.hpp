// SPDX-License-Identifier: Apache-2.0
// The policy that `weft tune` writes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/policy.hpp"
#include "plugin/registry.hpp"
#include "tune/report.hpp"

namespace weft::tools {

struct TunedFor {
  uint32_t ranks = 2;
  std::optional<int> type;           // the rules are for calls of this type only
  std::vector<std::string> comment;  // lines at the top
  config::Range bytes = {};          // the rules are for calls of so many bytes only
};

/// The rules of the stretches before those of `base`, which decide all other calls, with the
/// settings of `base`, and the places of plugins that the rules need beside the default folder.
/// Rules of `base` that then never apply are left out, so that `weft policy lint` has nothing to
/// say.
[[nodiscard]] std::string policy_text(const TunedFor& what, const std::vector<Tuned>& tuned,
                                      const config::Policy& base, const plugin::Registry& registry);

}  // namespace weft::tools
