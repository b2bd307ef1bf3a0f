// SPDX-License-Identifier: Apache-2.0
// Floats as IEEE binary16 (fp16) and as bfloat16 (bfp16), rounded to nearest even.
#pragma once

#include <bit>
#include <cstdint>

namespace weft::tools {

constexpr uint16_t to_bfp16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return uint16_t((bits >> 16) | 0x40u);  // NaN stays NaN
  return uint16_t((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

constexpr uint16_t to_fp16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = uint16_t((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return uint16_t(sign | 0x7e00u);   // NaN
  if (magnitude >= 0x477ff000u) return uint16_t(sign | 0x7c00u);  // rounds to 65536 or more
  if (magnitude < 0x38800000u) {  // below 2^-14: a whole number of 2^-24
    // Adding 0.5 leaves exactly those bits in the mantissa, rounded by the addition.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return uint16_t(sign | (std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(0.5f)));
  }
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return uint16_t(sign | ((rounded - 0x38000000u) >> 13));
}

static_assert(to_bfp16(1.0f) == 0x3f80 && to_bfp16(-2.0f) == 0xc000 && to_bfp16(256.0f) == 0x4380);
static_assert(to_bfp16(257.0f) == 0x4380 && to_bfp16(259.0f) == 0x4382);  // ties go to even
static_assert(to_fp16(1.0f) == 0x3c00 && to_fp16(-2.0f) == 0xc000 && to_fp16(65504.0f) == 0x7bff);
static_assert(to_fp16(65520.0f) == 0x7c00 && to_fp16(5.9604645e-8f) == 0x0001);
static_assert(to_fp16(2049.0f) == 0x6800 && to_fp16(2051.0f) == 0x6802);  // ties go to even

}  // namespace weft::tools
