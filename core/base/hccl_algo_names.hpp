// SPDX-License-Identifier: Apache-2.0
// The names of algorithms that HCCL_ALGO knows: what a plugin may say that it answers to.
#pragma once

#include <array>
#include <string_view>

namespace weft {

/// Case matters. "NA" and "null" leave the choice open and are no algorithms.
inline constexpr std::array<std::string_view, 10> kHcclAlgoNames = {
    "ring", "pipeline", "fullmesh", "H-D_R", "pairwise", "NHR", "NHR_V1", "NB", "AHC", "AHC_BROKE"};

}  // namespace weft
