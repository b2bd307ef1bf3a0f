// SPDX-License-Identifier: Apache-2.0
// Pairwise exchange (all-to-all in n-1 steps; cf. Bruck et al., "Efficient algorithms for
// all-to-all communications in multiport message-passing systems", 1997): in step k every rank
// gives to rank r+k and takes from rank r-k, so that each buffer has one reader at a time, also
// when there are many ranks.
//
// Steps: n-1.  Read and written by a rank: n blocks.
#include "weft/sdk.hpp"

static void pairwise(const weft::Problem& p, weft::Schedule& s) {
  const uint32_t me = p.rank();
  const weft::Chunks in = p.in();
  const weft::Chunks out = p.out();

  s.copy(out[me], in[me]);
  for (uint32_t k = 1; k < p.ranks(); ++k) {
    const uint32_t to = p.ring(k);
    const uint32_t from = p.ring(-static_cast<int64_t>(k));
    s.signal(to);  // my input is there
    s.wait(from);
    s.copy(out[from], in[me].at(from));
    s.signal(from);  // your input is yours again
    s.wait(to);
  }
}

static void pairwise_v(const weft::Problem& p, weft::Schedule& s) { pairwise(p, s); }

WEFT_ALGORITHM(pairwise, .name = "pairwise",
               .summary = "in step k to rank r+k, from rank r-k; n-1 steps",
               .op = WEFT_OP_ALL_TO_ALL, .hccl_algo = "pairwise");
WEFT_ALGORITHM(pairwise_v, .name = "pairwise_v",
               .summary = "in step k to rank r+k, from rank r-k; n-1 steps",
               .op = WEFT_OP_ALL_TO_ALL_V, .hccl_algo = "pairwise");
