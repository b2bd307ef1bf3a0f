// SPDX-License-Identifier: Apache-2.0
// Flat barrier: everybody tells everybody that it is here.
//
// Rounds: 1.  Signals sent by a rank: n-1.
#include "weft/sdk.hpp"

static void barrier(const weft::Problem& p, weft::Schedule& s) {
  s.signal(p.peers());
  s.wait(p.peers());
}

WEFT_ALGORITHM(barrier, .name = "barrier", .summary = "everybody signals everybody; 1 round",
               .op = WEFT_OP_BARRIER);
