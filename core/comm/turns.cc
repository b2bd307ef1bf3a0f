// SPDX-License-Identifier: Apache-2.0
#include "comm/turns.hpp"

#include <algorithm>
#include <utility>

namespace weft::comm {
namespace {

/// splitmix64: a good mix of its state, which goes up by a constant.
uint64_t next(uint64_t& state) noexcept {
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

}  // namespace

void TurnOrder::draw(uint32_t round, std::vector<Turn>& into) const noexcept {
  std::copy(turns.begin(), turns.end(), into.begin());
  uint64_t state = seed + round * 0xd1342543de82ef95;
  for (size_t left = into.size(); left > 1; --left) {
    // With at most 64 turns the remainder prefers none by more than 2^-58.
    std::swap(into[left - 1], into[next(state) % left]);
  }
}

Turns::Turns(const TurnOrder& order) : order_(order), turns_(order.turns.size()) {
  order_.draw(0, turns_);
}

void Turns::advance() noexcept {
  if (++call_ < order_.block) return;
  call_ = 0;
  if (++turn_ < turns_.size()) return;
  turn_ = 0;
  order_.draw(++round_, turns_);
}

}  // namespace weft::comm
