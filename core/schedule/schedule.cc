// SPDX-License-Identifier: Apache-2.0
#include "schedule/schedule.hpp"

namespace weft::schedule {

uint32_t in_blocks(uint32_t op, uint32_t ranks) noexcept {
  switch (op) {
    case WEFT_OP_ALL_REDUCE:
    case WEFT_OP_BROADCAST:
    case WEFT_OP_ALL_GATHER:
      return 1;
    case WEFT_OP_REDUCE_SCATTER:
    case WEFT_OP_ALL_TO_ALL:
      return ranks;
    default:
      return 0;
  }
}

uint32_t out_blocks(uint32_t op, uint32_t ranks) noexcept {
  switch (op) {
    case WEFT_OP_ALL_REDUCE:
    case WEFT_OP_BROADCAST:
    case WEFT_OP_REDUCE_SCATTER:
      return 1;
    case WEFT_OP_ALL_GATHER:
    case WEFT_OP_ALL_TO_ALL:
      return ranks;
    default:
      return 0;
  }
}

const char* verb_name(uint32_t verb) noexcept {
  switch (verb) {
    case WEFT_VERB_COPY:
      return "copy";
    case WEFT_VERB_REDUCE:
      return "reduce";
    case WEFT_VERB_SIGNAL:
      return "signal";
    case WEFT_VERB_WAIT:
      return "wait";
    default:
      return "?";
  }
}

}  // namespace weft::schedule
