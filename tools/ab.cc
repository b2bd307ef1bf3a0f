// SPDX-License-Identifier: Apache-2.0
// `weft ab`: which of two algorithms is the faster.
#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "arms/arm.hpp"
#include "arms/judgement.hpp"
#include "arms/policy_files.hpp"
#include "arms/report.hpp"
#include "base/op_names.hpp"
#include "bench/call_options.hpp"
#include "bench/machine.hpp"
#include "bench/supervisor.hpp"
#include "bench/words.hpp"
#include "command.hpp"
#include "config/policy_text.hpp"
#include "last_words.hpp"
#include "loaded_policy.hpp"
#include "options.hpp"
#include "proof/prove.hpp"
#include "tune/candidates.hpp"

namespace weft::tools {
namespace {

constexpr uint64_t kCalls = 20'000;

constexpr const char* kUsageLine =
    "weft ab OPERATION --arms A,B -n N [options]\n       weft ab report FOLDER|FILE...";
constexpr const char* kAbout =
    R"(Tells which of two algorithms does OPERATION faster, for one size. An arm is plugin.algorithm, with
parameters plugin.algorithm:name=value; both arms must be of OPERATION.

Blocks of 10 calls of either arm follow one another in pairs, in an order that is drawn for each pair;
the time of a block is that of its slowest rank, and a call before it is not timed. It ends as soon as
one arm has been the faster so often that this is no chance, and not before 20 pairs; of two arms that
are equally fast, it names one in at most 3 % of the runs. Without a verdict it ends when --calls is used up.

"mean" has its 95 % confidence interval; "ratio" is the time of B by that of A, the median over pairs,
with the interval in which it lies with 95 % confidence. The rule is what a policy needs so that the
faster arm does such calls.

The second form tells what the experiments of a policy have found on live calls; it has a --help of
its own.

Exit code: 0 with or without a verdict if all is right, 1 if a result is wrong or something failed, 2
for a wrong command line.)";

std::vector<Arm> parse_arms(const std::string& text) {
  const size_t comma = text.find(',');
  if (comma == std::string::npos || text.find(',', comma + 1) != std::string::npos) {
    throw UsageError(fmt::format("'{}' are not two arms: A,B", text));
  }
  return {parse_arm(text.substr(0, comma)), parse_arm(text.substr(comma + 1))};
}

std::string rule_text(const Spec& spec, const Arm& arm, const Comparison& found) {
  config::Rule rule = rule_of(arm, policy_operation(spec.op));
  rule.ranks = {spec.ranks, spec.ranks};
  if (config::why_meaningless("bytes", rule.op).empty()) {
    rule.bytes = {found.shape.bytes, found.shape.bytes};
  }
  return config::toml_of(rule);
}

void print_text(const Spec& spec, const std::vector<Arm>& arms, const Comparison& found) {
  fmt::print("# {} of {} bytes, {} {}{}, on {}\n", facts(spec.op).name, found.shape.bytes,
             spec.ranks, spec.threads ? "threads" : "processes", spec.bind ? ", bound" : "",
             machine_text());
  fmt::print("# {} pairs of blocks of {} calls{}\n", found.pairs, found.block,
             spec.queue == 1 ? "" : fmt::format(", {} queued at a time", spec.queue));
  fmt::print("{:<4}{:<32} {:>8} {:>7} {:>11} {:>11} {:>10}\n", "arm", "algorithm", "calls", "wins",
             "median us", "mean us", "+-");
  for (size_t i = 0; i < arms.size(); ++i) {
    const Comparison::Arm& arm = found.arms[i];
    fmt::print("{:<4}{:<32} {:>8} {:>7} {:>11.3f} {:>11.3f} {:>10.3f}\n", i == 0 ? "A" : "B",
               arms[i].text(), found.pairs * found.block, arm.wins, arm.median_us, arm.mean_us,
               arm.half_width_us);
  }
  fmt::print("ratio B/A {:.3f} ({:.3f} to {:.3f})\n", found.ratio, found.ratio_low,
             found.ratio_high);
  if (found.faster == 0) {
    const bool alike = found.ratio_low * kMatters > 1 && found.ratio_high < kMatters;
    fmt::print("no verdict: {}\n", alike ? "they differ by less than 5 %"
                                         : "more calls, or a quieter machine, may tell");
    return;
  }
  const Arm& faster = arms[found.faster - 1];
  fmt::print("{} ({}) is the faster\n\n{}", found.faster == 1 ? "A" : "B", faster.text(),
             rule_text(spec, faster, found));
}

void print_json(const Spec& spec, const std::vector<Arm>& arms, const Comparison& found) {
  auto list = nlohmann::ordered_json::array();
  for (size_t i = 0; i < arms.size(); ++i) {
    const Comparison::Arm& arm = found.arms[i];
    list.push_back({{"arm", arms[i].text()},
                    {"algorithm", arm.algorithm},
                    {"calls", found.pairs * found.block},
                    {"wins", arm.wins},
                    {"median_us", arm.median_us},
                    {"mean_us", arm.mean_us},
                    {"mean_half_width_us", arm.half_width_us}});
  }
  nlohmann::ordered_json document = {
      {"operation", facts(spec.op).name},
      {"bytes", found.shape.bytes},
      {"ranks", spec.ranks},
      {"mode", spec.threads ? "threads" : "processes"},
      {"machine", machine_json()},
      {"arms", list},
      {"ratio", {{"median", found.ratio}, {"low", found.ratio_low}, {"high", found.ratio_high}}},
      {"faster", nullptr},
      {"rule", nullptr},
      {"wrong", found.wrong()}};
  if (found.faster != 0) {
    document["faster"] = arms[found.faster - 1].text();
    document["rule"] = rule_text(spec, arms[found.faster - 1], found);
  }
  fmt::print("{}\n", document.dump(2));
}

/// Who computes wrong results, or may, is no match for who does not.
void need_proof(const std::string& file, const Spec& spec) {
  const LoadedPolicy arm = load_policy(file);
  const config::Choice choice = arm.policy.choose(
      query_of(policy_operation(spec.op), spec.begin, spec.ranks, spec.type, false));
  const proof::Fixed fixed(choice.params.begin(), choice.params.end());
  LastWords last_words("weft ab");
  last_words.prepare(choice.algorithm->name, spec.ranks);
  if (!proof::prove(*choice.algorithm, spec.ranks, fixed).wrong) return;
  throw Failure(fmt::format("the checker refutes {0}: `weft check {0} --ranks {1}` shows why",
                            choice.algorithm->name, spec.ranks));
}

void add_options(Options& options, Spec& spec, std::string& arms, bool& json) {
  options.value("arms", "A,B", "the two algorithms", [&](const std::string& text) { arms = text; });
  add_ranks_option(options, spec, 2);
  add_bytes_option(options, spec);
  add_type_option(options, spec);
  add_reduction_option(options, spec);
  add_root_option(options, spec);
  add_threads_option(options, spec);
  add_placement_options(options, spec);
  add_in_place_option(options, spec);
  add_queue_option(options, spec);
  options.value(
      "calls", "N", fmt::format("most calls of each arm ({})", kCalls),
      [&](const std::string& text) { spec.iterations = parse_count(text, 1, uint64_t{1} << 40); });
  add_timeout_option(options, spec, 600);
  options.flag("json", "print one JSON document", json);
}

}  // namespace

