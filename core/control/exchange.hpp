// SPDX-License-Identifier: Apache-2.0
// The all-gather of a running communicator as the root sees it: collects one part per rank, round
// after round. No input or output: only the decisions.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "control/wire.hpp"

namespace weft::control {

class Exchange {
 public:
  using Clock = std::chrono::steady_clock;

  void begin(std::uint32_t ranks) { ranks_ = ranks; }

  /// What to do after a part came in.
  struct Outcome {
    std::optional<GatheredMessage> gathered;  // for all ranks: the round is complete
    std::optional<GatherFailedMessage> late;  // for this rank only: its round failed before it came
    std::optional<GatherFailedMessage> failed;  // for all ranks: the round failed now
    bool malformed = false;                     // this rank does not keep the order of rounds
  };
  Outcome add(std::uint32_t rank, GatherMessage message);

  /// A rank is gone: no round can succeed any more. For all ranks, if a round was open.
  std::optional<GatherFailedMessage> abandon(Failure why);

  /// When the open round fails, if there is one.
  std::optional<Clock::time_point> deadline() const noexcept { return deadline_; }
  /// The deadline has passed. For all ranks.
  GatherFailedMessage expire();

 private:
  GatherFailedMessage fail(Failure why);

  std::uint32_t ranks_ = 0;
  std::uint32_t sequence_ = 0;  // of the open round, or the next one
  std::map<std::uint32_t, Bytes> parts_;
  std::size_t bytes_ = 0;
  std::optional<Clock::time_point> deadline_;
  std::optional<Failure> abandoned_;
  Failure last_failure_;
};

}  // namespace weft::control
