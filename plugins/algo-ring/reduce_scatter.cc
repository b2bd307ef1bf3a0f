// SPDX-License-Identifier: Apache-2.0
// Ring reduce-scatter (Patarasuk & Yuan 2009, first half): block c starts at rank c+1 and is summed
// hop by hop until it reaches rank c.
//
// A rank pulls the left neighbour's partial sum and writes the new one into one of two blocks of
// Scratch in turn; its right neighbour says when it has read the one before. So the Scratch needed
// does not grow with n.
//
// Steps: n-1.  Read by a rank: 2(n-1) blocks.  Written: n-1 blocks.
#include "weft/sdk.hpp"

static void reduce_scatter(const weft::Problem& p, weft::Schedule& s) {
  const int r = static_cast<int>(p.rank());
  const int n = static_cast<int>(p.ranks());
  const uint32_t left = p.ring(-1);
  const uint32_t right = p.ring(+1);
  const weft::Chunks in = p.in();

  s.signal(right);  // my input is there
  for (int k = 0; k < n - 1; ++k) {
    const int c = r - 2 - k;
    const weft::Chunk partial = k == 0 ? in[c] : p.scratch((k - 1) % 2);
    const weft::Chunk sum = k == n - 2 ? p.out().all() : p.scratch(k % 2);
    s.wait(left);
    if (k > 0) s.wait(right);  // it has read what my step k-2 left where I write now
    s.reduce({sum}, {partial.at(left), in[c]});
    s.signal(left);  // I have read what you had for me
    if (k < n - 2) s.signal(right);
  }
  s.wait(right);
}

static void reduce_scatter_v(const weft::Problem& p, weft::Schedule& s) { reduce_scatter(p, s); }

WEFT_ALGORITHM(reduce_scatter, .name = "reduce_scatter",
               .summary = "partial sums travel around a ring; n-1 steps",
               .op = WEFT_OP_REDUCE_SCATTER, .hccl_algo = "ring");
WEFT_ALGORITHM(reduce_scatter_v, .name = "reduce_scatter_v",
               .summary = "partial sums travel around a ring; n-1 steps",
               .op = WEFT_OP_REDUCE_SCATTER_V, .hccl_algo = "ring");
