// SPDX-License-Identifier: Apache-2.0
// Which algorithms may do the calls that are measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "command.hpp"
#include "config/policy.hpp"
#include "loaded_policy.hpp"
#include "tune/findings.hpp"

namespace weft::tools {

/// A call of an operation as a policy sees it, of one size.
[[nodiscard]] config::Query query_of(uint32_t op, uint64_t bytes, uint32_t ranks, int type,
                                     bool deterministic);

struct Candidates {
  std::vector<Candidate> all;
  std::vector<std::string> refused;  // names and why, for those that can serve
  Words unwanted;                    // those of them that were left out
};

/// Every loaded algorithm that can serve the query, with its default parameters, and what rules of
/// the policy say for calls that differ from it in their bytes only. Those that are unwanted, by
/// their full names, and that the checker refutes for so many ranks are refused. Throws Failure if
/// a rule needs one of these.
[[nodiscard]] Candidates candidates_for(const LoadedPolicy& loaded, const config::Query& query,
                                        const Words& unwanted = {});

/// The names in a list with commas. Throws UsageError if there is no algorithm of such a name.
[[nodiscard]] Words known_algorithms(const std::string& list, const plugin::Registry& registry);

}  // namespace weft::tools
