// SPDX-License-Identifier: Apache-2.0
#include "bench/report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/names.hpp"
#include "bench/machine.hpp"

namespace weft::tools {
namespace {

std::string_view type_column(const Spec& spec) {
  return spec.op == Op::kBarrier ? "-" : type_name(spec.type);
}

std::string_view op_column(const Spec& spec) {
  return facts(spec.op).reduces() ? op_name(spec.reduce_op) : "-";
}

// "mesh.two_shot chosen by /etc/weft/policy.toml:12; in: heap, out: heap"
std::string reason_of(const Row& row) {
  return fmt::format("{} chosen by {}; in: {}, out: {}", row.call.algorithm, row.call.source,
                     weft_way_name(row.call.in_way), weft_way_name(row.call.out_way));
}

// 10^9 bytes a second.
double bandwidth(const Row& row) { return double(row.shape.bytes) / (row.median_us * 1e3); }

}  // namespace

Report::Report(const Spec& spec, bool json) : spec_(spec), json_(json) {}

void Report::begin() {
  if (json_) return;
  fmt::print("# {}: {} {}, {} memory{}{}, on {}\n", facts(spec_.op).name, spec_.ranks,
             spec_.threads ? "threads" : "processes", kMemoryNames[size_t(spec_.memory)],
             spec_.in_place ? ", in place" : "", spec_.bind ? ", bound" : "", machine_text());
  fmt::print("# time of one {} on the slowest rank, over batches of calls{}; GB/s = 10^9 bytes/s\n",
             trips(spec_) == 2 ? "way, half of a ping-pong," : "call",
             spec_.queue == 1 ? "" : fmt::format(", {} queued at a time", spec_.queue));
  fmt::print("{:>10} {:>10} {:>7} {:>4}  {:<22} {:>11} {:>11} {:>11} {:>8} {:>8} {:>7}", "bytes",
             "count", "type", "op", "algorithm", "min us", "median us", "max us", "GB/s",
             "bus GB/s", "wrong");
  fmt::print("{}{}\n", spec_.limit ? fmt::format(" {:>11} {:>7}", "limit us", "ratio") : "",
             spec_.overlap ? fmt::format(" {:>8}", "hidden") : "");
  std::fflush(stdout);
}

void Report::add(const Row& row) {
  rows_.push_back(row);
  wrong_ += row.wrong;
  if (json_) return;
  if (rows_.size() < 2 || reason_of(row) != reason_of(*(rows_.end() - 2))) {
    fmt::print("# {}\n", reason_of(row));
  }
  fmt::print(
      "{:>10} {:>10} {:>7} {:>4}  {:<22} {:>11.2f} {:>11.2f} {:>11.2f} {:>8.3f} {:>8.3f} "
      "{:>7}{}{}\n",
      row.shape.bytes, row.shape.count, type_column(spec_), op_column(spec_), row.call.algorithm,
      row.min_us, row.median_us, row.max_us, bandwidth(row), bandwidth(row) * bus_factor(spec_),
      spec_.check ? std::to_string(row.wrong) : "-",
      spec_.limit ? fmt::format(" {:>11.2f} {:>7.2f}", row.limit_us, row.median_us / row.limit_us)
                  : "",
      spec_.overlap ? fmt::format(" {:>7.0f}%", row.hidden * 100) : "");
  std::fflush(stdout);
}

void Report::end(const std::string& error) {
  if (json_) return print_json(error);
  if (rows_.empty()) return;
  std::string calls;
  for (uint32_t way = 0; way < WEFT_WAY_COUNT; ++way) {
    const uint64_t count = rows_.back().counters.calls_by_way[way];
    if (count > 0) calls += fmt::format(" {} {}", weft_way_name(way), count);
  }
  fmt::print("# calls of rank 0 by the slowest way of a buffer:{}\n", calls);
  const bool shared = std::ranges::any_of(rows_, [](const Row& row) {
    return std::string_view(row.call.source).find("(experiment ") != std::string_view::npos;
  });
  if (shared) {
    fmt::print(
        "# an experiment of the policy shares out the calls: an algorithm named above did some "
        "of them\n");
  }
}

void Report::print_json(const std::string& error) const {
  auto results = nlohmann::ordered_json::array();
  for (const Row& row : rows_) {
    nlohmann::ordered_json result = {{"bytes", row.shape.bytes},
                                     {"count", row.shape.count},
                                     {"type", type_column(spec_)},
                                     {"op", op_column(spec_)},
                                     {"algorithm", row.call.algorithm},
                                     {"source", row.call.source},
                                     {"in_way", weft_way_name(row.call.in_way)},
                                     {"out_way", weft_way_name(row.call.out_way)},
                                     {"calls_per_batch", row.calls},
                                     {"batches", row.batches},
                                     {"min_us", row.min_us},
                                     {"median_us", row.median_us},
                                     {"max_us", row.max_us},
                                     {"algorithm_gbps", bandwidth(row)},
                                     {"bus_gbps", bandwidth(row) * bus_factor(spec_)},
                                     {"wrong", nullptr}};
    if (spec_.check) result["wrong"] = row.wrong;
    if (spec_.limit) result["limit_us"] = row.limit_us;
    if (spec_.overlap) result["hidden"] = row.hidden;
    results.push_back(result);
  }
  auto calls = nlohmann::ordered_json::object();
  for (uint32_t way = 0; !rows_.empty() && way < WEFT_WAY_COUNT; ++way) {
    calls[weft_way_name(way)] = rows_.back().counters.calls_by_way[way];
  }
  nlohmann::ordered_json document = {{"operation", facts(spec_.op).name},
                                     {"ranks", spec_.ranks},
                                     {"mode", spec_.threads ? "threads" : "processes"},
                                     {"memory", kMemoryNames[size_t(spec_.memory)]},
                                     {"in_place", spec_.in_place},
                                     {"bound", spec_.bind},
                                     {"queue", spec_.queue},
                                     {"machine", machine_json()},
                                     {"calls_by_way", calls},
                                     {"results", results}};
  if (facts(spec_.op).root()) document["root"] = spec_.root;
  if (!error.empty()) document["error"] = error;
  fmt::print("{}\n", document.dump(2));
}

}  // namespace weft::tools
