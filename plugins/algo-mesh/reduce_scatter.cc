// SPDX-License-Identifier: Apache-2.0
// Direct reduce-scatter: every rank reads its block of all inputs and sums them in one pass.
//
// Rounds: 2, the second only says that the reading is over.  Read by a rank: n blocks.  Written: 1.
#include "weft/sdk.hpp"

static void reduce_scatter(const weft::Problem& p, weft::Schedule& s) {
  s.signal(p.peers());
  s.wait(p.peers());

  s.reduce(p.out().all(), p.everyone(p.in()[p.rank()]));

  s.signal(p.peers());  // your input is yours again
  s.wait(p.peers());
}

static void reduce_scatter_v(const weft::Problem& p, weft::Schedule& s) { reduce_scatter(p, s); }

WEFT_ALGORITHM(reduce_scatter, .name = "reduce_scatter",
               .summary = "everybody sums its block of all inputs; 2 rounds, one pass",
               .op = WEFT_OP_REDUCE_SCATTER, .flags = WEFT_ALGORITHM_RANK_ORDER,
               .hccl_algo = "fullmesh");
WEFT_ALGORITHM(reduce_scatter_v, .name = "reduce_scatter_v",
               .summary = "everybody sums its block of all inputs; 2 rounds, one pass",
               .op = WEFT_OP_REDUCE_SCATTER_V, .flags = WEFT_ALGORITHM_RANK_ORDER,
               .hccl_algo = "fullmesh");
