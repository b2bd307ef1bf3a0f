// SPDX-License-Identifier: Apache-2.0
// What HcclSetConfig has set for the whole process.
#pragma once

#include <cstdint>

namespace weft::api {

/// 0, 1 or 2: HCCL_DETERMINISTIC of the environment, else what HcclSetConfig gave, else 0. Throws
/// Error (HCCL_E_PARA) if the variable is wrong.
[[nodiscard]] uint32_t process_deterministic();

}  // namespace weft::api
