// SPDX-License-Identifier: Apache-2.0
// What was measured of one operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "arms/arm.hpp"

namespace weft::tools {

/// An algorithm that can serve the calls.
struct Candidate {
  Arm arm;
  bool reorders = false;  // it sums, and not in rank order
};

struct Timing {
  double median_us = 0;  // of a call on the slowest rank
  uint64_t blocks = 0;   // that were timed
  uint64_t wrong = 0;    // elements
  bool slower = false;   // clearly, than the fastest at this size
};

struct SizeFindings {
  uint64_t bytes = 0;
  std::vector<Timing> timings;       // of the candidates, in their order
  size_t base = 0;                   // the candidate that the policy chose before
  std::vector<size_t> left = {};     // candidates that may still be chosen; none: all may
  std::optional<double> again = {};  // time of what was chosen first by that of base, once more
};

struct Findings {
  uint32_t op = 0;        // WEFT_OP_*
  bool by_bytes = false;  // rules can tell sizes apart
  std::vector<Candidate> candidates;
  std::vector<SizeFindings> sizes;  // growing

  /// No result of it was wrong.
  [[nodiscard]] bool is_right(size_t candidate) const {
    for (const SizeFindings& each : sizes) {
      if (each.timings[candidate].wrong != 0) return false;
    }
    return true;
  }
  /// At a size: right, and not clearly slower than the fastest.
  [[nodiscard]] bool is_good(size_t size, size_t candidate) const {
    const Timing& timing = sizes[size].timings[candidate];
    return timing.blocks != 0 && !timing.slower && is_right(candidate);
  }
};

/// Of two launches of the ranks: slower is what is slower in both. The same size and candidates.
[[nodiscard]] SizeFindings merged(const SizeFindings& first, const SizeFindings& second);

}  // namespace weft::tools
