// SPDX-License-Identifier: Apache-2.0
// Log lines to standard error. WEFT_LOG = off | error | warn (default) | info | debug chooses the
// least level shown.
#pragma once

#include <string_view>

namespace weft::log {

enum class Level { kDebug, kInfo, kWarn, kError };

bool enabled(Level level) noexcept;

/// Writes one line; never throws. Not for the data path: it takes a lock.
void write(Level level, std::string_view text) noexcept;

/// Writes a line that the user asked for otherwise (HCCL_ENTRY_LOG_ENABLE and the like): only
/// WEFT_LOG=off keeps it back. Never throws.
void tell(std::string_view text) noexcept;

inline void debug(std::string_view text) noexcept { write(Level::kDebug, text); }
inline void info(std::string_view text) noexcept { write(Level::kInfo, text); }
inline void warn(std::string_view text) noexcept { write(Level::kWarn, text); }
inline void error(std::string_view text) noexcept { write(Level::kError, text); }

}  // namespace weft::log
