// SPDX-License-Identifier: Apache-2.0
// What an experiment on live calls has found: as text for people, and as a file from which the
// reports of all ranks can be put together.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "comm/experiments.hpp"
#include "stats/judge.hpp"

namespace weft::comm {

/// Of one rank, or of all together.
struct ExperimentReport {
  struct Arm {
    std::string name;  // "ring.broadcast { pieces = 16 }"
    std::string rule;  // of a policy, for the same calls
    uint64_t calls = 0;
    std::string off;  // why it took no part in some calls; or empty
  };

  std::string experiment;
  std::string place;         // "/etc/weft/policy.toml:31"
  std::string communicator;  // its name
  std::string id;            // of the experiment on this communicator: the same on all its ranks
  uint32_t rank = 0;
  uint32_t ranks = 0;
  std::string op;
  uint32_t block = 0;
  std::vector<Arm> arms;
  std::vector<std::string> series;  // "all_reduce of 1000 fp32, sum"
  std::vector<stats::Block> blocks;
};

/// Who takes part.
struct ExperimentSite {
  std::string policy;
  std::string communicator;
  uint64_t id = 0;  // of the communicator
  uint32_t rank = 0;
  uint32_t ranks = 0;
};

[[nodiscard]] ExperimentReport report_of(const ExperimentTimes& times, const ExperimentSite& site);

/// What it found, by whose times ("the slowest of 4 ranks"); empty: those of this rank. Lines
/// without one at the end.
[[nodiscard]] std::string text_of(const ExperimentReport& report, const std::string& whose = {});
/// Of the arm that is the fastest; empty without a verdict, or if that arm cannot do all calls.
[[nodiscard]] std::string rule_of(const ExperimentReport& report, const stats::Judgement& found);

[[nodiscard]] std::string json_of(const ExperimentReport& report);
/// Throws Error (HCCL_E_PARA) that names the file and what is wrong in it.
[[nodiscard]] ExperimentReport parse_report(const std::string& text, const std::string& file);

}  // namespace weft::comm
