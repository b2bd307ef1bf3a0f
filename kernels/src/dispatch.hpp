// SPDX-License-Identifier: Apache-2.0
// What the public functions and the per-target vector code share: the table of kernels.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::kernels {

inline constexpr int kTypeCount = 18;
inline constexpr int kOpCount = 4;

/// Combines `nsrc` >= 2 sources (exactly one for Kernels::spread) of `bytes` bytes, a multiple of
/// the element's size. `stream` asks for stores that bypass the caches, fenced before the return.
using ReduceFn = void (*)(void* const* dsts, size_t ndst, const void* const* srcs, size_t nsrc,
                          size_t bytes, bool stream);

/// The kernels of one vector target; a null entry is a combination that cannot be reduced.
struct Kernels {
  ReduceFn reduce[kTypeCount][kOpCount] = {};
  ReduceFn spread = nullptr;  ///< copies one source to several destinations
  /// A call streams that touches, alone or with its sharers, and that writes at least so many
  /// bytes.
  size_t stream_touched = 0, stream_shared = 0, stream_written = 0;
};

/// Enter the kernels of the best of `targets`, a mask of HWY_* target bits, into the table.
void add_integer_kernels(Kernels& table, int64_t targets);
void add_float_kernels(Kernels& table, int64_t targets);

/// The targets that are both compiled in and supported by this processor; never empty.
int64_t usable_targets();

/// The complete table of the best of `targets`. Reads the size of the caches from the system.
Kernels make_kernels(int64_t targets);

/// kernels::copy and kernels::reduce with a given table.
void copy_with(const Kernels& kernels, void* dst, const void* src, size_t bytes,
               size_t sharers = 1) noexcept;
void reduce_with(const Kernels& kernels, void* const* dsts, size_t ndst, const void* const* srcs,
                 size_t nsrc, size_t count, int type, int op, size_t sharers = 1) noexcept;

}  // namespace weft::kernels
