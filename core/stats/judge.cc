// SPDX-License-Identifier: Apache-2.0
#include "stats/judge.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace weft::stats {
namespace {

/// Every arm against every other one.
class Contest {
 public:
  Contest(uint32_t arms, double error)
      : arms_(arms), tests_(size_t{arms} * arms, PairedTest(error / (arms * (arms - 1) / 2))) {}

  void add(uint32_t arm, double us, uint32_t other, double other_us) {
    if (arm > other) return add(other, other_us, arm, us);
    tests_[arm * arms_ + other].add(us, other_us);
  }
  [[nodiscard]] bool beats(uint32_t a, uint32_t b) const {
    if (a == b) return false;
    const PairedTest::Verdict wanted =
        a < b ? PairedTest::Verdict::kFirst : PairedTest::Verdict::kSecond;
    return tests_[std::min(a, b) * arms_ + std::max(a, b)].verdict() == wanted;
  }
  /// Whether `a` is, or looks, the faster one.
  [[nodiscard]] bool may_beat(uint32_t a, uint32_t b) const {
    constexpr uint64_t kFew = 8;  // pairs
    if (a == b) return false;
    const PairedTest& test = tests_[std::min(a, b) * arms_ + std::max(a, b)];
    const double ratio = test.ratio().median;
    const bool looks = a < b ? ratio > kMatters : ratio < 1 / kMatters;
    return beats(a, b) || (test.pairs() >= kFew && looks);
  }
  /// Of its time by that of the first one.
  [[nodiscard]] PairedTest::Ratio ratio(uint32_t arm) const {
    return arm == 0 ? PairedTest::Ratio() : tests_[arm].ratio();
  }

 private:
  const uint32_t arms_;
  std::vector<PairedTest> tests_;  // of the lower arm * arms + the higher one
};

struct Series {
  explicit Series(uint32_t arms, double error)
      : contest(arms, error), has_blocks(arms, false), us(arms, 0) {}

  Contest contest;
  std::vector<bool> has_blocks;  // by arm
  uint32_t round = 0;            // the newest one
  std::vector<double> us;        // of its paired blocks, by arm; 0: not there so far
};

}  // namespace

Judgement judge(uint32_t arms, std::span<const Block> blocks, double error) {
  std::set<uint32_t> numbers;
  std::vector<bool> there(arms, false);
  for (const Block& each : blocks) {
    numbers.insert(each.series);
    there[each.arm] = true;
  }
  Judgement result;
  Contest all(arms, error);
  std::map<uint32_t, Series> series;
  for (const uint32_t number : numbers) {
    series.emplace(number, Series(arms, error / static_cast<double>(numbers.size())));
  }
  for (const Block& each : blocks) {
    Series& own = series.at(each.series);
    own.has_blocks[each.arm] = true;
    if (each.paired == 0) continue;
    if (own.round != each.round) std::fill(own.us.begin(), own.us.end(), 0);
    own.round = each.round;
    if (std::count(own.us.begin(), own.us.end(), 0) + 1 == arms) ++result.rounds;
    for (uint32_t other = 0; other < arms; ++other) {
      if (own.us[other] == 0) continue;
      all.add(each.arm, each.us, other, own.us[other]);
      own.contest.add(each.arm, each.us, other, own.us[other]);
    }
    own.us[each.arm] = each.us;
  }

  const bool some_whole = std::any_of(series.begin(), series.end(), [&](const auto& each) {
    return each.second.has_blocks == there;
  });
  std::vector<std::vector<double>> times(arms);
  for (const Block& each : blocks) {
    if (some_whole && series.at(each.series).has_blocks != there) continue;
    times[each.arm].push_back(each.us);
  }
  for (uint32_t a = 0; a < arms; ++a) {
    result.arms.push_back({times[a].size(), median(times[a]), mean(times[a]), all.ratio(a)});
    bool best = there[a];
    bool alone = true;
    for (uint32_t b = 0; b < arms; ++b) {
      if (b == a || !there[b]) continue;
      alone = false;
      best = best && all.beats(a, b);
    }
    if (best && !alone) result.faster = a;
  }
  for (const auto& [number, each] : series) {
    for (uint32_t b = 0; result.faster && b < arms; ++b) {
      result.depends = result.depends || each.contest.may_beat(b, *result.faster);
    }
  }
  if (result.depends) result.faster.reset();
  return result;
}

std::vector<Block> slowest(std::span<const std::vector<Block>> of_ranks) {
  if (of_ranks.empty()) return {};
  using Place = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>;
  // The n-th block of an arm in a round is the same on all ranks.
  const auto by_place = [](const std::vector<Block>& blocks) {
    std::map<Place, double> all;
    for (const Block& each : blocks) {
      for (uint32_t nth = 0;; ++nth) {
        if (all.emplace(Place{each.series, each.round, each.arm, each.paired, nth}, each.us).second)
          break;
      }
    }
    return all;
  };
  std::vector<std::map<Place, double>> others;
  for (const std::vector<Block>& each : of_ranks.subspan(1)) others.push_back(by_place(each));
  std::vector<Block> result;
  std::map<Place, double> seen;
  for (Block block : of_ranks.front()) {
    Place place{block.series, block.round, block.arm, block.paired, 0};
    while (!seen.emplace(place, block.us).second) ++std::get<4>(place);
    bool everywhere = true;
    for (const auto& times : others) {
      const auto found = times.find(place);
      everywhere = everywhere && found != times.end();
      if (found != times.end()) block.us = std::max(block.us, found->second);
    }
    if (everywhere) result.push_back(block);
  }
  return result;
}

}  // namespace weft::stats
