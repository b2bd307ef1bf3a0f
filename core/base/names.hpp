// SPDX-License-Identifier: Apache-2.0
// Names, sizes and properties of HCCL data types and reduction operations, and the nearest known
// name to a misspelt one. Types and operations are the numbers of HcclDataType and HcclReduceOp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "hccl/hccl_types.h"

namespace weft {

/// Bytes of one element by data type; 0 where no type has the number.
inline constexpr std::array<std::uint8_t, HCCL_DATA_TYPE_FP8E8M0 + 1> kTypeSizes = {
    1, 2, 4, 2, 4, 8, 8, 1, 2, 4, 8, 2, 16, 0, 1, 1, 1, 1};

/// Bytes of one element, 0 for an unknown type.
constexpr std::size_t type_size(int type) noexcept {
  const auto index = static_cast<std::size_t>(static_cast<unsigned int>(type));
  return index < kTypeSizes.size() ? kTypeSizes[index] : 0;
}

/// True if elements of the type can be reduced; false for an unknown type.
constexpr bool reducible(int type) noexcept {
  return type >= HCCL_DATA_TYPE_INT8 && type <= HCCL_DATA_TYPE_BFP16;
}

/// "fp32", or "unknown".
std::string_view type_name(int type) noexcept;

/// The name of a reduction operation: "sum", or "unknown".
std::string_view op_name(int op) noexcept;

/// All names of types, and of reduction operations.
std::vector<std::string_view> type_names();
std::vector<std::string_view> op_names();

std::optional<int> parse_type(std::string_view name) noexcept;
std::optional<int> parse_reduce_op(std::string_view name) noexcept;

/// The known name with the fewest changed letters from `wrong`, the first of equals; empty if none
/// is close enough to be what was meant. Borrows from `known`.
std::string_view nearest(std::string_view wrong, std::span<const std::string_view> known);
/// The same if `most` letters may be wrong.
std::string_view nearest(std::string_view wrong, std::span<const std::string_view> known,
                         std::size_t most);

}  // namespace weft
