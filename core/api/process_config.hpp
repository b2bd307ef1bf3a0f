// SPDX-License-Identifier: Apache-2.0
// What HcclSetConfig has set for the whole process.
#pragma once

#include <cstdint>

namespace weft::api {

/// The value of HCCL_DETERMINISTIC in a call. Throws Error (HCCL_E_PARA).
[[nodiscard]] uint32_t deterministic_level(int32_t value);

/// Of HCCL_DETERMINISTIC: 0, 1 or 2; 0 at first. The environment is stronger.
[[nodiscard]] uint32_t process_deterministic() noexcept;

}  // namespace weft::api
