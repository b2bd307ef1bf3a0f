// SPDX-License-Identifier: Apache-2.0
// The kernels of the floating-point types, for every vector target.
#include "src/targets.hpp"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/floats.cc"
#include "hwy/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/kernels.hpp"
#include "src/dispatch.hpp"
#include "src/halves-inl.hpp"
#include "src/loops-inl.hpp"
#include "src/numbers-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace weft::kernels {
namespace HWY_NAMESPACE {

template <class Op>
void add_op(Kernels& table, int op) {
  table.reduce[kFp32][op] = &reduce_range<Direct<float, Op>>;
  table.reduce[kFp64][op] = &reduce_range<Direct<double, Op>>;
  table.reduce[kFp16][op] = &reduce_range<HalfFp16<Op>>;
  table.reduce[kBfp16][op] = &reduce_range<Halves<Bfp16, Op>>;
}

void add_floats(Kernels& table) {
  add_op<Sum>(table, kSum);
  add_op<Prod>(table, kProd);
  add_op<Max>(table, kMax);
  add_op<Min>(table, kMin);
}

}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::kernels {

HWY_EXPORT(add_floats);

void add_float_kernels(Kernels& table, int64_t targets) {
  hwy::ChosenTarget chosen;
  chosen.Update(targets);
  HWY_DISPATCH_TABLE(add_floats)[chosen.GetIndex()](table);
}

}  // namespace weft::kernels
#endif
