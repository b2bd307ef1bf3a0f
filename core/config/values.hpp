// SPDX-License-Identifier: Apache-2.0
// The texts of environment variables as values. All throw BadValue, which says what is wrong: the
// name of the variable and what is allowed are the caller's to add.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "config/units.hpp"
#include "control/network.hpp"

namespace weft::config {

/// Decimal digits, at most ten.
[[nodiscard]] uint64_t whole_number(std::string_view text, uint64_t min, uint64_t max);
/// 0 or 1.
[[nodiscard]] bool is_on(std::string_view text);
/// Seconds with up to two decimals.
[[nodiscard]] std::chrono::milliseconds decimal_seconds(std::string_view text, uint64_t max);
/// The index of the word. The same letters count, in any case if `any_case`.
[[nodiscard]] std::size_t one_of(std::string_view text,
                                 std::initializer_list<std::string_view> words, bool any_case);
void check_length(std::string_view text, std::size_t most);
/// A decimal fraction of [0, 1].
void check_ratio(std::string_view text);

/// Parts with commas between them, none of which is empty.
[[nodiscard]] std::vector<std::string_view> comma_list(std::string_view text);
[[nodiscard]] std::string without_spaces(std::string_view text);
[[nodiscard]] std::string in_lower_case(std::string_view text);

/// "a,b", "^a,b", "=a,b" or "^=a,b".
[[nodiscard]] control::Interfaces parse_interfaces(std::string_view text);
/// "a-b", "a", a list of both, or "auto": none.
[[nodiscard]] std::vector<control::Ports> parse_ports(std::string_view text);
/// What a file lists, as JSON, under "host_ip". A file that is not there lists nobody, with a
/// warning.
[[nodiscard]] control::WhiteList read_white_list(std::string_view file,
                                                 std::vector<std::string>& warnings);

/// HCCL_DEBUG_CONFIG: what is logged on request.
struct DebugLogs {
  bool algorithms = false;  // ALG
  bool tasks = false;       // TASK
  bool resources = false;   // RESOURCE
};
[[nodiscard]] DebugLogs parse_debug(std::string_view text);

/// HCCL_DFS_CONFIG, but for the keys that have no effect here.
struct Diagnostics {
  control::FaultDetection detection;  // connection_fault_detection_time, cluster_heartbeat
  bool task_exception = true;
  std::chrono::milliseconds monitor{0};  // task_monitor_interval; 0: none
};
[[nodiscard]] Diagnostics parse_diagnostics(std::string_view text,
                                            std::vector<std::string>& warnings);

/// HCCL_OP_RETRY_ENABLE, "L1:0,L2:1": whether the levels 0, 1 and 2 are on.
using RetryLevels = std::array<bool, 3>;
[[nodiscard]] RetryLevels parse_retry_levels(std::string_view text);
/// HCCL_OP_RETRY_PARAMS: "MaxCnt:1,HoldTime:5000,IntervalTime:1000".
void check_retry_params(std::string_view text);
/// HCCL_RDMA_TC.
void check_traffic_class(uint64_t value);

}  // namespace weft::config