int ab_command(const Words& words) {
  if (!words.empty() && words.front() == "report")
    return report_command({words.begin() + 1, words.end()});
  Spec spec;
  spec.begin = spec.end = uint64_t{1} << 20;
  spec.iterations = kCalls;
  std::string given;
  bool json = false;
  Options options(kUsageLine, kAbout);
  add_options(options, spec, given, json);
  if (!options.parse(words)) return kOk;
  spec.op = parse_operator(options.words(), "");
  refuse(!options.given("ranks"), "-n is missing: how many ranks?");
  refuse(given.empty(), "--arms is missing: which two algorithms?");
  refuse(spec.root >= spec.ranks, fmt::format("--root: there is no rank {}", spec.root));
  check_operator(options, spec, {"bytes", "type"});
  const std::vector<Arm> arms = parse_arms(given);
  const uint32_t op = policy_operation(spec.op);

  prepare_arms();
  const LoadedPolicy base = read_policy("");
  const PolicyFiles files;
  for (const Arm& arm : arms) {
    spec.arms.push_back(files.add(fmt::format("arm{}.toml", spec.arms.size() + 1),
                                  policy_of(arm, op, base.policy.settings(), *base.registry)));
  }
  for (const std::string& file : spec.arms) need_proof(file, spec);
  place_ranks(spec);
  take_devices(spec);
  if (!json) fmt::print("{}", load_warning());
  Judgement judgement;
  if (const int code = supervise(spec, judgement); code != 0) return code;
  const Comparison& found = judgement.found().front();
  json ? print_json(spec, arms, found) : print_text(spec, arms, found);
  if (found.wrong() == 0) return kOk;
  throw Failure(fmt::format("elements are wrong: {} of {}, {} of {}", found.arms[0].wrong,
                            arms[0].text(), found.arms[1].wrong, arms[1].text()));
}

}  // namespace weft::tools
