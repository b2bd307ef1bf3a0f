// SPDX-License-Identifier: Apache-2.0
// Ring all-gather (Patarasuk & Yuan 2009, second half): every block travels right, a hop a step; a
// rank pulls from its left neighbour.
//
// Steps: n-1.  Read and written by a rank: n blocks, all but one's own from one neighbour.
#include "weft/sdk.hpp"

static void all_gather(const weft::Problem& p, weft::Schedule& s) {
  const int r = static_cast<int>(p.rank());
  const int n = static_cast<int>(p.ranks());
  const uint32_t left = p.ring(-1);
  const uint32_t right = p.ring(+1);
  const weft::Chunk in = p.in().all();
  const weft::Chunks out = p.out();

  s.signal(right);  // my input is there
  s.copy(out[r], in);
  for (int k = 0; k < n - 1; ++k) {
    const int c = r - 1 - k;
    s.wait(left);
    s.copy(out[c], k == 0 ? in.at(left) : out[c].at(left));
    if (k < n - 2) s.signal(right);
  }
  s.signal(left);  // I have read all I need from you
  s.wait(right);
}

static void all_gather_v(const weft::Problem& p, weft::Schedule& s) { all_gather(p, s); }

WEFT_ALGORITHM(all_gather, .name = "all_gather",
               .summary = "blocks travel around a ring; n-1 steps", .op = WEFT_OP_ALL_GATHER,
               .hccl_algo = "ring");
WEFT_ALGORITHM(all_gather_v, .name = "all_gather_v",
               .summary = "blocks travel around a ring; n-1 steps", .op = WEFT_OP_ALL_GATHER_V,
               .hccl_algo = "ring");
