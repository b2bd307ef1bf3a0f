// SPDX-License-Identifier: Apache-2.0
// A parameter of an algorithm as its plugin declares it, and its values as people write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weft/algorithm.h"

namespace weft::plugin {

struct Param {
  std::string name;
  std::string help;
  int64_t def = 0;
  int64_t min = 0;
  int64_t max = 0;
  uint32_t type = WEFT_PARAM_INTEGER;
  std::vector<std::string> choices = {};  // of WEFT_PARAM_CHOICE, by value
};

/// A value as a policy has it, which must be of the parameter's type.
using Written = std::variant<int64_t, bool, std::string>;

/// The value that is meant; none if the parameter cannot have it.
[[nodiscard]] std::optional<int64_t> value_of(const Param& param, const Written& written);
/// A word of a command line, 4, true or left, as a policy would have it.
[[nodiscard]] Written written(std::string_view word);
/// The other way round, for a value that the parameter can have.
[[nodiscard]] Written written(const Param& param, int64_t value);

/// What a policy may say behind the name: 4, true or "left".
[[nodiscard]] std::string value_text(const Param& param, int64_t value);
[[nodiscard]] std::string value_text(const Written& written);

/// "integer", "boolean" or "choice".
[[nodiscard]] std::string_view type_name(const Param& param);
/// "1..8", "true or false", or the choices.
[[nodiscard]] std::string range_text(const Param& param);

}  // namespace weft::plugin
