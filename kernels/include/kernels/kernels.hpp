// SPDX-License-Identifier: Apache-2.0
// Vectorised copy and element-wise reduction in host memory for every HCCL data type.
// Every function is thread safe and neither allocates nor blocks; pointers may have any alignment.
#pragma once

#include <cstddef>

namespace weft::kernels {

/// Element types, with the values of HcclDataType.
enum DataType : int {
  kInt8 = 0,
  kInt16 = 1,
  kInt32 = 2,
  kFp16 = 3,
  kFp32 = 4,
  kInt64 = 5,
  kUint64 = 6,
  kUint8 = 7,
  kUint16 = 8,
  kUint32 = 9,
  kFp64 = 10,
  kBfp16 = 11,
  kInt128 = 12,
  kHif8 = 14,
  kFp8e4m3 = 15,
  kFp8e5m2 = 16,
  kFp8e8m0 = 17,
};

/// Reductions, with the values of HcclReduceOp.
enum ReduceOp : int { kSum = 0, kProd = 1, kMax = 2, kMin = 3 };

/// Copies `bytes` bytes. The ranges do not overlap, or are equal: then nothing happens.
/// A release store after the return publishes the copy to other threads and processes.
/// `sharers`: threads that do the like at the same time with the same last-level cache; what they
/// touch together decides whether the stores go past the caches.
void copy(void* dst, const void* src, size_t bytes, size_t sharers = 1) noexcept;

/// dsts[*][i] = srcs[0][i] op srcs[1][i] op ..., in that order, for every i < count.
///
/// Each source is read once and each destination written once. A destination may be exactly equal
/// to a source; otherwise no destination overlaps anything. ndst >= 1 and nsrc >= 1; one source is
/// a copy to each destination, of any type. More sources require supported(type, op).
/// A release store after the return publishes the results to other threads and processes.
///
/// Integers wrap. fp16 and bfp16 are accumulated in fp32 and rounded once, to nearest even. A NaN
/// in any source gives the quiet positive NaN; -0 < +0. The bits of an element depend on the
/// sources' values only: not on its position, the count, an alignment, or the processor's vectors.
void reduce(void* const* dsts, size_t ndst, const void* const* srcs, size_t nsrc, size_t count,
            int type, int op, size_t sharers = 1) noexcept;

/// Whether `reduce` combines two sources of this type with this op.
bool supported(int type, int op) noexcept;

/// Bytes of one element; 0 for a value that is no type.
size_t type_size(int type) noexcept;

}  // namespace weft::kernels
