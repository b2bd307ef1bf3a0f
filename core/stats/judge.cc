// SPDX-License-Identifier: Apache-2.0
#include "stats/judge.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace weft::stats {
namespace {

/// The paired blocks of a series' newest round, by arm; 0: not there so far.
struct Round {
  uint32_t number = 0;
  std::vector<double> us;
};

}  // namespace

Judgement judge(uint32_t arms, std::span<const Block> blocks, double error) {
  Judgement result;
  result.arms.resize(arms);
  std::vector<std::vector<double>> times(arms);
  const uint32_t pairs = arms * (arms - 1) / 2;
  std::vector<PairedTest> tests(size_t{arms} * arms, PairedTest(error / pairs));
  std::map<uint32_t, Round> rounds;  // by series, whose rounds follow one another
  for (const Block& each : blocks) {
    times[each.arm].push_back(each.us);
    if (each.paired == 0) continue;
    Round& round = rounds[each.series];
    if (round.us.empty() || round.number != each.round)
      round = {each.round, std::vector(arms, 0.0)};
    const auto there =
        std::count_if(round.us.begin(), round.us.end(), [](double us) { return us > 0; });
    if (there == 1) ++result.rounds;
    for (uint32_t other = 0; other < arms; ++other) {
      if (round.us[other] == 0) continue;
      const auto [a, b] = std::minmax(other, each.arm);
      tests[a * arms + b].add(a == other ? round.us[other] : each.us,
                              a == other ? each.us : round.us[other]);
    }
    round.us[each.arm] = each.us;
  }
  const auto beats = [&](uint32_t a, uint32_t b) {
    const PairedTest& test = tests[std::min(a, b) * arms + std::max(a, b)];
    return test.verdict() == (a < b ? PairedTest::Verdict::kFirst : PairedTest::Verdict::kSecond);
  };
  for (uint32_t a = 0; a < arms; ++a) {
    ArmTimes& arm = result.arms[a];
    arm.blocks = times[a].size();
    arm.median_us = median(times[a]);
    arm.mean_us = mean(times[a]);
    if (a != 0) arm.ratio = tests[a].ratio();
    bool best = !times[a].empty();
    bool alone = true;
    for (uint32_t b = 0; b < arms; ++b) {
      if (b == a || times[b].empty()) continue;
      alone = false;
      best = best && beats(a, b);
    }
    if (best && !alone) result.faster = a;
  }
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
