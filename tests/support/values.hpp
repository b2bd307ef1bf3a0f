// SPDX-License-Identifier: Apache-2.0
// What ranks send and what they must receive, as plain functions of rank and index; the reductions
// are computed one element after the other, in rank order, with nothing of the library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hccl/hccl_types.h"

namespace weft::test {

inline constexpr HcclDataType kReducibleTypes[] = {
    HCCL_DATA_TYPE_INT8,  HCCL_DATA_TYPE_INT16,  HCCL_DATA_TYPE_INT32,  HCCL_DATA_TYPE_INT64,
    HCCL_DATA_TYPE_UINT8, HCCL_DATA_TYPE_UINT16, HCCL_DATA_TYPE_UINT32, HCCL_DATA_TYPE_UINT64,
    HCCL_DATA_TYPE_FP16,  HCCL_DATA_TYPE_BFP16,  HCCL_DATA_TYPE_FP32,   HCCL_DATA_TYPE_FP64};
inline constexpr HcclDataType kMovableOnlyTypes[] = {HCCL_DATA_TYPE_INT128, HCCL_DATA_TYPE_HIF8,
                                                     HCCL_DATA_TYPE_FP8E4M3, HCCL_DATA_TYPE_FP8E5M2,
                                                     HCCL_DATA_TYPE_FP8E8M0};
inline constexpr HcclReduceOp kReduceOps[] = {HCCL_REDUCE_SUM, HCCL_REDUCE_PROD, HCCL_REDUCE_MAX,
                                              HCCL_REDUCE_MIN};
/// Those of them that the engine of this run reduces: the tasks engine has inline reduce only.
std::vector<HcclDataType> reducible_types();
std::vector<HcclReduceOp> reduce_ops();

/// All 17.
std::vector<HcclDataType> all_types();

/// Bytes of one element.
size_t size_of(HcclDataType type);
std::string name_of(HcclDataType type);
std::string name_of(HcclReduceOp op);

/// An endless sequence of elements that begins again after kPeriod of them: a prime, so that no
/// shift by a block maps it onto itself.
class Pattern {
 public:
  static constexpr uint64_t kPeriod = 4093;

  /// `table` holds kPeriod elements of `element` bytes.
  Pattern(size_t element, std::vector<std::byte> table)
      : element_(element), table_(std::move(table)) {}

  /// Writes elements first .. first + count - 1.
  void write(std::byte* to, uint64_t first, uint64_t count) const;
  /// The first of `count` elements that differs from its place in the sequence.
  std::optional<uint64_t> first_wrong(const std::byte* data, uint64_t first, uint64_t count) const;
  /// One element in hexadecimal digits, the most significant first.
  std::string text(uint64_t index) const;

 private:
  size_t element_;
  std::vector<std::byte> table_;
};

/// For operations that only move data: arbitrary bits.
Pattern moved(HcclDataType type, uint32_t rank);

/// For reductions. Integers fill their type, so sums and products wrap. Floats are small whole
/// numbers whose results are exact in every type and in every order.
Pattern addend(HcclDataType type, HcclReduceOp op, uint32_t rank);
Pattern reduced(HcclDataType type, HcclReduceOp op, uint32_t ranks);

/// Floats whose sums and products need rounding, and the results in rank order: 16-bit types are
/// combined as fp32 and rounded once, to nearest even.
Pattern rough_addend(HcclDataType type, uint32_t rank);
Pattern rough_reduced(HcclDataType type, HcclReduceOp op, uint32_t ranks);

/// Bytes of one element as hexadecimal digits, the most significant first.
std::string hex(const std::byte* element, size_t size);

}  // namespace weft::test
