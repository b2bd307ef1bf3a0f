// SPDX-License-Identifier: Apache-2.0
// How sizes and what is measured are told.
#pragma once

#include <cstdint>
#include <string>

#include "bench/op.hpp"

namespace weft::tools {

/// "8", "4KiB", "1.4MiB"; "-" for none.
[[nodiscard]] std::string size_text(uint64_t bytes);

/// "all_reduce of 4KiB", "barrier".
[[nodiscard]] std::string calls_text(Op op, uint64_t bytes);

}  // namespace weft::tools
