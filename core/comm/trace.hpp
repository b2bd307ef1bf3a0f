// SPDX-License-Identifier: Apache-2.0
// The trace: one line per call and rank, with the algorithm, what chose it, and the way of each
// buffer. WEFT_TRACE names the file, or is "stderr".
#pragma once

#include <string_view>

namespace weft::comm {

/// Whether this process writes a trace. The variable is read once.
[[nodiscard]] bool tracing() noexcept;

/// Appends a line, whole, whoever else writes to the file.
void write_trace(std::string_view line) noexcept;

}  // namespace weft::comm
