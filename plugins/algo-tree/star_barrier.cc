// SPDX-License-Identifier: Apache-2.0
// Barrier over a star: everybody tells rank 0 that it is here, then rank 0 tells everybody. The
// fewest signals that a barrier can have.
//
// Rounds: 2.  Signals in all: 2(n-1).
#include "weft/sdk.hpp"

static void star_barrier(const weft::Problem& p, weft::Schedule& s) {
  constexpr uint32_t kHub = 0;
  if (p.rank() == kHub) {
    s.wait(p.peers());
    s.signal(p.peers());
  } else {
    s.signal(kHub);
    s.wait(kHub);
  }
}

WEFT_ALGORITHM(star_barrier, .name = "star_barrier",
               .summary = "all to rank 0 and back; 2 rounds, 2(n-1) signals in all",
               .op = WEFT_OP_BARRIER);
