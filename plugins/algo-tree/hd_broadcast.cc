// SPDX-License-Identifier: Apache-2.0
// Binomial tree broadcast (see Chan, Heimlich, Purkayastha & van de Geijn, "Collective
// communication: theory, practice, and experience", 2007): in each round everybody who has the
// vector gives it to one more rank. For short vectors and many ranks.
//
// The vector goes through Scratch, so nobody asks whether Out may be written and nobody waits for
// readers: n-1 signals in all, the fewest there can be. A few bytes travel inside them.
//
// Rounds: log2 n, rounded up.  Read and written by a rank: S, and S more for each rank below it, up
// to S log2 n by the root.
#include "rounds.hpp"

static void hd_broadcast(const weft::Problem& p, weft::Schedule& s) {
  const tree::Node node(p);
  const bool is_root = node.parent == tree::kNobody;
  const weft::Chunk arrived = p.scratch(0);

  if (!is_root) s.wait(node.parent);
  for (const tree::Node::Child& child : node.children) {
    s.copy(arrived.at(child.rank), is_root ? p.in().all() : arrived);
    s.signal(child.rank);
  }
  if (!is_root) s.copy(p.out().all(), arrived);
}

WEFT_ALGORITHM(hd_broadcast, .name = "hd_broadcast",
               .summary = "binomial tree; log2 n rounds, for short vectors",
               .op = WEFT_OP_BROADCAST, .flags = WEFT_ALGORITHM_REMOTE_WRITE, .hccl_algo = "H-D_R");
