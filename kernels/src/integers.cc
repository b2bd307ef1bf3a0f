// SPDX-License-Identifier: Apache-2.0
// The kernels of the integer types and of plain bytes, for every vector target.
#include "src/targets.hpp"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/integers.cc"
#include "hwy/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/kernels.hpp"
#include "src/dispatch.hpp"
#include "src/loops-inl.hpp"
#include "src/numbers-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace weft::kernels {
namespace HWY_NAMESPACE {

/// Sums and products wrap, so that the bits are those of the unsigned type.
template <class Signed, class UnsignedProd>
void add_width(ReduceFn (&of_signed)[kOpCount], ReduceFn (&of_unsigned)[kOpCount]) {
  using Unsigned = std::make_unsigned_t<Signed>;
  of_signed[kSum] = of_unsigned[kSum] = &reduce_range<Direct<Unsigned, Sum>>;
  of_signed[kProd] = of_unsigned[kProd] = &reduce_range<UnsignedProd>;
  of_signed[kMax] = &reduce_range<Direct<Signed, Max>>;
  of_signed[kMin] = &reduce_range<Direct<Signed, Min>>;
  of_unsigned[kMax] = &reduce_range<Direct<Unsigned, Max>>;
  of_unsigned[kMin] = &reduce_range<Direct<Unsigned, Min>>;
}

void add_integers(Kernels& table) {
  auto& reduce = table.reduce;
  add_width<int8_t, Direct<uint16_t, BytesProd, 1>>(reduce[kInt8], reduce[kUint8]);
  add_width<int16_t, Direct<uint16_t, Prod>>(reduce[kInt16], reduce[kUint16]);
  add_width<int32_t, Direct<uint32_t, Prod>>(reduce[kInt32], reduce[kUint32]);
  add_width<int64_t, Direct<uint64_t, Prod>>(reduce[kInt64], reduce[kUint64]);
  table.spread = &reduce_range<Direct<uint8_t, Sum>>;  // one source: no sum is ever made
}

}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::kernels {

HWY_EXPORT(add_integers);

void add_integer_kernels(Kernels& table, int64_t targets) {
  hwy::ChosenTarget chosen;
  chosen.Update(targets);
  HWY_DISPATCH_TABLE(add_integers)[chosen.GetIndex()](table);
}

int64_t usable_targets() { return HWY_SUPPORTED_TARGETS & HWY_TARGETS; }

}  // namespace weft::kernels
#endif
