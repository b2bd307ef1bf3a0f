// SPDX-License-Identifier: Apache-2.0
// In what two policies differ.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/policy.hpp"
#include "config/rules.hpp"

namespace weft::config {

/// A set of calls of one operation that two policies carry out in different ways.
struct Difference {
  std::string calls;      // "bytes ..512, ranks 2..8"
  Conditions conditions;  // the same, but for the names of communicators
  std::string first;      // "mesh.one_shot (line 16)"
  std::string second;
};

/// Without a wish of HCCL_ALGO. Both are resolved. All differing calls are in exactly one of them.
[[nodiscard]] std::vector<Difference> differences(const Policy& first, const Policy& second,
                                                  uint32_t op);

/// Of [plugins], [transport], [memory], [control] and the experiments; `calls` is the name of the
/// setting, "experiment.NAME" for an experiment. Both are resolved.
[[nodiscard]] std::vector<Difference> setting_differences(const Policy& first,
                                                          const Policy& second);

/// "transport.engine" and its value as a policy has it; empty where it leaves it out.
struct SettingText {
  std::string name;
  std::string value;
};
[[nodiscard]] std::vector<SettingText> setting_texts(const Settings& settings);

/// "ring.broadcast { pieces = 16 }": parameters that are not the default are named.
[[nodiscard]] std::string text_of(const Choice& choice);

}  // namespace weft::config
