// SPDX-License-Identifier: Apache-2.0
// What the kernels know of the processor's caches.
#pragma once

#include <cstddef>

namespace weft::kernels {

/// Bytes of the last-level cache that one core can use; a sensible guess where nothing tells.
size_t last_level_cache_bytes() noexcept;

}  // namespace weft::kernels
