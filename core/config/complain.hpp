// SPDX-License-Identifier: Apache-2.0
// Errors in a policy file: where, what, and the nearest known word.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace weft::config {

/// A place in the policy file; both begin with 1.
struct Place {
  uint32_t line = 1;
  uint32_t column = 1;
};

/// Throws Error with "file:line:column: what".
[[noreturn]] void complain(const std::string& file, Place place, const std::string& what,
                           HcclResult code = HCCL_E_PARA);

/// `; did you mean "x"?`, or all known words if none is near.
[[nodiscard]] std::string suggestion(std::string_view wrong,
                                     std::span<const std::string_view> known);

}  // namespace weft::config
