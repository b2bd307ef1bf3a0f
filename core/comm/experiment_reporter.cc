// SPDX-License-Identifier: Apache-2.0
#include "comm/experiment_reporter.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <mutex>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "control/user_signal.hpp"

namespace weft::comm {

namespace fs = std::filesystem;

class ExperimentReporter::Desk {
 public:
  Desk(std::shared_ptr<const Experiments> experiments, ExperimentSite site, fs::path folder)
      : experiments_(std::move(experiments)),
        site_(std::move(site)),
        folder_(std::move(folder)),
        pid_(getpid()) {}

  [[nodiscard]] bool is_of_this_process() const { return getpid() == pid_; }

  [[nodiscard]] std::vector<ExperimentReport> reports() const {
    std::vector<ExperimentReport> all;
    for (const ExperimentTimes* each : experiments_->times()) {
      all.push_back(report_of(*each, site_));
    }
    return all;
  }

  void tell() const noexcept {
    if (!is_of_this_process()) return;
    try {
      const std::lock_guard lock(mutex_);
      for (const ExperimentReport& each : reports()) {
        if (site_.rank == 0) log::tell(text_of(each));
        if (!folder_.empty()) write(each);
      }
    } catch (const std::exception& error) {
      log::error(fmt::format("the results of experiments are lost: {}", error.what()));
    }
  }

  static void tell_all();
  static void open(const std::shared_ptr<const Desk>& desk);
  static void close(const std::shared_ptr<const Desk>& desk);

 private:
  struct Open {
    std::mutex mutex;  // held for moments: a fork may come at any time
    std::vector<std::shared_ptr<const Desk>> all;
  };
  static Open& all_open() {
    static auto* instance = new Open;  // leaked: the control thread outlives static destructors
    return *instance;
  }

  void write(const ExperimentReport& report) const;

  const std::shared_ptr<const Experiments> experiments_;
  const ExperimentSite site_;
  const fs::path folder_;
  const int pid_;
  mutable std::mutex mutex_;  // one at a time writes a file
};

void ExperimentReporter::Desk::tell_all() {
  std::vector<std::shared_ptr<const Desk>> all;
  {
    const std::lock_guard lock(all_open().mutex);
    all = all_open().all;
  }
  for (const auto& each : all) each->tell();
}

void ExperimentReporter::Desk::open(const std::shared_ptr<const Desk>& desk) {
  const std::lock_guard lock(all_open().mutex);
  all_open().all.push_back(desk);
}

void ExperimentReporter::Desk::close(const std::shared_ptr<const Desk>& desk) {
  if (!desk->is_of_this_process()) return;
  const std::lock_guard lock(all_open().mutex);
  std::erase(all_open().all, desk);
}

void ExperimentReporter::Desk::write(const ExperimentReport& report) const {
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

ExperimentReporter::ExperimentReporter(std::shared_ptr<const Experiments> experiments,
                                       ExperimentSite site, fs::path folder)
    : desk_(std::make_shared<const Desk>(std::move(experiments), std::move(site),
                                         std::move(folder))) {
  try {
    if (!control::answer_user_signal(&Desk::tell_all)) {
      log::info("the program has a use for SIGUSR1, so it does not ask for experiments' results");
    }
  } catch (const Error& error) {
    log::warn(error.what());
  }
  Desk::open(desk_);
}

ExperimentReporter::~ExperimentReporter() { Desk::close(desk_); }

std::vector<ExperimentReport> ExperimentReporter::reports() const { return desk_->reports(); }

void ExperimentReporter::tell() const noexcept { desk_->tell(); }

}  // namespace weft::comm
