// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace weft::exec {

/// Between two polls of memory that another core writes.
inline void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

}  // namespace weft::exec
