// SPDX-License-Identifier: Apache-2.0
// Algorithms with mistakes, and a right one: for the checker as its users meet it.
#include "weft/sdk.hpp"

static void fine(const weft::Problem& p, weft::Schedule& s) {
  s.copy(p.scratch(0), p.in().all());
  s.signal(p.peers());
  s.wait(p.peers());
  s.reduce(p.out().all(), p.everyone(p.scratch(0)));
}

/// Recursive doubling that has no place for what a power of two leaves over.
static void doubling(const weft::Problem& p, weft::Schedule& s) {
  uint32_t block = 0;
  s.copy(p.scratch(0), p.in().all());
  for (uint32_t hop = 1; hop < p.ranks(); hop *= 2, ++block) {
    const uint32_t peer = p.rank() ^ hop;
    if (peer >= p.ranks()) {
      s.copy(p.scratch(block + 1), p.scratch(block));
      continue;
    }
    s.signal(peer);
    s.wait(peer);
    const uint32_t low = peer < p.rank() ? peer : p.rank();
    s.reduce({p.scratch(block + 1)}, {p.scratch(block).at(low), p.scratch(block).at(low ^ hop)});
  }
  s.copy(p.out().all(), p.scratch(block));
}

/// Ends while peers still read its input.
static void hasty(const weft::Problem& p, weft::Schedule& s) {
  s.signal(p.peers());
  s.wait(p.peers());
  for (uint32_t q = 0; q < p.ranks(); ++q) s.copy(p.out()[q], p.in().all().at(q));
}

static constexpr weft_param kPieces[] = {
    weft::param("pieces", "number of pieces that the vector is cut into", 2, 1, 8)};

/// Loses the last piece where there are many.
static void losing(const weft::Problem& p, weft::Schedule& s) {
  const auto pieces = static_cast<uint32_t>(p.param(0));
  if (p.rank() != p.root()) {
    s.signal(p.root());
    s.wait(p.root());
    return;
  }
  s.wait(p.peers());
  for (const uint32_t peer : p.peers()) {
    for (uint32_t i = 0; i < (pieces > 5 ? pieces - 1 : pieces); ++i) {
      const weft::Chunk piece = p.out().all().part_of(i, pieces);
      s.copy(piece.at(peer), piece);
    }
    s.signal(peer);
  }
}

WEFT_ALGORITHM(fine, .name = "fine", .summary = "right", .op = WEFT_OP_ALL_REDUCE);
WEFT_ALGORITHM(doubling, .name = "doubling", .summary = "right for powers of two",
               .op = WEFT_OP_ALL_REDUCE, .hccl_algo = "H-D_R");
WEFT_ALGORITHM(hasty, .name = "hasty", .summary = "leaves too early", .op = WEFT_OP_ALL_GATHER,
               .max_ranks = 4);
WEFT_ALGORITHM(losing, .name = "losing", .summary = "right for <= 5 pieces",
               .op = WEFT_OP_BROADCAST, .flags = WEFT_ALGORITHM_REMOTE_WRITE, .params = kPieces);

WEFT_PLUGIN("mistaken", "1.0.0", "for tests", WEFT_USE(fine), WEFT_USE(doubling), WEFT_USE(hasty),
            WEFT_USE(losing));
