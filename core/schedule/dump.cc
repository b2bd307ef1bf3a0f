// SPDX-License-Identifier: Apache-2.0
#include "schedule/dump.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/op_names.hpp"

namespace weft::schedule {
namespace {

std::string operands(const Shape& shape, std::span<const weft_chunk> chunks, const char* between,
                     size_t max) {
  std::string text;
  const size_t shown = std::min(chunks.size(), max);
  for (size_t i = 0; i < shown; ++i) {
    if (i > 0) text += between;
    text += dump_chunk(shape, chunks[i]);
  }
  if (shown < chunks.size()) text += between + ("... (" + std::to_string(chunks.size()) + ")");
  return text;
}

}  // namespace

std::string dump_chunk(const Shape& shape, const weft_chunk& chunk) {
  static constexpr std::array<const char*, WEFT_SPACE_COUNT> kNames = {"in", "out", "scratch"};
  const bool known = chunk.space < kNames.size();
  const bool one_block = (chunk.space == WEFT_SPACE_IN && in_blocks(shape.op, shape.ranks) == 1) ||
                         (chunk.space == WEFT_SPACE_OUT && out_blocks(shape.op, shape.ranks) == 1);
  std::string text = known ? kNames[chunk.space] : "space" + std::to_string(chunk.space);
  if (!one_block || chunk.block != 0) text += "[" + std::to_string(chunk.block) + "]";
  if (chunk.parts != 1) {
    text += "[" + std::to_string(chunk.part) + "/" + std::to_string(chunk.parts) + "]";
  }
  return text + "@" + std::to_string(chunk.rank);
}

std::string dump_step(const Schedule& schedule, const Step& step, size_t max_operands) {
  const std::string verb = verb_name(step.verb);
  if (step.verb == WEFT_VERB_SIGNAL || step.verb == WEFT_VERB_WAIT) {
    return verb + " " + std::to_string(step.peer);
  }
  return verb + " " + operands(schedule.shape, schedule.dsts(step), " ", max_operands) + " <- " +
         operands(schedule.shape, schedule.srcs(step), " + ", max_operands);
}

std::string dump(const Schedule& schedule) {
  const Shape& shape = schedule.shape;
  std::string text = "# " + std::string(operation_name(shape.op)) + ", rank " +
                     std::to_string(shape.rank) + " of " + std::to_string(shape.ranks);
  if (has_root(shape.op)) text += ", root " + std::to_string(shape.root);
  text += ", " + std::to_string(schedule.steps.size()) + " steps, " +
          std::to_string(schedule.scratch_blocks) + " blocks of scratch\n";
  for (size_t i = 0; i < schedule.steps.size(); ++i) {
    std::array<char, 48> head{};
    std::snprintf(head.data(), head.size(), "r%u %4zu: ", shape.rank, i);
    text += head.data() + dump_step(schedule, schedule.steps[i]) + "\n";
  }
  return text;
}

}  // namespace weft::schedule
