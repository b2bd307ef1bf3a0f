// SPDX-License-Identifier: Apache-2.0
// Two arms, each a communicator with a policy of its own: blocks of calls of either in turn, in an
// order that is drawn for each pair of blocks.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>
#include <tuple>
#include <vector>

#include "bench/member.hpp"
#include "bench/pace.hpp"
#include "hccl/hccl.h"
#include "stats/paired_test.hpp"
#include "weft/comm.h"

namespace weft::tools {
namespace {

constexpr uint64_t kBlock = 10;    // calls
constexpr int kWarmUpBlocks = 5;   // of each arm
constexpr uint64_t kAtLeast = 20;  // pairs, so that the times mean something

}  // namespace

/// A policy is read when a communicator is made.
void Member::join_arms() {
  for (const std::string& policy : spec_.arms) {
    if (!spec_.threads || rank_ == 0) setenv("WEFT_POLICY", policy.c_str(), 1);
    team_.barrier();
    comms_.push_back(new_communicator());
    team_.barrier();
  }
  comm_ = comms_.front();
}

Call Member::of_arm(const Shape& shape, size_t arm) {
  comm_ = comms_[arm];
  return call(shape);
}

/// Elements that are wrong, on all ranks.
uint64_t Member::checked_arm(const Shape& shape, size_t arm) {
  return team_.sum(rank_, checked_call(of_arm(shape, arm)));
}

/// Microseconds of a call on the slowest rank, in a row of such calls: the first one is not timed.
/// It begins as the other arm has left the ranks, which with more ranks than cores takes up to
/// milliseconds.
double Member::time_arm(const Shape& shape, size_t arm, uint64_t units) {
  const Call call = of_arm(shape, arm);
  team_.barrier();
  carry_out(call, spec_.queue);
  const auto start = Clock::now();
  for (uint64_t i = 0; i < units; ++i) carry_out(call, spec_.queue);
  const Seconds took = Clock::now() - start;
  return team_.largest(rank_, took.count()) * 1e6 / double(units * spec_.queue);
}

/// Warms up; how many units make a block.
uint64_t Member::block_of(const Shape& shape, size_t arm) {
  const Seconds each = warm_up(of_arm(shape, arm));
  return std::max<uint64_t>(1, uint64_t(std::ceil(kShortestBlock / each.count())));
}

/// By the clock of rank 0.
bool Member::over(Clock::time_point deadline) {
  const bool late = rank_ == 0 && Clock::now() >= deadline;
  return team_.largest(rank_, late ? 1 : 0) > 0;
}

/// Of many reports on all arms, those that come too soon after another one are left out.
void Member::report(const Shape& shape, uint32_t arm) {
  constexpr auto kOften = std::chrono::milliseconds(200);
  if (rank_ != 0) return;
  if (arm == Progress::kAllArms && Clock::now() < told_ + kOften) return;
  told_ = Clock::now();
  team_.tell(Progress{shape, arm, 0});
}

void Member::compare(const Shape& shape, double seconds) {
  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
  place(shape);
  report(shape, Progress::kAllArms);
  Comparison result{};
  const auto check = [&] {
    for (size_t arm = 0; arm < 2; ++arm) result.arms[arm].wrong += checked_arm(shape, arm);
  };
  check();
  const bool timed = seconds > 0;
  uint64_t blocks[2] = {kBlock, kBlock};
  for (size_t arm = 0; timed && arm < 2; ++arm) blocks[arm] = block_of(shape, arm);
  for (int i = 0; i < (timed ? 1 : kWarmUpBlocks); ++i) {
    for (size_t arm = 0; arm < comms_.size(); ++arm) {
      static_cast<void>(time_arm(shape, arm, blocks[arm]));
    }
  }
  stats::PairedTest test(spec_.error);
  std::vector<double> times[2];
  std::mt19937_64 random(0x77656674);  // all ranks draw alike
  const uint64_t most = std::max<uint64_t>(1, spec_.iterations / (kBlock * spec_.queue));
  const auto begin = Clock::now();
  const auto enough = [&] {
    if (test.pairs() >= kAtLeast && test.verdict() != stats::PairedTest::Verdict::kOpen) {
      // What disturbs a machine lasts for a while.
      return !timed || over(begin + (deadline - begin) / 4);
    }
    return timed ? test.pairs() >= kFewestPairs && over(deadline) : test.pairs() >= most;
  };
  while (!enough()) {
    const size_t first = random() >> 63;
    for (const size_t arm : {first, 1 - first}) {
      times[arm].push_back(time_arm(shape, arm, blocks[arm]));
    }
    test.add(times[0].back(), times[1].back());  // of the slowest rank: the same on all
    report(shape, Progress::kAllArms);
  }
  if (!spec_.in_place) check();
  if (rank_ == 0) {
    result.shape = shape;
    result.pairs = test.pairs();
    result.block = kBlock * spec_.queue;
    result.faster = static_cast<uint32_t>(test.verdict());
    const auto ratio = test.ratio();
    std::tie(result.ratio, result.ratio_low, result.ratio_high) =
        std::tuple(ratio.median, ratio.low, ratio.high);
    for (size_t arm = 0; arm < 2; ++arm) {
      comm_ = comms_[arm];
      Comparison::Arm& about = result.arms[arm];
      const Row last = describe(shape, 0);
      static_assert(sizeof about.algorithm == sizeof last.call.algorithm);
      std::memcpy(about.algorithm, last.call.algorithm, sizeof about.algorithm);
      about.wins = arm == 0 ? test.first_wins() : test.second_wins();
      about.median_us = stats::median(times[arm]);
      const stats::Mean mean = stats::mean(times[arm]);
      about.mean_us = mean.value;
      about.half_width_us = mean.half_width;
    }
    team_.tell(result);
  }
  team_.barrier();
}

}  // namespace weft::tools
