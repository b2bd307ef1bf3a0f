// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/op_names.hpp"
#include "command.hpp"
#include "config/difference.hpp"
#include "loaded_policy.hpp"
#include "policy/verbs.hpp"

namespace weft::tools {

int diff_policies(const std::string& first, const std::string& second) {
  const LoadedPolicy a = load_policy(first);
  const LoadedPolicy b = load_policy(second);
  bool same = true;
  const auto print = [&](std::string_view title, const std::vector<config::Difference>& all) {
    if (!all.empty()) fmt::print("{}\n", title);
    for (const config::Difference& each : all) {
      fmt::print("  {}: {} -> {}\n", each.calls, each.first, each.second);
    }
    same = same && all.empty();
  };
  for (uint32_t op = 1; op < WEFT_OP_COUNT; ++op) {
    print(operation_name(op), config::differences(a.policy, b.policy, op));
  }
  print("settings", config::setting_differences(a.policy, b.policy));
  if (!same) return kFailed;
  fmt::print("the policies do the same\n");
  return kOk;
}

}  // namespace weft::tools
