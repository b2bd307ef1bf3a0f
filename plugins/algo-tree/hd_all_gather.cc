// SPDX-License-Identifier: Apache-2.0
// Recursive doubling all-gather (Thakur, Rabenseifner & Gropp 2005): in each round two ranks
// exchange all they have. The nearest ranks exchange last, and most.
//
// Blocks are pulled from Out to Out. If n is no power of two some ranks are spares (Fold): their
// main rank reads their block before the first round, and they read all others in the last.
//
// Rounds: log2 n, rounded down, and one that says that nothing is read any more; one more with
// spares.  Read and written by a rank: n blocks.
#include "phases.hpp"

static void hd_all_gather(const weft::Problem& p, weft::Schedule& s) {
  const tree::Fold fold(p.ranks());
  const uint32_t me = p.rank();
  const uint32_t place = fold.place(me);
  const weft::Chunk in = p.in().all();

  if (fold.is_spare(me)) s.signal(fold.main(place));
  s.copy(p.out()[me], in);
  if (fold.is_pair(place) && !fold.is_spare(me)) {
    const uint32_t spare = fold.spare(place);
    s.wait(spare);
    s.copy(p.out()[spare], in.at(spare));
  }
  tree::all_gather(
      p, s, tree::halving_of_blocks, [&](uint32_t c) { return p.out()[c]; },
      [&](uint32_t c) { return c == me; });
}

WEFT_ALGORITHM(hd_all_gather, .name = "hd_all_gather",
               .summary = "recursive doubling; log2 n + 1 rounds, + 1 if n is no power of two",
               .op = WEFT_OP_ALL_GATHER, .hccl_algo = "H-D_R");
