// SPDX-License-Identifier: Apache-2.0
#include "rounds.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace tree {
namespace {

/// Rounds of recursive halving. Distances double, so that the nearest ranks exchange most; before
/// the round of distance d a place still sums the pieces whose place has the same bits below d.
///
/// The fold is part of the first round: a main rank takes from all ranks of the two places that
/// exchange, and a spare gives all it has to both main ranks.
Rounds halving(const Fold& fold, uint32_t rank, const std::vector<uint32_t>& place_of_piece) {
  const auto share = [&](uint32_t place, uint32_t distance) {
    std::vector<uint32_t> pieces;
    for (uint32_t c = 0; c < place_of_piece.size(); ++c) {
      if (((place_of_piece[c] ^ place) & (2 * distance - 1)) == 0) pieces.push_back(c);
    }
    return pieces;
  };
  const uint32_t me = fold.place(rank);
  Rounds rounds;
  if (fold.is_spare(rank)) {
    for (const uint32_t place : {me, me ^ 1}) {
      rounds.push_back({fold.main(place), share(place, 1), kNobody, {}});
    }
    return rounds;
  }
  for (uint32_t d = 1; d < fold.places; d *= 2) {
    const uint32_t peer = fold.main(me ^ d);
    rounds.push_back({peer, share(me ^ d, d), peer, share(me, d)});
    if (d > 1) continue;
    for (const uint32_t place : {me ^ 1, me}) {
      if (fold.is_pair(place)) rounds.push_back({kNobody, {}, fold.spare(place), share(me, 1)});
    }
  }
  return rounds;
}

/// `count` indices from `first` downwards, `stride` apart, modulo n.
std::vector<uint32_t> slices(uint32_t first, uint32_t stride, uint32_t count, uint32_t n) {
  std::vector<uint32_t> all;
  for (uint32_t i = 0; i < count; ++i) all.push_back((first + n - i * stride % n) % n);
  return all;
}

}  // namespace

Fold::Fold(uint32_t ranks) : places(std::bit_floor(ranks)), pairs(ranks - places) {}

uint32_t Fold::place(uint32_t rank) const { return rank < 2 * pairs ? rank / 2 : rank - pairs; }

Rounds halving_of_parts(uint32_t ranks, uint32_t rank) {
  const Fold fold(ranks);
  std::vector<uint32_t> places;
  for (uint32_t c = 0; c < fold.places; ++c) places.push_back(c);
  return halving(fold, rank, places);
}

Rounds halving_of_blocks(uint32_t ranks, uint32_t rank) {
  const Fold fold(ranks);
  std::vector<uint32_t> places;
  for (uint32_t c = 0; c < ranks; ++c) places.push_back(fold.place(c));
  return halving(fold, rank, places);
}

Rounds nhr(uint32_t ranks, uint32_t rank) {
  Rounds rounds;
  for (uint32_t d = 1; d < ranks; d *= 2) {
    const uint32_t count = (ranks - 1 + d) / (2 * d);
    const uint32_t to = (rank + ranks - d) % ranks;
    const uint32_t from = (rank + d) % ranks;
    rounds.push_back(
        {to, slices(to, 2 * d, count, ranks), from, slices(rank, 2 * d, count, ranks)});
  }
  return rounds;
}

std::vector<uint32_t> nhr_permutation(uint32_t ranks) {
  std::vector<uint32_t> list(ranks);
  for (uint32_t i = 0; i < ranks; ++i) list[i] = i;
  uint32_t length = ranks;
  for (uint32_t d = 1; (ranks - 1 + d) / (2 * d) > 1; d *= 2) {
    // In every run of `length` entries those at even places come first, those at odd places last.
    std::vector<uint32_t> sorted(ranks);
    for (uint32_t i = 0; i < ranks; ++i) {
      const uint32_t place = i % length;
      sorted[i - place + (place % 2 == 0 ? place : place + length) / 2] = list[i];
    }
    list = std::move(sorted);
    if (length % 2 == 1) break;
    length /= 2;
  }
  std::vector<uint32_t> part(ranks);
  for (uint32_t i = 0; i < ranks; ++i) part[list[i]] = i;
  return part;
}

std::set<uint32_t> inputs_given(const Rounds& rounds, uint32_t to) {
  std::set<uint32_t> taken;
  std::set<uint32_t> inputs;
  for (const Exchange& round : rounds) {
    for (const uint32_t c : round.give) {
      if (round.to == to && !taken.contains(c)) inputs.insert(c);
    }
    taken.insert(round.take.begin(), round.take.end());
  }
  return inputs;
}

Node::Node(const weft::Problem& p) : distance((p.rank() + p.ranks() - p.root()) % p.ranks()) {
  const uint32_t n = p.ranks();
  const uint32_t lowest = distance & (0u - distance);  // bit; 0 at the root
  const uint32_t reach = distance == 0 ? std::bit_ceil(n) : lowest;
  size = std::min(reach, n - distance);
  if (distance != 0) parent = p.ring(-static_cast<int64_t>(lowest));
  for (uint32_t d = reach / 2; d > 0; d /= 2) {
    const uint32_t child = distance + d;
    if (child < n) children.push_back({p.ring(d), child, std::min(d, n - child)});
  }
}

uint32_t largest_subtree(uint32_t ranks) {
  const uint32_t half = std::bit_ceil(ranks) / 2;
  return std::max(half / 2, std::min(half, ranks - half));
}

}  // namespace tree
