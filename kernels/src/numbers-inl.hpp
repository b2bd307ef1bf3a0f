// SPDX-License-Identifier: Apache-2.0
// Policies of loops-inl.hpp for numbers that are their own register lanes, and the operations.
#if defined(WEFT_KERNELS_NUMBERS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_NUMBERS_INL_HPP
#undef WEFT_KERNELS_NUMBERS_INL_HPP
#else
#define WEFT_KERNELS_NUMBERS_INL_HPP
#endif

#include <cstring>
#include <limits>
#include <type_traits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace weft::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Bytes of the widest register; the scalar target has one element to a register.
constexpr size_t wide_bytes(size_t element) {
  return HWY_TARGET == HWY_SCALAR ? element : size_t{HWY_MAX_BYTES};
}

/// The register of lanes `Lane` for K bytes; fewer bytes than a lane are the low part of one.
template <class Lane, size_t K>
using Tag = hn::FixedTag<Lane, HWY_MAX(K / sizeof(Lane), 1)>;

template <size_t K, class Lane>
HWY_INLINE hn::Vec<Tag<Lane, K>> load_bytes(const uint8_t* p) {
  const Tag<Lane, K> d;
  if constexpr (K > sizeof(Lane)) {
    return hn::LoadU(d, reinterpret_cast<const Lane*>(p));
  } else {
    Lane lane{};
    std::memcpy(&lane, p, K);  // the low part: all targets here are little endian
    return hn::Set(d, lane);
  }
}

template <size_t K, class Lane>
HWY_INLINE void store_bytes(hn::Vec<Tag<Lane, K>> v, uint8_t* p) {
  if constexpr (K > sizeof(Lane)) {
    hn::StoreU(v, Tag<Lane, K>(), reinterpret_cast<Lane*>(p));
  } else {
    const Lane lane = hn::GetLane(v);
    std::memcpy(p, &lane, K);
  }
}

template <size_t K, class Lane>
HWY_INLINE void stream_bytes(hn::Vec<Tag<Lane, K>> v, uint8_t* p) {
  hn::Stream(v, Tag<Lane, K>(), reinterpret_cast<Lane*>(p));
}

/// Every NaN becomes the quiet positive one: which of two NaN an addition keeps, and the sign of
/// the one made by inf - inf, would else depend on the instruction chosen.
template <class D, class V>
HWY_INLINE V one_nan(D d, V v) {
  return hn::IfThenElse(hn::IsNaN(v), hn::Set(d, std::numeric_limits<hn::TFromD<D>>::quiet_NaN()),
                        v);
}

struct Sum {
  template <class D, class V>
  static HWY_INLINE V apply(D /*d*/, V a, V b) {
    return hn::Add(a, b);
  }
};

struct Prod {
  template <class D, class V>
  static HWY_INLINE V apply(D /*d*/, V a, V b) {
    return hn::Mul(a, b);
  }
};

/// Of equal floats only +0 and -0 differ; `and` gives the greater, `or` the lesser of them.
struct Max {
  template <class D, class V>
  static HWY_INLINE V apply(D /*d*/, V a, V b) {
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
      const V greater = hn::IfThenElse(hn::Eq(a, b), hn::And(a, b), hn::Max(a, b));
      return hn::IfThenElse(hn::IsNaN(a), a, hn::IfThenElse(hn::IsNaN(b), b, greater));
    } else {
      return hn::Max(a, b);
    }
  }
};

struct Min {
  template <class D, class V>
  static HWY_INLINE V apply(D /*d*/, V a, V b) {
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
      const V lesser = hn::IfThenElse(hn::Eq(a, b), hn::Or(a, b), hn::Min(a, b));
      return hn::IfThenElse(hn::IsNaN(a), a, hn::IfThenElse(hn::IsNaN(b), b, lesser));
    } else {
      return hn::Min(a, b);
    }
  }
};

/// The product of bytes, two to a 16-bit lane: no target multiplies bytes.
struct BytesProd {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    const V even = hn::And(hn::Mul(a, b), hn::Set(d, 0xFF));
    const V odd = hn::Mul(hn::ShiftRight<8>(a), hn::ShiftRight<8>(b));
    return hn::Or(even, hn::ShiftLeft<8>(odd));
  }
};

/// Elements that fill a lane each, or (BytesProd) that Op takes apart itself.
template <class Lane, class Op, size_t kBytes = sizeof(Lane)>
struct Direct {
  static constexpr size_t kElement = kBytes;
  static constexpr size_t kWide = wide_bytes(kBytes);
  static constexpr size_t kSteps = 4;
  template <size_t K>
  using Reg = hn::Vec<Tag<Lane, K>>;

  template <size_t K>
  static HWY_INLINE Reg<K> load(const uint8_t* p) {
    return load_bytes<K, Lane>(p);
  }
  template <size_t K>
  static HWY_INLINE void fold(Reg<K>& reg, const uint8_t* p) {
    reg = Op::apply(Tag<Lane, K>(), reg, load_bytes<K, Lane>(p));
  }
  template <size_t K>
  static HWY_INLINE void finish(Reg<K>& reg) {
    if constexpr (hwy::IsFloat<Lane>()) reg = one_nan(Tag<Lane, K>(), reg);
  }
  template <size_t K>
  static HWY_INLINE void store(const Reg<K>& reg, uint8_t* p) {
    store_bytes<K, Lane>(reg, p);
  }
  template <size_t K>
  static HWY_INLINE void stream(const Reg<K>& reg, uint8_t* p) {
    stream_bytes<K, Lane>(reg, p);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels
HWY_AFTER_NAMESPACE();

#endif
