// SPDX-License-Identifier: Apache-2.0
// One task of the SDMA engine moves at most 4 GiB: longer ones are cut.
#pragma once

#include <algorithm>
#include <cstdint>

namespace weft::hccs {

inline constexpr uint64_t kMaxTaskBytes = uint64_t{4} << 30;  // a multiple of every element

/// Calls part(offset, bytes) for consecutive parts until one does not return 0; returns that.
template <class Part>
int32_t for_each_part(uint64_t bytes, const Part& part) {
  for (uint64_t at = 0; at < bytes; at += kMaxTaskBytes) {
    const int32_t code = part(at, std::min(bytes - at, kMaxTaskBytes));
    if (code != 0) return code;
  }
  return 0;
}

}  // namespace weft::hccs
