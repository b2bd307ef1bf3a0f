// SPDX-License-Identifier: Apache-2.0
// Broadcast by the root: once all have said that they are here, the root writes to all of them.
// 2(n-1) signals in all, the fewest of any broadcast; but one rank does the work of n-1, so this is
// for short vectors.
//
// Rounds: 2.  Read and written by the root: (n-1) S.
#include "weft/sdk.hpp"

static void broadcast_push(const weft::Problem& p, weft::Schedule& s) {
  if (p.rank() != p.root()) {
    s.signal(p.root());
    s.wait(p.root());
    return;
  }
  s.wait(p.peers());
  std::vector<weft::Chunk> others;
  for (const uint32_t peer : p.peers()) others.push_back(p.out().all().at(peer));
  s.copy(others, p.in().all());
  s.signal(p.peers());
}

WEFT_ALGORITHM(broadcast_push, .name = "broadcast_push",
               .summary = "the root writes to all others; 2 rounds, for short vectors",
               .op = WEFT_OP_BROADCAST, .flags = WEFT_ALGORITHM_REMOTE_WRITE,
               .hccl_algo = "fullmesh");
