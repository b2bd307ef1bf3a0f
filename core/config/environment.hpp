// SPDX-License-Identifier: Apache-2.0
// The HCCL_* variables that act so far, and WEFT_CHECK. Read when a communicator is made; never
// set.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "config/hccl_algo.hpp"

namespace weft::config {

struct Environment {
  std::optional<std::chrono::milliseconds> connect_timeout;  // HCCL_CONNECT_TIMEOUT
  std::optional<std::chrono::milliseconds> exec_timeout;     // HCCL_EXEC_TIMEOUT; 0 = no limit
  std::optional<uint32_t> buffer_mb;                         // HCCL_BUFFSIZE
  std::optional<bool> deterministic;                         // HCCL_DETERMINISTIC
  std::optional<uint16_t> base_port;                         // HCCL_IF_BASE_PORT
  HcclAlgo algo;                                             // HCCL_ALGO
  bool check_memory = false;                                 // WEFT_CHECK=memory
};

/// Throws Error (HCCL_E_PARA) that names the variable, its value and what is allowed.
[[nodiscard]] Environment read_environment();

}  // namespace weft::config
