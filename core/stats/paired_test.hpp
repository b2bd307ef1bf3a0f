// SPDX-License-Identifier: Apache-2.0
// Which of two things is faster, from pairs of times.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::stats {

/// Looked at after every pair, for as long as one likes: of things that are equally fast, it ever
/// calls one the faster with a probability of at most `error`. All that takes is that the two times
/// of a pair come one right after the other, in an order that is drawn for each pair: then either
/// is the shorter one as often as the other, by whatever distance, whatever the times are like. A
/// few times that are far off count no more than others.
class PairedTest {
 public:
  enum class Verdict { kOpen, kFirst, kSecond };  // which is the faster

  explicit PairedTest(double error = 0.03) : error_(error) {}

  /// Both above 0.
  void add(double first, double second);

  /// Once it is not open any more it stays.
  [[nodiscard]] Verdict verdict() const noexcept { return verdict_; }
  [[nodiscard]] uint64_t pairs() const noexcept { return ratios_.size(); }
  /// In how many of them the first, or the second, was the faster; equal times are neither.
  [[nodiscard]] uint64_t first_wins() const noexcept { return wins_[0]; }
  [[nodiscard]] uint64_t second_wins() const noexcept { return wins_[1]; }

  /// Second by first.
  struct Ratio {
    double median = 1;
    double low = 1;  // 95 % confidence, for a number of pairs that was chosen beforehand
    double high = 1;
  };
  [[nodiscard]] Ratio ratio() const;

 private:
  void bet(double difference);

  static constexpr size_t kBets = 3;
  const double error_;
  uint64_t wins_[2] = {};
  Verdict verdict_ = Verdict::kOpen;
  std::vector<double> ratios_;
  std::vector<double> distances_;                     // |log of the ratio|, sorted
  std::array<std::array<double, kBets>, 2> gains_{};  // logarithms; on the first, on the second
};

/// Times that differ by less are as good as equal: one algorithm in two communicators can differ by
/// some percent, as their memory lies.
inline constexpr double kMatters = 1.05;

/// Of numbers that need not be sorted; 0 of none.
[[nodiscard]] double median(std::vector<double> values);

struct Mean {
  double value = 0;
  double half_width = 0;  // of its interval of 95 % confidence
};
[[nodiscard]] Mean mean(const std::vector<double>& values);

}  // namespace weft::stats
