// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "arms/arm.hpp"
#include "arms/judgement.hpp"
#include "base/names.hpp"
#include "bench/call_options.hpp"
#include "bench/machine.hpp"
#include "bench/pace.hpp"
#include "bench/supervisor.hpp"
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

constexpr double kErrorOfAll = 0.03;
constexpr double kLaunches = 2;  // the second one with the policies in the other order

using Seconds = std::chrono::duration<double>;

class Watcher final : public Judgement {
 public:
  Watcher(Op op, ProgressLine& line) : op_(op), line_(line) {}

  using Judgement::add;
  void add(const Progress& progress) override {
    line_.show(fmt::format("{} of {} bytes", facts(op_).name, progress.shape.bytes));
  }

 private:
  const Op op_;
  ProgressLine& line_;
};

/// The settings on which the time of every call depends.
bool same_engine(const LoadedPolicy& first, const LoadedPolicy& second) {
  const auto all = config::setting_differences(first.policy, second.policy);
  return std::ranges::none_of(all, [](const config::Difference& each) {
    return each.calls.starts_with("transport.") || each.calls.starts_with("memory.");
  });
}

/// One run for each operation for which the two differ somewhere, with these sizes.
std::vector<Spec> differing(const LoadedPolicy& first, const LoadedPolicy& second, const Spec& spec,
                            const std::vector<Op>& ops) {
  const bool all = !same_engine(first, second);
  const bool deterministic = config::environment().deterministic.value_or(0) != 0;
  std::vector<Spec> found;
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

size_t cells_of(const std::vector<Spec>& runs) {
  return std::accumulate(runs.begin(), runs.end(), size_t{0},
                         [](size_t sum, const Spec& run) { return sum + run.sizes.size(); });
}

/// Seconds, by run and size.
std::vector<double> least_times(const std::vector<Spec>& runs) {
  std::vector<double> least;
  for (const Spec& run : runs) {
    const size_t first = least.size();
    for (const Shape& shape : shapes(run)) least.push_back(least_time(run, shape));
    least[first] += starting_time(run);
  }
  return least;
}

/// What the second launch found, in which the two have changed places.
Comparison turned(const Comparison& found) {
  Comparison other = found;
  std::swap(other.arms[0], other.arms[1]);
  other.faster = found.faster == 0 ? 0 : 3 - found.faster;
  other.ratio = 1 / found.ratio;
  other.ratio_low = 1 / found.ratio_high;
  other.ratio_high = 1 / found.ratio_low;
  return other;
}

/// Of two launches; one is the faster if both say so.
Comparison merged(const Comparison& first, const Comparison& second) {
  const auto mean = [](double a, double b) { return std::sqrt(a * b); };
  Comparison both = first;
  both.wrong = first.wrong + second.wrong;
  both.faster = first.faster == second.faster ? first.faster : 0;
  both.ratio = mean(first.ratio, second.ratio);
  both.ratio_low = mean(first.ratio_low, second.ratio_low);
  both.ratio_high = mean(first.ratio_high, second.ratio_high);
  for (size_t arm = 0; arm < 2; ++arm) {
    both.arms[arm].median_us = mean(first.arms[arm].median_us, second.arms[arm].median_us);
  }
  return both;
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

void print_head() {
  fmt::print("{:<17} {:>10} {:<26} {:<26} {:>10} {:>10} {:>7} {:>17}  {}\n", "operation", "bytes",
             "first", "second", "first us", "second us", "ratio", "", "second is");
}

void Totals::print(Op op, const Comparison& found) {
  const bool faster = found.faster == 2 && found.ratio * kMatters < 1;
  const bool slower = found.faster == 1 && found.ratio > kMatters;
  fmt::print("{:<17} {:>10} {:<26} {:<26} {:>10.2f} {:>10.2f} {:>7.3f} {:>17}  {}\n",
             facts(op).name, op == Op::kBarrier ? "-" : std::to_string(found.shape.bytes),
             found.arms[0].algorithm, found.arms[1].algorithm, found.arms[0].median_us,
             found.arms[1].median_us, found.ratio,
             fmt::format("({:.3f} to {:.3f})", found.ratio_low, found.ratio_high),
             faster   ? "faster"
             : slower ? "slower"
                      : "alike, as far as known");
  std::fflush(stdout);
  const double middle = std::log(found.ratio);
  ++cells_;
  faster_ += faster ? 1 : 0;
  slower_ += slower ? 1 : 0;
  wrong_ += found.wrong;
  sum_ += middle;
  low_ += std::pow(middle - std::log(found.ratio_low), 2);
  high_ += std::pow(std::log(found.ratio_high) - middle, 2);
}

void Totals::print_all() const {
  const auto n = double(cells_);
  const double low = std::exp(sum_ / n - std::sqrt(low_) / n);
  const double high = std::exp(sum_ / n + std::sqrt(high_) / n);
  const char* verdict = "no clear difference";
  if (high < 1) verdict = "the second is faster";
  if (low > 1) verdict = "the second is slower";
  fmt::print(
      "all {}: ratio {:.3f} ({:.3f} to {:.3f}), geometric mean: {}; faster in {}, slower in "
      "{}\n",
      cells_, std::exp(sum_ / n), low, high, verdict, faster_, slower_);
}

void check_time(const Spec& spec, const std::vector<double>& least) {
  const double needed = std::ceil(kLaunches * std::accumulate(least.begin(), least.end(), 0.0));
  const double given = Seconds(spec.time).count();
  refuse(given < needed,
         fmt::format("--time: {:g}s is too short to measure the {} that differ: take {:g}s or "
                     "more, or fewer operations (--ops) or sizes (-b, -e, -f)",
                     given, least.size(), needed));
}

}  // namespace

int measure_policies(const std::string& first, const std::string& second, const Spec& spec,
                     const std::vector<Op>& ops) {
  prepare_arms();
  Spec base = spec;
  take_devices(base);
  for (const std::string& file : {first, second}) {
    base.arms.push_back(std::filesystem::absolute(file).string());
  }
  std::vector<Spec> runs = differing(load_policy(first), load_policy(second), base, ops);
  const size_t cells = cells_of(runs);
  if (cells == 0) {
    fmt::print("for {} ranks and these sizes, the policies do the same\n", spec.ranks);
    return kOk;
  }
  const std::vector<double> least = least_times(runs);
  check_time(spec, least);
  fmt::print("# {} {}, {}, on {}\n", spec.ranks, spec.threads ? "threads" : "processes",
             type_name(spec.type), machine_text());
  print_head();
  std::fflush(stdout);
  ProgressLine line(Seconds(spec.time).count());
  const Clock::time_point begin = Clock::now();
  Totals totals;
  std::vector<std::vector<Comparison>> found;
  for (const bool again : {false, true}) {
    const Clock::time_point end = begin + (again ? spec.time : spec.time / 2);
    size_t done = 0;
    for (size_t i = 0; i < runs.size(); ++i) {
      Spec& run = runs[i];
      const double its = share(Seconds(end - Clock::now()).count(), std::span(least).subspan(done),
                               run.sizes.size());
      done += run.sizes.size();
      run.error = kErrorOfAll / double(cells);
      run.time = std::chrono::duration_cast<std::chrono::nanoseconds>(
          Seconds(std::max(1e-3, its - starting_time(run))));
      Watcher watcher(run.op, line);
      if (const int code = supervise(run, watcher); code != 0) return code;
      line.clear();
      std::swap(run.arms[0], run.arms[1]);
      if (!again) {
        found.push_back(watcher.found());
        continue;
      }
      for (size_t cell = 0; cell < found[i].size(); ++cell) {
        totals.print(run.op, merged(found[i][cell], turned(watcher.found()[cell])));
      }
    }
  }
  totals.print_all();
  if (totals.wrong() != 0) throw Failure(fmt::format("{} elements are wrong", totals.wrong()));
  return totals.slower() ? kFailed : kOk;
}

}  // namespace weft::tools
