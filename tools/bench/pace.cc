// SPDX-License-Identifier: Apache-2.0
#include "bench/pace.hpp"

#include <algorithm>
#include <numeric>

namespace weft::tools {

double least_time(const Spec& spec, const Shape& shape) {
  constexpr double kWarmUp = 3e-3;
  constexpr double kBytesPerSecond = 8e9;
  constexpr double kMeeting = 5e-6;  // of a rank, once in a call
  constexpr size_t kOthers = 4;      // calls beside the timed ones: two checks, warming up
  const double call =
      double(shape.bytes) * spec.ranks / kBytesPerSecond + kMeeting * double(spec.ranks);
  const double block = call + std::max(kShortestBlock, call);  // the first one is not timed
  const size_t blocks = spec.race ? kFewestBlocks : kFewestPairs;
  const double arm = kWarmUp + double(blocks) * block + double(kOthers) * call;
  return arm * double(spec.arms.size());
}

double starting_time(const Spec& spec) {
  constexpr double kProcesses = 0.05;
  constexpr double kCommunicator = 2e-3;  // a rank's part in making one
  return kProcesses + kCommunicator * spec.ranks * double(spec.arms.size());
}

double share(double left, std::span<const double> least, size_t count) {
  if (count == 0) return 0;
  const std::span<const double> first = least.first(count);
  const double own = std::accumulate(first.begin(), first.end(), 0.0);
  const double all = std::accumulate(least.begin(), least.end(), 0.0);
  return own + std::max(0.0, left - all) * double(count) / double(least.size());
}

}  // namespace weft::tools
