// SPDX-License-Identifier: Apache-2.0
// An algorithm that is right, but not to be had on the last of three ranks or more.
#include <stdexcept>

#include "weft/sdk.hpp"

static void all_reduce(const weft::Problem& p, weft::Schedule& s) {
  if (p.rank() > 1) throw std::runtime_error("too many ranks for me");
  s.copy(p.scratch(0), p.in().all());
  s.signal(p.peers());
  s.wait(p.peers());
  s.reduce(p.out().all(), p.everyone(p.scratch(0)));
}

WEFT_ALGORITHM(all_reduce, .name = "all_reduce", .summary = "for two ranks, but does not say so",
               .op = WEFT_OP_ALL_REDUCE, .flags = WEFT_ALGORITHM_RANK_ORDER);
WEFT_PLUGIN("unwilling", "1.0.0", "fails on some ranks", WEFT_USE(all_reduce));
