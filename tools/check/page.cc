// SPDX-License-Identifier: Apache-2.0
// The page of `weft check --html`: complete in itself, and well-formed XML.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "base/op_names.hpp"
#include "check/spec.hpp"
#include "proof/picture.hpp"
#include "proof/timeline.hpp"
#include "schedule/dump.hpp"

namespace weft::tools {
namespace {

constexpr uint32_t kMostColumns = 16;
// Pixels.
constexpr int kColumn = 230;
constexpr int kBox = 190;
constexpr int kRow = 24;
constexpr int kLeft = 60;
constexpr int kTop = 30;
constexpr size_t kLetters = 29;  // in a box

constexpr const char* kHead = R"(<!DOCTYPE html>
<html lang="en" xmlns="http://www.w3.org/1999/xhtml">
<head>
<meta charset="utf-8"/>
<title>weft check</title>
<style>
body { font: 15px/1.4 sans-serif; margin: 2em; color: #222; background: #fff; }
pre { background: #f4f4f4; padding: 1em; overflow-x: auto; }
svg text { font: 11px monospace; fill: #222; }
svg .rank { font-weight: bold; font-size: 13px; }
svg .round { fill: #888; }
rect { stroke: #999; fill: #fff; }
rect.copy { fill: #dcecff; }
rect.reduce { fill: #dff5d8; }
rect.signal { fill: #fff3cc; }
rect.wait { fill: #f0e6fa; }
rect.caller { fill: #eee; }
rect.fault { stroke: #d00; stroke-width: 3; }
line { stroke: #c08a00; stroke-width: 1.2; }
line.rule { stroke: #ddd; stroke-dasharray: 4 3; }
.wrong { color: #c00; font-weight: bold; }
.right { color: #070; font-weight: bold; }
div.drawing { overflow-x: auto; }
</style>
</head>
<body>
<h1>weft check</h1>
<svg xmlns="http://www.w3.org/2000/svg" width="0" height="0"><defs>
<marker id="head" markerWidth="8" markerHeight="8" refX="7" refY="3" orient="auto">
<path d="M0,0 L7,3 L0,6 z" fill="#c08a00"/></marker></defs></svg>
<p>A column for each rank, its steps from top to bottom; a line leads from each signal to the wait that takes
it. A step stands as high as the signals before it allow. Left: the rounds, signals in a chain. The whole
step is told when the pointer rests on it.</p>
)";

std::string escaped(const std::string& text) {
  static const std::map<char, std::string> kNames = {
      {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}};
  std::string safe;
  for (const char letter : text) {
    const auto name = kNames.find(letter);
    safe += name == kNames.end() ? std::string(1, letter) : name->second;
  }
  return safe;
}

/// The steps of a case in columns.
class Chart {
 public:
  explicit Chart(const proof::CounterExample& shown)
      : shown_(shown),
        time_(proof::timeline(shown.schedules, shown.calls)),
        ranks_(proof::shown_ranks(shown, kMostColumns)) {
    for (const schedule::Event& event : shown.report.evidence.events) {
      faults_.insert(time_.find(event));
    }
  }

  std::string svg() {
    for (size_t i = 0; i < ranks_.size(); ++i) draw_rank(i);
    const int width = kLeft + kColumn * static_cast<int>(ranks_.size());
    const int height = kTop + kRow * static_cast<int>(time_.rows) + 10;
    return fmt::format(
        "<div class=\"drawing\"><svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" "
        "height=\"{}\">\n"
        "{}{}{}</svg></div>\n",
        width, height, rounds(), lines(), boxes_);
  }

 private:
  struct Point {
    int x = 0;
    int y = 0;
  };
  struct Ends {
    std::vector<Point> signal;
    std::vector<Point> wait;
  };

  static int middle(uint32_t row) { return kTop + kRow * static_cast<int>(row) + kRow / 2; }

  void draw_rank(size_t column) {
    const uint32_t rank = ranks_[column];
    const int x = kLeft + kColumn * static_cast<int>(column);
    boxes_ += fmt::format("<text class=\"rank\" x=\"{}\" y=\"18\">rank {}</text>\n", x, rank);
    for (const proof::Mark& mark : time_.ranks[rank]) draw_step(rank, x, mark);
  }

  void draw_step(uint32_t rank, int x, const proof::Mark& mark) {
    std::string kind = "caller";
    std::string text = mark.call > shown_.calls ? fmt::format("call {} ends", mark.call - 1)
                                                : fmt::format("call {} begins", mark.call);
    if (mark.step != schedule::kCallerStep) {
      const schedule::Schedule& program = shown_.schedules[rank];
      const schedule::Step& step = program.steps[mark.step];
      kind = schedule::verb_name(step.verb);
      text = fmt::format("{} {}", mark.step, dump_step(program, step));
      Ends& ends = meetings_[mark.meeting];
      if (kind == "signal") ends.signal.push_back({x + kBox / 2, middle(mark.row)});
      if (kind == "wait") ends.wait.push_back({x + kBox / 2, middle(mark.row)});
      first_rows_.try_emplace({mark.call, mark.round}, mark.row);
      uint32_t& first = first_rows_[{mark.call, mark.round}];
      first = std::min(first, mark.row);
    }
    if (!mark.reached) text += ": never over";
    const std::string brief = text.size() <= kLetters ? text : text.substr(0, kLetters - 2) + "..";
    boxes_ += fmt::format(
        "<g><title>{}</title><rect class=\"{}{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" "
        "rx=\"3\"/><text x=\"{}\" y=\"{}\">{}</text></g>\n",
        escaped(text), kind, faults_.contains(&mark) ? " fault" : "", x,
        middle(mark.row) - kRow / 2 + 2, kBox, kRow - 4, x + 5, middle(mark.row) + 4,
        escaped(brief));
  }

  /// From the edge of a signal to the edge of its wait; both have the same number.
  [[nodiscard]] std::string lines() const {
    std::string text;
    for (const auto& [number, ends] : meetings_) {
      if (number == 0 || ends.signal.size() != 1 || ends.wait.size() != 1) continue;
      const Point& from = ends.signal[0];
      const Point& to = ends.wait[0];
      const int side = from.x < to.x ? kBox / 2 : -kBox / 2;
      text +=
          fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" marker-end=\"url(#head)\"/>\n",
                      from.x + side, from.y, to.x - side, to.y);
    }
    return text;
  }

  [[nodiscard]] std::string rounds() const {
    std::string text;
    const int width = kLeft + kColumn * static_cast<int>(ranks_.size());
    for (const auto& [key, row] : first_rows_) {
      const int y = middle(row) - kRow / 2;
      text += fmt::format(
          "<line class=\"rule\" x1=\"0\" y1=\"{0}\" x2=\"{1}\" y2=\"{0}\"/>"
          "<text class=\"round\" x=\"2\" y=\"{2}\">round {3}</text>\n",
          y, width, y + 16, key.second);
    }
    return text;
  }

  const proof::CounterExample& shown_;
  const proof::Timeline time_;
  const std::vector<uint32_t> ranks_;
  std::set<const proof::Mark*> faults_;
  std::map<uint32_t, Ends> meetings_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> first_rows_;  // by call and round
  std::string boxes_;
};

/// One right call with about so many ranks.
proof::CounterExample example(const CheckOutcome& outcome, uint32_t ranks) {
  const plugin::Algorithm& algorithm = *outcome.algorithm;
  const auto at = std::find_if(outcome.proved.begin(), outcome.proved.end(),
                               [&](uint32_t n) { return n >= ranks; });
  proof::CounterExample shown;
  shown.of =
      proof::cases(algorithm, at == outcome.proved.end() ? outcome.proved.back() : *at).front();
  shown.schedules = proof::emit(algorithm, shown.of);
  return shown;
}

std::string section(const CheckOutcome& outcome, uint32_t ranks) {
  const plugin::Algorithm& algorithm = *outcome.algorithm;
  std::string text = fmt::format("<h2>{}</h2>\n<p>{}: {}</p>\n", escaped(algorithm.name),
                                 operation_name(algorithm.table.op), escaped(algorithm.summary));
  if (outcome.wrong) {
    text +=
        fmt::format("<p class=\"wrong\">wrong with {} ranks</p>\n<pre>{}</pre>\n",
                    outcome.wrong->of.ranks, escaped(proof::picture(algorithm, *outcome.wrong)));
    const bool complete = outcome.wrong->schedules.size() == outcome.wrong->of.ranks;
    return complete ? text + Chart(*outcome.wrong).svg() : text;
  }
  if (outcome.proved.empty()) return text + "<p>not checked</p>\n";
  const proof::CounterExample shown = example(outcome, ranks);
  text += fmt::format("<p class=\"right\">proved for {} ranks; here with {}</p>\n",
                      rank_list(outcome.proved), shown.of.ranks);
  return text + Chart(shown).svg();
}

}  // namespace

void write_check_page(const std::vector<CheckOutcome>& outcomes, const CheckSpec& spec) {
  std::string page = kHead;
  for (const CheckOutcome& each : outcomes) page += section(each, spec.html_ranks);
  page += "</body>\n</html>\n";
  errno = 0;
  std::error_code ignored;
  const auto there = std::filesystem::status(spec.html, ignored);
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {
    throw Failure(fmt::format("cannot write {}: it is there, and is no file", spec.html));
  }
  std::ofstream file(spec.html, std::ios::binary | std::ios::trunc);
  file << page;
  file.close();
  if (file) return;
  throw Failure(
      fmt::format("cannot write {}: {}", spec.html, std::generic_category().message(errno)));
}

}  // namespace weft::tools
