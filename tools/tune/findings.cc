// SPDX-License-Identifier: Apache-2.0
#include "tune/findings.hpp"

#include <cmath>

namespace weft::tools {
namespace {

Timing merged(const Timing& first, const Timing& second) {
  Timing both;
  both.wrong = first.wrong + second.wrong;
  if (first.blocks == 0 || second.blocks == 0) return both;
  both.blocks = first.blocks + second.blocks;
  both.median_us = std::sqrt(first.median_us * second.median_us);
  both.slower = first.slower && second.slower;
  return both;
}

}  // namespace

SizeFindings merged(const SizeFindings& first, const SizeFindings& second) {
  SizeFindings both = first;
  Timing* fastest = nullptr;
  for (size_t i = 0; i < both.timings.size(); ++i) {
    Timing& timing = both.timings[i];
    timing = merged(first.timings[i], second.timings[i]);
    if (timing.blocks == 0 || timing.wrong != 0) continue;
    if (fastest == nullptr || timing.median_us < fastest->median_us) fastest = &timing;
  }
  if (fastest != nullptr) fastest->slower = false;  // it may have been the second one both times
  return both;
}

}  // namespace weft::tools
