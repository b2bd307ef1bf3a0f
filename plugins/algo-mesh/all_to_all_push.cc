// SPDX-License-Identifier: Apache-2.0
// All-to-all for short blocks: everybody sends every other rank its block and takes what came.
// Nobody's input is read by others, so nobody has to wait until they have.
//
// Rounds: 1.  Read by a rank: (2n-1) blocks.  Written: (2n-1) blocks.
#include "weft/sdk.hpp"

static void all_to_all_push(const weft::Problem& p, weft::Schedule& s) {
  const uint32_t me = p.rank();

  for (const uint32_t peer : p.peers()) {
    s.copy(p.scratch(me).at(peer), p.in()[peer]);
    s.signal(peer);
  }
  s.copy(p.out()[me], p.in()[me]);
  for (const uint32_t peer : p.peers()) {
    s.wait(peer);
    s.copy(p.out()[peer], p.scratch(peer));
  }
}

WEFT_ALGORITHM(all_to_all_push, .name = "all_to_all_push",
               .summary = "everybody sends every rank its block; 1 round, for short blocks",
               .op = WEFT_OP_ALL_TO_ALL, .flags = WEFT_ALGORITHM_REMOTE_WRITE,
               .hccl_algo = "fullmesh");
