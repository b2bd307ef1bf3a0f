// SPDX-License-Identifier: Apache-2.0
// NHR (nonuniform hierarchical ring) all-reduce: reduce-scatter, then all-gather. n spanning trees
// at the same time, one for each piece; the distance doubles from round to round, so that the
// nearest ranks exchange most, and log2 n rounds do for any n.
//
// Partial sums are pulled, results are pushed back the same way, so nobody waits at the end. The
// last round of the first half and the first of the second are one pass: the sum goes into both
// results.
//
// Rounds: 2 log2 n, rounded up.  Read by a rank: less than 5/2 S.  Written: less than 3/2
// S.
#include "phases.hpp"

static void nhr_all_reduce(const weft::Problem& p, weft::Schedule& s) {
  const std::vector<uint32_t> part = tree::nhr_permutation(p.ranks());
  const auto in = [&](uint32_t c) { return p.in()[part[c]]; };
  const auto out = [&](uint32_t c) { return p.out()[part[c]]; };
  const uint32_t last = tree::nhr(p.ranks(), p.rank()).back().from;

  tree::reduce_scatter(p, s, tree::nhr,
                       {p.ranks(), in, [&](uint32_t rank, uint32_t c) { return out(c).at(rank); },
                        [&](uint32_t c) {
                          return std::vector{out(c), out(c).at(last)};
                        }});
  tree::push_results(p, s, tree::nhr, out);
}

WEFT_ALGORITHM(nhr_all_reduce, .name = "nhr_all_reduce",
               .summary = "NHR reduce-scatter, then all-gather; 2 log2 n rounds for any n",
               .op = WEFT_OP_ALL_REDUCE, .flags = WEFT_ALGORITHM_REMOTE_WRITE, .hccl_algo = "NHR");
