// SPDX-License-Identifier: Apache-2.0
// Direct scatter: every rank reads its block from the root.
//
// Rounds: 2, the second only tells the root that the reading is over.  Signals: 2(n-1).  Read by a
// rank: 1 block.
#include "weft/sdk.hpp"

static void scatter(const weft::Problem& p, weft::Schedule& s) {
  const weft::Chunk out = p.out().all();
  const weft::Chunk block = p.in()[p.rank()].at(p.root());

  if (p.rank() == p.root()) {
    s.signal(p.peers());
    s.copy(out, block);
    s.wait(p.peers());
  } else {
    s.wait(p.root());
    s.copy(out, block);
    s.signal(p.root());
  }
}

WEFT_ALGORITHM(scatter, .name = "scatter",
               .summary = "everybody reads its block from the root; 2 rounds, one pass",
               .op = WEFT_OP_SCATTER, .hccl_algo = "fullmesh");
