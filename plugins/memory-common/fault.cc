// SPDX-License-Identifier: Apache-2.0
#include "fault.hpp"

#include <fmt/format.h>

#include "acl/acl.h"

namespace weft::memory {

Fault acl_fault(aclError error, std::string_view what, int32_t code) {
  // The newest comes first; older ones are not about this.
  const char* texts = aclGetRecentErrMsg();
  const std::string_view all = texts == nullptr ? "no text" : texts;
  return {code, fmt::format("{}: error {}, {}", what, error, all.substr(0, all.find('\n')))};
}

}  // namespace weft::memory
