// SPDX-License-Identifier: Apache-2.0
// A plugin with everything in it that likes to be exported: instances of standard templates, inline
// statics, and a function that asks for it.
#include <map>
#include <string>
#include <vector>

#include "weft/sdk.hpp"

inline std::map<uint32_t, std::string>& seen() {
  static std::map<uint32_t, std::string> names;
  return names;
}

extern "C" WEFT_EXPORT uint32_t wants_to_be_seen(uint32_t rank);
extern "C" WEFT_EXPORT uint32_t wants_to_be_seen(uint32_t rank) {
  seen()[rank] = std::to_string(rank);
  return static_cast<uint32_t>(seen().size());
}

static void barrier(const weft::Problem& p, weft::Schedule& s) {
  if (wants_to_be_seen(p.rank()) == 0) return;
  s.signal(p.peers());
  s.wait(p.peers());
}

WEFT_ALGORITHM(barrier, .name = "barrier", .summary = "everybody tells everybody",
               .op = WEFT_OP_BARRIER, .max_ranks = 64);
WEFT_PLUGIN("exports", "1.0.0", "for tests", WEFT_USE(barrier));
