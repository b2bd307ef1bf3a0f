// SPDX-License-Identifier: Apache-2.0
// Whose turn it is among the arms of an experiment: known to all ranks without a word, since it
// depends only on how many calls there were.
#pragma once

#include <cstdint>
#include <vector>

namespace weft::comm {

/// What all turns of one experiment follow. Calls come in blocks, blocks in rounds; in a round each
/// arm has as many blocks as its weight says.
struct TurnOrder {
  struct Turn {
    uint8_t arm = 0;
    uint8_t paired = 0;  // the block of its arm in the round that is compared with the others'
  };
  std::vector<Turn> turns;  // of a round, in no order
  uint32_t block = 1;       // calls
  uint64_t seed = 0;

  /// Writes the order of a round, which has as much room. Any order is as likely as any other one.
  void draw(uint32_t round, std::vector<Turn>& into) const noexcept;
};

/// Goes through the turns, call by call. No allocation after the constructor.
class Turns {
 public:
  /// The order must outlive it.
  explicit Turns(const TurnOrder& order);

  [[nodiscard]] uint32_t arm() const noexcept { return turns_[turn_].arm; }
  [[nodiscard]] bool paired() const noexcept { return turns_[turn_].paired != 0; }
  [[nodiscard]] uint32_t round() const noexcept { return round_; }
  [[nodiscard]] bool block_begins() const noexcept { return call_ == 0; }
  [[nodiscard]] bool block_ends() const noexcept { return call_ + 1 == order_.block; }
  /// To the next call.
  void advance() noexcept;

 private:
  const TurnOrder& order_;
  std::vector<TurnOrder::Turn> turns_;  // of this round
  uint32_t round_ = 0;
  uint32_t turn_ = 0;
  uint32_t call_ = 0;  // of the block
};

}  // namespace weft::comm
