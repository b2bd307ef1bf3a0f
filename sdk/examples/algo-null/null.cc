// SPDX-License-Identifier: Apache-2.0
// The smallest useful plugin: an all-reduce in which everybody reads everybody's vector.
//
// An algorithm writes the program of ONE rank, p.rank(). It never runs that program and never sees
// data: it says which chunk is copied or reduced into which, and who tells whom that it is done.
#include "weft/sdk.hpp"

static void all_reduce(const weft::Problem& p, weft::Schedule& s) {
  // Scratch is memory of mine that the core provides and peers can reach. Why not let peers read In
  // itself? In may be the same buffer as Out, and I write Out while others may still read.
  s.copy(p.scratch(0), p.in().all());

  s.signal(p.peers());  // to everybody: all my steps so far are done
  s.wait(p.peers());    // from everybody: its copy is there

  // everyone(c) is the chunk c of rank 0, 1, ...: the order in which they are summed.
  s.reduce(p.out().all(), p.everyone(p.scratch(0)));

  // No signal is needed after that: the next call gets another Scratch, and the one after the next
  // begins only when everybody has begun the next.
}

WEFT_ALGORITHM(all_reduce, .name = "all_reduce", .summary = "everybody reads everything; 1 round",
               .op = WEFT_OP_ALL_REDUCE, .flags = WEFT_ALGORITHM_RANK_ORDER);

WEFT_PLUGIN("null", "1.0.0", "an example to start from", WEFT_USE(all_reduce));
