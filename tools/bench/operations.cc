// SPDX-License-Identifier: Apache-2.0
#include "bench/operations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/names.hpp"
#include "base/op_names.hpp"
#include "bench/words.hpp"
#include "command.hpp"
#include "options.hpp"

namespace weft::tools {
namespace {

Op parse_one(const std::string& word) {
  if (const auto number = parse_operation(word)) {
    if (const auto op = find_operator(operation_name(*number))) return *op;
  }
  throw UsageError(fmt::format("--ops: '{}' is no operation of algorithms{}", word,
                               did_you_mean(word, operation_names())));
}

}  // namespace

std::vector<Op> parse_operations(const std::string& text, HcclDataType type) {
  std::vector<Op> ops;
  if (text.empty()) {
    for (const std::string_view name : operation_names())
      ops.push_back(parse_one(std::string(name)));
  }
  for (const std::string& word : parse_list(text)) {
    const Op op = parse_one(word);
    refuse(std::ranges::find(ops, op) != ops.end(),
           fmt::format("--ops: '{}' is there twice", facts(op).name));
    ops.push_back(op);
  }
  for (const Op op : ops) {
    refuse(facts(op).reduces() && !reducible(type),
           fmt::format("{} cannot be reduced, and {} does: name others by --ops", type_name(type),
                       facts(op).name));
  }
  return ops;
}

}  // namespace weft::tools
