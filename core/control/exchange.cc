// SPDX-License-Identifier: Apache-2.0
#include "control/exchange.hpp"

#include <algorithm>
#include <utility>

#include "control/roll_call.hpp"

namespace weft::control {

Exchange::Outcome Exchange::add(std::uint32_t rank, GatherMessage message) {
  Outcome outcome;
  // Older rounds are over for everybody. They were not completed without this rank, so they failed.
  if (message.sequence < sequence_) {
    outcome.late = GatherFailedMessage{message.sequence, last_failure_};
    return outcome;
  }
  if (message.sequence > sequence_ || parts_.contains(rank)) {
    outcome.malformed = true;
    return outcome;
  }
  const auto deadline = Clock::now() + std::chrono::milliseconds(message.timeout_ms);
  deadline_ = std::min(deadline_.value_or(deadline), deadline);
  bytes_ += message.bytes.size();
  parts_[rank] = std::move(message.bytes);
  if (abandoned_) {
    outcome.failed = fail(*abandoned_);
  } else if (bytes_ > kMaxGathered) {
    outcome.failed =
        fail({HCCL_E_PARA, "the ranks exchange more than the limit of " +
                               std::to_string(kMaxGathered) + " bytes in one all-gather"});
  } else if (parts_.size() == ranks_) {
    outcome.gathered = GatheredMessage{sequence_++, {}};
    for (auto& [from, bytes] : parts_) outcome.gathered->parts.push_back(std::move(bytes));
    parts_.clear();
    bytes_ = 0;
    deadline_.reset();
  }
  return outcome;
}

std::optional<GatherFailedMessage> Exchange::abandon(Failure why) {
  if (!abandoned_) abandoned_ = std::move(why);
  if (parts_.empty()) return {};
  return fail(*abandoned_);
}

GatherFailedMessage Exchange::expire() {
  std::vector<std::uint32_t> absent;
  for (std::uint32_t rank = 0; rank < ranks_; ++rank)
    if (!parts_.contains(rank)) absent.push_back(rank);
  return fail({HCCL_E_TIMEOUT, list_ranks(absent) +
                                   " did not take part in an exchange of the communicator in time; "
                                   "all ranks must make the same calls"});
}

GatherFailedMessage Exchange::fail(Failure why) {
  last_failure_ = std::move(why);
  parts_.clear();
  bytes_ = 0;
  deadline_.reset();
  return {sequence_++, last_failure_};
}

}  // namespace weft::control
