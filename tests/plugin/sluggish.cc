// SPDX-License-Identifier: Apache-2.0
// An algorithm that is right, and slow however fast and busy the machine is.
#include "weft/sdk.hpp"

static void all_reduce(const weft::Problem& p, weft::Schedule& s) {
  constexpr uint32_t kCopies = 4000;
  for (uint32_t i = 0; i < kCopies; ++i) s.copy(p.scratch(i % 2), p.in().all());
  s.signal(p.peers());
  s.wait(p.peers());
  s.reduce(p.out().all(), p.everyone(p.scratch(0)));
}

WEFT_ALGORITHM(all_reduce, .name = "all_reduce", .summary = "works for nothing",
               .op = WEFT_OP_ALL_REDUCE, .flags = WEFT_ALGORITHM_RANK_ORDER);
WEFT_PLUGIN("sluggish", "1.0.0", "slow", WEFT_USE(all_reduce));
