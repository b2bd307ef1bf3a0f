// SPDX-License-Identifier: Apache-2.0
// Broadcast through the root's Scratch: the root puts its vector there once and is done; all others
// fetch it. For vectors that are short enough for a root that is several calls ahead, and long
// enough that it should not write them n-1 times.
//
// Rounds: 1.  Signals in all: n-1.  Written by the root: S.  Read by each of the others: S.
#include "weft/sdk.hpp"

static void broadcast_pull(const weft::Problem& p, weft::Schedule& s) {
  const weft::Chunk shelf = p.scratch(0).at(p.root());

  if (p.rank() == p.root()) {
    s.copy(shelf, p.in().all());
    s.signal(p.peers());
  } else {
    s.wait(p.root());
    s.copy(p.out().all(), shelf);
  }
}

WEFT_ALGORITHM(broadcast_pull, .name = "broadcast_pull",
               .summary = "all read from the root's scratch; 1 round, for middling vectors",
               .op = WEFT_OP_BROADCAST, .hccl_algo = "fullmesh");
