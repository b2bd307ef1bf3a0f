// SPDX-License-Identifier: Apache-2.0
#include "config/hccl_algo.hpp"

#include <algorithm>
#include <optional>
#include <span>

#include "base/error.hpp"
#include "base/hccl_algo_names.hpp"
#include "config/complain.hpp"

namespace weft::config {
namespace {

using Word = std::string_view;

constexpr std::array<Word, HcclAlgo::kLevels> kLevelNames = {"level0", "level1", "level2",
                                                             "level3"};
constexpr std::array<Word, HcclAlgo::kOperators> kOperatorNames = {
    "broadcast",     "allreduce", "reduce", "send",    "receive", "allgather",
    "reducescatter", "alltoall",  "gather", "scatter", "sendrecv"};
constexpr Word kOpen = "NA";
constexpr Word kNull = "null";

/// The operations of the policy, and the operator that speaks for each. A barrier has none.
struct Operation {
  Word name;
  Word spoken_for_by;
};
constexpr std::array<Operation, 10> kOperations = {{{"all_reduce", "allreduce"},
                                                    {"broadcast", "broadcast"},
                                                    {"all_gather", "allgather"},
                                                    {"all_gather_v", "allgather"},
                                                    {"reduce_scatter", "reducescatter"},
                                                    {"reduce_scatter_v", "reducescatter"},
                                                    {"all_to_all", "alltoall"},
                                                    {"all_to_all_v", "alltoall"},
                                                    {"reduce", "reduce"},
                                                    {"scatter", "scatter"}}};

constexpr auto all_algorithms() {
  std::array<Word, kHcclAlgoNames.size() + 2> names{};
  std::copy(kHcclAlgoNames.begin(), kHcclAlgoNames.end(), names.begin());
  names[kHcclAlgoNames.size()] = kOpen;
  names[kHcclAlgoNames.size() + 1] = kNull;
  return names;
}
constexpr auto kAlgorithms = all_algorithms();

std::optional<std::size_t> index_of(Word name, std::span<const Word> names) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

std::string in_quotes(Word text) { return '"' + std::string(text) + '"'; }

bool chooses(Word algorithm) {
  return !algorithm.empty() && algorithm != kOpen && algorithm != kNull;
}

bool has_algorithms(Word hccl_operator) {
  return std::any_of(kOperations.begin(), kOperations.end(),
                     [&](const Operation& each) { return each.spoken_for_by == hccl_operator; });
}

/// Reads one text. Its parts are views into a copy without spaces, so that the place of each in the
/// text as it was written is known.
class Parser {
 public:
  Parser(Word text, HcclAlgoSource source) : text_(text), source_(source) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == ' ') continue;
      letters_ += text[i];
      columns_.push_back(i + 1);
    }
    result_.from = source == HcclAlgoSource::kVariable ? "HCCL_ALGO" : "hcclAlgo";
  }

  HcclAlgo parse() {
    if (letters_.empty() || text_ == "EmptyString") return result_;
    result_.given = true;
    const std::vector<Word> items = split(letters_, '/');
    for (const Word item : items) read_item(item, items.size() == 1);
    return std::move(result_);
  }

 private:
  [[noreturn]] void fail(Word at, const std::string& what) const {
    const bool variable = source_ == HcclAlgoSource::kVariable;
    throw Error(HCCL_E_PARA,
                (variable ? "environment variable HCCL_ALGO=" : "HcclCommConfig.hcclAlgo=") +
                    in_quotes(text_) + ": " + place(at) + what);
  }
  [[nodiscard]] std::string place(Word at) const {
    const auto index = static_cast<std::size_t>(at.data() - letters_.data());
    return "column " + std::to_string(columns_[index]) + ": ";
  }

  std::vector<Word> split(Word whole, char separator) const;
  void read_item(Word item, bool alone);
  HcclAlgo::Levels read_levels(Word text, bool of_operator) const;
  void read_level(Word text, bool of_operator, HcclAlgo::Levels& levels) const;
  void warn_of_level1(Word text, Word hccl_operator, const HcclAlgo::Levels& levels);

  const Word text_;
  const HcclAlgoSource source_;
  std::string letters_;
  std::vector<std::size_t> columns_;  // in text_, by letter
  HcclAlgo result_;
  std::array<bool, HcclAlgo::kOperators> seen_{};
};

// No part is empty: a separator stands between two things.
std::vector<Word> Parser::split(Word whole, char separator) const {
  const std::string quoted = in_quotes(Word(&separator, 1));
  std::vector<Word> parts;
  for (std::size_t first = 0;;) {
    const std::size_t end = std::min(whole.find(separator, first), whole.size());
    parts.push_back(whole.substr(first, end - first));
    if (parts.back().empty()) {
      const bool last = end == whole.size();
      const Word at = whole.substr(last ? end - 1 : end, 1);
      fail(at, quoted + (last ? " with nothing after it" : " with nothing before it"));
    }
    if (end == whole.size()) return parts;
    first = end + 1;
  }
}

