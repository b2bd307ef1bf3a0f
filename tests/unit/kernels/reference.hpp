// SPDX-License-Identifier: Apache-2.0
// What the kernels have to compute, one element at a time, with no vectors and no cleverness.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::kernels::test {

using Bytes = std::vector<uint8_t>;

/// The element types with arithmetic, all types, and the operations.
inline constexpr int kArithmeticTypes[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
inline constexpr int kAllTypes[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15, 16, 17};
inline constexpr int kOps[] = {0, 1, 2, 3};

/// The value of an fp16 / bfp16, and the one nearest to a value (ties to even).
float fp16_value(uint16_t bits);
float bfp16_value(uint16_t bits);
uint16_t nearest_fp16(float value);
uint16_t nearest_bfp16(float value);

/// `count` elements that depend on the source and on the index: mostly moderate numbers, among
/// them extreme and special values, and arbitrary bits.
Bytes source_of(int type, size_t source, size_t count);

/// sources[0] op sources[1] op ..., element by element, over all of their length.
Bytes reference(int type, int op, const std::vector<Bytes>& sources);

}  // namespace weft::kernels::test
