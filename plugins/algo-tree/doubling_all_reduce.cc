// SPDX-License-Identifier: Apache-2.0
// Recursive doubling all-reduce (Thakur, Rabenseifner & Gropp 2005): in each round two ranks
// exchange the sums of their halves of a group. For short vectors: few rounds, all of S in each.
//
// Sums are pushed into Scratch, a few bytes inside the signal. Both ranks add the lower one's sum
// first, so all get the same bits. If n is no power of two, the spare of a pair (Fold) gives its
// vector away and gets the result.
//
// k = log2 n, rounded down.  Rounds: k, or k+2 if n is no power of two.  Bytes sent by a rank: k S;
// summed: 2k S.
#include <bit>

#include "rounds.hpp"

static void doubling_all_reduce(const weft::Problem& p, weft::Schedule& s) {
  const tree::Fold fold(p.ranks());
  const uint32_t place = fold.place(p.rank());
  const uint32_t first_slot = fold.pairs == 0 ? 0 : 1;  // the one before is for the fold
  const uint32_t result_slot = std::bit_width(fold.places) - 1;
  const weft::Chunk out = p.out().all();
  weft::Chunk sum = p.in().all();
  const auto give = [&](uint32_t peer, uint32_t slot) {
    s.copy(p.scratch(slot).at(peer), sum);
    s.signal(peer);
  };
  const auto add = [&](uint32_t peer, uint32_t slot) {
    const weft::Chunk theirs = p.scratch(slot);
    s.wait(peer);
    s.reduce({out}, {peer < p.rank() ? theirs : sum, peer < p.rank() ? sum : theirs});
    sum = out;
  };

  if (fold.is_spare(p.rank())) {
    give(fold.main(place), 0);
    s.wait(fold.main(place));
    return s.copy(out, p.scratch(result_slot));
  }
  if (fold.is_pair(place)) add(fold.spare(place), 0);
  for (uint32_t k = 0; 1u << k < fold.places; ++k) {
    give(fold.main(place ^ (1u << k)), first_slot + k);
    add(fold.main(place ^ (1u << k)), first_slot + k);
  }
  if (fold.is_pair(place)) give(fold.spare(place), result_slot);
}

WEFT_ALGORITHM(doubling_all_reduce, .name = "doubling_all_reduce",
               .summary = "recursive doubling of the whole vector; log2 n rounds (+2 to fold)",
               .op = WEFT_OP_ALL_REDUCE, .flags = WEFT_ALGORITHM_REMOTE_WRITE);
