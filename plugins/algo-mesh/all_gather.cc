// SPDX-License-Identifier: Apache-2.0
// Direct all-gather: every rank reads the inputs of all others, starting with its right neighbour
// so that no input is read by all at the same time.
//
// Rounds: 2, the second only says that the reading is over.  Read and written by a rank: n blocks.
#include "weft/sdk.hpp"

static void all_gather(const weft::Problem& p, weft::Schedule& s) {
  const weft::Chunk in = p.in().all();
  const weft::Chunks out = p.out();

  s.signal(p.peers());
  s.copy(out[p.rank()], in);
  for (const uint32_t peer : p.peers()) {
    s.wait(peer);
    s.copy(out[peer], in.at(peer));
    s.signal(peer);  // your input is yours again
  }
  s.wait(p.peers());
}

static void all_gather_v(const weft::Problem& p, weft::Schedule& s) { all_gather(p, s); }

WEFT_ALGORITHM(all_gather, .name = "all_gather",
               .summary = "everybody reads all inputs; 2 rounds, one pass",
               .op = WEFT_OP_ALL_GATHER, .hccl_algo = "fullmesh");
WEFT_ALGORITHM(all_gather_v, .name = "all_gather_v",
               .summary = "everybody reads all inputs; 2 rounds, one pass",
               .op = WEFT_OP_ALL_GATHER_V, .hccl_algo = "fullmesh");
