// SPDX-License-Identifier: Apache-2.0
// Why a function of this plugin fails: thrown inside of it, and turned into a code and a reason at
// its edge (plugin.cc).
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "weft/abi.h"

namespace weft::symwin {

class Fault : public std::runtime_error {
 public:
  /// `told`: the core itself is the source and knows a better reason than `text`.
  Fault(int32_t fault_code, const std::string& text, bool known = false)
      : std::runtime_error(text), code(fault_code), told(known) {}

  int32_t code;
  bool told;
};

/// A failed ACL call, with its number and its own text.
Fault acl_fault(int32_t acl_error, const std::string& what, int32_t code = WEFT_E_RUNTIME);

/// Throws unless a function of the core succeeded.
inline void demand(int32_t code, const char* what) {
  if (code != WEFT_OK) throw Fault(code, std::string("the core refuses to ") + what, true);
}

}  // namespace weft::symwin
