// SPDX-License-Identifier: Apache-2.0
// NHR broadcast: a scatter down a binomial tree, then the NHR all-gather (the scheme of van de
// Geijn: see Chan, Heimlich, Purkayastha & van de Geijn 2007). For long vectors: the root's memory
// is read about once, not by everybody.
//
// All parts are pulled from Out to Out; those that a rank has for its subtree are not read again.
//
// Rounds: 2 log2 n, rounded up, and one that says that nothing is read any more.  Read and written
// by a rank: S.
#include "phases.hpp"

static void nhr_broadcast(const weft::Problem& p, weft::Schedule& s) {
  const tree::Node node(p);
  const std::vector<uint32_t> part = tree::nhr_permutation(p.ranks());
  const auto out = [&](uint32_t c) { return p.out()[part[c]]; };
  const auto has = [&](uint32_t c) {
    const uint32_t distance = (c + p.ranks() - p.root()) % p.ranks();
    return distance >= node.distance && distance < node.distance + node.size;
  };

  if (node.parent != tree::kNobody) {
    s.wait(node.parent);
    for (uint32_t c = 0; c < p.ranks(); ++c) {
      if (has(c)) s.copy(out(c), out(c).at(node.parent));
    }
  }
  for (const tree::Node::Child& child : node.children) s.signal(child.rank);
  tree::all_gather(p, s, tree::nhr, out, has);  // its end counts for both phases
}

WEFT_ALGORITHM(nhr_broadcast, .name = "nhr_broadcast",
               .summary = "scatter down a tree, then NHR all-gather; 2 log2 n + 1 rounds",
               .op = WEFT_OP_BROADCAST, .hccl_algo = "NHR");
