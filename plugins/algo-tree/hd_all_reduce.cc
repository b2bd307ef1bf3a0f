// SPDX-License-Identifier: Apache-2.0
// Halving/doubling all-reduce (Rabenseifner, "Optimization of collective reduction operations",
// 2004): reduce-scatter by recursive halving, then all-gather by recursive doubling.
//
// Partial sums are pulled, results are pushed back the same way, so nobody waits at the end. The
// last halving and the first doubling are one pass: the sum goes into both results. If n is no
// power of two some ranks are spares (Fold): all they do is give and get, in the first round and
// the last.
//
// Rounds: 2 log2 n, rounded down.  Read by a rank: less than 5/2 S; 9/2 S with spares.  Written:
// less than 3/2 S; 5/2 S with spares.
#include "phases.hpp"

static void hd_all_reduce(const weft::Problem& p, weft::Schedule& s) {
  const uint32_t parts = tree::Fold(p.ranks()).places;
  const auto in = [&](uint32_t c) { return p.in().all().part_of(c, parts); };
  const auto out = [&](uint32_t c) { return p.out().all().part_of(c, parts); };
  const uint32_t last = tree::halving_of_parts(p.ranks(), p.rank()).back().from;

  tree::reduce_scatter(p, s, tree::halving_of_parts,
                       {parts, in, [&](uint32_t rank, uint32_t c) { return out(c).at(rank); },
                        [&](uint32_t c) {
                          return std::vector{out(c), out(c).at(last)};
                        }});
  tree::push_results(p, s, tree::halving_of_parts, out);
}

WEFT_ALGORITHM(hd_all_reduce, .name = "hd_all_reduce",
               .summary = "recursive halving, then doubling; 2 log2 n rounds",
               .op = WEFT_OP_ALL_REDUCE, .flags = WEFT_ALGORITHM_REMOTE_WRITE,
               .hccl_algo = "H-D_R");
