// SPDX-License-Identifier: Apache-2.0
// All-reduce by all-gather: everybody gets all vectors in a dissemination pattern (Bruck, Ho,
// Kipnis, Upfal & Weathersby, "Efficient algorithms for all-to-all communications in multiport
// message- passing systems", 1997), then sums them in rank order. For short vectors and many ranks:
// as mesh.one_shot, but with log2 n signals instead of n-1.
//
// Before the round of distance d a rank has its own vector and those of the d-1 ranks before it.
//
// Rounds: log2 n, rounded up.  Bytes sent by a rank: (n-1) S.  Bytes summed by a rank: n S.
#include <algorithm>

#include "weft/sdk.hpp"

static void gather_all_reduce(const weft::Problem& p, weft::Schedule& s) {
  const uint32_t n = p.ranks();
  std::vector<weft::Chunk> vectors;
  for (uint32_t q = 0; q < n; ++q) {
    vectors.push_back(q == p.rank() ? p.in().all() : p.scratch(q));
  }

  for (uint32_t d = 1; d < n; d *= 2) {
    const uint32_t peer = p.ring(d);
    for (uint32_t i = std::min(d, n - d); i-- > 0;) {
      const uint32_t q = p.ring(-static_cast<int64_t>(i));
      s.copy(p.scratch(q).at(peer), vectors[q]);
    }
    s.signal(peer);
    s.wait(p.ring(-static_cast<int64_t>(d)));
  }
  s.reduce(p.out().all(), vectors);
}

WEFT_ALGORITHM(gather_all_reduce, .name = "gather_all_reduce",
               .summary = "dissemination of all vectors, then a local sum; log2 n rounds",
               .op = WEFT_OP_ALL_REDUCE,
               .flags = WEFT_ALGORITHM_RANK_ORDER | WEFT_ALGORITHM_REMOTE_WRITE);
