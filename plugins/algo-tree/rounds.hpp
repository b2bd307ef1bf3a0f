// SPDX-License-Identifier: Apache-2.0
// Index arithmetic of the tree plugin: who exchanges which pieces with whom in which round.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "weft/sdk.hpp"

namespace tree {

inline constexpr uint32_t kNobody = UINT32_MAX;

/// What a rank does with a peer or two in a round of a reduce-scatter: it gives its partial sums of
/// some pieces away, then takes those of other pieces. Read backwards it is what it does in an
/// all-gather: results of `take` go to `from`, those of `give` come from `to`.
struct Exchange {
  uint32_t to = kNobody;
  std::vector<uint32_t> give;
  uint32_t from = kNobody;
  std::vector<uint32_t> take;
};

using Rounds = std::vector<Exchange>;

/// The rounds of a rank. A piece is given away once by every rank but the one that ends with it.
using RoundsOf = Rounds (*)(uint32_t ranks, uint32_t rank);

/// n ranks as a power of two of places: the first ranks share places in pairs. The even one of a
/// pair is the place's main rank, as is who has a place alone; the odd one is its spare.
struct Fold {
  explicit Fold(uint32_t ranks);

  [[nodiscard]] uint32_t place(uint32_t rank) const;
  [[nodiscard]] bool is_spare(uint32_t rank) const { return rank < 2 * pairs && rank % 2 == 1; }
  [[nodiscard]] bool is_pair(uint32_t place) const { return place < pairs; }
  [[nodiscard]] uint32_t main(uint32_t place) const {
    return is_pair(place) ? 2 * place : place + pairs;
  }
  [[nodiscard]] uint32_t spare(uint32_t pair) const { return 2 * pair + 1; }

  uint32_t places;
  uint32_t pairs;
};

/// Recursive halving of one piece per place; piece c ends on main(c).
Rounds halving_of_parts(uint32_t ranks, uint32_t rank);
/// Recursive halving of one piece per rank; the piece of a rank ends on the main rank of its place.
Rounds halving_of_blocks(uint32_t ranks, uint32_t rank);
/// NHR, one piece per rank; piece r ends on rank r.
Rounds nhr(uint32_t ranks, uint32_t rank);

/// Which part of the vector is the i-th piece of NHR, so that pieces that travel together lie
/// together.
std::vector<uint32_t> nhr_permutation(uint32_t ranks);

/// The pieces that a rank with these rounds gives to `to` as they are in its input, since it has
/// taken nothing of them before; the others are sums.
std::set<uint32_t> inputs_given(const Rounds& rounds, uint32_t to);

/// A rank in the binomial tree under the root. Distances are those from the root to the right.
struct Node {
  explicit Node(const weft::Problem& p);

  struct Child {
    uint32_t rank;
    uint32_t distance;
    uint32_t size;  // ranks in its subtree, itself included: distance .. distance+size-1
  };
  uint32_t distance;
  uint32_t size;
  uint32_t parent = kNobody;
  std::vector<Child> children;  // the largest first
};

/// Ranks in the largest subtree under the root's children.
uint32_t largest_subtree(uint32_t ranks);

}  // namespace tree
