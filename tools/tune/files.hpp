// SPDX-License-Identifier: Apache-2.0
// Files that are there whole or not at all.
#pragma once

#include <string>

namespace weft::tools {

/// Throws Failure if a file could not be written there: it is there already and `replace` is not
/// set, or there is no such folder, or nothing may be written in it.
void check_writable(const std::string& file, bool replace);

/// Throws Failure, and leaves nothing behind.
void write_whole(const std::string& file, const std::string& text, bool replace);

}  // namespace weft::tools
