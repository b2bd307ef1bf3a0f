// SPDX-License-Identifier: Apache-2.0
#include "phases.hpp"

#include <algorithm>
#include <ranges>

namespace tree {

using weft::Chunk;
using weft::Problem;
using weft::Schedule;

void reduce_scatter(const Problem& p, Schedule& s, RoundsOf rounds_of, const Places& at) {
  std::vector<std::vector<Chunk>> terms;
  std::vector<bool> given(at.pieces, false);
  for (uint32_t c = 0; c < at.pieces; ++c) terms.push_back({at.in(c)});

  for (const Exchange& round : rounds_of(p.ranks(), p.rank())) {
    for (const uint32_t c : round.give) {
      if (terms[c].size() > 1) s.reduce(at.sum(p.rank(), c), terms[c]);
      given[c] = true;
    }
    if (round.to != kNobody) s.signal(round.to);
    if (round.from == kNobody) continue;
    s.wait(round.from);
    const std::set<uint32_t> inputs = inputs_given(rounds_of(p.ranks(), round.from), p.rank());
    for (const uint32_t c : round.take) {
      const Chunk term = inputs.contains(c) ? at.in(c).at(round.from) : at.sum(round.from, c);
      const auto lower = [](const Chunk& a, const Chunk& b) { return a.rank < b.rank; };
      terms[c].insert(std::upper_bound(terms[c].begin(), terms[c].end(), term, lower), term);
    }
  }
  for (uint32_t c = 0; c < at.pieces; ++c) {
    if (!given[c]) s.reduce(at.result(c), terms[c]);
  }
}

void take_inputs_back(const Problem& p, Schedule& s, RoundsOf rounds_of) {
  const Rounds mine = rounds_of(p.ranks(), p.rank());
  for (const Exchange& round : mine) {
    if (round.from == kNobody) continue;
    if (!inputs_given(rounds_of(p.ranks(), round.from), p.rank()).empty()) s.signal(round.from);
  }
  for (const Exchange& round : mine) {
    if (round.to != kNobody && !inputs_given(mine, round.to).empty()) s.wait(round.to);
  }
}

void push_results(const Problem& p, Schedule& s, RoundsOf rounds_of, const Piece& out) {
  const Rounds mine = rounds_of(p.ranks(), p.rank());
  for (const Exchange& round : std::views::reverse(mine)) {
    if (round.from != kNobody) {
      if (&round != &mine.back()) {
        for (const uint32_t c : round.take) s.copy(out(c).at(round.from), out(c));
      }
      s.signal(round.from);
    }
    if (round.to != kNobody) s.wait(round.to);
  }
}

void all_gather(const Problem& p, Schedule& s, RoundsOf rounds_of, const Piece& out,
                const std::function<bool(uint32_t piece)>& has) {
  const Rounds mine = rounds_of(p.ranks(), p.rank());
  for (const Exchange& round : std::views::reverse(mine)) {
    if (round.from != kNobody) s.signal(round.from);  // read what I have
    if (round.to == kNobody) continue;
    s.wait(round.to);
    for (const uint32_t c : round.give) {
      if (!has(c)) s.copy(out(c), out(c).at(round.to));
    }
  }
  // Not before: a peer takes the signals of a rank in their order, whatever they mean.
  for (const Exchange& round : mine) {
    if (round.to != kNobody) s.signal(round.to);  // I have read all I need from you
  }
  for (const Exchange& round : mine) {
    if (round.from != kNobody) s.wait(round.from);
  }
}

void reduce(const Problem& p, Schedule& s, RoundsOf rounds_of, uint32_t pieces,
            const std::function<uint32_t(uint32_t piece)>& owner) {
  const Node node(p);
  const bool is_root = p.rank() == p.root();
  const auto in = [&](uint32_t c) { return p.in().all().part_of(c, pieces); };
  const auto out = [&](uint32_t c) { return p.out().all().part_of(c, pieces); };
  const auto sum = [&](uint32_t rank, uint32_t c) {
    return p.scratch(0).part_of(c, pieces).at(rank);
  };
  const auto result = [&](uint32_t c) { return std::vector{is_root ? out(c) : sum(p.rank(), c)}; };

  s.reserve(1);
  reduce_scatter(p, s, rounds_of, {pieces, in, sum, result});
  take_inputs_back(p, s, rounds_of);
  for (const Node::Child& child : std::views::reverse(node.children)) s.wait(child.rank);
  if (!is_root) return s.signal(node.parent);
  for (uint32_t c = 0; c < pieces; ++c) {
    if (owner(c) != p.rank()) s.copy(out(c), sum(owner(c), c));
  }
}

}  // namespace tree
