// SPDX-License-Identifier: Apache-2.0
#include "comm/doubts.hpp"

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "plugin/registry.hpp"
#include "schedule/builder.hpp"

namespace weft::comm {
namespace {

/// Throws Error if a plan cannot count the signals.
void count_signals(const schedule::Schedule& schedule) {
  std::vector<uint32_t> sent(schedule.shape.ranks, 0);
  std::vector<uint32_t> awaited(schedule.shape.ranks, 0);
  for (const schedule::Step& step : schedule.steps) {
    if (step.verb == WEFT_VERB_SIGNAL) {
      static_cast<void>(schedule::ordinal_of(step.peer, ++sent[step.peer]));
    } else if (step.verb == WEFT_VERB_WAIT) {
      static_cast<void>(schedule::ordinal_of(step.peer, ++awaited[step.peer]));
    }
  }
}

}  // namespace

Doubts::Answer Doubts::ask(const config::Rule& rule, const schedule::Shape& shape) {
  Answer answer;
  answer.widest.shape = shape;
  try {
    for (uint32_t r = 0; r < shape.ranks; ++r) {
      const schedule::Schedule steps =
          schedule::emit(rule.algorithm->table, rule.use.c_str(),
                         {shape.op, shape.ranks, r, shape.root}, rule.values);
      count_signals(steps);
      answer.widest.scratch_blocks = std::max(answer.widest.scratch_blocks, steps.scratch_blocks);
    }
  } catch (const Error& error) {
    answer.error = error.what();
  }
  return answer;
}

std::string Doubts::about(const config::Rule& rule, const schedule::Shape& shape,
                          const schedule::Geometry& geometry) {
  const auto at = std::pair(&rule, shape.root);
  auto found = answers_.find(at);
  if (found == answers_.end()) found = answers_.emplace(at, ask(rule, shape)).first;
  const Answer& answer = found->second;
  if (!answer.error.empty()) return answer.error;
  try {
    static_cast<void>(schedule::piece_room(answer.widest, geometry));
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace weft::comm
