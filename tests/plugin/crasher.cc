// SPDX-License-Identifier: Apache-2.0
// An algorithm that ends the process when it is asked for 4 ranks.
#include <cstdlib>

#include "weft/sdk.hpp"

static void barrier(const weft::Problem& p, weft::Schedule& s) {
  if (p.ranks() == 4) std::abort();
  s.signal(p.peers());
  s.wait(p.peers());
}

WEFT_ALGORITHM(barrier, .name = "barrier", .summary = "aborts", .op = WEFT_OP_BARRIER);

WEFT_PLUGIN("crasher", "1.0.0", "for tests", WEFT_USE(barrier));
