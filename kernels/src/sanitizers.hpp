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

inline void report_read([[maybe_unused]] const void* begin,
                        [[maybe_unused]] size_t bytes) noexcept {
#if defined(__SANITIZE_ADDRESS__)
  __asan_loadN(begin, bytes);
#elif defined(__SANITIZE_THREAD__)
  __tsan_read_range(begin, bytes);
#endif
}

inline void report_write([[maybe_unused]] void* begin, [[maybe_unused]] size_t bytes) noexcept {
#if defined(__SANITIZE_ADDRESS__)
  __asan_storeN(begin, bytes);
#elif defined(__SANITIZE_THREAD__)
  __tsan_write_range(begin, bytes);
#endif
}

}  // namespace weft::kernels
