// SPDX-License-Identifier: Apache-2.0
#include "comm/experiment_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/op_names.hpp"
#include "config/experiment.hpp"
#include "config/policy_text.hpp"

namespace weft::comm {
namespace {

using nlohmann::ordered_json;

constexpr int kForm = 1;  // of the file

/// Of an arm, for those calls of its experiment that are like the ones that were measured.
std::string rule_text(const config::Experiment& about, const config::Rule& arm, uint32_t ranks,
                      config::Range bytes) {
  config::Rule rule = about.calls;
  rule.ranks = {ranks, ranks};
  if (config::why_meaningless("bytes", rule.op).empty() && bytes.first <= bytes.last) {
    rule.bytes = bytes;
  }
  rule.use = arm.use;
  rule.params = arm.params;
  return config::toml_of(rule);
}

std::string arm_line(const ExperimentReport::Arm& arm, const stats::ArmTimes& times, bool first) {
  std::string text = fmt::format("\n  {}: {} calls", arm.name, arm.calls);
  if (times.blocks != 0) {
    text += fmt::format(", median {:.3f} us, mean {:.3f} +- {:.3f} us", times.median_us,
                        times.mean_us.value, times.mean_us.half_width);
    if (!first) {
      text += fmt::format(", {:.3f} ({:.3f} to {:.3f}) times the first", times.ratio.median,
                          times.ratio.low, times.ratio.high);
    }
  }
  return arm.off.empty() ? text : text + fmt::format("; left out of some calls: {}", arm.off);
}

/// A line for each of the first kinds of calls.
std::string kinds(const ExperimentReport& report) {
  constexpr uint32_t kMostLines = 16;
  const auto arms = static_cast<uint32_t>(report.arms.size());
  std::string text;
  for (uint32_t number = 0; number < std::min<size_t>(report.series.size(), kMostLines); ++number) {
    std::vector<stats::Block> own;
    for (const stats::Block& each : report.blocks) {
      if (each.series == number) own.push_back(each);
    }
    const stats::Judgement found = stats::judge(arms, own);
    text += fmt::format("\n    {}:", report.series[number]);
    for (uint32_t i = 0; i < arms; ++i) {
      text += found.arms[i].blocks == 0
                  ? fmt::format(" {} -,", report.arms[i].name)
                  : fmt::format(" {} {:.3f} us,", report.arms[i].name, found.arms[i].median_us);
    }
    text += found.faster ? fmt::format(" {} is the fastest", report.arms[*found.faster].name)
                         : " no verdict";
  }
  return report.series.size() <= kMostLines
             ? text
             : text + fmt::format("\n    and {} more", report.series.size() - kMostLines);
}

}  // namespace

ExperimentReport report_of(const ExperimentTimes& times, const ExperimentSite& site) {
  const config::Experiment& about = times.experiment();
  ExperimentTimes::Snapshot found = times.snapshot();
  ExperimentReport report;
  report.experiment = about.name;
  report.place = fmt::format("{}:{}", site.policy, about.calls.place.line);
  report.communicator = site.communicator;
  report.id = fmt::format("{}-{:016x}", about.name, site.id);
  report.rank = site.rank;
  report.ranks = site.ranks;
  report.op = operation_name(about.calls.op);
  report.block = about.block;
  for (size_t i = 0; i < about.arms.size(); ++i) {
    report.arms.push_back({config::text_of(about.arms[i]),
                           rule_text(about, about.arms[i].rule, site.ranks, found.bytes),
                           found.calls[i], found.off[i]});
  }
  for (const CallKey& key : found.series) report.series.push_back(describe(key));
  report.blocks = std::move(found.blocks);
  return report;
}

std::string rule_of(const ExperimentReport& report, const stats::Judgement& found) {
  if (!found.faster || !report.arms[*found.faster].off.empty()) return {};
  return report.arms[*found.faster].rule;
}

std::string text_of(const ExperimentReport& report, const std::string& whose) {
  const auto arms = static_cast<uint32_t>(report.arms.size());
  const stats::Judgement found = stats::judge(arms, report.blocks);
  const std::string own = fmt::format("rank {} of {}", report.rank, report.ranks);
  std::string text = fmt::format(
      "experiment \"{}\" ({}) on communicator {}: {}, by the times of {}", report.experiment,
      report.place, report.communicator, report.op, whose.empty() ? own : whose);
  for (uint32_t i = 0; i < arms; ++i) text += arm_line(report.arms[i], found.arms[i], i == 0);
  if (found.depends) {
    text += "\n  which is the fastest depends on the kind of call";
  } else if (!found.faster) {
    text += fmt::format("\n  no verdict after {} rounds", found.rounds);
  } else {
    text += fmt::format("\n  {} is the fastest, after {} rounds", report.arms[*found.faster].name,
                        found.rounds);
    // Elsewhere a rank may be done long before the others are.
    const auto op = parse_operation(report.op);
    if (whose.empty() && op && !depends_on_all(*op)) text += "; other ranks may see it otherwise";
  }
  return found.depends || report.series.size() > 1 ? text + kinds(report) : text;
}

std::string json_of(const ExperimentReport& report) {
  ordered_json json = {{"form", kForm},         {"experiment", report.experiment},
                       {"place", report.place}, {"communicator", report.communicator},
                       {"id", report.id},       {"rank", report.rank},
                       {"ranks", report.ranks}, {"op", report.op},
                       {"block", report.block}};
  json["arms"] = ordered_json::array();
  for (const ExperimentReport::Arm& arm : report.arms) {
    json["arms"].push_back(
        {{"name", arm.name}, {"rule", arm.rule}, {"calls", arm.calls}, {"off", arm.off}});
  }
  json["series"] = report.series;
  json["blocks"] = ordered_json::array();  // series, round, arm, paired, microseconds of a call
  for (const stats::Block& each : report.blocks) {
    json["blocks"].push_back({each.series, each.round, each.arm, each.paired, each.us});
  }
  return json.dump();
}

ExperimentReport parse_report(const std::string& text, const std::string& file) {
  const auto fail = [&](const std::string& what) {
    return Error(HCCL_E_PARA, fmt::format("{} is no report of an experiment: {}", file, what));
  };
  try {
    const ordered_json json = ordered_json::parse(text);
    if (json.at("form") != kForm) throw fail("it is of another version");
    ExperimentReport report;
    json.at("experiment").get_to(report.experiment);
    json.at("place").get_to(report.place);
    json.at("communicator").get_to(report.communicator);
    json.at("id").get_to(report.id);
    json.at("rank").get_to(report.rank);
    json.at("ranks").get_to(report.ranks);
    json.at("op").get_to(report.op);
    json.at("block").get_to(report.block);
    for (const ordered_json& arm : json.at("arms")) {
      report.arms.push_back({arm.at("name"), arm.at("rule"), arm.at("calls"), arm.at("off")});
    }
    json.at("series").get_to(report.series);
    for (const ordered_json& each : json.at("blocks")) {
      const stats::Block block{each.at(0), each.at(1), each.at(2), each.at(3), each.at(4)};
      if (block.arm >= report.arms.size() || block.series >= report.series.size() ||
          block.us <= 0) {
        throw fail("a block is of an arm or series that is not there, or took no time");
      }
      report.blocks.push_back(block);
    }
    if (report.rank >= report.ranks) throw fail("there is no such rank");
    const bool counts = std::ranges::all_of(json.at("arms"), [](const ordered_json& arm) {
      return arm.at("calls").is_number_unsigned();
    });
    const bool whole = json.at("rank").is_number_unsigned() &&
                       json.at("ranks").is_number_unsigned() &&
                       json.at("block").is_number_unsigned() && report.block != 0;
    if (!counts || !whole) throw fail("what it counts must be whole numbers");
    return report;
  } catch (const nlohmann::json::parse_error& error) {
    throw fail(fmt::format("it is not JSON from byte {} on", error.byte));
  } catch (const nlohmann::json::exception& error) {
    const std::string what = error.what();  // "[json.exception.out_of_range.403] key 'x' not found"
    const size_t id = what.find("] ");
    throw fail(id == std::string::npos ? what : what.substr(id + 2));
  }
}

}  // namespace weft::comm
