// SPDX-License-Identifier: Apache-2.0
// What `weft policy` can do. An empty file is the one that a program would read. All return the
// exit code and throw Error.
#pragma once

#include <string>

namespace weft::tools {

/// `strict`: warnings count as errors.
int lint_policy(const std::string& file, bool strict, bool overlaps);
int show_policy(const std::string& file);
int diff_policies(const std::string& first, const std::string& second);

}  // namespace weft::tools
