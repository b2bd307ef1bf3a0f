// SPDX-License-Identifier: Apache-2.0
#include "arms/report.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/experiment_report.hpp"
#include "options.hpp"

namespace weft::tools {
namespace {

namespace fs = std::filesystem;
using comm::ExperimentReport;

constexpr const char* kUsageLine = "weft ab report FOLDER|FILE...";
constexpr const char* kAbout =
    R"(Tells what the experiments of a policy have found on live calls, from the files that programs
wrote with WEFT_EXPERIMENTS=FOLDER: at the end of each communicator, or when SIGUSR1 asked for them.
The files of all ranks are put together: the time of a block of calls is that of its slowest rank.

Where one arm is the fastest, the rule that a policy needs in place of the experiment follows.

Exit code: 0 with or without a verdict, 1 if a file cannot be read or is no report, 2 for a wrong
command line.)";

std::string read(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream)
    throw Failure(fmt::format("cannot read {}: {}", file.string(), std::strerror(errno)));
  return text;
}

std::vector<fs::path> files_of(const Words& given) {
  std::vector<fs::path> files;
  for (const std::string& each : given) {
    std::error_code error;
    if (!fs::is_directory(each, error)) {
      files.emplace_back(each);
      continue;
    }
    const size_t before = files.size();
    for (const auto& entry : fs::directory_iterator(each)) {
      if (entry.path().extension() == ".json") files.push_back(entry.path());
    }
    if (files.size() == before)
      throw Failure(fmt::format("there is no report (*.json) in {}", each));
  }
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

/// By experiment and communicator, by rank.
using Groups = std::map<std::string, std::map<uint32_t, ExperimentReport>>;

/// One rank may be some calls behind.
bool is_of_one_run(const ExperimentReport& a, const ExperimentReport& b) {
  const size_t series = std::min(a.series.size(), b.series.size());
  const auto same_arm = [](const ExperimentReport::Arm& x, const ExperimentReport::Arm& y) {
    return x.name == y.name;
  };
  return a.ranks == b.ranks && a.block == b.block && std::ranges::equal(a.arms, b.arms, same_arm) &&
         std::equal(a.series.begin(), a.series.begin() + static_cast<std::ptrdiff_t>(series),
                    b.series.begin());
}

Groups read_all(const Words& given) {
  Groups groups;
  for (const fs::path& file : files_of(given)) {
    try {
      ExperimentReport report = comm::parse_report(read(file), file.string());
      auto& group = groups[report.id];
      const uint32_t rank = report.rank;
      const bool fits = group.empty() || is_of_one_run(group.begin()->second, report);
      if (!fits || !group.emplace(rank, std::move(report)).second) {
        throw Failure(
            fmt::format("{} does not go with the other files of its experiment: they are "
                        "of another run; remove what is old",
                        file.string()));
      }
    } catch (const Error& error) {
      throw Failure(error.what());
    }
  }
  return groups;
}

/// The times of the slowest ranks, in the first rank's report.
ExperimentReport together(const std::map<uint32_t, ExperimentReport>& group) {
  std::vector<std::vector<stats::Block>> blocks;
  for (const auto& [rank, report] : group) blocks.push_back(report.blocks);
  ExperimentReport all = group.begin()->second;
  all.blocks = stats::slowest(blocks);
  return all;
}

std::string whose(const std::map<uint32_t, ExperimentReport>& group) {
  const uint32_t ranks = group.begin()->second.ranks;
  if (group.size() == ranks) return fmt::format("the slowest of {} ranks", ranks);
  const std::string who = group.size() == 1 ? fmt::format("rank {} alone", group.begin()->first)
                                            : fmt::format("the slowest of {} ranks", group.size());
  return fmt::format("{}, of {} ranks: the files of the others are missing", who, ranks);
}

nlohmann::ordered_json json_of(const ExperimentReport& report, size_t files) {
  const auto found = stats::judge(static_cast<uint32_t>(report.arms.size()), report.blocks);
  auto arms = nlohmann::ordered_json::array();
  for (size_t i = 0; i < report.arms.size(); ++i) {
    const stats::ArmTimes& times = found.arms[i];
    arms.push_back(
        {{"arm", report.arms[i].name},
         {"calls", report.arms[i].calls},
         {"off", report.arms[i].off},
         {"median_us", times.median_us},
         {"mean_us", times.mean_us.value},
         {"mean_half_width_us", times.mean_us.half_width},
         {"ratio",
          {{"median", times.ratio.median}, {"low", times.ratio.low}, {"high", times.ratio.high}}}});
  }
  nlohmann::ordered_json json = {{"experiment", report.experiment},
                                 {"place", report.place},
                                 {"communicator", report.communicator},
                                 {"operation", report.op},
                                 {"ranks", report.ranks},
                                 {"ranks_with_files", files},
                                 {"rounds", found.rounds},
                                 {"depends_on_kind_of_call", found.depends},
                                 {"calls_of", report.series},
                                 {"arms", arms},
                                 {"fastest", nullptr},
                                 {"rule", nullptr}};
  if (found.faster) {
    json["fastest"] = report.arms[*found.faster].name;
    const std::string rule = comm::rule_of(report, found);
    if (!rule.empty()) json["rule"] = rule;
  }
  return json;
}

void print_text(const ExperimentReport& report, const std::string& times_of) {
  fmt::print("{}\n", comm::text_of(report, times_of));
  const auto found = stats::judge(static_cast<uint32_t>(report.arms.size()), report.blocks);
  const std::string rule = comm::rule_of(report, found);
  if (!rule.empty()) {
    fmt::print(
        "\nIn place of the experiment, before the other rules of its operation (found with {} "
        "ranks and the calls above):\n\n{}",
        report.ranks, rule);
  } else if (found.faster) {
    fmt::print("\nNo rule follows from it: the arm was left out of some calls\n");
  }
}

}  // namespace

int report_command(const Words& words) {
  bool json = false;
  Options options(kUsageLine, kAbout);
  options.flag("json", "print one JSON document", json);
  if (!options.parse(words)) return kOk;
  if (options.words().empty()) {
    throw UsageError("which files? Give the folder that WEFT_EXPERIMENTS names");
  }
  const Groups groups = read_all(options.words());
  auto document = nlohmann::ordered_json::array();
  bool first = true;
  for (const auto& [id, group] : groups) {
    const ExperimentReport report = together(group);
    if (json) {
      document.push_back(json_of(report, group.size()));
      continue;
    }
    if (!first) fmt::print("\n");
    first = false;
    print_text(report, whose(group));
  }
  if (json) fmt::print("{}\n", document.dump(2));
  return kOk;
}

}  // namespace weft::tools
