// SPDX-License-Identifier: Apache-2.0
// Pipelined chain broadcast: the vector goes from the root to the right in pieces, so that all
// links are busy at the same time. (Known as pipelined linear array; see Johnsson & Ho, "Optimum
// broadcasting and personalized communication in hypercubes", 1989, for its optimal piece.)
//
// First a token goes the other way, from the last rank to the root: it says that a rank and all
// behind it are ready. Each rank writes into its right neighbour, so nobody waits at the end.
//
// Steps: (n-1) for the token + (n-1) + (pieces-1).  Read and written by a rank: S.
#include "weft/sdk.hpp"

static constexpr weft_param kParams[] = {
    weft::param("pieces", "number of pieces that the vector is cut into", 8, 1, 64)};

static void broadcast(const weft::Problem& p, weft::Schedule& s) {
  const uint32_t left = p.ring(-1);
  const uint32_t right = p.ring(+1);
  const bool first = p.rank() == p.root();
  const bool last = right == p.root();
  const auto pieces = static_cast<uint32_t>(p.param(0));

  if (!last) s.wait(right);
  if (!first) s.signal(left);
  for (uint32_t i = 0; i < pieces; ++i) {
    const weft::Chunk piece = p.out().all().part_of(i, pieces);
    if (!first) s.wait(left);
    if (last) continue;
    s.copy(piece.at(right), piece);
    s.signal(right);
  }
}

WEFT_ALGORITHM(broadcast, .name = "broadcast",
               .summary = "pieces travel down a chain; n-1 + pieces-1 steps",
               .op = WEFT_OP_BROADCAST, .flags = WEFT_ALGORITHM_REMOTE_WRITE, .params = kParams,
               .hccl_algo = "ring");
