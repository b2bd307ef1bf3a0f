// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "arms/arm.hpp"
#include "arms/duels.hpp"
#include "arms/judgement.hpp"
#include "base/names.hpp"
#include "bench/call_options.hpp"
#include "bench/machine.hpp"
#include "bench/words.hpp"
#include "command.hpp"
#include "config/difference.hpp"
#include "config/environment.hpp"
#include "loaded_policy.hpp"
#include "policy/verbs.hpp"
#include "progress.hpp"
#include "tune/candidates.hpp"

namespace weft::tools {
namespace {

/// The settings on which the time of every call depends.
bool same_engine(const LoadedPolicy& first, const LoadedPolicy& second) {
  const auto all = config::setting_differences(first.policy, second.policy);
  return std::ranges::none_of(all, [](const config::Difference& each) {
    return each.calls.starts_with("transport.") || each.calls.starts_with("memory.");
  });
}

/// One run for each operation for which the two differ somewhere, with these sizes.
Duels differing(const LoadedPolicy& first, const LoadedPolicy& second, const Spec& spec,
                const std::vector<Op>& ops) {
  const bool all = !same_engine(first, second);
  const bool deterministic = config::environment().deterministic.value_or(0) != 0;
  Duels found;
  for (const Op op : ops) {
    Spec one = spec;
    one.op = op;
    for (const Shape& shape : shapes(one)) {
      const config::Query query =
          query_of(policy_operation(op), shape.bytes, spec.ranks, spec.type, deterministic);
      const Arm before = arm_of(first.policy.choose(query));
      const Arm after = arm_of(second.policy.choose(query));
      if (all || before != after) one.sizes.push_back(shape.bytes);
    }
    if (!one.sizes.empty()) found.push_back(std::move(one));
  }
  return found;
}

class Totals {
 public:
  void print(Op op, const Comparison& found);
  void print_all() const;
  [[nodiscard]] bool slower() const { return slower_ > 0; }
  [[nodiscard]] uint64_t wrong() const { return wrong_; }

 private:
  size_t cells_ = 0;
  size_t faster_ = 0;
  size_t slower_ = 0;
  uint64_t wrong_ = 0;
  double sum_ = 0;  // of the logarithms of the ratios
  double low_ = 0;  // sum of the squares of their distances to the ends of the intervals
  double high_ = 0;
};

bool is_faster(const Comparison& found) {
  return found.wrong() == 0 && found.faster == 2 && found.ratio * kMatters < 1;
}

bool is_slower(const Comparison& found) {
  return found.wrong() == 0 && found.faster == 1 && found.ratio > kMatters;
}

void print_head() {
  fmt::print("{:<17} {:>10} {:<26} {:<26} {:>10} {:>10} {:>7} {:>17}  {}\n", "operation", "bytes",
             "first", "second", "first us", "second us", "ratio", "", "second is");
}

std::string verdict_of(const Comparison& found) {
  if (found.wrong() != 0) {
    return fmt::format("WRONG: elements of the first {}, of the second {}", found.arms[0].wrong,
                       found.arms[1].wrong);
  }
  if (is_faster(found)) return "faster";
  if (is_slower(found)) return "slower";
  if (found.ratio_low * kMatters > 1 && found.ratio_high < kMatters) return "alike";
  return found.disagree != 0 ? "no verdict: the launches disagree" : "no verdict";
}

void Totals::print(Op op, const Comparison& found) {
  fmt::print(
      "{:<17} {:>10} {:<26} {:<26} {:>10.2f} {:>10.2f} {:>7.3f} {:>17}  {}\n", facts(op).name,
      op == Op::kBarrier ? "-" : std::to_string(found.shape.bytes), found.arms[0].algorithm,
      found.arms[1].algorithm, found.arms[0].median_us, found.arms[1].median_us, found.ratio,
      fmt::format("({:.3f} to {:.3f})", found.ratio_low, found.ratio_high), verdict_of(found));
  std::fflush(stdout);
  const double middle = std::log(found.ratio);
  ++cells_;
  faster_ += is_faster(found) ? 1 : 0;
  slower_ += is_slower(found) ? 1 : 0;
  wrong_ += found.wrong();
  sum_ += middle;
  low_ += std::pow(middle - std::log(found.ratio_low), 2);
  high_ += std::pow(std::log(found.ratio_high) - middle, 2);
}

void Totals::print_all() const {
  const auto n = double(cells_);
  const double low = std::exp(sum_ / n - std::sqrt(low_) / n);
  const double high = std::exp(sum_ / n + std::sqrt(high_) / n);
  const char* verdict = "no clear difference";
  if (high < 1 && faster_ > slower_) verdict = "the second is faster";
  if (low > 1 && slower_ > faster_) verdict = "the second is slower";
  fmt::print(
      "all {}: ratio {:.3f} ({:.3f} to {:.3f}), geometric mean: {}; faster in {}, slower in "
      "{}\n",
      cells_, std::exp(sum_ / n), low, high, verdict, faster_, slower_);
}

void check_time(const Spec& spec, const Duels& duels) {
  const double needed = std::ceil(least_time(duels));
  const double given = std::chrono::duration<double>(spec.time).count();
  refuse(given < needed,
         fmt::format("--time: {:g}s is too short to measure the {} that differ: take {:g}s or "
                     "more, or fewer operations (--ops) or sizes (-b, -e, -f)",
                     given, cells_of(duels), needed));
}

}  // namespace

int measure_policies(const std::string& first, const std::string& second, const Spec& spec,
                     const std::vector<Op>& ops) {
  prepare_arms();
  Spec base = spec;
  place_ranks(base);
  take_devices(base);
  for (const std::string& file : {first, second}) {
    base.arms.push_back(std::filesystem::absolute(file).string());
  }
  const Duels duels = differing(load_policy(first), load_policy(second), base, ops);
  if (duels.empty()) {
    fmt::print("for {} ranks and these sizes, the policies do the same\n", spec.ranks);
    return kOk;
  }
  check_time(spec, duels);
  fmt::print("# {} {}{}, {}, on {}\n{}", spec.ranks, spec.threads ? "threads" : "processes",
             base.bind ? ", bound" : "", type_name(spec.type), machine_text(), load_warning());
  print_head();
  std::fflush(stdout);
  const double seconds = std::chrono::duration<double>(spec.time).count();
  ProgressLine line(seconds);
  Totals totals;
  const int code = run_duels(duels, seconds, line, [&](size_t duel, const Comparison& found) {
    totals.print(duels[duel].op, found);
  });
  if (code != 0) return code;
  totals.print_all();
  if (totals.wrong() != 0) throw Failure(fmt::format("{} elements are wrong", totals.wrong()));
  return totals.slower() ? kFailed : kOk;
}

}  // namespace weft::tools
