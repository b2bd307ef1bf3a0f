// SPDX-License-Identifier: Apache-2.0
// Threads of the library's own.
#pragma once

#include <functional>
#include <thread>

namespace weft {

/// Runs `body`, which must not throw, on a thread that gets none of the application's signals.
/// Throws Error (HCCL_E_SYSCALL).
[[nodiscard]] std::thread start_thread(std::function<void()> body);

/// The same on a thread that nobody joins.
void start_detached(std::function<void()> body);

}  // namespace weft
