// SPDX-License-Identifier: Apache-2.0
// The loops over memory of a reduction, for one vector target; included once per target.
//
// A policy says how elements are held in registers, combined and written back:
//   kElement   bytes of one element
//   kWide      bytes of memory that one register step covers on this target, a power of two
//   kSteps     such steps in one round of the loops over memory, a power of two
//   Reg<K>     registers holding K bytes of memory (K a power of two, kElement <= K <= kWide)
//   load<K>(p) -> Reg<K>;  fold(reg, p): reg = reg op memory;  finish(reg);  store / stream(reg, p)
#if defined(WEFT_KERNELS_LOOPS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_LOOPS_INL_HPP
#undef WEFT_KERNELS_LOOPS_INL_HPP
#else
#define WEFT_KERNELS_LOOPS_INL_HPP
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace weft::kernels {
namespace HWY_NAMESPACE {

constexpr size_t kLine = 64;  // bytes of a cache line, the unit of streaming stores

/// K bytes of memory in as many registers as it takes; halves all the way down, so that no
/// compiler has to unroll a loop to keep it out of memory.
template <class P, size_t K, bool kOneStep = (K <= P::kWide)>
struct Pack {
  typename P::template Reg<K> reg;

  static HWY_INLINE Pack load(const uint8_t* p) { return {P::template load<K>(p)}; }
  HWY_INLINE void fold(const uint8_t* p) { P::template fold<K>(reg, p); }
  HWY_INLINE void finish() { P::template finish<K>(reg); }
  HWY_INLINE void store(uint8_t* p) const { P::template store<K>(reg, p); }
  HWY_INLINE void stream(uint8_t* p) const { P::template stream<K>(reg, p); }
};

template <class P, size_t K>
struct Pack<P, K, false> {
  Pack<P, K / 2> low, high;

  static HWY_INLINE Pack load(const uint8_t* p) {
    return {Pack<P, K / 2>::load(p), Pack<P, K / 2>::load(p + K / 2)};
  }
  HWY_INLINE void fold(const uint8_t* p) {
    low.fold(p);
    high.fold(p + K / 2);
  }
  HWY_INLINE void finish() {
    low.finish();
    high.finish();
  }
  HWY_INLINE void store(uint8_t* p) const {
    low.store(p);
    high.store(p + K / 2);
  }
  HWY_INLINE void stream(uint8_t* p) const {
    low.stream(p);
    high.stream(p + K / 2);
  }
};

/// Pointers of a call whose number is known when compiled (kN > 0, held in registers), or not.
template <class Byte, size_t kN>
struct Pointers {
  Byte* p[kN];
  template <class Void>
  HWY_INLINE Pointers(Void* const* from, size_t /*n*/) {
    for (size_t i = 0; i < kN; ++i) p[i] = static_cast<Byte*>(from[i]);
  }
  static constexpr size_t size() { return kN; }
  HWY_INLINE Byte* operator[](size_t i) const { return p[i]; }
};

template <class Byte>
struct Pointers<Byte, 0> {
  using Void = std::conditional_t<std::is_const_v<Byte>, const void, void>;
  Void* const* p;
  size_t n;
  HWY_INLINE Pointers(Void* const* from, size_t count) : p(from), n(count) {}
  HWY_INLINE size_t size() const { return n; }
  HWY_INLINE Byte* operator[](size_t i) const { return static_cast<Byte*>(p[i]); }
};

template <class P, size_t K, class Sources>
HWY_INLINE Pack<P, K> gather(const Sources& sources, size_t at) {
  Pack<P, K> sum = Pack<P, K>::load(sources[0] + at);
  for (size_t s = 1; s < sources.size(); ++s) sum.fold(sources[s] + at);
  sum.finish();
  return sum;
}

template <class P, size_t K, class Destinations>
HWY_INLINE void scatter(const Pack<P, K>& sum, const Destinations& destinations, size_t at) {
  for (size_t d = 0; d < destinations.size(); ++d) sum.store(destinations[d] + at);
}

/// The range [begin, bytes), bytes >= begin + K, in steps of K. The last K bytes are computed
/// first and written last: they may overlap the last whole step, and a destination may be a source.
template <class P, size_t K, class Destinations, class Sources>
HWY_INLINE void large_range(const Destinations& destinations, const Sources& sources, size_t begin,
                            size_t bytes) {
  const size_t last = bytes - K;
  const Pack<P, K> last_sum = gather<P, K>(sources, last);
  for (size_t at = begin; at < last; at += K) {
    scatter(gather<P, K>(sources, at), destinations, at);
  }
  scatter(last_sum, destinations, last);
}

/// The range [0, bytes), K <= bytes < 2 kMost: one or two steps of the greatest size that fits.
template <class P, size_t K, size_t kMost, class Destinations, class Sources>
HWY_INLINE void small_range(const Destinations& destinations, const Sources& sources,
                            size_t bytes) {
  if constexpr (K < kMost) {
    if (bytes >= 2 * K) return small_range<P, 2 * K, kMost>(destinations, sources, bytes);
  }
  large_range<P, K>(destinations, sources, 0, bytes);
}

/// As large_range, with stores past the caches to the destinations that are aligned at `begin`.
template <class P, size_t K, class Destinations, class Sources>
HWY_INLINE void stream_range(const Destinations& destinations, const Sources& sources, size_t begin,
                             size_t bytes) {
  const size_t last = bytes - K;
  const Pack<P, K> last_sum = gather<P, K>(sources, last);
  for (size_t at = begin; at < last; at += K) {
    const Pack<P, K> sum = gather<P, K>(sources, at);
    for (size_t d = 0; d < destinations.size(); ++d) {
      uint8_t* p = destinations[d] + at;
      if (reinterpret_cast<uintptr_t>(p) % kLine == 0) {
        sum.stream(p);
      } else {
        sum.store(p);
      }
    }
  }
  scatter(last_sum, destinations, last);
  hwy::FlushStream();
}

/// Bytes to the first line of `p`, or 0 if none of its elements begins a line.
template <class P>
HWY_INLINE size_t bytes_to_line(const uint8_t* p) {
  const size_t misaligned = reinterpret_cast<uintptr_t>(p) % kLine;
  return misaligned % P::kElement == 0 ? (kLine - misaligned) % kLine : 0;
}

#if HWY_TARGET == HWY_SCALAR

/// The kernel of a policy: see ReduceFn. Single elements have nothing to gain from streaming.
template <class P>
void reduce_range(void* const* dsts, size_t ndst, const void* const* srcs, size_t nsrc,
                  size_t bytes, bool /*stream*/) {
  if (bytes == 0) return;
  large_range<P, P::kElement>(Pointers<uint8_t, 0>(dsts, ndst),
                              Pointers<const uint8_t, 0>(srcs, nsrc), 0, bytes);
}

#else

template <class P>
constexpr size_t kBlock = P::kWide* P::kSteps;

/// A call of at least a block.
template <class P>
HWY_NOINLINE void reduce_blocks(void* const* dsts, size_t ndst, const void* const* srcs,
                                size_t nsrc, size_t bytes, bool stream) {
  static_assert(kBlock<P> % kLine == 0);
  const Pointers<uint8_t, 0> destinations(dsts, ndst);
  const Pointers<const uint8_t, 0> sources(srcs, nsrc);
  if (stream && bytes >= 2 * kBlock<P>) {
    const size_t head = bytes_to_line<P>(destinations[0]);
    if (head != 0) small_range<P, P::kElement, kLine / 2>(destinations, sources, head);
    stream_range<P, kBlock<P> >(destinations, sources, head, bytes);
  } else if (nsrc == 2 && ndst == 1) {
    large_range<P, kBlock<P> >(Pointers<uint8_t, 1>(dsts, 1), Pointers<const uint8_t, 2>(srcs, 2),
                               0, bytes);
  } else if (nsrc == 2 && ndst == 2) {
    large_range<P, kBlock<P> >(Pointers<uint8_t, 2>(dsts, 2), Pointers<const uint8_t, 2>(srcs, 2),
                               0, bytes);
  } else {
    large_range<P, kBlock<P> >(destinations, sources, 0, bytes);
  }
}

/// The kernel of a policy: see ReduceFn. Short calls come first and need few registers saved.
template <class P>
void reduce_range(void* const* dsts, size_t ndst, const void* const* srcs, size_t nsrc,
                  size_t bytes, bool stream) {
  if (bytes == 0) return;
  if (bytes >= kBlock<P>) return reduce_blocks<P>(dsts, ndst, srcs, nsrc, bytes, stream);
  small_range<P, P::kElement, kBlock<P> >(Pointers<uint8_t, 0>(dsts, ndst),
                                          Pointers<const uint8_t, 0>(srcs, nsrc), bytes);
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels
HWY_AFTER_NAMESPACE();

#endif
