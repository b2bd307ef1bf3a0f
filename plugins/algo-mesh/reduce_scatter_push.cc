// SPDX-License-Identifier: Apache-2.0
// Reduce-scatter for short blocks: everybody sends every other rank its block, then sums what came.
// Nobody's input is read by others, so nobody has to wait until they have.
//
// Rounds: 1.  Read by a rank: (2n-1) blocks.  Written: n blocks.
#include "weft/sdk.hpp"

static void reduce_scatter_push(const weft::Problem& p, weft::Schedule& s) {
  const uint32_t me = p.rank();

  for (const uint32_t peer : p.peers()) {
    s.copy(p.scratch(me).at(peer), p.in()[peer]);
    s.signal(peer);
  }
  s.wait(p.peers());

  std::vector<weft::Chunk> blocks;
  for (uint32_t q = 0; q < p.ranks(); ++q) blocks.push_back(q == me ? p.in()[me] : p.scratch(q));
  s.reduce(p.out().all(), blocks);
}

WEFT_ALGORITHM(reduce_scatter_push, .name = "reduce_scatter_push",
               .summary = "everybody sends every rank its block; 1 round, for short blocks",
               .op = WEFT_OP_REDUCE_SCATTER,
               .flags = WEFT_ALGORITHM_RANK_ORDER | WEFT_ALGORITHM_REMOTE_WRITE,
               .hccl_algo = "fullmesh");
