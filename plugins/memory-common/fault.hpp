// SPDX-License-Identifier: Apache-2.0
// Why a function of a memory plugin fails: thrown inside of it, and turned into a code and a reason
// at its edge.
#pragma once

#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "acl/acl_rt.h"
#include "weft/abi.h"
#include "weft/host.h"

namespace weft::memory {

class Fault : public std::runtime_error {
 public:
  /// `known`: the core itself is the source and knows a better reason than `text`.
  Fault(int32_t fault_code, const std::string& text, bool known = false)
      : std::runtime_error(text), code(fault_code), told(known) {}

  int32_t code;
  bool told;
};

/// A failed ACL call, with its number and its own text. On the thread of the call, before another.
Fault acl_fault(aclError error, std::string_view what, int32_t code = WEFT_E_RUNTIME);

/// Throws unless an ACL call succeeded.
inline void demand_acl(aclError error, std::string_view what, int32_t code = WEFT_E_RUNTIME) {
  if (error != ACL_SUCCESS) throw acl_fault(error, what, code);
}

/// Throws unless a function of the core succeeded.
inline void demand(int32_t code, const char* what) {
  if (code != WEFT_OK) throw Fault(code, std::string("the core refuses to ") + what, true);
}

/// Runs the body; how it failed, if it did.
template <class Body>
std::optional<Fault> fault_of(const Body& body) {
  try {
    body();
    return std::nullopt;
  } catch (const Fault& fault) {
    return fault;
  } catch (const std::bad_alloc&) {
    return Fault(WEFT_E_OOM, "out of memory");
  }
}

/// Runs the body of a function of the table: no exception goes further, reasons go to the core.
template <class Body>
int32_t guarded(const weft_host& host, const Body& body) noexcept {
  const auto fail = [&](int32_t code, const char* text) {
    host.fail(text, std::strlen(text));
    return code;
  };
  try {
    body();
    return WEFT_OK;
  } catch (const Fault& fault) {
    return fault.told ? fault.code : fail(fault.code, fault.what());
  } catch (const std::bad_alloc&) {
    return fail(WEFT_E_OOM, "out of memory");
  } catch (const std::exception& error) {
    return fail(WEFT_E_INTERNAL, error.what());
  }
}

/// Guards the table's explain: writes as much of the text that `reason` gives as has room, which is
/// not 0.
template <class Reason>
void guarded_explain(const weft_host& host, char* text, uint64_t room, const Reason& reason) {
  text[0] = '\0';
  guarded(host, [&] {
    const std::string whole = reason();
    text[whole.copy(text, room - 1)] = '\0';
  });
}

}  // namespace weft::memory
