// SPDX-License-Identifier: Apache-2.0
#include "config/difference.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "config/cells.hpp"
#include "config/experiment.hpp"
#include "plugin/registry.hpp"

namespace weft::config {
namespace {

/// Calls that the two policies answer in the same two ways.
struct Piece {
  Conditions calls;
  std::vector<std::string> names;  // of communicators: Cell::name
  std::string first;
  std::string second;
  bool possible = true;  // some of them; others are kept as long as they make sets simple
};

/// What a policy does, and by which line.
std::pair<std::string, std::string> answer(const Policy& policy, const Query& query) {
  try {
    const Choice choice = policy.choose(query);
    const std::string text = text_of(choice);
    return {text, text + " (line " + std::to_string(choice.rule->place.line) + ')'};
  } catch (const Error&) {
    return {"", "nothing: the call fails"};
  }
}

std::string key_of(const Piece& piece) {
  std::string key = text_of(piece.calls) + '\n' + piece.first + '\n' + piece.second;
  for (const std::string& each : piece.names) key += '\n' + each;
  return key;
}

/// Merges pieces that differ in one thing only. `reset` takes that out of a piece, `join` adds that
/// of another one if the two make one set, in the order of `before`.
template <class Reset, class Before, class Join>
void merge(std::vector<Piece>& pieces, Reset reset, Before before, Join join) {
  std::map<std::string, std::vector<Piece>> groups;
  for (const Piece& each : pieces) {
    Piece rest = each;
    reset(rest);
    groups[key_of(rest)].push_back(each);
  }
  pieces.clear();
  for (auto& [key, group] : groups) {
    std::sort(group.begin(), group.end(), before);
    for (Piece& each : group) {
      const bool goes_on = !pieces.empty() && &each != &group.front();
      if (goes_on && join(pieces.back(), each)) {
        pieces.back().possible |= each.possible;
      } else {
        pieces.push_back(std::move(each));
      }
    }
  }
}

void merge_range(std::vector<Piece>& pieces, Range Conditions::*member) {
  merge(
      pieces, [=](Piece& piece) { piece.calls.*member = Range{}; },
      [=](const Piece& a, const Piece& b) {
        return (a.calls.*member).first < (b.calls.*member).first;
      },
      [=](Piece& a, const Piece& b) {
        Range& grown = a.calls.*member;
        if (grown.last + 1 != (b.calls.*member).first) return false;
        grown.last = (b.calls.*member).last;
        return true;
      });
}

void merge_bits(std::vector<Piece>& pieces, uint32_t Conditions::*member) {
  merge(
      pieces, [=](Piece& piece) { piece.calls.*member = 0; },
      [=](const Piece& a, const Piece& b) { return a.calls.*member < b.calls.*member; },
      [=](Piece& a, const Piece& b) {
        a.calls.*member |= b.calls.*member;
        return true;
      });
}

void merge_names(std::vector<Piece>& pieces) {
  merge(
      pieces, [](Piece& piece) { piece.names.clear(); },
      [](const Piece& a, const Piece& b) { return a.names < b.names; },
      [](Piece& a, const Piece& b) {
        a.names.insert(a.names.end(), b.names.begin(), b.names.end());
        return true;
      });
}

std::string joined(std::string text, const std::string& more) {
  return text.empty() ? more : text + ", " + more;
}

std::string calls_text(const Piece& piece, size_t names) {
  Conditions calls = piece.calls;
  std::string text = text_of(calls);
  if (piece.names.size() == names) return text;
  std::string list;
  for (const std::string& each : piece.names) {
    list += (list.empty() ? "" : " ") + (each.empty() ? "others" : '"' + each + '"');
  }
  const bool only = text_of(Conditions()) == text;
  return joined(only ? "" : text, "communicator " + list);
}

/// What text_of leaves out: all of what there is.
void widen(Conditions& calls, uint32_t all_types, uint32_t all_reductions) {
  if (calls.types == all_types) calls.types = kAny;
  if (calls.reduce_ops == all_reductions) calls.reduce_ops = kAny;
}

}  // namespace

std::string text_of(const Choice& choice) {
  std::string params;
  const plugin::Algorithm& algorithm = *choice.algorithm;
  for (size_t i = 0; i < algorithm.params.size(); ++i) {
    const plugin::Param& param = algorithm.params[i];
    if (choice.params[i] == param.def) continue;
    params = joined(params, param.name + " = " + plugin::value_text(param, choice.params[i]));
  }
  return params.empty() ? algorithm.name : algorithm.name + " { " + params + " }";
}

std::vector<Difference> differences(const Policy& first, const Policy& second, uint32_t op) {
  const Cells cells(op, {&first, &second});
  std::vector<Piece> pieces;
  uint32_t types = 0;
  uint32_t reductions = 0;
  cells.visit([&](const Cell& cell) {
    types |= cell.calls.types;
    reductions |= cell.calls.reduce_ops;
    const auto [before, before_line] = answer(first, cell.query);
    const auto [after, after_line] = answer(second, cell.query);
    if (before != after)
      pieces.push_back({cell.calls, {cell.name}, before_line, after_line, cell.possible});
  });
  merge_names(pieces);
  merge_bits(pieces, &Conditions::deterministic);
  merge_bits(pieces, &Conditions::reduce_ops);
  merge_bits(pieces, &Conditions::types);
  merge_range(pieces, &Conditions::ranks_per_host);
  merge_range(pieces, &Conditions::hosts);
  merge_range(pieces, &Conditions::bytes);
  merge_range(pieces, &Conditions::ranks);
  std::erase_if(pieces, [](const Piece& piece) { return !piece.possible; });
  const auto place = [](const Piece& piece) {
    const Conditions& calls = piece.calls;
    return std::tuple(calls.ranks.first, calls.bytes.first, calls.hosts.first, calls.types);
  };
  std::stable_sort(pieces.begin(), pieces.end(),
                   [&](const Piece& a, const Piece& b) { return place(a) < place(b); });
  std::vector<Difference> found;
  for (Piece& piece : pieces) {
    widen(piece.calls, types, reductions);
    found.push_back({calls_text(piece, cells.names()), piece.calls, piece.first, piece.second});
  }
  return found;
}

std::vector<SettingText> setting_texts(const Settings& settings) {
  std::string paths;
  for (const auto& each : settings.plugin_paths) paths = joined(paths, each.string());
  std::string order;
  for (const auto& each : settings.memory_order.value_or(std::vector<std::string>())) {
    order = joined(order, each);
  }
  if (settings.memory_order && order.empty()) order = "nowhere";
  const auto limit = [](const std::optional<std::chrono::milliseconds>& time) {
    return time ? text_of(*time) : "";
  };
  return {{"plugins.path", paths},
          {"plugins.require_check", settings.require_check ? "true" : "false"},
          {"transport.use", settings.transport},
          {"transport.engine", settings.engine},
          {"memory.order", order},
          {"control.connect_timeout", limit(settings.connect_timeout)},
          {"control.exec_timeout", limit(settings.exec_timeout)}};
}

std::vector<Difference> setting_differences(const Policy& first, const Policy& second) {
  const std::vector<SettingText> before = setting_texts(first.settings());
  const std::vector<SettingText> after = setting_texts(second.settings());
  const auto shown = [](const std::string& value) { return value.empty() ? "left out" : value; };
  std::vector<Difference> found;
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i].value == after[i].value) continue;
    found.push_back({before[i].name, {}, shown(before[i].value), shown(after[i].value)});
  }
  const auto texts = [](const Policy& policy) {
    std::map<std::string, std::pair<std::string, std::string>> all;  // shown, and compared
    for (const Experiment& each : policy.experiments()) {
      all["experiment." + each.name] = {text_of(each), canonical_text(std::span(&each, 1))};
    }
    return all;
  };
  std::map<std::string, std::pair<std::string, std::string>> old = texts(first);
  for (const auto& [name, now] : texts(second)) {
    const auto was = old.extract(name);
    if (was.empty()) {
      found.push_back({name, {}, "left out", now.first});
    } else if (was.mapped().second != now.second) {
      const bool same = was.mapped().first == now.first;
      found.push_back({name,
                       {},
                       was.mapped().first,
                       same ? now.first + ", for other calls, weights or blocks" : now.first});
    }
  }
  for (const auto& [name, was] : old) found.push_back({name, {}, was.first, "left out"});
  return found;
}

}  // namespace weft::config
