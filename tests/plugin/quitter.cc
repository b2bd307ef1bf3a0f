// SPDX-License-Identifier: Apache-2.0
// Algorithms that do not come back when they are asked.
#include <unistd.h>

#include <cstdlib>

#include "weft/sdk.hpp"

static void all_reduce(const weft::Problem&, weft::Schedule&) { std::exit(0); }

static void broadcast(const weft::Problem&, weft::Schedule&) {
  for (;;) pause();
}

WEFT_ALGORITHM(all_reduce, .name = "all_reduce", .summary = "ends the program as if all were well",
               .op = WEFT_OP_ALL_REDUCE);
WEFT_ALGORITHM(broadcast, .name = "broadcast", .summary = "waits for ever",
               .op = WEFT_OP_BROADCAST);
WEFT_PLUGIN("quitter", "1.0.0", "never comes back", WEFT_USE(all_reduce), WEFT_USE(broadcast));
