// SPDX-License-Identifier: Apache-2.0
// What the ranks tell each other while they register a window: bytes between processes of one host.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/abi.h"

namespace weft::symwin {

/// One piece of physical memory, as others need it to map it.
struct OfferedPiece {
  uint64_t bytes = 0;
  uint64_t handle = 0;     // for ranks of the same process
  uint64_t shareable = 0;  // for the others; 0 if there are none
};

/// The part that has a fixed size.
struct OfferHead {
  int32_t code = WEFT_OK;  // else the rank has failed, and only the reason counts
  uint32_t fresh = 0;      // 1: needs space in the heap; 0: a window covers the memory already
  uint64_t slot = 0;       // bytes for windows
  uint64_t offset = 0;     // of the memory in the slot
  uint64_t bytes = 0;      // of the memory, all pieces
  uint64_t start = 0;      // of the registered address in it
};

struct Offer {
  OfferHead head;
  std::vector<OfferedPiece> pieces;
  std::string reason;
};

std::string encode(const Offer& offer);
/// Throws Fault (WEFT_E_INTERNAL) if the bytes are no offer.
Offer decode(std::string_view bytes);

}  // namespace weft::symwin
