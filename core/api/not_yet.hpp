// SPDX-License-Identifier: Apache-2.0
// The answer of functions that are declared and exported but have no implementation so far.
#pragma once

#include "hccl/hccl_types.h"

namespace weft::api {

/// Logs that `function` is missing and returns HCCL_E_NOT_SUPPORT. Any thread.
HcclResult not_yet(const char* function) noexcept;

}  // namespace weft::api
