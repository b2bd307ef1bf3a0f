// SPDX-License-Identifier: Apache-2.0
// All-reduce over a star, for short vectors and many ranks that share few cores: everybody sends
// its vector to rank 0, which sums them and sends the result to everybody. No other scheme has so
// few signals, and what counts where ranks take turns on a core is the work in all, not the rounds.
//
// Rounds: 2.  Signals in all: 2(n-1).  Read by rank 0: n vectors.
#include "weft/sdk.hpp"

static void star_all_reduce(const weft::Problem& p, weft::Schedule& s) {
  constexpr uint32_t kHub = 0;
  const uint32_t me = p.rank();
  const weft::Chunk in = p.in().all();
  const weft::Chunk out = p.out().all();
  const weft::Chunk landed = p.scratch(p.ranks());  // beyond the n places for vectors at the hub

  if (me != kHub) {
    s.copy(p.scratch(me).at(kHub), in);
    s.signal(kHub);
    s.wait(kHub);
    s.copy(out, landed);
    return;
  }
  s.wait(p.peers());
  std::vector<weft::Chunk> vectors = {in};
  for (uint32_t q = 1; q < p.ranks(); ++q) vectors.push_back(p.scratch(q));
  s.reduce(out, vectors);
  for (const uint32_t peer : p.peers()) {
    s.copy(landed.at(peer), out);
    s.signal(peer);
  }
}

WEFT_ALGORITHM(star_all_reduce, .name = "star_all_reduce",
               .summary = "rank 0 sums for all; 2 rounds, 2(n-1) signals in all",
               .op = WEFT_OP_ALL_REDUCE,
               .flags = WEFT_ALGORITHM_RANK_ORDER | WEFT_ALGORITHM_REMOTE_WRITE);
