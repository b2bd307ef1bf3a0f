// SPDX-License-Identifier: Apache-2.0
// Which of several things that took turns is the fastest, and by how much.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stats/paired_test.hpp"

namespace weft::stats {

/// Some uses of one arm, one right after another.
struct Block {
  uint32_t series = 0;  // only blocks of one series are compared
  uint32_t round = 0;   // of the series: in each, all arms take their turns in an order drawn anew
  uint32_t arm = 0;
  uint32_t paired = 0;  // 1: the one of its arm in the round that is compared with the other arms'
  double us = 0;        // mean time of a use
};

struct ArmTimes {
  uint64_t blocks = 0;
  double median_us = 0;
  Mean mean_us;
  // Its time by that of the first arm, over rounds.
  PairedTest::Ratio ratio;
};

struct Judgement {
  std::vector<ArmTimes> arms;  // over those series that all arms have blocks in, if there is any
  uint64_t rounds = 0;         // that have blocks of several arms to compare
  // Than each of the others that have blocks. None if another one is faster in some series, or
  // seems so by 5 % after a few rounds: then it `depends` on the series.
  std::optional<uint32_t> faster;
  bool depends = false;
};

/// Looked at as often as one likes, with more and more blocks behind those of before: of arms that
/// are equally fast it ever names one with a probability of at most `error`.
[[nodiscard]] Judgement judge(uint32_t arms, std::span<const Block> blocks, double error = 0.03);

/// Of the same blocks on several ranks the times of the slowest rank: those that all ranks have.
[[nodiscard]] std::vector<Block> slowest(std::span<const std::vector<Block>> of_ranks);

}  // namespace weft::stats
