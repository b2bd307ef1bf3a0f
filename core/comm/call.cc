// SPDX-License-Identifier: Apache-2.0
#include "comm/call.hpp"

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/op_names.hpp"
#include "weft/abi.h"

namespace weft::comm {

std::string describe(const CallKey& key) {
  const std::string_view op = operation_name(key.op);
  if (key.op == WEFT_OP_BARRIER) return std::string(op);
  std::string text = fmt::format("{} of {} {}", op, key.count, type_name(key.type));
  if (key.op == WEFT_OP_ALL_REDUCE || key.op == WEFT_OP_REDUCE_SCATTER) {
    text += fmt::format(", {}", op_name(key.reduce_op));
  }
  if (key.op == WEFT_OP_BROADCAST) text += fmt::format(", root {}", key.root);
  return text;
}

}  // namespace weft::comm
