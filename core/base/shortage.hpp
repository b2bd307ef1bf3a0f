// SPDX-License-Identifier: Apache-2.0
// Texts for what the system refuses: what has run out, and what to do.
#pragma once

#include <string>

namespace weft {

/// An error number in words.
std::string explain_errno(int error);

/// The same of a thread that could not be started.
std::string explain_no_thread(int error);

}  // namespace weft
