// SPDX-License-Identifier: Apache-2.0
// NHR reduce: the NHR reduce-scatter, then the root gathers the pieces. For any n all ranks have
// the same share of the work.
//
// Sums lie in one block of Scratch. Only the news that they are done climbs a binomial tree; the
// root reads each piece from the rank that ended with it, so no piece is moved twice.
//
// Rounds: 2 log2 n, each rounded up, and one between the halves that says that inputs are no longer
// read.  Read by a rank: 3/2 S, and S by the root.  Written: S/2, and S by the root.
#include "phases.hpp"

static void nhr_reduce(const weft::Problem& p, weft::Schedule& s) {
  tree::reduce(p, s, tree::nhr, p.ranks(), [](uint32_t c) { return c; });
}

WEFT_ALGORITHM(nhr_reduce, .name = "nhr_reduce",
               .summary = "NHR reduce-scatter, then the root gathers; 2 log2 n + 1 rounds",
               .op = WEFT_OP_REDUCE, .hccl_algo = "NHR");
