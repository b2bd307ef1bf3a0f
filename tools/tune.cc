// SPDX-License-Identifier: Apache-2.0
// `weft tune`: measures every algorithm on this machine and writes the policy that follows.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "arms/judgement.hpp"
#include "base/names.hpp"
#include "base/op_names.hpp"
#include "bench/call_options.hpp"
#include "bench/machine.hpp"
#include "bench/operations.hpp"
#include "bench/texts.hpp"
#include "bench/words.hpp"
#include "command.hpp"
#include "config/environment.hpp"
#include "config/experiment.hpp"
#include "loaded_policy.hpp"
#include "options.hpp"
#include "process.hpp"
#include "progress.hpp"
#include "tune/candidates.hpp"
#include "tune/files.hpp"
#include "tune/policy_text.hpp"
#include "tune/tuner.hpp"

namespace weft::tools {
namespace {

constexpr const char* kUsageLine = "weft tune -n N [options]";
constexpr const char* kAbout =
    R"(Measures, for N ranks of this machine, every algorithm of the loaded plugins over operations and
sizes, and writes the policy that follows: the rules of the policy that a program would read, and
before them rules for N ranks wherever another algorithm is clearly faster. `weft policy diff
--measure` holds the two against each other.

All algorithms of an operation take turns in the same processes, in an order that is drawn for each
turn, in blocks of calls of 100 us or more; the time of a block is that of its slowest rank. Those
that are much slower than the fastest drop out early, so that the time goes where the choice is
close. All is measured in two launches, the second in reverse order; a rule needs a difference of more
than 5 % in both. A fifth of the time is kept for sizes in between, where one algorithm gives way to
another, and the last fifth for measuring every new choice against the one before once more: only what
wins again gets a rule.
Algorithms that the checker refutes are not tried; those with wrong results get no rule.

Beside the policy it writes a picture of time against size (SVG), and prints a table of the medians.

Exit code: 0 if the policy is written and all results were right; 1 if some were wrong (the policy is
written even so) or something failed; 2 for a wrong command line. Interrupted, it writes nothing.)";

struct Wishes {
  std::string ops;
  std::string without;
  std::string out = "tuned.toml";
  std::string plot;
  std::string json;
  bool force = false;
  bool deterministic = false;
};

void add_options(Options& options, Spec& spec, Wishes& wishes) {
  const auto text = [](std::string& target) {
    return [&target](const std::string& given) { target = given; };
  };
  add_ranks_option(options, spec, 2);
  options.value("time", "T", "how long to measure: 90s, 2m (60s)",
                [&spec](const std::string& given) { spec.time = parse_time(given); });
  options.value("ops", "A,B", "operations (all that algorithms do)", text(wishes.ops));
  options.value("without", "A,B", "algorithms that are not tried, by their full names",
                text(wishes.without));
  add_sizes_options(options, spec, "16M");
  options.value("type,d", "TYPE", "type of the elements, and of the calls that the rules are for",
                [&spec](const std::string& given) { spec.type = parse_data_type(given); });
  add_threads_option(options, spec);
  add_placement_options(options, spec);
  options.flag("deterministic", "only algorithms that sum in rank order", wishes.deterministic);
  options.value("out", "FILE", "the policy (tuned.toml)", text(wishes.out));
  options.value("plot", "FILE", "the picture (as the policy, with .svg)", text(wishes.plot));
  options.value("json", "FILE", "all that was measured, as JSON (not written)", text(wishes.json));
  options.flag("force", "replace files that are there already", wishes.force);
  add_timeout_option(options, spec, 120);
}

void check_files(const Wishes& wishes) {
  std::set<std::filesystem::path> names;
  for (const std::string& file : {wishes.json, wishes.plot, wishes.out}) {
    if (file.empty()) continue;
    const bool fresh = names.insert(std::filesystem::absolute(file).lexically_normal()).second;
    refuse(!fresh, fmt::format("{} would be written twice", file));
    check_writable(file, wishes.force);
  }
}

struct Plan {
  std::vector<Task> tasks;
  std::string text;
};

/// What will be measured. Operations with a single algorithm need not be.
Plan plan_for(const std::vector<Op>& ops, const Spec& spec, bool deterministic,
              const LoadedPolicy& loaded, const Words& unwanted) {
  Plan plan;
  Words idle = unwanted;
  for (const Op op : ops) {
    const uint32_t number = policy_operation(op);
    const Candidates found =
        candidates_for(loaded, query_of(number, 0, spec.ranks, spec.type, deterministic), unwanted);
    for (const std::string& each : found.unwanted) {
      std::erase(idle, each);
      plan.text += fmt::format("# not tried: {}, as wished\n", each);
    }
    for (const std::string& each : found.refused) {
      plan.text += fmt::format("# not tried: {}\n", each);
    }
    std::string names;
    for (const Candidate& each : found.all) names += ' ' + each.arm.text();
    if (found.all.size() < 2) {
      plan.text += fmt::format("# {}:{}, nothing else to choose from\n", facts(op).name, names);
      continue;
    }
    plan.text += fmt::format("# {}:{}\n", facts(op).name, names);
    plan.tasks.push_back({op, found.all});
  }
  refuse(!idle.empty(),
         fmt::format("--without: {} would not be tried anyway", fmt::join(idle, ", ")));
  return plan;
}

std::string sizes_text(const Spec& spec) {
  Spec whole = spec;
  whole.op = Op::kAllReduce;
  return fmt::format("{} to {} in {} sizes", size_text(spec.begin), size_text(spec.end),
                     shapes(whole).size());
}

std::string setting_text(const Spec& spec) {
  return fmt::format("{} {}{}, {}, {}", spec.ranks, spec.threads ? "threads" : "processes",
                     spec.bind ? ", bound" : "", type_name(spec.type), sizes_text(spec));
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  return fmt::format("{:%Y-%m-%d}", local);
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "this host";
}

/// What stands at the top of the policy.
std::vector<std::string> comment_of(const Words& words, const Spec& spec, const std::string& load,
                                    const LoadedPolicy& loaded) {
  return {fmt::format("Written by `weft tune {}` on {}.", fmt::join(words, " "), today()),
          fmt::format("Measured on {}, {}, {}: {}.", host_name(), machine_text(), load,
                      setting_text(spec)),
          fmt::format("Rules with ranks = \"{}\" were found so; all others are those of {}.",
                      spec.ranks, loaded.policy.name()),
          "Tables: medians of the time of a call on the slowest rank; " + marks_text() + "."};
}

void write_files(const Wishes& wishes, const Spec& spec, const std::string& policy,
                 const std::vector<Tuned>& tuned) {
  if (!wishes.json.empty()) {
    auto operations = nlohmann::ordered_json::array();
    for (const Tuned& each : tuned) operations.push_back(json_of(each));
    const nlohmann::ordered_json document = {{"ranks", spec.ranks},
                                             {"mode", spec.threads ? "threads" : "processes"},
                                             {"type", type_name(spec.type)},
                                             {"machine", machine_json()},
                                             {"operations", operations}};
    write_whole(wishes.json, document.dump(2) + '\n', wishes.force);
  }
  std::vector<Chart> charts;
  for (const Tuned& each : tuned) charts.push_back(chart_of(each));
  const std::string heading = fmt::format("weft: time of a call, {} {}, {}", spec.ranks,
                                          spec.threads ? "threads" : "processes", machine_text());
  write_whole(wishes.plot, svg_of(heading, charts), wishes.force);
  write_whole(wishes.out, policy, wishes.force);
}

void print_tables(const std::vector<Tuned>& tuned) {
  for (const Tuned& each : tuned) {
    fmt::print("\n{}  -> {}\n", table_of(each), choice_text(each));
  }
  fmt::print("\n# {}\n", marks_text());
}

/// Names of algorithms that had wrong results.
std::string wrong_ones(const std::vector<Tuned>& tuned) {
  std::string text;
  for (const Tuned& each : tuned) {
    for (size_t i = 0; i < each.findings.candidates.size(); ++i) {
      if (each.findings.is_right(i)) continue;
      text += (text.empty() ? "" : ", ") + each.findings.candidates[i].arm.text();
    }
  }
  return text;
}

int interrupted(Signals& signals) {
  for (int signal; (signal = signals.next()) != 0;) {
    if (signal != SIGCHLD) return 128 + signal;
  }
  return 0;
}

void check(const Options& options, const Spec& spec, const Wishes& wishes) {
  refuse(!options.words().empty(),
         fmt::format("'{}' is one word too many: operations are named by --ops",
                     options.words().empty() ? "" : options.words()[0]));
  refuse(!options.given("ranks"), "-n is missing: how many ranks?");
  refuse(spec.begin > spec.end, "-b is larger than -e");
  refuse(wishes.out.empty(), "--out: an empty name");
}

void check_time(const Tuner& tuner, const Spec& spec) {
  const double needed = std::ceil(tuner.least_time());
  const double given = std::chrono::duration<double>(spec.time).count();
  refuse(given < needed,
         fmt::format("--time: {:g}s is too short to measure all once: take {:g}s or more, or fewer "
                     "operations (--ops) or sizes (-b, -e, -f)",
                     given, needed));
}

}  // namespace

