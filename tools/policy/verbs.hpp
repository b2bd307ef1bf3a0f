// SPDX-License-Identifier: Apache-2.0
// What `weft policy` can do. An empty file is the one that a program would read. All return the
// exit code and throw Error.
#pragma once

#include <string>
#include <vector>

#include "bench/op.hpp"
#include "bench/spec.hpp"

namespace weft::tools {

/// `strict`: warnings count as errors.
int lint_policy(const std::string& file, bool strict, bool overlaps);
int show_policy(const std::string& file);
int diff_policies(const std::string& first, const std::string& second);
/// Measures both for the calls of `ops` and of the sizes of `spec` for which they choose
/// differently, as long as spec.time. Also throws UsageError, for too short a time, and Failure.
int measure_policies(const std::string& first, const std::string& second, const Spec& spec,
                     const std::vector<Op>& ops);

}  // namespace weft::tools
