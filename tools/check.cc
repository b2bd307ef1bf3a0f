// SPDX-License-Identifier: Apache-2.0
// `weft check`: proves algorithms, or shows how they are wrong.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/op_names.hpp"
#include "check/spec.hpp"
#include "command.hpp"
#include "finder.hpp"
#include "options.hpp"

namespace weft::tools {
namespace {

using Algorithms = std::vector<const plugin::Algorithm*>;

constexpr uint32_t kMostDrawnRanks = 16;

constexpr const char* kUsageLine = "weft check PLUGIN.so|NAME... [options]";
constexpr const char* kAbout =
    R"(Proves the algorithms of plugins: runs the schedules of all ranks on symbols, for every root, for
parameters at their ends and defaults, in and out of place, for several calls in a row, and so for
any count, type and timing. (More than 17 ranks: the first, middle and last root. More than 32: the
last root and default parameters.) What is proved:

  - every signal is waited for, and no rank waits for ever, nor in the tasks engine
  - no two accesses to the same memory race; peers' buffers are touched only when they are known
  - every output holds exactly the right contributions, summed in the same order on all ranks, and
    in rank order where that is declared; inputs are not overwritten
  - what is declared is so: rank order, remote writes, the numbers of ranks

A word with a '/', or that ends in .so, is a file or a folder; others are names of plugins or
algorithms that `weft plugins` lists: mesh, ring.all_reduce; or `all`.

An algorithm that is wrong is shown with its smallest counter-example: fewest ranks first. The policy
can ask for this check with [plugins] require_check = true.

Exit code: 0 if all is proved, 1 if something is wrong or cannot be loaded, 2 for a wrong command
line.)";

/// The plugins that the words name; they live as long as this.
class Subjects {
 public:
  Algorithms find(const Words& words) {
    Algorithms found;
    for (const std::string& word : words) {
      const bool is_path = word.find('/') != std::string::npos || word.ends_with(".so");
      for (const plugin::Algorithm* each : is_path ? of_path(word) : of_name(word)) {
        if (std::find(found.begin(), found.end(), each) == found.end()) found.push_back(each);
      }
    }
    return found;
  }

 private:
  Algorithms of_path(const std::string& path) {
    // Each in a registry of its own: two builds of a plugin have the same name.
    const plugin::Registry& registry = *files_.emplace_back(std::make_unique<plugin::Registry>());
    files_.back()->load(path);
    Algorithms found;
    for (const plugin::Plugin& each : registry.plugins()) {
      if (!each.refusal.empty()) {
        throw Failure(fmt::format("{} cannot be used: {}", each.path.string(), each.refusal));
      }
    }
    for (const plugin::Algorithm& each : registry.algorithms()) found.push_back(&each);
    if (found.empty()) throw Failure(path + " has no algorithms");
    return found;
  }

  Algorithms of_name(const std::string& name) {
    if (installed_ == nullptr) {
      installed_ = std::make_unique<Finder>("weft check");
      installed_->load_usual_places();
    }
    const plugin::Registry& registry = installed_->registry();
    Algorithms found;
    for (const plugin::Algorithm& each : registry.algorithms()) {
      if (name == "all" || each.name == name || each.name.starts_with(name + '.')) {
        found.push_back(&each);
      }
    }
    if (found.empty()) complain(name, registry);
    return found;
  }

  [[noreturn]] static void complain(const std::string& name, const plugin::Registry& registry) {
    std::vector<std::string_view> known = {"all"};
    for (const plugin::Plugin& each : registry.plugins()) {
      if (each.refusal.empty() && each.name == name) {
        throw Failure(fmt::format("plugin {} has no algorithms", name));
      }
      if (!each.refusal.empty() && (each.name == name || each.path.stem() == name)) {
        throw Failure(fmt::format("{} cannot be used: {}", each.path.string(), each.refusal));
      }
      if (each.kind == WEFT_KIND_ALGORITHMS) known.emplace_back(each.name);
    }
    for (const plugin::Algorithm& each : registry.algorithms()) known.emplace_back(each.name);
    throw UsageError(
        fmt::format("no plugin or algorithm '{}' is installed{}; a file is named with "
                    "a '/' or .so",
                    name, did_you_mean(name, known)));
  }

