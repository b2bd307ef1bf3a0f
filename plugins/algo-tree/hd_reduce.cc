// SPDX-License-Identifier: Apache-2.0
// Halving/doubling reduce (Thakur, Rabenseifner & Gropp 2005): reduce-scatter by recursive halving,
// then the root gathers the pieces.
//
// Sums lie in one block of Scratch. Only the news that they are done climbs a binomial tree; the
// root reads each piece from the rank that ended with it, so no piece is moved twice.
//
// Rounds: 2 log2 n, rounded down, and one between the halves that says that inputs are no longer
// read.  Read by a rank: less than 3/2 S, 5/2 S with spares, and S more by the root.  Written: less
// than S/2, and S by the root.
#include "phases.hpp"

static void hd_reduce(const weft::Problem& p, weft::Schedule& s) {
  const tree::Fold fold(p.ranks());
  tree::reduce(p, s, tree::halving_of_parts, fold.places, [&](uint32_t c) { return fold.main(c); });
}

WEFT_ALGORITHM(hd_reduce, .name = "hd_reduce",
               .summary = "recursive halving, then the root gathers; 2 log2 n + 1 rounds",
               .op = WEFT_OP_REDUCE, .hccl_algo = "H-D_R");
