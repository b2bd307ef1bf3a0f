// SPDX-License-Identifier: Apache-2.0
#include "bench/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "base/names.hpp"
#include "base/op_names.hpp"

namespace weft::tools {
namespace {

int parse_word(const std::string& text, std::optional<int> (*parse)(std::string_view) noexcept,
               std::string_view (*name)(int) noexcept, int last, const char* what) {
  if (const auto found = parse(text)) return *found;
  std::vector<std::string_view> known;
  for (int i = 0; i <= last; ++i) {
    if (parse(name(i))) known.push_back(name(i));
  }
  throw UsageError(fmt::format("'{}' is no {}{}", text, what, did_you_mean(text, known)));
}

}  // namespace

Op parse_operator(const Words& words, const char* others) {
  if (words.empty()) {
    throw UsageError(
        fmt::format("which operation? One of {}{}", fmt::join(kOperatorNames, ", "), others));
  }
  if (words.size() > 1) throw UsageError(fmt::format("'{}' is one word too many", words[1]));
  if (const auto op = find_operator(words[0])) return *op;
  throw UsageError(
      fmt::format("'{}' is no operation{}", words[0], did_you_mean(words[0], kOperatorNames)));
}

HcclDataType parse_data_type(const std::string& text) {
  return HcclDataType(parse_word(text, parse_type, type_name, HCCL_DATA_TYPE_FP8E8M0, "data type"));
}

HcclReduceOp parse_reduction(const std::string& text) {
  return HcclReduceOp(parse_word(text, parse_reduce_op, op_name, HCCL_REDUCE_MIN, "reduction"));
}

MemoryKind parse_memory(const std::string& text) {
  const auto found = std::find(std::begin(kMemoryNames), std::end(kMemoryNames), text);
  if (found != std::end(kMemoryNames)) return MemoryKind(found - std::begin(kMemoryNames));
  throw UsageError(
      fmt::format("'{}' is no kind of memory{}", text, did_you_mean(text, kMemoryNames)));
}

uint32_t policy_operation(Op op) {
  const std::string_view name = op == Op::kAllToAllVC ? facts(Op::kAllToAllV).name : facts(op).name;
  const auto found = parse_operation(name);
  refuse(!found, fmt::format("{} is not done by an algorithm", facts(op).name));
  return *found;
}

void refuse(bool wrong, const std::string& why) {
  if (wrong) throw UsageError(why);
}

void check_operator(const Options& options, const Spec& spec,
                    std::initializer_list<const char*> about_data) {
  const Operator& op = facts(spec.op);
  refuse(options.given("op") && !op.reduces(), fmt::format("{} has no -o", op.name));
  refuse(options.given("root") && !op.root(), fmt::format("{} has no --root", op.name));
  refuse(spec.in_place && !op.in_place(), fmt::format("{} cannot be done in place", op.name));
  refuse(op.reduces() && !reducible(spec.type),
         fmt::format("{} cannot be reduced", type_name(spec.type)));
  refuse(spec.op == Op::kSendRecv && spec.ranks == 1,
         "send_recv needs two ranks or more: a rank cannot send to itself");
  for (const char* name : about_data) {
    refuse(op.blocks == Blocks::kNone && options.given(name),
           fmt::format("{} has no --{}", op.name, name));
  }
}

}  // namespace weft::tools
