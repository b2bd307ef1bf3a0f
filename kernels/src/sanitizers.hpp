// SPDX-License-Identifier: Apache-2.0
// Tells the sanitizers what memory a kernel reads and writes. The vector code is compiled without
// them: instrumented, it would take many minutes to compile and tell nothing more.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
extern "C" void __asan_loadN(const void* begin, size_t bytes);
extern "C" void __asan_storeN(void* begin, size_t bytes);
#elif defined(__SANITIZE_THREAD__)
extern "C" void __tsan_read_range(const void* begin, size_t bytes);
extern "C" void __tsan_write_range(void* begin, size_t bytes);
#endif

namespace weft::kernels {

/// What a call is about to do; nothing in a build without sanitizers.
inline void report_call([[maybe_unused]] void* const* dsts, [[maybe_unused]] size_t ndst,
                        [[maybe_unused]] const void* const* srcs, [[maybe_unused]] size_t nsrc,
                        [[maybe_unused]] size_t bytes) noexcept {
#if defined(__SANITIZE_ADDRESS__)
  for (size_t s = 0; s < nsrc; ++s) __asan_loadN(srcs[s], bytes);
  for (size_t d = 0; d < ndst; ++d) __asan_storeN(dsts[d], bytes);
#elif defined(__SANITIZE_THREAD__)
  for (size_t s = 0; s < nsrc; ++s) __tsan_read_range(srcs[s], bytes);
  for (size_t d = 0; d < ndst; ++d) __tsan_write_range(dsts[d], bytes);
#endif
}

}  // namespace weft::kernels
