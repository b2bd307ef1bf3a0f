// SPDX-License-Identifier: Apache-2.0
// Threads of the library's own.
#pragma once

#include <functional>

namespace weft {

/// Runs `body`, which must not throw, on a thread that nobody joins and that gets none of the
/// application's signals. Throws std::system_error.
void start_detached(std::function<void()> body);

}  // namespace weft
