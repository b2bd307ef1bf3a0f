// SPDX-License-Identifier: Apache-2.0
// Made-up measurements.
#pragma once

#include <string>
#include <vector>

#include "tune/findings.hpp"
#include "weft/abi.h"

namespace weft::tools {

/// Times of all candidates at a size; those in `slower` are known to be so.
struct MadeUp {
  uint64_t bytes;
  std::vector<double> times;
  std::vector<size_t> slower;
  size_t base;
};

/// The candidates are x.a, x.b, x.c, ...
inline Findings make_up(const std::vector<MadeUp>& sizes, uint32_t op = WEFT_OP_ALL_REDUCE,
                        bool by_bytes = true) {
  Findings findings;
  findings.op = op;
  findings.by_bytes = by_bytes;
  for (size_t i = 0; i < sizes.front().times.size(); ++i) {
    findings.candidates.push_back({{std::string("x.") + char('a' + i), {}}, false});
  }
  for (const MadeUp& each : sizes) {
    SizeFindings size;
    size.bytes = each.bytes;
    size.base = each.base;
    for (const double time : each.times) size.timings.push_back({time, 100, 0, false});
    for (const size_t slow : each.slower) size.timings[slow].slower = true;
    findings.sizes.push_back(size);
  }
  return findings;
}

}  // namespace weft::tools
