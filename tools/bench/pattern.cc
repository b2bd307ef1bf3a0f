// SPDX-License-Identifier: Apache-2.0
#include "bench/pattern.hpp"

#include <algorithm>
#include <cstring>

#include "bench/half.hpp"

namespace weft::tools {
namespace {

// Mixes all bits (the finaliser of SplitMix64).
uint64_t mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

uint64_t noise(uint32_t rank, uint64_t index) { return mix(mix(rank) + index); }

bool is_signed(HcclDataType type) {
  switch (type) {
    case HCCL_DATA_TYPE_UINT8:
    case HCCL_DATA_TYPE_UINT16:
    case HCCL_DATA_TYPE_UINT32:
    case HCCL_DATA_TYPE_UINT64:
      return false;
    default:
      return true;
  }
}

// What `rank` contributes to element `index` of a reduction.
int64_t number(const Spec& spec, uint32_t rank, uint64_t index) {
  constexpr uint64_t kExact = 256;  // whole numbers up to here are exact in bfp16
  switch (spec.reduce_op) {
    case HCCL_REDUCE_SUM:
      return int64_t(noise(rank, index) % std::clamp<uint64_t>(kExact / spec.ranks, 2, 64));
    case HCCL_REDUCE_PROD: {
      // Ones, and for every index at most six twos among all ranks.
      const uint64_t spacing = std::max(3u, (spec.ranks + 5) / 6);
      return (index + rank) % spacing == 0 ? 2 : 1;
    }
    default:
      return int64_t(noise(rank, index) % 100) - (is_signed(spec.type) ? 50 : 0);
  }
}

int64_t combine(HcclReduceOp op, int64_t a, int64_t b) {
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

template <typename T>
void put(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

// A whole number as an element of a type that can be reduced.
void encode(std::byte* to, HcclDataType type, int64_t value) {
  switch (type) {
    case HCCL_DATA_TYPE_FP16:
      return put(to, to_fp16(float(value)));
    case HCCL_DATA_TYPE_BFP16:
      return put(to, to_bfp16(float(value)));
    case HCCL_DATA_TYPE_FP32:
      return put(to, float(value));
    case HCCL_DATA_TYPE_FP64:
      return put(to, double(value));
    case HCCL_DATA_TYPE_INT8:
    case HCCL_DATA_TYPE_UINT8:
      return put(to, uint8_t(value));
    case HCCL_DATA_TYPE_INT16:
    case HCCL_DATA_TYPE_UINT16:
      return put(to, uint16_t(value));
    case HCCL_DATA_TYPE_INT32:
    case HCCL_DATA_TYPE_UINT32:
      return put(to, uint32_t(value));
    default:
      return put(to, value);
  }
}

template <typename Write>
Pattern make_pattern(const Spec& spec, Write write) {
  const size_t size = element_size(spec);
  std::vector<std::byte> table(Pattern::kPeriod * size);
  for (uint64_t index = 0; index < Pattern::kPeriod; ++index) write(&table[index * size], index);
  return {size, std::move(table)};
}

}  // namespace

Pattern::Pattern(size_t element, std::vector<std::byte> table)
    : element_(element), table_(std::move(table)) {}

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

uint64_t Pattern::mismatches(const std::byte* data, uint64_t first, uint64_t count) const {
  uint64_t wrong = 0;
  while (count > 0) {
    const uint64_t phase = first % kPeriod;
    const uint64_t run = std::min(count, kPeriod - phase);
    const std::byte* good = &table_[phase * element_];
    if (std::memcmp(data, good, run * element_) != 0) {
      for (uint64_t i = 0; i < run; ++i) {
        wrong += std::memcmp(data + i * element_, good + i * element_, element_) != 0 ? 1 : 0;
      }
    }
    data += run * element_;
    first += run;
    count -= run;
  }
  return wrong;
}

Pattern input_pattern(const Spec& spec, uint32_t rank) {
  const size_t size = element_size(spec);
  return make_pattern(spec, [&](std::byte* to, uint64_t index) {
    if (facts(spec.op).reduces()) return encode(to, spec.type, number(spec, rank, index));
    for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
      const uint64_t bits = noise(rank, index * 2 + at);
      std::memcpy(to + at, &bits, std::min(size, sizeof bits));
    }
  });
}

Pattern reduced_pattern(const Spec& spec) {
  return make_pattern(spec, [&](std::byte* to, uint64_t index) {
    int64_t value = number(spec, 0, index);
    for (uint32_t rank = 1; rank < spec.ranks; ++rank) {
      value = combine(spec.reduce_op, value, number(spec, rank, index));
    }
    encode(to, spec.type, value);
  });
}

Pattern untouched_pattern(const Spec& spec) {
  const size_t size = element_size(spec);
  return {size, std::vector<std::byte>(Pattern::kPeriod * size, std::byte{0xa5})};
}

Pattern pattern_of(const Spec& spec, uint32_t source) {
  if (source == kReduced) return reduced_pattern(spec);
  return source == kUntouched ? untouched_pattern(spec) : input_pattern(spec, source);
}

}  // namespace weft::tools
