// SPDX-License-Identifier: Apache-2.0
// Boards of communicators that were destroyed here, kept until no peer can look at them any more: a
// slower peer may still read Scratch of the last call, or why this rank gave up.
#pragma once

#include <cstdint>
#include <vector>

#include "exec/board.hpp"
#include "weft/transport.h"

namespace weft::comm {

struct Remains {
  const weft_transport* transport = nullptr;
  void* endpoint = nullptr;  // holds the peers' boards mapped
  exec::Board* board = nullptr;
  uint64_t magic = 0;               // of all boards of the communicator
  std::vector<exec::Board*> peers;  // of ranks that were alive and had not left
  uint64_t last_call = 0;  // peers that have done this one do not look at the board any more
};

/// Keeps the remains, and frees older ones that nobody looks at. Some are always kept for a while:
/// a peer may be about to begin a call that this rank will never join.
void bury(Remains remains);

/// Frees all that nobody looks at, for lack of memory.
void clear_remains() noexcept;

}  // namespace weft::comm
