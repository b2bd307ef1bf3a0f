// SPDX-License-Identifier: Apache-2.0
// Direct broadcast: all ranks read from the root at the same time.
//
// Rounds: 2, the second only tells the root that the reading is over.  Signals: 2(n-1).  Read and
// written by a rank: S.
#include "weft/sdk.hpp"

static void broadcast(const weft::Problem& p, weft::Schedule& s) {
  if (p.rank() == p.root()) {
    s.signal(p.peers());
    s.wait(p.peers());
  } else {
    s.wait(p.root());
    s.copy(p.out().all(), p.in().all().at(p.root()));
    s.signal(p.root());
  }
}

WEFT_ALGORITHM(broadcast, .name = "broadcast",
               .summary = "all read from the root at once; 2 rounds, S read by a rank",
               .op = WEFT_OP_BROADCAST, .hccl_algo = "fullmesh");
