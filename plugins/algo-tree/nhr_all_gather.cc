// SPDX-License-Identifier: Apache-2.0
// NHR all-gather: the distance halves from round to round, so that the nearest ranks exchange most,
// and log2 n rounds do for any n.
//
// Blocks are pulled from Out to Out.
//
// Rounds: log2 n, rounded up, and one that says that nothing is read any more.  Read and written by
// a rank: n blocks.
#include "phases.hpp"

static void nhr_all_gather(const weft::Problem& p, weft::Schedule& s) {
  const uint32_t me = p.rank();
  s.copy(p.out()[me], p.in().all());
  tree::all_gather(
      p, s, tree::nhr, [&](uint32_t c) { return p.out()[c]; }, [&](uint32_t c) { return c == me; });
}

static void nhr_all_gather_v(const weft::Problem& p, weft::Schedule& s) { nhr_all_gather(p, s); }

WEFT_ALGORITHM(nhr_all_gather, .name = "nhr_all_gather",
               .summary = "NHR; log2 n + 1 rounds for any n", .op = WEFT_OP_ALL_GATHER,
               .hccl_algo = "NHR");
WEFT_ALGORITHM(nhr_all_gather_v, .name = "nhr_all_gather_v",
               .summary = "NHR; log2 n + 1 rounds for any n", .op = WEFT_OP_ALL_GATHER_V,
               .hccl_algo = "NHR");
