// SPDX-License-Identifier: Apache-2.0
// Policies of loops-inl.hpp for the 16-bit floats: held, combined and kept as fp32 until stored.
#if defined(WEFT_KERNELS_HALVES_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_HALVES_INL_HPP
#undef WEFT_KERNELS_HALVES_INL_HPP
#else
#define WEFT_KERNELS_HALVES_INL_HPP
#endif

#include "hwy/highway.h"
#include "src/numbers-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace weft::kernels {
namespace HWY_NAMESPACE {

template <class D>
using FloatOf = hn::Rebind<float, D>;
template <class D>
using FloatVec = hn::Vec<FloatOf<D>>;

/// bfp16: the upper half of an fp32.
struct Bfp16 {
  /// The element in the low 16 bits of each lane; those above may be anything.
  template <class D, class V>
  static HWY_INLINE FloatVec<D> widen_low(D /*d*/, V bits) {
    return hn::BitCast(FloatOf<D>(), hn::ShiftLeft<16>(bits));
  }
  /// The element in the high 16 bits of each lane.
  template <class D, class V>
  static HWY_INLINE FloatVec<D> widen_high(D d, V bits) {
    return hn::BitCast(FloatOf<D>(), hn::And(bits, hn::Set(d, 0xFFFF0000u)));
  }
  /// Rounds to nearest even. Infinity stays, and so does the one NaN there is after one_nan().
  template <class D>
  static HWY_INLINE hn::Vec<D> rounded(D d, FloatVec<D> v) {
    const auto bits = hn::BitCast(d, v);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1));
    return hn::Add(bits, hn::Add(odd, hn::Set(d, 0x7FFF)));
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> narrow(D d, FloatVec<D> low, FloatVec<D> high) {
    return hn::Or(hn::ShiftRight<16>(rounded(d, low)),
                  hn::And(rounded(d, high), hn::Set(d, 0xFFFF0000u)));
  }
};

/// fp16 by integer arithmetic, for targets that have no conversion (or an unrounded one).
struct Fp16 {
  template <class D, class V>
  static HWY_INLINE FloatVec<D> widen_low(D d, V bits) {
    const FloatOf<D> df;
    // The exponent's bias grows by 112; the multiplication also makes subnormal numbers normal.
    const auto unbiased = hn::ShiftLeft<13>(hn::And(bits, hn::Set(d, 0x7FFF)));
    const auto finite = hn::BitCast(d, hn::Mul(hn::BitCast(df, unbiased), hn::Set(df, 0x1p112f)));
    const auto exponent = hn::Set(d, 0x7C00);
    const auto special = hn::Eq(hn::And(bits, exponent), exponent);
    const auto magnitude = hn::Or(finite, hn::IfThenElseZero(special, hn::Set(d, 0x7F800000u)));
    const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(d, 0x8000)));
    return hn::BitCast(df, hn::Or(magnitude, sign));
  }
  template <class D, class V>
  static HWY_INLINE FloatVec<D> widen_high(D d, V bits) {
    return widen_low(d, hn::ShiftRight<16>(bits));
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> rounded(D d, FloatVec<D> v) {
    const FloatOf<D> df;
    const auto bits = hn::BitCast(d, v);
    const auto magnitude = hn::And(bits, hn::Set(d, 0x7FFFFFFF));
    // 65536 already rounds to infinity; the bias shrinks by 112.
    const auto finite = hn::Min(magnitude, hn::Set(d, 0x47800000));
    const auto odd = hn::And(hn::ShiftRight<13>(finite), hn::Set(d, 1));
    const auto rebiased =
        hn::Sub(hn::Add(finite, hn::Add(odd, hn::Set(d, 0xFFF))), hn::Set(d, 112u << 23));
    const auto normal = hn::ShiftRight<13>(rebiased);
    // Below 2^-14 the addition to 0.5, whose last bit is worth 2^-24, does the rounding.
    const auto half = hn::Set(df, 0.5f);
    const auto subnormal =
        hn::Sub(hn::BitCast(d, hn::Add(hn::BitCast(df, finite), half)), hn::BitCast(d, half));
    const auto is_subnormal = hn::Lt(hn::BitCast(df, finite), hn::Set(df, 0x1p-14f));
    const auto number = hn::IfThenElse(hn::RebindMask(d, is_subnormal), subnormal, normal);
    const auto is_nan = hn::RebindMask(d, hn::IsNaN(v));
    const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 0x8000));
    return hn::Or(hn::IfThenElse(is_nan, hn::Set(d, 0x7E00), number), sign);
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> narrow(D d, FloatVec<D> low, FloatVec<D> high) {
    return hn::Or(rounded(d, low), hn::ShiftLeft<16>(rounded(d, high)));
  }
};

