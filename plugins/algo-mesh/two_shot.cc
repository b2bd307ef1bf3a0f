// SPDX-License-Identifier: Apache-2.0
// Two-shot all-reduce: reduce-scatter and all-gather (Rabenseifner, "Optimization of collective
// reduction operations", 2004) over direct links, both halves in one pass over memory.
//
// Rank r alone sums piece r of all vectors and writes the sum into everybody's result. No other
// rank touches piece r between the two handshakes, so this works in place too.
//
// Rounds: 2.  Read by a rank: n pieces of S/n.  Written: n pieces of S/n.
#include "weft/sdk.hpp"

static void two_shot(const weft::Problem& p, weft::Schedule& s) {
  const uint32_t me = p.rank();

  s.signal(p.peers());  // my input is there, my output may be written
  s.wait(p.peers());

  s.reduce(p.everyone(p.out()[me]), p.everyone(p.in()[me]));

  s.signal(p.peers());  // I have read from and written to your memory
  s.wait(p.peers());
}

WEFT_ALGORITHM(two_shot, .name = "two_shot",
               .summary = "rank r sums piece r of all inputs into all outputs; 2 rounds, one pass",
               .op = WEFT_OP_ALL_REDUCE,
               .flags = WEFT_ALGORITHM_RANK_ORDER | WEFT_ALGORITHM_REMOTE_WRITE,
               .hccl_algo = "fullmesh");
