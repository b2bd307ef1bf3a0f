// SPDX-License-Identifier: Apache-2.0
// Tells what a communicator's experiments have found: at its end, and when somebody asks by
// SIGUSR1.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "comm/experiment_report.hpp"
#include "comm/experiments.hpp"

namespace weft::comm {

class ExperimentReporter {
 public:
  /// `folder`: for a file of each rank and experiment; empty: none.
  ExperimentReporter(std::shared_ptr<const Experiments> experiments, ExperimentSite site,
                     std::filesystem::path folder);
  ~ExperimentReporter();
  ExperimentReporter(const ExperimentReporter&) = delete;
  ExperimentReporter& operator=(const ExperimentReporter&) = delete;

  /// Rank 0 logs a text; every rank writes its files, each whole or not at all. Any thread. What
  /// goes wrong is logged. Nothing in a forked child, whose communicator it is not.
  void tell() const noexcept;

  [[nodiscard]] std::vector<ExperimentReport> reports() const;

 private:
  class Desk;
  const std::shared_ptr<const Desk> desk_;  // shared with who answers SIGUSR1 at the moment
};

}  // namespace weft::comm
