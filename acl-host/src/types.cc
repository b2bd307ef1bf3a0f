// SPDX-License-Identifier: Apache-2.0
// Data types: sizes and half precision, with the interface's own rules.
#include <bit>
#include <cstdint>

#include "error.hpp"

namespace {

constexpr aclFloat16 kSign = 0x8000;
constexpr aclFloat16 kLargest = 0x7BFF;  // 65504

}  // namespace

size_t aclDataTypeSize(aclDataType dataType) {
  switch (dataType) {
    case ACL_DT_UNDEFINED:
    case ACL_STRING:
      return 0;
    case ACL_INT8:
    case ACL_UINT8:
    case ACL_BOOL:
    case ACL_INT4:
    case ACL_UINT1:
    case ACL_HIFLOAT8:
    case ACL_FLOAT8_E5M2:
    case ACL_FLOAT8_E4M3FN:
    case ACL_FLOAT8_E8M0:
      return 1;
    case ACL_FLOAT16:
    case ACL_BF16:
    case ACL_INT16:
    case ACL_UINT16:
      return 2;
    case ACL_FLOAT:
    case ACL_INT32:
    case ACL_UINT32:
    case ACL_COMPLEX32:
      return 4;
    case ACL_COMPLEX128:
      return 16;
    default:
      return 8;
  }
}

float aclFloat16ToFloat(aclFloat16 value) {
  const uint32_t sign = static_cast<uint32_t>(value & kSign) << 16;
  const uint32_t exponent = (value >> 10) & 0x1F;
  const uint32_t mantissa = value & 0x3FF;
  if (exponent != 0) {
    return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  }
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;  // subnormal: exact
  return sign != 0 ? -magnitude : magnitude;
}

aclFloat16 aclFloatToFloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<aclFloat16>((bits >> 16) & kSign);
  const auto exponent = static_cast<int32_t>((bits >> 23) & 0xFF) - 112;
  if (exponent >= 31) return sign | kLargest;
  if (exponent < -10) return sign;  // less than half of the least subnormal
  const uint32_t mantissa = (bits & 0x7FFFFF) | 0x800000;
  // Drop `shift` bits, to nearest even; subnormals drop more.
  const uint32_t shift = exponent > 0 ? 13U : static_cast<uint32_t>(14 - exponent);
  const uint32_t rounding = (1U << (shift - 1)) - 1 + ((mantissa >> shift) & 1);
  const uint32_t rounded = (mantissa + rounding) >> shift;
  // The leading bit, if it is still there, adds one to the exponent below.
  const uint32_t base = exponent > 0 ? static_cast<uint32_t>(exponent - 1) << 10 : 0;
  const uint32_t result = base + rounded;
  return sign | static_cast<aclFloat16>(result > kLargest ? kLargest : result);
}
