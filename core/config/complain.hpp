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

/// What is wrong in parts of a file, so that all of it is told at once.
class Faults {
 public:
  /// Reads a part; an Error of it is kept.
  template <class Body>
  void in(const Body& read) {
    try {
      read();
    } catch (const Error& error) {
      texts_.emplace_back(error.what());
    }
  }
  /// Throws Error (HCCL_E_PARA) if there are any: a line for each.
  void raise() const;

 private:
  std::vector<std::string> texts_;
};

/// `; did you mean "x"?`, or all known words if none is near.
[[nodiscard]] std::string suggestion(std::string_view wrong,
                                     std::span<const std::string_view> known);

}  // namespace weft::config
