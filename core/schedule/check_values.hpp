// SPDX-License-Identifier: Apache-2.0
// The symbols that the checker computes with: where an element came from and how it was combined.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace weft::schedule {

/// An expression; equal numbers mean equal expressions.
using Value = uint32_t;

/// The input of a rank in a call: an element of block `block` of its In.
struct Input {
  uint32_t call = 0;
  uint32_t rank = 0;
  uint32_t block = 0;
  friend bool operator==(const Input&, const Input&) = default;
};

class Values {
 public:
  Values();

  /// What memory holds that nobody has written to.
  static constexpr Value kUnknown = 0;

  [[nodiscard]] Value input(const Input& input);
  /// args[0] op args[1] op ..., in one step.
  [[nodiscard]] Value reduced(std::span<const Value> args);

  /// The first `most` inputs in the order in which they are written down, unknown memory left out.
  [[nodiscard]] std::vector<Input> inputs(Value value, size_t most) const;
  [[nodiscard]] bool has_unknown(Value value) const { return nodes_[value].has_unknown; }
  /// True for a, a+b, (a+b)+c+d, ...: what a loop over the inputs in their order computes.
  [[nodiscard]] bool is_left_to_right(Value value) const { return nodes_[value].left_to_right; }
  /// "(in@0 + in@1) + in@2", shortened if long. Blocks are named if `with_blocks`, calls if they
  /// are not `call`.
  [[nodiscard]] std::string text(Value value, uint32_t call, bool with_blocks,
                                 uint32_t depth = 0) const;

 private:
  struct Node {
    Input input;              // of a leaf
    std::vector<Value> args;  // empty for a leaf
    bool has_unknown = false;
    bool left_to_right = true;
  };

  [[nodiscard]] bool is_leaf(Value value) const { return nodes_[value].args.empty(); }
  Value intern(const std::vector<uint32_t>& key, Node node);

  std::vector<Node> nodes_;
  std::map<std::vector<uint32_t>, Value> known_;
};

/// "in[2]@3", or "in[2]@3 of call 1" if that is not `call`.
[[nodiscard]] std::string input_text(const Input& input, uint32_t call, bool with_blocks);

}  // namespace weft::schedule
