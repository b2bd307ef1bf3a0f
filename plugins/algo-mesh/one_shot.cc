// SPDX-License-Identifier: Apache-2.0
// One-shot all-reduce, the flat scheme for short vectors (all-to-all broadcast, then a local sum;
// cf. Chan, Heimlich, Purkayastha & van de Geijn, "Collective communication", 2007).
//
// Everybody gives its whole vector to everybody, then sums what it got. One round is the least
// there can be; the price is that every rank moves and sums n vectors.
//
// Rounds: 1.  Bytes sent by a rank: (n-1) S.  Bytes summed by a rank: n S.
#include "weft/sdk.hpp"

static void one_shot(const weft::Problem& p, weft::Schedule& s) {
  const uint32_t me = p.rank();
  const weft::Chunk in = p.in().all();

  for (const uint32_t peer : p.peers()) {
    s.copy(p.scratch(me).at(peer), in);
    s.signal(peer);
  }
  s.wait(p.peers());

  std::vector<weft::Chunk> vectors;
  for (uint32_t q = 0; q < p.ranks(); ++q) vectors.push_back(q == me ? in : p.scratch(q));
  s.reduce(p.out().all(), vectors);
}

WEFT_ALGORITHM(one_shot, .name = "one_shot",
               .summary = "all to all, then everybody sums everything; 1 round, (n-1) S sent",
               .op = WEFT_OP_ALL_REDUCE,
               .flags = WEFT_ALGORITHM_RANK_ORDER | WEFT_ALGORITHM_REMOTE_WRITE,
               .hccl_algo = "fullmesh");
