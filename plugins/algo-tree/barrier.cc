// SPDX-License-Identifier: Apache-2.0
// Dissemination barrier (Hensgen, Finkel & Manber, "Two algorithms for barrier synchronization",
// 1988): after the round of distance d a rank knows of the 2d-1 ranks before it.
//
// Rounds: log2 n, rounded up.  Signals sent by a rank: as many.
#include "weft/sdk.hpp"

static void barrier(const weft::Problem& p, weft::Schedule& s) {
  for (uint32_t d = 1; d < p.ranks(); d *= 2) {
    s.signal(p.ring(d));
    s.wait(p.ring(-static_cast<int64_t>(d)));
  }
}

WEFT_ALGORITHM(barrier, .name = "barrier", .summary = "dissemination; log2 n rounds",
               .op = WEFT_OP_BARRIER);
