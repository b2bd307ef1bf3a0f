// SPDX-License-Identifier: Apache-2.0
// The phases that the algorithms of the tree plugin are made of.
#pragma once

#include <cstdint>
#include <functional>

#include "rounds.hpp"
#include "weft/sdk.hpp"

namespace tree {

using Piece = std::function<weft::Chunk(uint32_t piece)>;

/// Where the pieces of a reduction are.
struct Places {
  uint32_t pieces;
  Piece in;                                                        // mine; a peer's: .at(peer)
  std::function<weft::Chunk(uint32_t rank, uint32_t piece)> sum;   // what a rank gives away
  std::function<std::vector<weft::Chunk>(uint32_t piece)> result;  // where what I end with goes
};

/// Reduce-scatter by pulling: who gives a piece away only says so. What a rank has taken of a piece
/// it sums in one pass with its own input, no sooner than it gives the piece away or ends with it.
/// Lower ranks come first. Peers may still read inputs and sums at the end.
void reduce_scatter(const weft::Problem& p, weft::Schedule& s, RoundsOf rounds_of,
                    const Places& at);

/// After reduce_scatter: waits until nobody reads my input any more. Whatever those who read it
/// have done by then is visible.
void take_inputs_back(const weft::Problem& p, weft::Schedule& s, RoundsOf rounds_of);

/// After reduce_scatter with sums in Out, all-gather by pushing: results go back to whom the
/// partial sums came from, so that nobody need ask or wait whether Out may be written. The results
/// of the last round are expected in `from`'s Out already.
void push_results(const weft::Problem& p, weft::Schedule& s, RoundsOf rounds_of, const Piece& out);

/// All-gather by pulling, from Out to Out: needs no permission to write. Pieces that a rank `has`
/// are not read again. Ends when nobody reads my Out any more.
void all_gather(const weft::Problem& p, weft::Schedule& s, RoundsOf rounds_of, const Piece& out,
                const std::function<bool(uint32_t piece)>& has);

/// Reduce: reduce_scatter with sums in a block of Scratch, then the root reads piece c from rank
/// owner(c), once signals up the tree have told that all are there.
void reduce(const weft::Problem& p, weft::Schedule& s, RoundsOf rounds_of, uint32_t pieces,
            const std::function<uint32_t(uint32_t piece)>& owner);

}  // namespace tree
