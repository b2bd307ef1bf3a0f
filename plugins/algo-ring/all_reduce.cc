// SPDX-License-Identifier: Apache-2.0
// Ring all-reduce (Patarasuk & Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
// workstations", 2009): reduce-scatter, then all-gather, one hop right a step.
//
// A rank pulls from its left neighbour: the new partial sum is written straight from the left's
// partial sum and the own input, so no vector is copied first and nothing is written remotely.
// Nobody overwrites what its right neighbour has yet to read: a finished piece comes back only
// after it went through the right neighbour.
//
// Steps: 2(n-1).  Read by a rank: 3(n-1)/n S.  Written: 2(n-1)/n S.
#include "weft/sdk.hpp"

static void all_reduce(const weft::Problem& p, weft::Schedule& s) {
  const int r = static_cast<int>(p.rank());
  const int n = static_cast<int>(p.ranks());
  const uint32_t left = p.ring(-1);
  const uint32_t right = p.ring(+1);
  const weft::Chunks in = p.in();
  const weft::Chunks out = p.out();

  s.signal(right);                   // my input is there
  for (int k = 0; k < n - 1; ++k) {  // piece c has been summed over ranks c..r-1, I add mine
    const int c = r - 1 - k;
    const weft::Chunks partial = k == 0 ? in : out;
    s.wait(left);
    s.reduce({out[c]}, {partial[c].at(left), in[c]});
    s.signal(right);
  }
  for (int k = 0; k < n - 1; ++k) {  // the finished pieces follow
    s.wait(left);
    s.copy(out[r - k], out[r - k].at(left));
    if (k < n - 2) s.signal(right);
  }
  s.signal(left);  // I have read all I need from you
  s.wait(right);
}

WEFT_ALGORITHM(all_reduce, .name = "all_reduce",
               .summary = "reduce-scatter, then all-gather, around a ring; 2(n-1) steps",
               .op = WEFT_OP_ALL_REDUCE, .hccl_algo = "ring");
