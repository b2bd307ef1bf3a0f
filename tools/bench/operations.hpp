// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "bench/op.hpp"
#include "hccl/hccl_types.h"

namespace weft::tools {

/// The operators that an algorithm does, each by the name that a policy has for it: "a,b", or all
/// of them for an empty text. Throws UsageError for an unknown name, one that is there twice, and a
/// reduction of elements that cannot be reduced.
[[nodiscard]] std::vector<Op> parse_operations(const std::string& text, HcclDataType type);

}  // namespace weft::tools
