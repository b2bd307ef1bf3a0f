// SPDX-License-Identifier: Apache-2.0
// Names of the operations (WEFT_OP_*), as policies, logs and tools write them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "weft/abi.h"

namespace weft {

/// By WEFT_OP_*; there is no operation 0.
inline constexpr std::array<std::string_view, WEFT_OP_COUNT> kOperationNames = {
    "",        "all_reduce", "broadcast", "all_gather",   "reduce_scatter",   "all_to_all",
    "barrier", "reduce",     "scatter",   "all_gather_v", "reduce_scatter_v", "all_to_all_v"};

/// All names, for messages.
constexpr std::span<const std::string_view> operation_names() noexcept {
  return std::span(kOperationNames).subspan(1);
}

/// "all_reduce", or "unknown".
constexpr std::string_view operation_name(uint32_t op) noexcept {
  return op >= 1 && op < WEFT_OP_COUNT ? kOperationNames[op] : "unknown";
}

constexpr std::optional<uint32_t> parse_operation(std::string_view name) noexcept {
  for (uint32_t op = 1; op < WEFT_OP_COUNT; ++op) {
    if (kOperationNames[op] == name) return op;
  }
  return std::nullopt;
}

/// True if the operation combines elements of several ranks.
constexpr bool is_reduction(uint32_t op) noexcept {
  return op == WEFT_OP_ALL_REDUCE || op == WEFT_OP_REDUCE_SCATTER || op == WEFT_OP_REDUCE ||
         op == WEFT_OP_REDUCE_SCATTER_V;
}

/// True if one rank of the call is the root.
constexpr bool has_root(uint32_t op) noexcept {
  return op == WEFT_OP_BROADCAST || op == WEFT_OP_REDUCE || op == WEFT_OP_SCATTER;
}

/// True if what every rank gets depends on every rank.
constexpr bool depends_on_all(uint32_t op) noexcept {
  return !has_root(op) && op >= 1 && op < WEFT_OP_COUNT;
}

/// True if every block has a length of its own.
constexpr bool has_lengths(uint32_t op) noexcept {
  return op == WEFT_OP_ALL_GATHER_V || op == WEFT_OP_REDUCE_SCATTER_V || op == WEFT_OP_ALL_TO_ALL_V;
}

}  // namespace weft
