// SPDX-License-Identifier: Apache-2.0
#include "values.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "policy_file.hpp"

namespace weft::test {
namespace {

/// Mixes all bits (the finaliser of MurmurHash3).
uint64_t mix(uint64_t x) {
  x = (x ^ x >> 33) * 0xff51afd7ed558ccd;
  x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53;
  return x ^ x >> 33;
}

uint64_t noise(uint32_t rank, uint64_t index) { return mix(mix(rank + 1) + index); }

bool is_float(HcclDataType type) {
  return type == HCCL_DATA_TYPE_FP16 || type == HCCL_DATA_TYPE_BFP16 ||
         type == HCCL_DATA_TYPE_FP32 || type == HCCL_DATA_TYPE_FP64;
}

bool is_signed(HcclDataType type) {
  return type == HCCL_DATA_TYPE_INT8 || type == HCCL_DATA_TYPE_INT16 ||
         type == HCCL_DATA_TYPE_INT32 || type == HCCL_DATA_TYPE_INT64;
}

/// The low bits of `value` as a number of an integer type.
uint64_t wrap(HcclDataType type, uint64_t value) {
  const auto unused = static_cast<int>(64 - 8 * size_of(type));
  if (!is_signed(type)) return value << unused >> unused;
  return static_cast<uint64_t>(static_cast<int64_t>(value << unused) >> unused);
}

uint64_t combine_integers(HcclDataType type, HcclReduceOp op, uint64_t a, uint64_t b) {
  const bool less = is_signed(type) ? static_cast<int64_t>(a) < static_cast<int64_t>(b) : a < b;
  switch (op) {
    case HCCL_REDUCE_SUM:
      return wrap(type, a + b);
    case HCCL_REDUCE_PROD:
      return wrap(type, a * b);
    case HCCL_REDUCE_MAX:
      return less ? b : a;
    default:
      return less ? a : b;
  }
}

template <class Float>
Float combine_floats(HcclReduceOp op, Float a, Float b) {
  switch (op) {
    case HCCL_REDUCE_SUM:
      return a + b;
    case HCCL_REDUCE_PROD:
      return a * b;
    case HCCL_REDUCE_MAX:
      return std::max(a, b);
    default:
      return std::min(a, b);
  }
}

/// 16-bit floats with `mantissa` bits of fraction out of fp32, to nearest even; finite and normal.
uint16_t round_to_16(float value, int mantissa) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  if ((bits & 0x7fffffff) == 0) return sign;
  const int cut = 23 - mantissa;
  const int bias = mantissa == 10 ? 127 - 15 : 0;
  const uint32_t moved = (bits & 0x7fffffff) - (static_cast<uint32_t>(bias) << 23);
  const uint32_t half = (1u << (cut - 1)) - 1 + (moved >> cut & 1);
  return static_cast<uint16_t>(sign | (moved + half) >> cut);
}

/// The fp32 of a finite, normal 16-bit float.
float widen(HcclDataType type, uint16_t bits) {
  if (type == HCCL_DATA_TYPE_BFP16) return std::bit_cast<float>(uint32_t{bits} << 16);
  if ((bits & 0x7fff) == 0) return 0.0f;
  const uint32_t magnitude = (uint32_t{bits} & 0x7fff) << 13;
  return std::bit_cast<float>((uint32_t{bits} & 0x8000) << 16 | (magnitude + (112u << 23)));
}

template <class T>
void put(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

void put_float(std::byte* to, HcclDataType type, double value) {
  switch (type) {
    case HCCL_DATA_TYPE_FP64:
      return put(to, value);
    case HCCL_DATA_TYPE_FP32:
      return put(to, static_cast<float>(value));
    case HCCL_DATA_TYPE_FP16:
      return put(to, round_to_16(static_cast<float>(value), 10));
    default:
      return put(to, round_to_16(static_cast<float>(value), 7));
  }
}

double small_float(HcclReduceOp op, uint32_t rank, uint64_t index) {
  const uint64_t bits = noise(rank, index);
  switch (op) {
    case HCCL_REDUCE_SUM:
      return static_cast<double>(bits % 16) - 8;  // 16 of them: at most 128
    case HCCL_REDUCE_PROD:                        // one rank in four gives 2 or -2
      return ((index + rank) % 4 == 0 ? 2 : 1) * (bits % 2 == 0 ? 1 : -1);
    default:
      return static_cast<double>(bits % 241) - 120;
  }
}

/// 1.0 .. 2.0 with a sign, of the precision of the type; for fp64 of full precision.
double rough_float(HcclDataType type, uint32_t rank, uint64_t index) {
  const uint64_t bits = noise(rank, index);
  const double value = 1 + static_cast<double>(bits >> 12) / static_cast<double>(uint64_t{1} << 52);
  std::byte element[8] = {};
  put_float(element, type, bits % 2 == 0 ? value : -value);
  if (size_of(type) == 2) {
    uint16_t half = 0;
    std::memcpy(&half, element, sizeof half);
    return double{widen(type, half)};
  }
  return type == HCCL_DATA_TYPE_FP32 ? double{static_cast<float>(bits % 2 == 0 ? value : -value)}
                                     : (bits % 2 == 0 ? value : -value);
}

template <class Write>
Pattern make(HcclDataType type, Write write) {
  const size_t size = size_of(type);
  std::vector<std::byte> table(Pattern::kPeriod * size);
  for (uint64_t i = 0; i < Pattern::kPeriod; ++i) write(&table[i * size], i);
  return {size, std::move(table)};
}

void put_integer(std::byte* to, HcclDataType type, uint64_t value) {
  std::memcpy(to, &value, size_of(type));  // little endian
}
static_assert(std::endian::native == std::endian::little);

}  // namespace

std::vector<HcclDataType> reducible_types() {
  if (!runs_as_tasks()) return {std::begin(kReducibleTypes), std::end(kReducibleTypes)};
  return {HCCL_DATA_TYPE_INT8, HCCL_DATA_TYPE_INT16, HCCL_DATA_TYPE_INT32,
          HCCL_DATA_TYPE_FP16, HCCL_DATA_TYPE_BFP16, HCCL_DATA_TYPE_FP32};
}

std::vector<HcclReduceOp> reduce_ops() {
  if (!runs_as_tasks()) return {std::begin(kReduceOps), std::end(kReduceOps)};
  return {HCCL_REDUCE_SUM, HCCL_REDUCE_MAX, HCCL_REDUCE_MIN};
}

std::vector<HcclDataType> all_types() {
  std::vector<HcclDataType> types(std::begin(kReducibleTypes), std::end(kReducibleTypes));
  types.insert(types.end(), std::begin(kMovableOnlyTypes), std::end(kMovableOnlyTypes));
  return types;
}

size_t size_of(HcclDataType type) {
  switch (type) {
    case HCCL_DATA_TYPE_INT16:
    case HCCL_DATA_TYPE_UINT16:
    case HCCL_DATA_TYPE_FP16:
    case HCCL_DATA_TYPE_BFP16:
      return 2;
    case HCCL_DATA_TYPE_INT32:
    case HCCL_DATA_TYPE_UINT32:
    case HCCL_DATA_TYPE_FP32:
      return 4;
    case HCCL_DATA_TYPE_INT64:
    case HCCL_DATA_TYPE_UINT64:
    case HCCL_DATA_TYPE_FP64:
      return 8;
    case HCCL_DATA_TYPE_INT128:
      return 16;
    default:
      return 1;
  }
}

std::string name_of(HcclDataType type) {
  static constexpr const char* kNames[] = {
      "int8",   "int16", "int32", "fp16",   "fp32", "int64", "uint64",  "uint8",   "uint16",
      "uint32", "fp64",  "bfp16", "int128", "?",    "hif8",  "fp8e4m3", "fp8e5m2", "fp8e8m0"};
  return kNames[type];
}

std::string name_of(HcclReduceOp op) {
  static constexpr const char* kNames[] = {"sum", "prod", "max", "min"};
  return kNames[op];
}

void Pattern::write(std::byte* to, uint64_t first, uint64_t count) const {
  while (count > 0) {
    const uint64_t phase = first % kPeriod;
    const uint64_t run = std::min(count, kPeriod - phase);
    std::memcpy(to, &table_[phase * element_], run * element_);
    to += run * element_;
    first += run;
    count -= run;
  }
}

std::optional<uint64_t> Pattern::first_wrong(const std::byte* data, uint64_t first,
                                             uint64_t count) const {
  for (uint64_t at = 0; at < count;) {
    const uint64_t phase = (first + at) % kPeriod;
    const uint64_t run = std::min(count - at, kPeriod - phase);
    const std::byte* good = &table_[phase * element_];
    const std::byte* got = data + at * element_;
    if (std::memcmp(got, good, run * element_) != 0) {
      uint64_t i = 0;
      while (std::memcmp(got + i * element_, good + i * element_, element_) == 0) ++i;
      return at + i;
    }
    at += run;
  }
  return std::nullopt;
}

std::string Pattern::text(uint64_t index) const {
  return hex(&table_[index % kPeriod * element_], element_);
}

std::string hex(const std::byte* element, size_t size) {
  std::string text = "0x";
  for (size_t i = size; i-- > 0;) {
    const auto byte = std::to_integer<unsigned>(element[i]);
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

Pattern moved(HcclDataType type, uint32_t rank) {
  return make(type, [&](std::byte* to, uint64_t index) {
    const uint64_t bits[2] = {noise(rank, 2 * index), noise(rank, 2 * index + 1)};
    std::memcpy(to, bits, size_of(type));
  });
}

Pattern addend(HcclDataType type, HcclReduceOp op, uint32_t rank) {
  return make(type, [&](std::byte* to, uint64_t index) {
    if (is_float(type)) return put_float(to, type, small_float(op, rank, index));
    put_integer(to, type, noise(rank, index));
  });
}

Pattern reduced(HcclDataType type, HcclReduceOp op, uint32_t ranks) {
  return make(type, [&](std::byte* to, uint64_t index) {
    if (is_float(type)) {
      double value = small_float(op, 0, index);
      for (uint32_t r = 1; r < ranks; ++r) {
        value = combine_floats(op, value, small_float(op, r, index));
      }
      return put_float(to, type, value);
    }
    uint64_t value = wrap(type, noise(0, index));
    for (uint32_t r = 1; r < ranks; ++r) {
      value = combine_integers(type, op, value, wrap(type, noise(r, index)));
    }
    put_integer(to, type, value);
  });
}

Pattern rough_addend(HcclDataType type, uint32_t rank) {
  return make(type, [&](std::byte* to, uint64_t index) {
    put_float(to, type, rough_float(type, rank, index));
  });
}

Pattern rough_reduced(HcclDataType type, HcclReduceOp op, uint32_t ranks) {
  return make(type, [&](std::byte* to, uint64_t index) {
    double wide = rough_float(type, 0, index);
    auto narrow = static_cast<float>(wide);
    for (uint32_t r = 1; r < ranks; ++r) {
      const double next = rough_float(type, r, index);
      wide = combine_floats(op, wide, next);
      narrow = combine_floats(op, narrow, static_cast<float>(next));
    }
    put_float(to, type, type == HCCL_DATA_TYPE_FP64 ? wide : double{narrow});
  });
}

}  // namespace weft::test
