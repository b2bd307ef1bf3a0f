// SPDX-License-Identifier: Apache-2.0
// Flat reduce, for short vectors: everybody sends its vector to the root, which sums them. The
// others are done when they have sent.
//
// Rounds: 1.  Signals in all: n-1.  Read by the root: n vectors.
#include "weft/sdk.hpp"

static void reduce_flat(const weft::Problem& p, weft::Schedule& s) {
  const uint32_t me = p.rank();
  const weft::Chunk in = p.in().all();

  s.reserve(p.ranks());
  if (me != p.root()) {
    s.copy(p.scratch(me).at(p.root()), in);
    s.signal(p.root());
    return;
  }
  s.wait(p.peers());
  std::vector<weft::Chunk> vectors;
  for (uint32_t q = 0; q < p.ranks(); ++q) vectors.push_back(q == me ? in : p.scratch(q));
  s.reduce(p.out().all(), vectors);
}

WEFT_ALGORITHM(reduce_flat, .name = "reduce_flat",
               .summary = "all send to the root, which sums; 1 round, for short vectors",
               .op = WEFT_OP_REDUCE,
               .flags = WEFT_ALGORITHM_RANK_ORDER | WEFT_ALGORITHM_REMOTE_WRITE,
               .hccl_algo = "fullmesh");