int tune_command(const Words& words) {
  Spec spec;
  spec.end = uint64_t{16} << 20;
  spec.time = std::chrono::seconds(60);
  Wishes wishes;
  Options options(kUsageLine, kAbout);
  add_options(options, spec, wishes);
  if (!options.parse(words)) return kOk;
  check(options, spec, wishes);
  const std::vector<Op> ops = parse_operations(wishes.ops, spec.type);
  if (wishes.plot.empty()) {
    wishes.plot = std::filesystem::path(wishes.out).replace_extension(".svg").string();
  }
  check_files(wishes);
  prepare_arms();
  place_ranks(spec);
  take_devices(spec);
  const LoadedPolicy loaded = load_policy("");
  const bool deterministic =
      wishes.deterministic || config::environment().deterministic.value_or(0) != 0;
  const std::string load = load_text();  // before the ranks are the load
  const Words unwanted = known_algorithms(wishes.without, *loaded.registry);
  const Plan plan = plan_for(ops, spec, deterministic, loaded, unwanted);
  Tuner tuner(spec, deterministic, loaded, plan.tasks);
  check_time(tuner, spec);
  fmt::print("# {}, on {}, {}\n{}", setting_text(spec), machine_text(), load, plan.text);
  if (plan.tasks.empty()) throw Failure("there is nothing to choose from, so nothing is written");
  if (!loaded.policy.experiments().empty()) {
    fmt::print("# the experiments of {} are left out\n", loaded.policy.name());
  }
  const double seconds = std::chrono::duration<double>(spec.time).count();
  fmt::print("# about {:g} s for {} operations\n", seconds, plan.tasks.size());
  std::fflush(stdout);
  Signals signals;
  ProgressLine line(seconds);
  int code = tuner.run(line);
  line.clear();
  if (code == 0) code = interrupted(signals);
  if (code != 0) return code;

  TunedFor what{spec.ranks, std::nullopt, comment_of(words, spec, load, loaded)};
  // What the usual sizes show holds beyond them; what some say that were asked for does not.
  if (options.given("begin")) what.bytes.first = spec.begin;
  if (options.given("end")) what.bytes.last = spec.end;
  if (options.given("type")) what.type = spec.type;
  const std::string policy = policy_text(what, tuner.tuned(), loaded.policy, *loaded.registry);
  print_tables(tuner.tuned());
  write_files(wishes, spec, policy, tuner.tuned());
  fmt::print("# wrote {} and {}\n", wishes.out, wishes.plot);
  const std::string wrong = wrong_ones(tuner.tuned());
  if (wrong.empty()) return kOk;
  throw Failure(fmt::format("wrong results, so no rule of the new policy uses: {}", wrong));
}

}  // namespace weft::tools
