// SPDX-License-Identifier: Apache-2.0
// The answer to a query: the wish of HCCL_ALGO where it can be fulfilled, else the rules.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "config/experiment.hpp"
#include "config/policy.hpp"
#include "config/rules.hpp"

namespace weft::config {

/// What there is to choose from.
struct Offer {
  const std::string& policy;  // name, for messages and Choice::source
  std::span<const Rule> rules;
  std::span<const Experiment> experiments;
  /// Those that answer to a name of HCCL_ALGO, by full name.
  std::span<const plugin::Algorithm* const> wishable;
};

/// See Policy::choose.
[[nodiscard]] Choice choose(const Offer& offer, const Query& query);

/// See Policy::candidates.
[[nodiscard]] std::vector<Candidate> candidates(const Offer& offer, uint32_t ranks,
                                                const HcclAlgo& wishes);

}  // namespace weft::config
