// SPDX-License-Identifier: Apache-2.0
// The public functions: the choice of a kernel and of the kind of stores.
#include "kernels/kernels.hpp"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstdint>
#include <cstring>

#include "src/cache.hpp"
#include "src/dispatch.hpp"
#include "src/sanitizers.hpp"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace weft::kernels {
namespace {

// Bytes of an element by type; 13 is no type.
constexpr uint8_t kTypeSizes[kTypeCount] = {1, 2, 4, 2, 4, 8, 8, 1, 2, 4, 8, 2, 16, 0, 1, 1, 1, 1};

/// The table of this processor; null until the first call has made it.
std::atomic<const Kernels*> ready{nullptr};

[[gnu::noinline, gnu::cold]] const Kernels& made_kernels() noexcept {
  static const Kernels kernels = make_kernels(usable_targets());
  ready.store(&kernels, std::memory_order_release);
  return kernels;
}

/// Whether a call's results had better not go to the caches. Streaming saves the reading of lines
/// that are only to be written, but it takes up to twice the time when the memory that the call
/// touches, sources included, stays in the last-level cache.
[[gnu::noinline]] bool should_stream_large(const Kernels& kernels, void* const* dsts, size_t ndst,
                                           const void* const* srcs, size_t nsrc, size_t bytes,
                                           size_t least) noexcept {
  if (ndst * bytes < kernels.stream_written) return false;
  size_t in_place = 0;
  for (size_t d = 0; d < ndst; ++d) in_place += std::count(srcs, srcs + nsrc, dsts[d]) != 0;
  return (nsrc + ndst - in_place) * bytes >= least;
}

/// `bytes` of all sharers together.
inline bool should_stream(const Kernels& kernels, void* const* dsts, size_t ndst,
                          const void* const* srcs, size_t nsrc, size_t bytes,
                          bool shared) noexcept {
  const size_t least = shared ? kernels.stream_shared : kernels.stream_touched;
  return (nsrc + ndst) * bytes >= least &&
         should_stream_large(kernels, dsts, ndst, srcs, nsrc, bytes, least);
}

/// Calls the kernel, which is given what a kernel can be given: see ReduceFn.
inline void run(ReduceFn kernel, const Kernels& kernels, void* const* dsts, size_t ndst,
                const void* const* srcs, size_t nsrc, size_t bytes, size_t sharers) noexcept {
  report_call(dsts, ndst, srcs, nsrc, bytes);
  kernel(dsts, ndst, srcs, nsrc, bytes,
         should_stream(kernels, dsts, ndst, srcs, nsrc, bytes * sharers, sharers > 1));
}

/// One source to every destination. One that is the source itself is left alone; the source is
/// then read once for those before and once for those after it.
void spread(const Kernels& kernels, void* const* dsts, size_t ndst, const void* src, size_t bytes,
            size_t sharers) noexcept {
  size_t n = 0;
  while (n < ndst && dsts[n] != src) ++n;
  if (n == 1) {
    copy_with(kernels, dsts[0], src, bytes, sharers);
  } else if (n > 1) {
    run(kernels.spread, kernels, dsts, n, &src, 1, bytes, sharers);
  }
  if (n + 1 < ndst) spread(kernels, dsts + n + 1, ndst - n - 1, src, bytes, sharers);
}

/// While it lives, the thread rounds to nearest and keeps subnormals, however the program has set
/// it: the bits of a sum must not depend on the thread that computes it.
class DefaultFloatMode {
 public:
  explicit DefaultFloatMode(int type) noexcept {
#if defined(__SSE2__)
    constexpr unsigned kFlushRoundAndZero = 0xE040;
    const bool floats = type == kFp16 || type == kFp32 || type == kFp64 || type == kBfp16;
    before_ = floats ? _mm_getcsr() : 0;
    changed_ = (before_ & kFlushRoundAndZero) != 0;
    if (changed_) _mm_setcsr(before_ & ~kFlushRoundAndZero);
#else
    (void)type;
#endif
  }
  ~DefaultFloatMode() {
#if defined(__SSE2__)
    if (changed_) _mm_setcsr(before_);
#endif
  }
  DefaultFloatMode(const DefaultFloatMode&) = delete;
  DefaultFloatMode& operator=(const DefaultFloatMode&) = delete;

