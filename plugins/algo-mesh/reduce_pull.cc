// SPDX-License-Identifier: Apache-2.0
// Reduce through everybody's Scratch: each rank puts its vector into its own and is done; the root
// reads and sums them all. As reduce_flat, but what a rank writes stays in its own cache until the
// root wants it.
//
// Rounds: 1.  Signals in all: n-1.  Written by a rank: S.  Read by the root: n vectors.
#include "weft/sdk.hpp"

static void reduce_pull(const weft::Problem& p, weft::Schedule& s) {
  const weft::Chunk shelf = p.scratch(0);

  if (p.rank() != p.root()) {
    s.copy(shelf, p.in().all());
    s.signal(p.root());
    return;
  }
  s.wait(p.peers());
  std::vector<weft::Chunk> vectors = p.everyone(shelf);
  vectors[p.root()] = p.in().all();
  s.reduce(p.out().all(), vectors);
}

WEFT_ALGORITHM(reduce_pull, .name = "reduce_pull",
               .summary = "the root sums all ranks' scratch; 1 round, for middling vectors",
               .op = WEFT_OP_REDUCE, .flags = WEFT_ALGORITHM_RANK_ORDER, .hccl_algo = "fullmesh");
