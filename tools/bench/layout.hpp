// SPDX-License-Identifier: Apache-2.0
// Where everything is in the buffers of one rank for one size, and what must be there after a call.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/pattern.hpp"
#include "bench/spec.hpp"

namespace weft::tools {

/// The blocks of a buffer, one for every rank, as the V operators take them.
struct BlockList {
  std::vector<uint64_t> counts;
  std::vector<uint64_t> displacements;
  uint64_t elements = 0;  // of the buffer
};

/// A part of what a rank must have received.
struct Expected {
  uint32_t source;  // the rank that sent it, kReduced, or kUntouched
  uint64_t at;      // first element in the buffer of the receiver
  uint64_t first;   // element of the sequence there
  uint64_t count;
};

/// All in elements.
struct Layout {
  uint64_t send_elements = 0;
  uint64_t receive_elements = 0;
  BlockList send;                  // if the send buffer has a block for every rank
  BlockList receive;               // if the receive buffer has
  std::vector<uint64_t> matrix;    // all_to_all_vc: [i * n + j] from rank i to rank j
  std::vector<Expected> expected;  // the whole receive buffer, without overlap
};

Layout make_layout(const Spec& spec, const Shape& shape, uint32_t rank);

// The neighbours in a ring.
inline uint32_t right_of(const Spec& spec, uint32_t rank) { return (rank + 1) % spec.ranks; }
inline uint32_t left_of(const Spec& spec, uint32_t rank) {
  return (rank + spec.ranks - 1) % spec.ranks;
}

}  // namespace weft::tools
