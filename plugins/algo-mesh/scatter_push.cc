// SPDX-License-Identifier: Apache-2.0
// Scatter by the root, for short blocks: the root sends every rank its block, and does not wait for
// anybody.
//
// Rounds: 1.  Signals in all: n-1.  Read and written by the root: n blocks.
#include "weft/sdk.hpp"

static void scatter_push(const weft::Problem& p, weft::Schedule& s) {
  const weft::Chunk landed = p.scratch(0);

  if (p.rank() != p.root()) {
    s.wait(p.root());
    s.copy(p.out().all(), landed);
    return;
  }
  for (const uint32_t peer : p.peers()) {
    s.copy(landed.at(peer), p.in()[peer]);
    s.signal(peer);
  }
  s.copy(p.out().all(), p.in()[p.rank()]);
}

WEFT_ALGORITHM(scatter_push, .name = "scatter_push",
               .summary = "the root sends every rank its block; 1 round, for short blocks",
               .op = WEFT_OP_SCATTER, .flags = WEFT_ALGORITHM_REMOTE_WRITE,
               .hccl_algo = "fullmesh");
