// SPDX-License-Identifier: Apache-2.0
// The findings of `weft check` as a table and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/op_names.hpp"
#include "check/spec.hpp"
#include "proof/picture.hpp"
#include "schedule/dump.hpp"

namespace weft::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kColumns = 9;
using TableRow = std::array<std::string, kColumns>;

const TableRow kHead = {"algorithm", "operation", "proved for", "in place", "at",
                        "steps",     "rounds",    "sent",       "result"};

std::string result_text(const CheckOutcome& outcome) {
  if (outcome.wrong) return fmt::format("WRONG with {} ranks", outcome.wrong->of.ranks);
  if (!outcome.no_time.empty()) {
    return fmt::format("no time for {} ranks", rank_list(outcome.no_time));
  }
  if (!outcome.proved.empty()) return "proved";
  const weft_algorithm& table = outcome.algorithm->table;
  return fmt::format("not asked: it serves {}{} ranks", table.min_ranks,
                     table.max_ranks == 0 ? " or more" : fmt::format(" to {}", table.max_ranks));
}

TableRow row_of(const CheckOutcome& outcome) {
  const weft_algorithm& table = outcome.algorithm->table;
  TableRow row = {outcome.algorithm->name,
                  std::string(operation_name(table.op)),
                  rank_list(outcome.proved),
                  schedule::has_placements(table.op) ? "yes" : "-",
                  "-",
                  "-",
                  "-",
                  "-",
                  result_text(outcome)};
  if (outcome.cost_ranks == 0) return row;
  row[4] = std::to_string(outcome.cost_ranks);
  row[5] = std::to_string(outcome.cost.steps);
  row[6] = std::to_string(outcome.cost.rounds);
  row[7] = fmt::format("{:.4g}", outcome.cost.sent);
  return row;
}

Json counter_example(const plugin::Algorithm& algorithm, const proof::CounterExample& found) {
  const schedule::Report& report = found.report;
  Json events = Json::array();
  for (const schedule::Event& event : report.evidence.events) {
    Json one = {{"rank", event.rank}, {"call", event.call}};
    if (event.step == schedule::kCallerStep) {
      one["caller"] = true;
    } else {
      const schedule::Schedule& program = found.schedules[event.rank];
      one["step"] = event.step;
      one["text"] = schedule::dump_step(program, program.steps[event.step]);
    }
    events.push_back(std::move(one));
  }
  Json params = Json::object();
  for (size_t i = 0; i < algorithm.params.size(); ++i) {
    const plugin::Param& param = algorithm.params[i];
    std::visit([&](const auto& value) { params[param.name] = value; },
               plugin::written(param, found.of.params[i]));
  }
  Json made = {{"ranks", found.of.ranks}, {"root", found.of.root},
               {"params", params},        {"placement", placement_name(report.evidence.placement)},
               {"calls", found.calls},    {"fault", fault_name(report.fault)},
               {"text", report.text},     {"events", events}};
  if (report.evidence.chunk) {
    made["chunk"] = schedule::dump_chunk({algorithm.table.op, found.of.ranks, 0, found.of.root},
                                         *report.evidence.chunk);
  }
  if (!report.evidence.expected.empty()) {
    made["expected"] = report.evidence.expected;
    made["found"] = report.evidence.found;
  }
  made["advice"] = proof::advice(algorithm, found);
  made["picture"] = proof::picture(algorithm, found);
  return made;
}

const char* result_word(const CheckOutcome& outcome) {
  if (outcome.wrong) return "wrong";
  if (!outcome.no_time.empty()) return "no time";
  return outcome.proved.empty() ? "not asked" : "proved";
}

/// "47 algorithms are proved.", and what else there is to say.
void print_summary(const std::vector<CheckOutcome>& outcomes) {
  size_t proved = 0;
  size_t wrong = 0;
  uint32_t out_of_time = kMostCheckedRanks + 1;  // the least number of ranks
  for (const CheckOutcome& each : outcomes) {
    wrong += each.wrong ? 1 : 0;
    proved += !each.wrong && !each.proved.empty() ? 1 : 0;
    if (!each.no_time.empty()) out_of_time = std::min(out_of_time, each.no_time.front());
  }
  fmt::print("{} of {} {} proved", proved, outcomes.size(),
             outcomes.size() == 1 ? "algorithm is" : "algorithms are");
  if (wrong > 0) fmt::print(", {} wrong", wrong);
  if (out_of_time <= kMostCheckedRanks) {
    fmt::print("; time ran out: nothing is said about {} ranks and more", out_of_time);
  }
  fmt::print(".\n");
}

}  // namespace

void print_check_table(const std::vector<CheckOutcome>& outcomes) {
  std::vector<TableRow> rows = {kHead};
  for (const CheckOutcome& each : outcomes) rows.push_back(row_of(each));
  std::array<size_t, kColumns> widths{};
  for (const TableRow& row : rows) {
    for (size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const TableRow& row : rows) {
    std::string line;
    for (size_t i = 0; i + 1 < kColumns; ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
    fmt::print("{}{}\n", line, row.back());
  }
  fmt::print(
      "\nsteps, rounds: of a rank in one call, and signals in a chain, with the number of ranks in "
      "\"at\".\nsent: blocks that leave a rank's memory or that it writes to peers, of the rank "
      "with "
      "most.\n\n");
  for (const CheckOutcome& each : outcomes) {
    for (const std::string& note : each.notes) {
      fmt::print("note: {}: {}\n", each.algorithm->name, note);
    }
  }
  for (const CheckOutcome& each : outcomes) {
    if (each.wrong) fmt::print("{}\n", proof::picture(*each.algorithm, *each.wrong));
  }
  print_summary(outcomes);
}

void print_check_json(const std::vector<CheckOutcome>& outcomes) {
  Json all = Json::array();
  for (const CheckOutcome& each : outcomes) {
    const weft_algorithm& table = each.algorithm->table;
    Json one = {{"algorithm", each.algorithm->name},
                {"operation", operation_name(table.op)},
                {"result", result_word(each)},
                {"proved", each.proved},
                {"no_time", each.no_time},
                {"in_place", schedule::has_placements(table.op)},
                {"rank_order", (table.flags & WEFT_ALGORITHM_RANK_ORDER) != 0},
                {"remote_write", (table.flags & WEFT_ALGORITHM_REMOTE_WRITE) != 0}};
    if (each.cost_ranks != 0) {
      one["cost"] = {{"ranks", each.cost_ranks},
                     {"steps", each.cost.steps},
                     {"rounds", each.cost.rounds},
                     {"sent_blocks", each.cost.sent},
                     {"scratch_blocks", each.cost.scratch_blocks}};
    }
    if (!each.notes.empty()) one["notes"] = each.notes;
    if (each.wrong) one["counter_example"] = counter_example(*each.algorithm, *each.wrong);
    all.push_back(std::move(one));
  }
  fmt::print("{}\n", all.dump(2, ' ', false, Json::error_handler_t::replace));
}

}  // namespace weft::tools
