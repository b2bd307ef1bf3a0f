// SPDX-License-Identifier: Apache-2.0
// The environment variables that act when communicators are made, read once. Never set.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/hccl_algo.hpp"
#include "config/values.hpp"
#include "control/network.hpp"

namespace weft::config {

struct Environment {
  std::optional<std::chrono::milliseconds> connect_timeout;  // HCCL_CONNECT_TIMEOUT
  std::optional<std::chrono::milliseconds> exec_timeout;     // HCCL_EXEC_TIMEOUT; 0 = no limit
  std::optional<uint32_t> buffer_mb;                         // HCCL_BUFFSIZE
  std::optional<uint32_t> deterministic;                     // HCCL_DETERMINISTIC: 0, 1, 2
  HcclAlgo algo;                                             // HCCL_ALGO
  control::Network network;    // HCCL_IF_IP, HCCL_SOCKET_*, ports, white list, fault detection
  bool entry_log = false;      // HCCL_ENTRY_LOG_ENABLE
  bool diagnose = false;       // HCCL_DIAGNOSE_ENABLE
  DebugLogs debug;             // HCCL_DEBUG_CONFIG
  Diagnostics diagnostics;     // HCCL_DFS_CONFIG
  bool retries_links = false;  // level 2 of HCCL_OP_RETRY_ENABLE
  bool check_memory = false;   // WEFT_CHECK=memory
  bool early_calls = true;     // WEFT_EARLY_CALLS
  std::string experiments;     // WEFT_EXPERIMENTS

  // Of variables that are checked together.
  std::optional<bool> intra_pcie;  // HCCL_INTRA_PCIE_ENABLE
  std::optional<bool> intra_roce;  // HCCL_INTRA_ROCE_ENABLE

  std::vector<std::string> warnings;  // about parts without effect
};

/// The variables as they are now. Throws Error (HCCL_E_PARA) that names the variable, its value and
/// what is allowed.
[[nodiscard]] Environment read_environment();

/// The variables as they were when this was first called without an error; that call logs the
/// warnings, and names that look misspelt. Throws as above. Any thread.
[[nodiscard]] const Environment& environment();

/// That environment; null before the first such call.
[[nodiscard]] const Environment* kept_environment() noexcept;

/// A variable that is set and unknown, and the known one that may be meant.
struct Misspelt {
  std::string name;
  std::string_view near;
};
/// Those of the environment that begin with HCCL_ or WEFT_.
[[nodiscard]] std::vector<Misspelt> misspelt_variables();

}  // namespace weft::config