  std::vector<std::unique_ptr<plugin::Registry>> files_;
  std::unique_ptr<Finder> installed_;
};

uint32_t parse_op(const std::string& text) {
  if (const auto op = parse_operation(text)) return *op;
  throw UsageError(
      fmt::format("'{}' is no operation{}", text, did_you_mean(text, operation_names())));
}

void parse_param(const std::string& text, CheckSpec& spec) {
  const size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) {
    throw UsageError(fmt::format("'{}' is not like pieces=4", text));
  }
  spec.params[text.substr(0, equals)] = plugin::written(text.substr(equals + 1));
}

void add_options(Options& options, CheckSpec& spec) {
  options.value("ranks,n", "LIST", "numbers of ranks, like 4 or 2..17,32 (2..17,32,33,64)",
                [&](const std::string& text) { spec.ranks = parse_rank_list(text); });
  options.value("op", "OPERATION", "algorithms for this operation only",
                [&](const std::string& text) { spec.op = parse_op(text); });
  options.list("param", "NAME=VALUE", "a parameter has this value only",
               [&](const std::string& text) { parse_param(text, spec); });
  options.value("time", "SECONDS", "try no more ranks after so long, and say so (no limit)",
                [&](const std::string& text) { spec.time = parse_seconds(text); });
  options.flag("json", "print JSON", spec.json);
  options.value("html", "FILE", "also write a page with the steps of each algorithm",
                [&](const std::string& text) { spec.html = text; });
  options.value("html-ranks", "N", "ranks of the right algorithms on that page (4)",
                [&](const std::string& text) {
                  spec.html_ranks = uint32_t(parse_count(text, 2, kMostDrawnRanks));
                });
}

/// Every --param is one of some algorithm, and within its limits.
void check_params(const CheckSpec& spec, const Algorithms& algorithms) {
  for (const auto& [name, value] : spec.params) {
    std::vector<std::string_view> known;
    bool found = false;
    for (const plugin::Algorithm* algorithm : algorithms) {
      for (const plugin::Param& param : algorithm->params) {
        known.emplace_back(param.name);
        if (param.name != name) continue;
        found = true;
        if (plugin::value_of(param, value)) continue;
        throw UsageError(fmt::format("--param: {} of {} cannot be {}; allowed: {}", name,
                                     algorithm->name, plugin::value_text(value),
                                     plugin::range_text(param)));
      }
    }
    if (found) continue;
    throw UsageError(fmt::format("--param: no algorithm here has a parameter '{}'{}", name,
                                 did_you_mean(name, known)));
  }
}

}  // namespace

int check_command(const Words& words) {
  CheckSpec spec;
  spec.ranks = parse_rank_list("2..17,32,33,64");
  Options options(kUsageLine, kAbout);
  add_options(options, spec);
  if (!options.parse(words)) return kOk;
  if (options.words().empty()) throw UsageError("which plugin? A file, a name, or `all`");
  if (options.given("html-ranks") && spec.html.empty()) {
    throw UsageError("--html-ranks without --html");
  }
  setenv("WEFT_LOG", "error", 0);  // what is refused is told below
  Subjects subjects;
  Algorithms algorithms = subjects.find(options.words());
  if (spec.op != 0) {
    std::erase_if(algorithms, [&](const auto* each) { return each->table.op != spec.op; });
    if (algorithms.empty()) {
      throw Failure(fmt::format("none of these algorithms is for {}", operation_name(spec.op)));
    }
  }
  check_params(spec, algorithms);
  const std::vector<CheckOutcome> outcomes = check_all(algorithms, spec);
  (spec.json ? print_check_json : print_check_table)(outcomes);
  if (!spec.html.empty()) write_check_page(outcomes, spec);
  if (std::ranges::any_of(outcomes, [](const auto& each) { return each.wrong.has_value(); })) {
    return kFailed;
  }
  const bool some = std::ranges::any_of(outcomes, [](const auto& o) { return !o.proved.empty(); });
  return some ? kOk : kFailed;
}

}  // namespace weft::tools
