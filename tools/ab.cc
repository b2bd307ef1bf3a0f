// SPDX-License-Identifier: Apache-2.0
// `weft ab`: which of two algorithms is the faster.
#include <fmt/core.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ab/arm.hpp"
#include "ab/report.hpp"
#include "base/error.hpp"
#include "base/names.hpp"
#include "base/op_names.hpp"
#include "bench/machine.hpp"
#include "bench/rows.hpp"
#include "bench/supervisor.hpp"
#include "bench/words.hpp"
#include "command.hpp"
#include "loaded_policy.hpp"
#include "options.hpp"
#include "run/rank_table.hpp"

namespace weft::tools {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostRanks = 256;
constexpr uint64_t kMostQueued = 4096;
constexpr uint64_t kCalls = 20'000;

constexpr const char* kUsageLine =
    "weft ab OPERATION --arms A,B -n N [options]\n       weft ab report FOLDER|FILE...";
constexpr const char* kAbout =
    R"(Tells which of two algorithms does OPERATION faster, for one size. An arm is plugin.algorithm, with
parameters plugin.algorithm:name=value; both arms must be of OPERATION.

Blocks of 10 calls of either arm follow one another in pairs, in an order that is drawn for each pair;
the time of a block is that of its slowest rank. It ends as soon as one arm has been the faster so
often that this is no chance, and not before 20 pairs; of two arms that are equally fast, it names one
in at most 3 % of the runs. Without a verdict it ends when --calls is used up.

"mean" has its 95 % confidence interval; "ratio" is the time of B by that of A, the median over pairs,
with the interval in which it lies with 95 % confidence. The rule is what a policy needs so that the
faster arm does such calls.

The second form tells what the experiments of a policy have found on live calls; it has a --help of
its own.

Exit code: 0 with or without a verdict if all is right, 1 if a result is wrong or something failed, 2
for a wrong command line.)";

class Judgement final : public Rows {
 public:
  void add(const Comparison& comparison) override { found_ = comparison; }
  [[nodiscard]] const Comparison& found() const { return found_; }

 private:
  Comparison found_{};
};

/// Files that are gone at the end.
class PolicyFiles {
 public:
  PolicyFiles() {
    std::string form = (fs::temp_directory_path() / "weft-ab-XXXXXX").string();
    if (mkdtemp(form.data()) == nullptr) {
      throw Failure(fmt::format("cannot make a folder {}: {}", form, std::strerror(errno)));
    }
    folder_ = form;
  }
  ~PolicyFiles() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  PolicyFiles(const PolicyFiles&) = delete;
  PolicyFiles& operator=(const PolicyFiles&) = delete;

  std::string add(const std::string& name, const std::string& text) const {
    const fs::path file = folder_ / name;
    std::ofstream stream(file);
    stream << text;
    stream.close();
    if (!stream) throw Failure(fmt::format("cannot write {}", file.string()));
    return file.string();
  }

 private:
  fs::path folder_;
};

/// The operation that an algorithm is made for.
uint32_t operation_of(Op op) {
  const std::string_view name = op == Op::kAllToAllVC ? facts(Op::kAllToAllV).name : facts(op).name;
  const auto found = parse_operation(name);
  refuse(!found, fmt::format("{} is not done by an algorithm", facts(op).name));
  return *found;
}

std::vector<Arm> parse_arms(const std::string& text) {
  const size_t comma = text.find(',');
  if (comma == std::string::npos || text.find(',', comma + 1) != std::string::npos) {
    throw UsageError(fmt::format("'{}' are not two arms: A,B", text));
  }
  return {parse_arm(text.substr(0, comma)), parse_arm(text.substr(comma + 1))};
}

std::string rule_of(const Spec& spec, const Arm& arm, const Comparison& found) {
  std::string when = fmt::format("ranks = \"{}\"", spec.ranks);
  if (spec.op != Op::kBarrier) when += fmt::format(", bytes = \"{}\"", found.shape.bytes);
  return fmt::format("[[rule]]\nop = \"{}\"\nwhen = {{ {} }}\n{}\n",
                     operation_name(operation_of(spec.op)), when, use_lines(arm));
}

