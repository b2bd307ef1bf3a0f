// SPDX-License-Identifier: Apache-2.0
// A signal by which somebody asks this process for a report.
#pragma once

#include <functional>

namespace weft::control {

/// From now on SIGUSR1 calls `answer` on the control thread. Once; later calls do nothing, but in
/// the child of a fork. False, and nothing is changed, if the program has a use for SIGUSR1 of its
/// own. Throws Error (HCCL_E_SYSCALL).
bool answer_user_signal(std::function<void()> answer);

}  // namespace weft::control
