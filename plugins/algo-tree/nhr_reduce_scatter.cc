// SPDX-License-Identifier: Apache-2.0
// NHR reduce-scatter: n spanning trees at the same time, one for each block; the distance doubles
// from round to round, so that the nearest ranks exchange most, and log2 n rounds do for any n.
//
// Partial sums lie in Scratch and are pulled.
//
// Rounds: log2 n, rounded up, and one that says that inputs are no longer read.  Read by a rank:
// 3/2 n blocks.  Written: n/2 blocks.
#include "phases.hpp"

static void nhr_reduce_scatter(const weft::Problem& p, weft::Schedule& s) {
  const uint32_t n = p.ranks();
  const auto in = [&](uint32_t c) { return p.in()[c]; };
  const auto result = [&](uint32_t) { return std::vector{p.out().all()}; };
  // A rank gives away sums only of blocks an even number of ranks behind its own.
  const auto sum = [&](uint32_t rank, uint32_t c) {
    return p.scratch((rank + n - c) % n / 2 - 1).at(rank);
  };
  tree::reduce_scatter(p, s, tree::nhr, {n, in, sum, result});
  tree::take_inputs_back(p, s, tree::nhr);
}

static void nhr_reduce_scatter_v(const weft::Problem& p, weft::Schedule& s) {
  nhr_reduce_scatter(p, s);
}

WEFT_ALGORITHM(nhr_reduce_scatter, .name = "nhr_reduce_scatter",
               .summary = "NHR; log2 n + 1 rounds for any n", .op = WEFT_OP_REDUCE_SCATTER,
               .hccl_algo = "NHR");
WEFT_ALGORITHM(nhr_reduce_scatter_v, .name = "nhr_reduce_scatter_v",
               .summary = "NHR; log2 n + 1 rounds for any n", .op = WEFT_OP_REDUCE_SCATTER_V,
               .hccl_algo = "NHR");
