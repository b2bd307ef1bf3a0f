// SPDX-License-Identifier: Apache-2.0
// Tells what a communicator's experiments have found: at its end, and when somebody asks by
// SIGUSR1.
#pragma once

#include <filesystem>
#include <vector>

#include "comm/experiment_report.hpp"
#include "comm/experiments.hpp"

namespace weft::comm {

class ExperimentReporter {
 public:
  /// `folder`: for a file of each rank and experiment; empty: none. The experiments must outlive
  /// it.
  ExperimentReporter(const Experiments& experiments, ExperimentSite site,
                     std::filesystem::path folder);
  ~ExperimentReporter();
  ExperimentReporter(const ExperimentReporter&) = delete;
  ExperimentReporter& operator=(const ExperimentReporter&) = delete;

  /// Rank 0 logs a text; every rank writes its files, each whole or not at all. Any thread. What
  /// goes wrong is logged. Nothing in a forked child, whose communicator it is not.
  void tell() const noexcept;

  [[nodiscard]] std::vector<ExperimentReport> reports() const;

 private:
  void write(const ExperimentReport& report) const;

  const Experiments& experiments_;
  const ExperimentSite site_;
  const std::filesystem::path folder_;
  const int pid_;
};

}  // namespace weft::comm
