// SPDX-License-Identifier: Apache-2.0
// Direct all-to-all: every rank reads the block that is meant for it from all others. In step k it
// reads from rank r+k, so that each input has one reader at a time (the pairwise schedule).
//
// Rounds: 2, the second only says that the reading is over.  Read and written by a rank: n blocks.
#include "weft/sdk.hpp"

static void all_to_all(const weft::Problem& p, weft::Schedule& s) {
  const uint32_t me = p.rank();
  const weft::Chunks in = p.in();
  const weft::Chunks out = p.out();

  s.signal(p.peers());
  s.copy(out[me], in[me]);
  for (const uint32_t peer : p.peers()) {
    s.wait(peer);
    s.copy(out[peer], in[me].at(peer));
    s.signal(peer);  // your input is yours again
  }
  s.wait(p.peers());
}

static void all_to_all_v(const weft::Problem& p, weft::Schedule& s) { all_to_all(p, s); }

WEFT_ALGORITHM(all_to_all, .name = "all_to_all",
               .summary = "everybody reads its block of all inputs; 2 rounds, one pass",
               .op = WEFT_OP_ALL_TO_ALL, .hccl_algo = "fullmesh");
WEFT_ALGORITHM(all_to_all_v, .name = "all_to_all_v",
               .summary = "everybody reads its block of all inputs; 2 rounds, one pass",
               .op = WEFT_OP_ALL_TO_ALL_V, .hccl_algo = "fullmesh");
