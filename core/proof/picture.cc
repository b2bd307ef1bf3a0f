// SPDX-License-Identifier: Apache-2.0
#include "proof/picture.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/op_names.hpp"
#include "schedule/dump.hpp"

namespace weft::proof {
namespace {

using schedule::Event;
using schedule::Schedule;
using schedule::Step;

constexpr uint32_t kMostRanks = 4;
constexpr uint32_t kMostRows = 28;  // more are left out, but for those around the fault
constexpr uint32_t kAround = 5;
constexpr size_t kLineWidth = 140;
constexpr size_t kMostText = 46;  // of a column

/// a, b, ..., z, aa, ab, ...
std::string letters(size_t number) {
  std::string text(1, static_cast<char>('a' + number % 26));
  return number < 26 ? text : letters(number / 26 - 1) + text;
}

std::string clipped(const std::string& text, size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 2) + "..";
}

/// What the lines of a column are made from.
struct Cell {
  bool marked = false;
  std::string number;
  std::string text;
  std::string arrow;
};

class Drawing {
 public:
  explicit Drawing(const CounterExample& found)
      : found_(found),
        time_(timeline(found.schedules, found.calls)),
        ranks_(shown_ranks(found, kMostRanks)) {
    for (const Event& event : found.report.evidence.events) {
      if (const Mark* mark = time_.find(event)) faults_.insert(mark);
    }
    for (const uint32_t r : ranks_) {
      for (const Mark& mark : time_.ranks[r]) {
        if (mark.meeting != 0) ++ends_[mark.meeting];
      }
    }
  }

  std::string text();

 private:
  [[nodiscard]] std::vector<bool> rows_to_show() const;
  Cell cell(uint32_t rank, const Mark& mark);
  std::string caller_text(const Mark& mark) const;
  std::string arrow(const Step& step, const Mark& mark);
  [[nodiscard]] std::string line(const std::vector<Cell>& cells) const;

  const CounterExample& found_;
  const Timeline time_;
  const std::vector<uint32_t> ranks_;
  std::set<const Mark*> faults_;
  std::map<uint32_t, uint32_t> ends_;      // of a meeting: how many of its two are shown
  std::map<uint32_t, std::string> names_;  // of meetings
  size_t text_width_ = 0;
};

std::vector<bool> Drawing::rows_to_show() const {
  std::vector<bool> used(time_.rows, false);
  for (const uint32_t r : ranks_) {
    for (const Mark& mark : time_.ranks[r]) used[mark.row] = true;
  }
  if (std::count(used.begin(), used.end(), true) <= kMostRows) return used;
  std::vector<bool> near(time_.rows, false);
  for (const Mark* fault : faults_) {
    const uint32_t first = fault->row - std::min(fault->row, kAround);
    const uint32_t last = std::min(fault->row + kAround, time_.rows - 1);
    for (uint32_t row = first; row <= last; ++row) near[row] = used[row];
  }
  return near;
}

std::string Drawing::caller_text(const Mark& mark) const {
  const std::string before = std::to_string(mark.call - 1);
  const std::string begins = std::to_string(mark.call);
  if (mark.call == 1) return "-- call 1 --";
  if (mark.call > found_.calls) return "-- call " + before + " ends --";
  return "-- call " + before + " ends, " + begins + " begins --";
}

std::string Drawing::arrow(const Step& step, const Mark& mark) {
  const bool signal = step.verb == WEFT_VERB_SIGNAL;
  if (!signal && step.verb != WEFT_VERB_WAIT) return "";
  if (mark.meeting == 0) return signal ? "->?" : "?->";
  if (ends_[mark.meeting] < 2) return "";
  const auto [name, is_new] = names_.try_emplace(mark.meeting, letters(names_.size()));
  return signal ? name->second + "->" : "->" + name->second;
}

Cell Drawing::cell(uint32_t rank, const Mark& mark) {
  const bool marked = faults_.contains(&mark);
  if (mark.step == schedule::kCallerStep) return {marked, "", caller_text(mark), ""};
  const Schedule& program = found_.schedules[rank];
  const Step& step = program.steps[mark.step];
  return {marked, std::to_string(mark.step), dump_step(program, step, 3), arrow(step, mark)};
}

std::string Drawing::line(const std::vector<Cell>& cells) const {
  std::string text;
  for (const Cell& each : cells) {
    std::string column = each.marked ? " ! " : "   ";
    column += std::string(3 - std::min<size_t>(3, each.number.size()), ' ') + each.number + " ";
    column += clipped(each.text, text_width_);
    column.resize(3 + 4 + text_width_ + 1, ' ');
    column += each.arrow;
    column.resize(3 + 4 + text_width_ + 1 + 5, ' ');
    text += (text.empty() ? " " : "|") + column;
  }
  return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
}

std::string Drawing::text() {
  std::vector<std::vector<Cell>> lines(time_.rows, std::vector<Cell>(ranks_.size()));
  const std::vector<bool> shown = rows_to_show();
  for (size_t column = 0; column < ranks_.size(); ++column) {
    for (const Mark& mark : time_.ranks[ranks_[column]]) {
      if (!shown[mark.row]) continue;
      lines[mark.row][column] = cell(ranks_[column], mark);
      text_width_ = std::max(text_width_, lines[mark.row][column].text.size());
    }
  }
  text_width_ = std::min({text_width_, kMostText, kLineWidth / ranks_.size() - 14});
  std::vector<Cell> head;
  for (const uint32_t r : ranks_) head.push_back({false, "", "rank " + std::to_string(r), ""});
  std::string text = line(head);
  bool gap = false;
  for (uint32_t row = 0; row < time_.rows; ++row) {
    if (!shown[row]) {
      gap = true;
      continue;
    }
    if (gap) text += "      ...\n";
    gap = false;
    text += line(lines[row]);
  }
  return text;
}

}  // namespace

