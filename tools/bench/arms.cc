// SPDX-License-Identifier: Apache-2.0
// Two arms, each a communicator with a policy of its own: blocks of calls of either in turn, in an
// order that is drawn for each pair of blocks.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <random>
#include <tuple>
#include <vector>

#include "bench/member.hpp"
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

uint64_t Member::checked_arms(const Shape& shape) {
  uint64_t bad = 0;
  for (HcclComm comm : comms_) {
    comm_ = comm;
    bad += checked_call(call(shape));
  }
  return team_.sum(rank_, bad);
}

/// Microseconds of a call on the slowest rank.
double Member::time_arm(const Shape& shape, size_t arm) {
  comm_ = comms_[arm];
  const Call each = call(shape);
  const Seconds took = time_units(each, kBlock);
  return team_.largest(rank_, took.count()) * 1e6 / double(kBlock * spec_.queue);
}

void Member::compare(const Shape& shape) {
  place(shape);
  Comparison result{};
  result.wrong = checked_arms(shape);
  for (int i = 0; i < kWarmUpBlocks; ++i) {
    for (size_t arm = 0; arm < comms_.size(); ++arm) static_cast<void>(time_arm(shape, arm));
  }
  stats::PairedTest test;
  std::vector<double> times[2];
  std::mt19937_64 random(0x77656674);  // all ranks draw alike
  const uint64_t most = std::max<uint64_t>(1, spec_.iterations / (kBlock * spec_.queue));
  while (test.pairs() < most) {
    const size_t first = random() >> 63;
    for (const size_t arm : {first, 1 - first}) times[arm].push_back(time_arm(shape, arm));
    test.add(times[0].back(), times[1].back());  // of the slowest rank: the same on all
    if (test.pairs() >= kAtLeast && test.verdict() != stats::PairedTest::Verdict::kOpen) break;
  }
  if (!spec_.in_place) result.wrong += checked_arms(shape);
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
