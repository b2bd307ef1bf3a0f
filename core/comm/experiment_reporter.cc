// SPDX-License-Identifier: Apache-2.0
#include "comm/experiment_reporter.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <mutex>
#include <system_error>
#include <utility>

#include "base/log.hpp"
#include "control/user_signal.hpp"

namespace weft::comm {
namespace {

namespace fs = std::filesystem;

struct Living {
  std::mutex mutex;
  std::vector<const ExperimentReporter*> all;
};

Living& living() {
  static auto* instance = new Living;  // leaked: the control thread outlives static destructors
  return *instance;
}

void tell_all() {
  const std::lock_guard lock(living().mutex);
  for (const ExperimentReporter* each : living().all) each->tell();
}

}  // namespace

ExperimentReporter::ExperimentReporter(const Experiments& experiments, ExperimentSite site,
                                       fs::path folder)
    : experiments_(experiments),
      site_(std::move(site)),
      folder_(std::move(folder)),
      pid_(getpid()) {
  if (!control::answer_user_signal(tell_all)) {
    log::info("the program has a use for SIGUSR1, so it does not ask for experiments' results");
  }
  const std::lock_guard lock(living().mutex);
  living().all.push_back(this);
}

ExperimentReporter::~ExperimentReporter() {
  const std::lock_guard lock(living().mutex);
  std::erase(living().all, this);
}

std::vector<ExperimentReport> ExperimentReporter::reports() const {
  std::vector<ExperimentReport> all;
  for (const ExperimentTimes* each : experiments_.times()) {
    all.push_back(report_of(*each, site_));
  }
  return all;
}

void ExperimentReporter::write(const ExperimentReport& report) const {
  const fs::path file = folder_ / fmt::format("{}-rank{}.json", report.id, report.rank);
  const fs::path half = file.string() + fmt::format(".{}", getpid());
  std::ofstream stream(half, std::ios::binary);
  stream << json_of(report) << '\n';
  stream.close();
  std::error_code error;
  if (stream) fs::rename(half, file, error);
  if (stream && !error) return;
  fs::remove(half, error);
  log::error(
      fmt::format("the results of experiment \"{}\" cannot be written to {}; see "
                  "WEFT_EXPERIMENTS",
                  report.experiment, file.string()));
}

void ExperimentReporter::tell() const noexcept {
  if (getpid() != pid_) return;
  try {
    for (const ExperimentReport& each : reports()) {
      if (site_.rank == 0) log::tell(text_of(each, fmt::format("rank 0 of {}", site_.ranks)));
      if (!folder_.empty()) write(each);
    }
  } catch (const std::exception& error) {
    log::error(fmt::format("the results of experiments are lost: {}", error.what()));
  }
}

}  // namespace weft::comm
