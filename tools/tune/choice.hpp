// SPDX-License-Identifier: Apache-2.0
// From medians to rules: which algorithm for which bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "config/units.hpp"
#include "tune/findings.hpp"

namespace weft::tools {

/// Neighbouring sizes that are decided alike.
struct Stretch {
  size_t first = 0;  // of Findings::sizes
  size_t last = 0;
  std::optional<size_t> candidate;  // none: what the policy chose before, which needs no rule
  config::Range bytes;              // the stretches together: all bytes, without a gap
};

/// At every size an algorithm that is not clearly slower than the fastest, with few rules: one more
/// is worth it only for what seems some 20 % faster. Of equally good ones, one that sums in rank
/// order, and the one with the shortest times. No sizes: one stretch without a candidate.
[[nodiscard]] std::vector<Stretch> choose(const Findings& findings);

/// What came of measuring, once more, a new choice against what the policy chose before.
struct Rematch {
  size_t size = 0;  // of Findings::sizes
  bool faster = false;
  bool slower = false;
  double ratio = 1;  // of times, to that of before
};

/// Leaves at each size what was chosen, and what was before unless that is known to be slower;
/// nothing else. A choice for all sizes that is slower at one of them is given up.
void settle(Findings& findings, const std::vector<Stretch>& stretches,
            const std::vector<Rematch>& rematches);

/// Sizes that would tell more exactly where a stretch ends: in the middle, as ratios go, between
/// the two that are known on either side, unless these are close to each other.
[[nodiscard]] std::vector<uint64_t> middles(const Findings& findings,
                                            const std::vector<Stretch>& stretches);

}  // namespace weft::tools
