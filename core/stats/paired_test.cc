// SPDX-License-Identifier: Apache-2.0
#include "stats/paired_test.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>

namespace weft::stats {
namespace {

constexpr double kTwoSided95 = 1.959964;

// How much is bet on the next pair, for a distance that is the median one.
constexpr std::array kStakes = {0.12, 0.35, 0.9};
constexpr double kFarthest = 3;  // medians; what is farther counts as much

double sum_of_exponentials(std::span<const double> logarithms) {
  return std::accumulate(logarithms.begin(), logarithms.end(), 0.0,
                         [](double sum, double each) { return sum + std::exp(each); });
}

}  // namespace

/// Players who begin with a share of 1 in all bet on the first, or on the second, with several
/// stakes; how much depends on the distance, and who wins on the sign. If the sign is a fair coin,
/// whatever the distances are, what they have together is a martingale: it ever reaches 1 / error
/// with a probability of at most `error` (Ville's inequality).
void PairedTest::bet(double difference) {
  const double distance = std::abs(difference);
  distances_.insert(std::lower_bound(distances_.begin(), distances_.end(), distance), distance);
  const double middle = distances_[distances_.size() / 2];
  if (difference == 0 || middle == 0) return;
  const double steps = std::min(distance / middle, kFarthest);
  for (size_t i = 0; i < kBets; ++i) {
    const double stake = std::tanh(kStakes[i] * steps) * (difference > 0 ? 1 : -1);
    gains_[0][i] += std::log1p(stake);
    gains_[1][i] += std::log1p(-stake);
  }
}

void PairedTest::add(double first, double second) {
  ratios_.push_back(second / first);
  if (first != second) ++wins_[first < second ? 0 : 1];
  if (verdict_ != Verdict::kOpen) return;
  bet(std::log(second / first));
  const double on_first = sum_of_exponentials(gains_[0]);
  const double on_second = sum_of_exponentials(gains_[1]);
  if ((on_first + on_second) / (2 * kBets) < 1 / error_) return;
  verdict_ = on_first > on_second ? Verdict::kFirst : Verdict::kSecond;
}

PairedTest::Ratio PairedTest::ratio() const {
  if (ratios_.empty()) return {};
  std::vector<double> sorted = ratios_;
  std::sort(sorted.begin(), sorted.end());
  const auto n = static_cast<double>(sorted.size());
  // How many of n values are below the median is binomial.
  const double spread = kTwoSided95 * std::sqrt(n) / 2;
  const auto low = static_cast<size_t>(std::max(0.0, std::floor(n / 2 - spread)));
  const auto high = static_cast<size_t>(std::min(n - 1, std::ceil(n / 2 + spread)));
  return {median(ratios_), sorted[low], sorted[high]};
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

Mean mean(const std::vector<double>& values) {
  if (values.empty()) return {};
  const auto n = static_cast<double>(values.size());
  const double value = std::accumulate(values.begin(), values.end(), 0.0) / n;
  if (values.size() == 1) return {value, 0};
  const double squares = std::accumulate(
      values.begin(), values.end(), 0.0,
      [value](double sum, double each) { return sum + (each - value) * (each - value); });
  return {value, kTwoSided95 * std::sqrt(squares / (n - 1) / n)};
}

}  // namespace weft::stats
