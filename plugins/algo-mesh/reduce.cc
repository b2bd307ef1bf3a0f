// SPDX-License-Identifier: Apache-2.0
// Direct reduce: rank r sums piece r of everybody's vector and writes the sum to the root, so that
// all ranks share the work.
//
// Rounds: 2.  Read by a rank: n pieces of S/n.  Written: one piece.
#include "weft/sdk.hpp"

static void reduce(const weft::Problem& p, weft::Schedule& s) {
  const uint32_t me = p.rank();

  s.signal(p.peers());  // my input is there; the root's output may be written
  s.wait(p.peers());

  s.reduce(p.out()[me].at(p.root()), p.everyone(p.in()[me]));

  s.signal(p.peers());  // I have read your input
  s.wait(p.peers());
}

WEFT_ALGORITHM(reduce, .name = "reduce",
               .summary = "rank r sums piece r of all inputs for the root; 2 rounds, one pass",
               .op = WEFT_OP_REDUCE,
               .flags = WEFT_ALGORITHM_RANK_ORDER | WEFT_ALGORITHM_REMOTE_WRITE,
               .hccl_algo = "fullmesh");
