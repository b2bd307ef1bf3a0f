// SPDX-License-Identifier: Apache-2.0
// Recursive halving reduce-scatter (Thakur, Rabenseifner & Gropp, "Optimization of collective
// communication operations in MPICH", 2005): in each round a rank gives half of its sums away.
//
// Partial sums lie in Scratch and are pulled. If n is no power of two some ranks are spares (Fold):
// they give all they have in the first round, and their main rank writes their result.
//
// Rounds: log2 n, rounded down, and one that says that inputs are no longer read.  Read by a rank:
// 3/2 n blocks; up to 11/4 n with spares.  Written: n/2.
#include "phases.hpp"

static void hd_reduce_scatter(const weft::Problem& p, weft::Schedule& s) {
  const tree::Fold fold(p.ranks());
  // From the second round on only sums for every second place are left.
  const auto sum = [&](uint32_t rank, uint32_t c) {
    const uint32_t base = fold.is_spare(c) ? fold.places / 2 : 0;
    return p.scratch(base + fold.place(c) / 2).at(rank);
  };
  const auto in = [&](uint32_t c) { return p.in()[c]; };
  const auto result = [&](uint32_t c) { return std::vector{p.out().all().at(c)}; };

  if (fold.places > 2) s.reserve(fold.places / 2 + (fold.pairs + 1) / 2);
  tree::reduce_scatter(p, s, tree::halving_of_blocks, {p.ranks(), in, sum, result});
  tree::take_inputs_back(p, s, tree::halving_of_blocks);
}

WEFT_ALGORITHM(hd_reduce_scatter, .name = "hd_reduce_scatter",
               .summary = "recursive halving; log2 n + 1 rounds", .op = WEFT_OP_REDUCE_SCATTER,
               .flags = WEFT_ALGORITHM_REMOTE_WRITE, .hccl_algo = "H-D_R");
