// SPDX-License-Identifier: Apache-2.0
#include "schedule/check_values.hpp"

#include <algorithm>
#include <utility>

namespace weft::schedule {
namespace {

constexpr size_t kMaxText = 300;
constexpr uint32_t kMaxDepth = 40;

}  // namespace

Values::Values() { nodes_.push_back(Node{{}, {}, true, true}); }

Value Values::intern(const std::vector<uint32_t>& key, Node node) {
  const auto [place, is_new] = known_.try_emplace(key, static_cast<Value>(nodes_.size()));
  if (is_new) nodes_.push_back(std::move(node));
  return place->second;
}

Value Values::input(const Input& input) {
  return intern({0, input.call, input.rank, input.block}, Node{input, {}});
}

Value Values::reduced(std::span<const Value> args) {
  if (args.size() == 1) return args[0];
  std::vector<uint32_t> key = {1};
  key.insert(key.end(), args.begin(), args.end());
  Node node{{}, {args.begin(), args.end()}};
  node.has_unknown =
      std::any_of(args.begin(), args.end(), [this](Value arg) { return has_unknown(arg); });
  node.left_to_right =
      is_left_to_right(args[0]) &&
      std::all_of(args.begin() + 1, args.end(), [this](Value arg) { return is_leaf(arg); });
  return intern(key, std::move(node));
}

std::vector<Input> Values::inputs(Value value, size_t most) const {
  std::vector<Input> found;
  std::vector<Value> open = {value};  // a stack: the next one is at its end
  while (!open.empty() && found.size() < most) {
    const Value next = open.back();
    open.pop_back();
    if (next == kUnknown) continue;
    const Node& node = nodes_[next];
    if (node.args.empty()) found.push_back(node.input);
    open.insert(open.end(), node.args.rbegin(), node.args.rend());
  }
  return found;
}

std::string Values::text(Value value, uint32_t call, bool with_blocks, uint32_t depth) const {
  if (value == kUnknown) return "what was there before";
  if (depth > kMaxDepth) return "...";
  const Node& node = nodes_[value];
  if (node.args.empty()) return input_text(node.input, call, with_blocks);
  std::string text;
  for (const Value arg : node.args) {
    const std::string part = this->text(arg, call, with_blocks, depth + 1);
    if (!text.empty()) text += " + ";
    text += is_leaf(arg) ? part : "(" + part + ")";
    if (text.size() > kMaxText) return text.substr(0, kMaxText) + " ...";
  }
  return text;
}

std::string input_text(const Input& input, uint32_t call, bool with_blocks) {
  std::string text = "in";
  if (with_blocks) text += "[" + std::to_string(input.block) + "]";
  text += "@" + std::to_string(input.rank);
  if (input.call != call) text += " of call " + std::to_string(input.call);
  return text;
}

}  // namespace weft::schedule
