// SPDX-License-Identifier: Apache-2.0
#include "weft/sdk.hpp"

// Every rank sums its own piece of the vector, then collects the other pieces: 3 rounds.
static void all_reduce(const weft::Problem& p, weft::Schedule& s) {
  // In and Out may be the same buffer, so peers read a copy.
  s.copy(p.scratch(0), p.in().all());
  s.signal(p.peers());
  s.wait(p.peers());

  const weft::Chunk mine = p.scratch(0).part_of(p.rank(), p.ranks());
  s.reduce(p.out()[p.rank()], p.everyone(mine));  // in rank order
  s.signal(p.peers());
  s.wait(p.peers());

  for (const uint32_t peer : p.peers()) s.copy(p.out()[peer], p.out().at(peer)[peer]);
  // The caller may write to Out as soon as I am done, so others must have read it.
  s.signal(p.peers());
  s.wait(p.peers());
}

WEFT_ALGORITHM(all_reduce, .name = "all_reduce",
               .summary = "sum a piece, collect the rest; 3 rounds", .op = WEFT_OP_ALL_REDUCE,
               .flags = WEFT_ALGORITHM_RANK_ORDER);
WEFT_PLUGIN("my_algorithm", "1.0.0", "my first plugin", WEFT_USE(all_reduce));
