// SPDX-License-Identifier: Apache-2.0
// Whether all ranks can have an algorithm's schedules: asked by each of them for all of them, so
// that all come to the same answer without a word.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "config/rules.hpp"
#include "schedule/plan.hpp"
#include "schedule/schedule.hpp"

namespace weft::comm {

class Doubts {
 public:
  /// Why some rank cannot do calls of this kind by what the rule uses; empty if all can. The rule
  /// is resolved, and lives as long as this.
  [[nodiscard]] std::string about(const config::Rule& rule, const schedule::Shape& shape,
                                  const schedule::Geometry& geometry);

 private:
  /// Of all ranks, which does not depend on counts.
  struct Answer {
    std::string error;
    schedule::Schedule widest;  // of those that need most of Scratch, without its steps
  };
  static Answer ask(const config::Rule& rule, const schedule::Shape& shape);

  std::map<std::pair<const config::Rule*, uint32_t>, Answer> answers_;  // by rule and root
};

}  // namespace weft::comm
