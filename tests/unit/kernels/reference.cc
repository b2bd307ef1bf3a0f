// SPDX-License-Identifier: Apache-2.0
#include "reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/kernels.hpp"

namespace weft::kernels::test {
namespace {

/// The value of a binary float of `mantissa` stored bits whose least exponent is `least`.
float value_of(uint32_t bits, int mantissa, int exponent_bits) {
  const uint32_t fraction = bits & ((1u << mantissa) - 1);
  const int exponent_mask = (1 << exponent_bits) - 1;
  const int exponent = static_cast<int>(bits >> mantissa) & exponent_mask;
  const int bias = exponent_mask / 2;
  float magnitude;
  if (exponent == exponent_mask) {
    magnitude = fraction == 0 ? std::numeric_limits<float>::infinity()
                              : std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(fraction), 1 - bias - mantissa);
  } else {
    magnitude =
        std::ldexp(static_cast<float>(fraction + (1u << mantissa)), exponent - bias - mantissa);
  }
  return (bits >> (mantissa + exponent_bits) & 1) != 0 ? -magnitude : magnitude;
}

uint16_t nearest(float value, int mantissa, int exponent_bits) {
  const int exponent_mask = (1 << exponent_bits) - 1;
  const int bias = exponent_mask / 2;
  const auto infinity = static_cast<uint32_t>(exponent_mask) << mantissa;
  if (std::isnan(value)) return static_cast<uint16_t>(infinity | 1u << (mantissa - 1));
  const uint32_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(static_cast<double>(value));
  if (std::isinf(value)) return static_cast<uint16_t>(sign | infinity);
  // A unit in the last place is 2^(exponent - mantissa), or that of the subnormal numbers.
  const int exponent = std::max(magnitude == 0 ? 1 - bias : std::ilogb(magnitude), 1 - bias);
  const auto units =
      static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, mantissa - exponent)));
  // The hidden bit, and a carry out of the mantissa, add to the exponent as they should.
  const uint32_t bits = (static_cast<uint32_t>(exponent + bias - 1) << mantissa) + units;
  return static_cast<uint16_t>(sign | std::min(bits, infinity));
}

uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

template <class T>
T moderate_number(uint64_t random) {
  const auto n = static_cast<int>(random % 2001) - 1000;
  if constexpr (std::is_floating_point_v<T>) return static_cast<T>(n) / 64;
  return static_cast<T>(n);
}

template <class T>
T extreme_number(uint64_t random) {
  using Limits = std::numeric_limits<T>;
  const T all[] = {T{0},
                   T{1},
                   Limits::min(),
                   Limits::max(),
                   Limits::lowest(),
                   Limits::infinity(),
                   Limits::denorm_min(),
                   T(-Limits::infinity()),
                   T(-T{0}),
                   Limits::quiet_NaN(),
                   Limits::max()};
  return all[random % std::size(all)];
}

/// One in four elements is out of the ordinary.
template <class T>
T element_of(uint64_t random) {
  const uint64_t choice = random >> 32;
  if (random % 8 == 0) return extreme_number<T>(choice);
  if (random % 8 != 1) return moderate_number<T>(choice);
  T any;
  const uint64_t bits = mixed(random);
  std::memcpy(&any, &bits, sizeof(any));
  return any;
}

template <class T>
T combined(T a, T b, int op) {
  if constexpr (std::is_floating_point_v<T>) {
    if (op == kSum) return a + b;
    if (op == kProd) return a * b;
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
    if (a == b) return std::signbit(a) == (op == kMin) ? a : b;
  } else {
    using U = std::make_unsigned_t<T>;
    const auto ua = static_cast<uint64_t>(static_cast<U>(a));
    const auto ub = static_cast<uint64_t>(static_cast<U>(b));
    if (op == kSum) return static_cast<T>(ua + ub);
    if (op == kProd) return static_cast<T>(ua * ub);
  }
  return (op == kMax) == (a > b) ? a : b;
}

template <class T>
T element_at(const Bytes& bytes, size_t i) {
  T element;
  std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
  return element;
}

/// Load, Store: how an element of T is turned to what is computed with, and back.
template <class T, class Load, class Store>
Bytes reduced(int op, const std::vector<Bytes>& sources, Load load, Store store) {
  Bytes result(sources[0].size());
  for (size_t i = 0; i < result.size() / sizeof(T); ++i) {
    auto sum = load(element_at<T>(sources[0], i));
    for (size_t s = 1; s < sources.size(); ++s) {
      sum = combined(sum, load(element_at<T>(sources[s], i)), op);
    }
    if constexpr (std::is_floating_point_v<decltype(sum)>) {
      if (std::isnan(sum)) sum = std::numeric_limits<decltype(sum)>::quiet_NaN();
    }
    const T element = store(sum);
    std::memcpy(result.data() + i * sizeof(T), &element, sizeof(T));
  }
  return result;
}

/// Calls f with a value of the C++ type of the elements; fp16 and bfp16 come as their bits.
template <class F>
auto with_type(int type, F f) {
  switch (type) {
    case kInt8:
      return f(int8_t{});
    case kInt16:
      return f(int16_t{});
    case kInt32:
      return f(int32_t{});
    case kInt64:
      return f(int64_t{});
    case kUint16:
      return f(uint16_t{});
    case kUint32:
      return f(uint32_t{});
    case kUint64:
      return f(uint64_t{});
    case kFp32:
      return f(float{});
    case kFp64:
      return f(double{});
    default:
      return f(uint8_t{});
  }
}

}  // namespace

float fp16_value(uint16_t bits) { return value_of(bits, 10, 5); }
float bfp16_value(uint16_t bits) { return value_of(bits, 7, 8); }
uint16_t nearest_fp16(float value) { return nearest(value, 10, 5); }
uint16_t nearest_bfp16(float value) { return nearest(value, 7, 8); }

Bytes source_of(int type, size_t source, size_t count) {
  Bytes bytes(count * type_size(type));
  const auto fill = [&](auto make) {
    for (size_t i = 0; i < count; ++i) {
      const auto element = make(mixed((source << 32) + i + 1));
      std::memcpy(bytes.data() + i * sizeof(element), &element, sizeof(element));
    }
  };
  if (type == kFp16 || type == kBfp16) {
    fill([type](uint64_t random) {
      if (random % 8 == 1) return static_cast<uint16_t>(random >> 16);
      const auto value = element_of<float>(random);
      return type == kFp16 ? nearest_fp16(value) : nearest_bfp16(value);
    });
  } else {
    with_type(type, [&](auto t) {
      fill([](uint64_t random) { return element_of<decltype(t)>(random); });
    });
  }
  return bytes;
}

Bytes reference(int type, int op, const std::vector<Bytes>& sources) {
  if (type == kFp16) return reduced<uint16_t>(op, sources, fp16_value, nearest_fp16);
  if (type == kBfp16) return reduced<uint16_t>(op, sources, bfp16_value, nearest_bfp16);
  return with_type(type, [&](auto t) {
    const auto same = [](decltype(t) element) { return element; };
    return reduced<decltype(t)>(op, sources, same, same);
  });
}

}  // namespace weft::kernels::test
