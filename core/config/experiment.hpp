// SPDX-License-Identifier: Apache-2.0
// The experiments of a policy: calls that several algorithms share, so that they can be compared.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "config/policy.hpp"
#include "config/rules.hpp"

namespace weft::config {

inline constexpr uint32_t kFewestArms = 2;
inline constexpr uint32_t kMostArms = 8;
/// Of all arms of an experiment together: a round has so many blocks.
inline constexpr uint32_t kMostWeight = 64;
inline constexpr uint32_t kMostBlock = 1000;

struct Arm {
  Rule rule;  // only what it uses; its place is that of the arm
  uint32_t weight = 1;
};

struct Experiment {
  std::string name;
  Rule calls;           // only what it is about
  uint32_t block = 10;  // calls of one kind that one arm does in a row
  std::vector<Arm> arms;
};

/// An experiment takes a call before any rule does, if it matches, all arms can serve the call, and
/// nobody wishes for an algorithm by HCCL_ALGO. Of several, the first. Null: the rules decide.
[[nodiscard]] const Experiment* find_experiment(std::span<const Experiment> experiments,
                                                const Query& query);

/// Why an experiment leaves a call of its operation to the rules; empty if it does not.
[[nodiscard]] std::string why_not(const Experiment& experiment, const Query& query);

/// Throws Error for two of the same name, and two arms that are alike.
void check_experiments(std::span<const Experiment> experiments, const std::string& file);

/// Of an arm: "ring.all_reduce", "ring.broadcast { pieces = 16 }". After resolve.
[[nodiscard]] std::string text_of(const Arm& arm);
/// "mesh.two_shot against ring.all_reduce". After resolve.
[[nodiscard]] std::string text_of(const Experiment& experiment);

/// As rules.hpp has it of rules.
[[nodiscard]] std::string canonical_text(std::span<const Experiment> experiments);

}  // namespace weft::config
