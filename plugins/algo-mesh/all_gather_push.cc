// SPDX-License-Identifier: Apache-2.0
// All-gather for short blocks: everybody sends its block to everybody and takes what came. Nobody's
// input is read by others, so nobody has to wait until they have.
//
// Rounds: 1.  Read by a rank: (2n-1) blocks.  Written: (2n-1) blocks.
#include "weft/sdk.hpp"

static void all_gather_push(const weft::Problem& p, weft::Schedule& s) {
  const uint32_t me = p.rank();
  const weft::Chunk in = p.in().all();

  for (const uint32_t peer : p.peers()) {
    s.copy(p.scratch(me).at(peer), in);
    s.signal(peer);
  }
  s.copy(p.out()[me], in);
  for (const uint32_t peer : p.peers()) {
    s.wait(peer);
    s.copy(p.out()[peer], p.scratch(peer));
  }
}

WEFT_ALGORITHM(all_gather_push, .name = "all_gather_push",
               .summary = "everybody sends to everybody; 1 round, for short blocks",
               .op = WEFT_OP_ALL_GATHER, .flags = WEFT_ALGORITHM_REMOTE_WRITE,
               .hccl_algo = "fullmesh");