void Parser::read_item(Word item, bool alone) {
  const std::vector<Word> sides = split(item, '=');
  if (sides.size() > 2) {
    fail(sides[2], "a second \"=\" in one item; items are separated by \"/\"");
  }
  if (sides.size() == 1) {
    if (!alone) {
      fail(item,
           "levels for all operators must stand alone; with several items each is "
           "operator=levels");
    }
    result_.levels.fill(read_levels(item, false));
    warn_of_level1(item, "", result_.levels.front());
    return;
  }
  const Word name = sides[0];
  const HcclAlgo::Levels levels = read_levels(sides[1], true);
  const auto index = index_of(name, kOperatorNames);
  if (!index) {
    const std::string what = "unknown operator " + in_quotes(name);
    if (source_ == HcclAlgoSource::kVariable) fail(name, what + suggestion(name, kOperatorNames));
    result_.warnings.push_back("HcclCommConfig.hcclAlgo: " + place(name) + what + " is ignored" +
                               suggestion(name, kOperatorNames));
    return;
  }
  if (seen_[*index]) fail(name, "operator " + in_quotes(name) + " is there twice");
  seen_[*index] = true;
  result_.levels[*index] = levels;
  if (chooses(levels[0]) && !has_algorithms(name)) {
    result_.warnings.push_back(std::string(result_.from) + ": level0:" + std::string(levels[0]) +
                               " is ignored for " + std::string(name) +
                               ", which has no algorithms to choose from");
  }
  warn_of_level1(item, name, levels);
}

HcclAlgo::Levels Parser::read_levels(Word text, bool of_operator) const {
  const std::vector<Word> parts = split(text, ';');
  if (parts.size() > HcclAlgo::kLevels) {
    fail(parts[HcclAlgo::kLevels], "more than 4 levels; there are level0 to level3");
  }
  HcclAlgo::Levels levels{};
  for (const Word part : parts) read_level(part, of_operator, levels);
  if (levels[1] == "AHC") levels[2] = levels[1];
  return levels;
}

void Parser::read_level(Word text, bool of_operator, HcclAlgo::Levels& levels) const {
  const std::vector<Word> sides = split(text, ':');
  if (sides.size() != 2) {
    fail(text, in_quotes(text) + " is not level:algorithm; levels are separated by \";\"");
  }
  const auto level = index_of(sides[0], kLevelNames);
  if (!level) {
    fail(sides[0], "unknown level " + in_quotes(sides[0]) + suggestion(sides[0], kLevelNames));
  }
  if (!levels[*level].empty()) fail(sides[0], std::string(sides[0]) + " is there twice");
  const auto algorithm = index_of(sides[1], kAlgorithms);
  if (!algorithm) {
    fail(sides[1], "unknown algorithm " + in_quotes(sides[1]) + suggestion(sides[1], kAlgorithms));
  }
  if (of_operator && *level == 0 && sides[1] == kNull) {
    fail(sides[1], "level0 of an operator cannot be null; write NA to leave the choice open");
  }
  levels[*level] = kAlgorithms[*algorithm];
}

void Parser::warn_of_level1(Word text, Word hccl_operator, const HcclAlgo::Levels& levels) {
  const Word asked = levels[1];
  if ((asked != "fullmesh" && asked != "pairwise") || hccl_operator == "alltoall") return;
  result_.warnings.push_back(
      std::string(result_.from) + ": " + place(text) + "level1:" + std::string(asked) +
      " is ignored for " +
      (hccl_operator.empty() ? "all operators but alltoall" : std::string(hccl_operator)));
}

std::string text_of(const HcclAlgo::Levels& levels) {
  std::string text;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (!chooses(levels[i])) continue;
    text.append(text.empty() ? "" : ";").append(kLevelNames[i]).append(":").append(levels[i]);
  }
  return text;
}

}  // namespace

Wish HcclAlgo::level0(std::string_view operation) const {
  for (const Operation& each : kOperations) {
    if (each.name != operation) continue;
    const std::string_view asked = levels[*index_of(each.spoken_for_by, kOperatorNames)][0];
    return chooses(asked) ? Wish{asked, from} : Wish{};
  }
  return {};
}

std::vector<std::string_view> HcclAlgo::level0_names() const {
  std::vector<std::string_view> names;
  for (const Operation& each : kOperations) {
    const std::string_view name = level0(each.name).name;
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(name);
    }
  }
  return names;
}

bool HcclAlgo::beyond_a_host() const {
  return std::any_of(levels.begin(), levels.end(), [](const Levels& each) {
    return std::any_of(each.begin() + 1, each.end(), chooses);
  });
}

std::string HcclAlgo::canonical() const {
  const bool global = std::all_of(levels.begin(), levels.end(), [&](const Levels& each) {
    return text_of(each) == text_of(levels.front());
  });
  std::string text;
  for (std::size_t i = 0; i < levels.size() && !global; ++i) {
    const std::string of_operator = text_of(levels[i]);
    if (of_operator.empty()) continue;
    text.append(text.empty() ? "" : "/").append(kOperatorNames[i]).append("=").append(of_operator);
  }
  if (global) text = text_of(levels.front());
  return text.empty() ? "built-in" : text;
}

HcclAlgo parse_hccl_algo(std::string_view text, HcclAlgoSource source) {
  HcclAlgo made = Parser(text, source).parse();
  made.as_given = text;
  return made;
}

}  // namespace weft::config
