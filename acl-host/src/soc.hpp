// SPDX-License-Identifier: Apache-2.0
// Which SoC the host presents.
#pragma once

#include <cstring>

#include "acl/acl_base_rt.h"

namespace weft::acl {

inline bool soc_is(const char* family) noexcept {
  return std::strncmp(aclrtGetSocName(), family, std::strlen(family)) == 0;
}

constexpr const char* kSocA2 = "Ascend910B";
constexpr const char* kSocA3 = "Ascend910_93";
constexpr const char* kSoc950 = "Ascend950";

}  // namespace weft::acl