/// Two elements to a 32-bit lane, taken apart in place: no lane has to move.
template <class Format, class Op>
struct Halves {
  static constexpr size_t kElement = 2;
  static constexpr size_t kWide = wide_bytes(2);
  static constexpr size_t kSteps = kWide < 32 ? 4 : 2;
  template <size_t K>
  struct Reg {
    FloatVec<Tag<uint32_t, K>> low, high;
  };

  template <size_t K>
  static HWY_INLINE Reg<K> load(const uint8_t* p) {
    const Tag<uint32_t, K> d;
    const auto bits = load_bytes<K, uint32_t>(p);
    return {Format::widen_low(d, bits), Format::widen_high(d, bits)};
  }
  template <size_t K>
  static HWY_INLINE void fold(Reg<K>& reg, const uint8_t* p) {
    const FloatOf<Tag<uint32_t, K>> df;
    const Reg<K> more = load<K>(p);
    reg.low = Op::apply(df, reg.low, more.low);
    reg.high = Op::apply(df, reg.high, more.high);
  }
  template <size_t K>
  static HWY_INLINE void finish(Reg<K>& reg) {
    const FloatOf<Tag<uint32_t, K>> df;
    reg = {one_nan(df, reg.low), one_nan(df, reg.high)};
  }
  template <size_t K>
  static HWY_INLINE void store(const Reg<K>& reg, uint8_t* p) {
    store_bytes<K, uint32_t>(Format::narrow(Tag<uint32_t, K>(), reg.low, reg.high), p);
  }
  template <size_t K>
  static HWY_INLINE void stream(const Reg<K>& reg, uint8_t* p) {
    stream_bytes<K, uint32_t>(Format::narrow(Tag<uint32_t, K>(), reg.low, reg.high), p);
  }
};

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

/// fp16 by the processor's conversions, half a register of memory at a time.
template <class Op>
struct NativeFp16 {
  static constexpr size_t kElement = 2;
  static constexpr size_t kWide = wide_bytes(2) / 2;
  static constexpr size_t kSteps = 4;
  template <size_t K>
  using Half = hn::FixedTag<hwy::float16_t, K / 2>;
  template <size_t K>
  using Full = FloatOf<Half<K>>;
  template <size_t K>
  using Reg = hn::Vec<Full<K>>;

  template <size_t K>
  static HWY_INLINE Reg<K> load(const uint8_t* p) {
    return hn::PromoteTo(Full<K>(),
                         hn::LoadU(Half<K>(), reinterpret_cast<const hwy::float16_t*>(p)));
  }
  template <size_t K>
  static HWY_INLINE void fold(Reg<K>& reg, const uint8_t* p) {
    reg = Op::apply(Full<K>(), reg, load<K>(p));
  }
  template <size_t K>
  static HWY_INLINE void finish(Reg<K>& reg) {
    reg = one_nan(Full<K>(), reg);
  }
  template <size_t K>
  static HWY_INLINE void store(const Reg<K>& reg, uint8_t* p) {
    hn::StoreU(hn::DemoteTo(Half<K>(), reg), Half<K>(), reinterpret_cast<hwy::float16_t*>(p));
  }
  template <size_t K>
  static HWY_INLINE void stream(const Reg<K>& reg, uint8_t* p) {
    hn::Stream(hn::DemoteTo(Half<K>(), reg), Half<K>(), reinterpret_cast<hwy::float16_t*>(p));
  }
};

template <class Op>
using HalfFp16 = NativeFp16<Op>;

#else

template <class Op>
using HalfFp16 = Halves<Fp16, Op>;

#endif

}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels
HWY_AFTER_NAMESPACE();

#endif