 private:
  unsigned before_ = 0;
  bool changed_ = false;
};

inline void reduce_checked(const Kernels& kernels, void* const* dsts, size_t ndst,
                           const void* const* srcs, size_t nsrc, size_t count, int type, int op,
                           size_t sharers) noexcept {
  assert(type_size(type) != 0 && nsrc >= 1 && ndst >= 1);
  const size_t bytes = count * kTypeSizes[type];
  if (nsrc == 1) return spread(kernels, dsts, ndst, srcs[0], bytes, sharers);
  assert(supported(type, op));
  const DefaultFloatMode mode(type);
  run(kernels.reduce[type][op], kernels, dsts, ndst, srcs, nsrc, bytes, sharers);
}

/// The C library copies some KB and more by string instructions. Where the destination begins a few
/// bytes after the source, modulo a page, AMD's are 2 (16 bytes) to 30 times (1 byte) slower.
bool slow_as_string(const void* dst, const void* src, size_t bytes) noexcept {
  constexpr size_t kPage = 4096;
  constexpr size_t kShortest = 2048;
  constexpr size_t kNear = 31;
  const size_t after =
      (reinterpret_cast<uintptr_t>(dst) - reinterpret_cast<uintptr_t>(src)) % kPage;
  return bytes >= kShortest && after - 1 < kNear;
}

}  // namespace

Kernels make_kernels(int64_t targets) {
  Kernels kernels;
  add_integer_kernels(kernels, targets);
  add_float_kernels(kernels, targets);
  // Measured on a 32 MB cache, one process and two at once: streaming begins to win when a call
  // touches 18 to 24 MB. Results that are a small part of the cache are left there for the reader.
  const size_t cache = last_level_cache_bytes();
  // In collectives, where a rank reads what another has, it does so when all of them touch 10 to 14
  // MB (2 to 8 ranks).
  kernels.stream_touched = cache / 8 * 5;
  kernels.stream_shared = cache / 8 * 3;
  kernels.stream_written = cache / 8;
  return kernels;
}

void copy_with(const Kernels& kernels, void* dst, const void* src, size_t bytes,
               size_t sharers) noexcept {
  if (dst == src || bytes == 0) return;
  if (slow_as_string(dst, src, bytes) ||
      should_stream(kernels, &dst, 1, &src, 1, bytes * sharers, sharers > 1)) {
    run(kernels.spread, kernels, &dst, 1, &src, 1, bytes, sharers);
  } else {
    std::memcpy(dst, src, bytes);
  }
}

void reduce_with(const Kernels& kernels, void* const* dsts, size_t ndst, const void* const* srcs,
                 size_t nsrc, size_t count, int type, int op, size_t sharers) noexcept {
  reduce_checked(kernels, dsts, ndst, srcs, nsrc, count, type, op, sharers);
}

void copy(void* dst, const void* src, size_t bytes, size_t sharers) noexcept {
  const Kernels* kernels = ready.load(std::memory_order_acquire);
  copy_with(kernels != nullptr ? *kernels : made_kernels(), dst, src, bytes, sharers);
}

void reduce(void* const* dsts, size_t ndst, const void* const* srcs, size_t nsrc, size_t count,
            int type, int op, size_t sharers) noexcept {
  // Two ends, so that the usual one has no call to return from.
  if (const Kernels* kernels = ready.load(std::memory_order_acquire)) {
    reduce_checked(*kernels, dsts, ndst, srcs, nsrc, count, type, op, sharers);
  } else {
    reduce_with(made_kernels(), dsts, ndst, srcs, nsrc, count, type, op, sharers);
  }
}

bool supported(int type, int op) noexcept {
  return type >= 0 && type < kTypeCount && op >= 0 && op < kOpCount &&
         made_kernels().reduce[type][op] != nullptr;
}

size_t type_size(int type) noexcept {
  return type >= 0 && type < kTypeCount ? kTypeSizes[type] : 0;
}

}  // namespace weft::kernels
