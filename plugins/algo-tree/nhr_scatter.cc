// SPDX-License-Identifier: Apache-2.0
// NHR scatter: blocks go down a binomial tree, each rank gets those of its subtree.
//
// They are pushed into Scratch, so nobody asks whether Out may be written and nobody waits for
// readers; a block of a few bytes travels inside the signal. The root talks to log2 n ranks, in
// exchange most blocks are moved several times: where the root reaches all ranks at the same speed
// mesh.scatter moves fewer bytes.
//
// Rounds: log2 n, rounded up.  Read and written by the root: n blocks; by others: up to n/2.
#include <algorithm>

#include "rounds.hpp"

static void nhr_scatter(const weft::Problem& p, weft::Schedule& s) {
  const tree::Node node(p);
  const bool is_root = node.parent == tree::kNobody;
  // Block of the rank `distance` from the root, as it is here.
  const auto here = [&](uint32_t distance) {
    return is_root ? p.in()[p.root() + distance] : p.scratch(distance - node.distance);
  };

  s.reserve(tree::largest_subtree(p.ranks()));
  if (!is_root) s.wait(node.parent);
  for (const tree::Node::Child& child : node.children) {
    for (uint32_t i = child.size; i-- > 0;) {
      s.copy(p.scratch(i).at(child.rank), here(child.distance + i));
    }
    s.signal(child.rank);
  }
  s.copy(p.out().all(), here(node.distance));
}

WEFT_ALGORITHM(nhr_scatter, .name = "nhr_scatter",
               .summary = "blocks go down a binomial tree; log2 n rounds", .op = WEFT_OP_SCATTER,
               .flags = WEFT_ALGORITHM_REMOTE_WRITE, .hccl_algo = "NHR");
