// SPDX-License-Identifier: Apache-2.0
// Flat broadcast, for short vectors: the root sends its vector to everybody and is done; nobody
// answers.
//
// Rounds: 1.  Signals in all: n-1.  Written by the root: (n-1) S.
#include "weft/sdk.hpp"

static void broadcast_flat(const weft::Problem& p, weft::Schedule& s) {
  const weft::Chunk landed = p.scratch(0);

  if (p.rank() != p.root()) {
    s.wait(p.root());
    s.copy(p.out().all(), landed);
    return;
  }
  for (const uint32_t peer : p.peers()) {
    s.copy(landed.at(peer), p.in().all());
    s.signal(peer);
  }
}

WEFT_ALGORITHM(broadcast_flat, .name = "broadcast_flat",
               .summary = "the root sends to everybody; 1 round, for short vectors",
               .op = WEFT_OP_BROADCAST, .flags = WEFT_ALGORITHM_REMOTE_WRITE,
               .hccl_algo = "fullmesh");