std::string describe(const plugin::Algorithm& algorithm, const CounterExample& found) {
  std::string text = std::to_string(found.of.ranks) + " ranks";
  const uint32_t op = algorithm.table.op;
  if (has_root(op)) text += ", root " + std::to_string(found.of.root);
  for (size_t i = 0; i < algorithm.params.size(); ++i) {
    const plugin::Param& param = algorithm.params[i];
    text += ", " + param.name + " = " + plugin::value_text(param, found.of.params[i]);
  }
  const bool has_run = found.schedules.size() == found.of.ranks;
  if (has_run && schedule::has_placements(op)) {
    text += std::string(", ") + placement_name(found.report.evidence.placement);
  }
  return text;
}

std::vector<uint32_t> shown_ranks(const CounterExample& found, uint32_t most) {
  const schedule::Evidence& evidence = found.report.evidence;
  std::vector<uint32_t> all;
  const auto add = [&](uint32_t r) {
    if (all.size() < most && std::find(all.begin(), all.end(), r) == all.end()) all.push_back(r);
  };
  for (const Event& event : evidence.events) add(event.rank);
  if (evidence.chunk) add(evidence.chunk->rank);
  for (const uint32_t r : evidence.ranks) add(r);
  const auto ranks = static_cast<uint32_t>(found.schedules.size());
  const bool everybody = ranks <= most || all.empty();
  for (uint32_t r = 0; r < ranks && everybody; ++r) add(r);
  std::sort(all.begin(), all.end());
  return all;
}

std::string draw(const CounterExample& found) {
  if (found.report.evidence.events.empty()) return "";
  return Drawing(found).text();
}

std::string picture(const plugin::Algorithm& algorithm, const CounterExample& found) {
  const schedule::Evidence& evidence = found.report.evidence;
  std::string text = algorithm.name + ", " + std::string(operation_name(algorithm.table.op)) +
                     ", " + describe(algorithm, found) + "\n  " + found.report.text + "\n";
  if (evidence.chunk && !evidence.expected.empty()) {
    const std::string name = schedule::dump_chunk(
        {algorithm.table.op, found.of.ranks, 0, found.of.root}, *evidence.chunk);
    text += "  " + name + " should be: " + evidence.expected + "\n";
    text += "  " + std::string(name.size(), ' ') + "        is: " + evidence.found + "\n";
  }
  const std::string drawn = draw(found);
  if (!drawn.empty()) {
    text +=
        "\n" + drawn +
        "\n  !: the fault; a-> and ->a: a signal and the wait that takes it; ?: there is none.\n";
  }
  const std::string remedy = advice(algorithm, found);
  if (!remedy.empty()) text += "  What to do: " + remedy + (remedy.back() == '?' ? "\n" : ".\n");
  return text;
}

}  // namespace weft::proof
