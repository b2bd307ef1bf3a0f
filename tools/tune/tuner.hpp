// SPDX-License-Identifier: Apache-2.0
// Measures candidates over operations and sizes.
#pragma once

#include <string>
#include <vector>

#include "arms/duels.hpp"
#include "arms/policy_files.hpp"
#include "bench/op.hpp"
#include "bench/spec.hpp"
#include "loaded_policy.hpp"
#include "progress.hpp"
#include "tune/report.hpp"

namespace weft::tools {

/// One operation that is to be measured.
struct Task {
  Op op;
  std::vector<Candidate> candidates;
};

class Tuner {
 public:
  /// `spec` has the sizes and how the ranks are run, `time` is for all. All references must live.
  Tuner(const Spec& spec, bool deterministic, const LoadedPolicy& loaded,
        const std::vector<Task>& tasks);

  /// Seconds for one pass over everything.
  [[nodiscard]] double least_time() const;

  /// Measures and chooses: the results are in the order of the tasks. What is chosen anew has won
  /// once more, in a duel with what the policy chose. Blocks for about spec.time. 0, or 128 + the
  /// signal that interrupted it. Throws Failure.
  int run(ProgressLine& line);
  [[nodiscard]] const std::vector<Tuned>& tuned() const { return tuned_; }

 private:
  struct Part;
  struct Claim {
    size_t task;
    size_t base;  // candidates
    size_t candidate;
  };
  struct Claims {
    Duels duels;
    std::vector<Claim> of;  // the duels
  };
  [[nodiscard]] Part part_of(size_t task, const std::vector<uint64_t>& sizes) const;
  [[nodiscard]] std::vector<Part> more() const;
  int find(Clock::time_point end);
  [[nodiscard]] Claims claims() const;
  int confirm(double seconds);
  int measure(const std::vector<Part>& parts, double seconds);
  int measure(const Part& part, double seconds, bool again, std::vector<SizeFindings>& found);
  void add(size_t task, const std::vector<SizeFindings>& sizes);

  const Spec& spec_;
  const bool deterministic_;
  const LoadedPolicy& loaded_;
  const std::vector<Task>& tasks_;
  const PolicyFiles files_;
  std::vector<std::vector<std::string>> arms_;  // files, by task
  ProgressLine* line_ = nullptr;
  std::vector<Tuned> tuned_;
};

}  // namespace weft::tools