void print_text(const Spec& spec, const std::vector<Arm>& arms, const Comparison& found) {
  fmt::print("# {} of {} bytes, {} {}, on {}\n", facts(spec.op).name, found.shape.bytes, spec.ranks,
             spec.threads ? "threads" : "processes", machine_text());
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
    fmt::print("no verdict: more calls, or a quieter machine, may tell\n");
    return;
  }
  const Arm& faster = arms[found.faster - 1];
  fmt::print("{} ({}) is the faster\n\n{}", found.faster == 1 ? "A" : "B", faster.text(),
             rule_of(spec, faster, found));
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
      {"wrong", found.wrong}};
  if (found.faster != 0) {
    document["faster"] = arms[found.faster - 1].text();
    document["rule"] = rule_of(spec, arms[found.faster - 1], found);
  }
  fmt::print("{}\n", document.dump(2));
}

void add_options(Options& options, Spec& spec, std::string& arms, bool& json) {
  options.value("arms", "A,B", "the two algorithms", [&](const std::string& text) { arms = text; });
  options.value("ranks,n", "N", "number of ranks", [&](const std::string& text) {
    spec.ranks = uint32_t(parse_count(text, 2, kMostRanks));
  });
  options.value("bytes,b", "BYTES", "size of the larger buffer (1M)",
                [&](const std::string& text) { spec.begin = spec.end = parse_size(text); });
  options.value("type,d", "TYPE", "type of the elements (fp32)",
                [&](const std::string& text) { spec.type = parse_data_type(text); });
  options.value("op,o", "OP", "sum, prod, max or min (sum)",
                [&](const std::string& text) { spec.reduce_op = parse_reduction(text); });
  options.value("root", "R", "rank that is the root (0)", [&](const std::string& text) {
    spec.root = uint32_t(parse_count(text, 0, kMostRanks - 1));
  });
  options.flag("threads", "ranks are threads of one process, not processes", spec.threads);
  options.flag("bind", "bind each rank to a core", spec.bind);
  options.flag("in-place", "send and receive in one buffer", spec.in_place);
  options.value("queue", "N", "calls put on the stream before each synchronisation (1)",
                [&](const std::string& text) { spec.queue = parse_count(text, 1, kMostQueued); });
  options.value(
      "calls", "N", fmt::format("most calls of each arm ({})", kCalls),
      [&](const std::string& text) { spec.iterations = parse_count(text, 1, uint64_t{1} << 40); });
  options.value("timeout", "S", "give up if it is not finished after S seconds (600)",
                [&](const std::string& text) { spec.timeout = parse_seconds(text); });
  options.flag("json", "print one JSON document", json);
}

}  // namespace

int ab_command(const Words& words) {
  if (!words.empty() && words.front() == "report")
    return report_command({words.begin() + 1, words.end()});
  Spec spec;
  spec.begin = spec.end = uint64_t{1} << 20;
  spec.iterations = kCalls;
  spec.timeout = std::chrono::seconds(600);
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
  const uint32_t op = operation_of(spec.op);

  setenv("WEFT_LOG", "error", 0);
  const LoadedPolicy base = read_policy("");
  const PolicyFiles files;
  for (const Arm& arm : arms) {
    spec.arms.push_back(files.add(fmt::format("arm{}.toml", spec.arms.size() + 1),
                                  policy_of(arm, op, base.policy.settings(), *base.registry)));
  }
  const Devices devices = find_devices(spec.ranks);
  spec.devices = uint32_t(devices.visible.size());
  setenv("WEFT_DEVICES", std::to_string(devices.on_host).c_str(), 1);
  Judgement judgement;
  if (const int code = supervise(spec, judgement); code != 0) return code;
  json ? print_json(spec, arms, judgement.found()) : print_text(spec, arms, judgement.found());
  if (judgement.found().wrong == 0) return kOk;
  throw Failure(fmt::format("{} elements are wrong", judgement.found().wrong));
}

}  // namespace weft::tools
