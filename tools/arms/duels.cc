// SPDX-License-Identifier: Apache-2.0
#include "arms/duels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "arms/judgement.hpp"
#include "bench/pace.hpp"
#include "bench/supervisor.hpp"
#include "bench/texts.hpp"
#include "command.hpp"
#include "process.hpp"

namespace weft::tools {
namespace {

constexpr double kErrorOfAll = 0.03;
constexpr double kLaunches = 2;

using Seconds = std::chrono::duration<double>;

class Watcher final : public Judgement {
 public:
  Watcher(Op op, ProgressLine& line) : op_(op), line_(line) {}

  using Judgement::add;
  void add(const Progress& progress) override {
    where_ = calls_text(op_, progress.shape.bytes);
    line_.show(where_);
  }
  /// What was being measured.
  [[nodiscard]] const std::string& where() const { return where_; }

 private:
  const Op op_;
  ProgressLine& line_;
  std::string where_ = std::string(facts(op_).name);
};

/// Seconds of one launch, by duel and size.
std::vector<double> least_times(const Duels& duels) {
  std::vector<double> least;
  for (const Spec& duel : duels) {
    const size_t first = least.size();
    for (const Shape& shape : shapes(duel)) least.push_back(least_time(duel, shape));
    least[first] += starting_time(duel);
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

Comparison merged(const Comparison& first, const Comparison& second) {
  const auto mean = [](double a, double b) { return std::sqrt(a * b); };
  Comparison both = first;
  both.faster = first.faster == second.faster ? first.faster : 0;
  both.disagree = first.faster + second.faster == 3 ? 1 : 0;
  both.ratio = mean(first.ratio, second.ratio);
  both.ratio_low = mean(first.ratio_low, second.ratio_low);
  both.ratio_high = mean(first.ratio_high, second.ratio_high);
  for (size_t arm = 0; arm < 2; ++arm) {
    both.arms[arm].wrong += second.arms[arm].wrong;
    both.arms[arm].median_us = mean(first.arms[arm].median_us, second.arms[arm].median_us);
  }
  return both;
}

}  // namespace

size_t cells_of(const Duels& duels) {
  return std::accumulate(duels.begin(), duels.end(), size_t{0},
                         [](size_t sum, const Spec& duel) { return sum + duel.sizes.size(); });
}

double least_time(const Duels& duels) {
  const std::vector<double> least = least_times(duels);
  return kLaunches * std::accumulate(least.begin(), least.end(), 0.0);
}

int run_duels(Duels duels, double seconds, ProgressLine& line,
              const std::function<void(size_t duel, const Comparison& of)>& found) {
  const std::vector<double> least = least_times(duels);
  const Clock::time_point begin = Clock::now();
  std::vector<std::vector<Comparison>> first;
  for (const bool again : {false, true}) {
    const double until = again ? seconds : seconds / kLaunches;
    size_t done = 0;
    for (size_t i = 0; i < duels.size(); ++i) {
      Spec& duel = duels[i];
      const double left = until - Seconds(Clock::now() - begin).count();
      const double its = share(left, std::span(least).subspan(done), duel.sizes.size());
      done += duel.sizes.size();
      duel.error = kErrorOfAll / double(least.size());
      duel.time = std::chrono::duration_cast<std::chrono::nanoseconds>(
          Seconds(std::max(1e-3, its - starting_time(duel))));
      Watcher watcher(duel.op, line);
      try {
        if (const int code = supervise(duel, watcher); code != 0) return code;
      } catch (const Failure& failure) {
        throw Failure(fmt::format("{}: {}", watcher.where(), failure.what()));
      }
      line.clear();
      std::swap(duel.arms[0], duel.arms[1]);
      if (!again) {
        first.push_back(watcher.found());
        continue;
      }
      for (size_t cell = 0; cell < first[i].size(); ++cell) {
        found(i, merged(first[i][cell], turned(watcher.found()[cell])));
      }
    }
  }
  return 0;
}

}  // namespace weft::tools
