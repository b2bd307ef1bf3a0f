// SPDX-License-Identifier: Apache-2.0
#include "comm/call.hpp"

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/op_names.hpp"

namespace weft::comm {

uint64_t digest(std::span<const uint64_t> values, uint64_t state) noexcept {
  for (const uint64_t value : values) {
    state = (state ^ value) * 0x9e3779b97f4a7c15;
    state ^= state >> 32;
  }
  return state;
}

std::string describe(const CallKey& key) {
  switch (key.op) {
    case WEFT_OP_BARRIER:
      return "barrier";
    case kOpSend:
      return fmt::format("send of {} {} to rank {}", key.count, type_name(key.type), key.root);
    case kOpReceive:
      return fmt::format("receive of {} {} from rank {}", key.count, type_name(key.type), key.root);
    case kOpBatch:
      return fmt::format("batch of {} sends and receives", key.count);
    case WEFT_OP_ALL_TO_ALL_V:
      return fmt::format("all_to_all_v of {}", type_name(key.type));
    default:
      break;
  }
  std::string text = fmt::format("{} of ", operation_name(key.op));
  // What serves calls of all lengths has no count.
  if (has_lengths(key.op) && key.count == 0) {
    text += type_name(key.type);
  } else {
    text += fmt::format("{} {}", key.count, type_name(key.type));
    if (has_lengths(key.op)) text += " in all";
  }
  if (is_reduction(key.op)) text += fmt::format(", {}", op_name(key.reduce_op));
  if (has_root(key.op)) text += fmt::format(", root {}", key.root);
  return text;
}

}  // namespace weft::comm
