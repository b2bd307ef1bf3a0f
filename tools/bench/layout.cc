// SPDX-License-Identifier: Apache-2.0
#include "bench/layout.hpp"

namespace weft::tools {
namespace {

// The sum of the weights of the first `blocks` blocks: 2, 3, 4, 2, 3, ..., but 0 for the last of
// three or more.
uint64_t weights(uint32_t ranks, uint32_t blocks) {
  constexpr uint64_t kStarted[] = {0, 2, 2 + 3};
  if (ranks >= 3 && blocks == ranks) --blocks;
  return uint64_t{blocks / 3} * (2 + 3 + 4) + kStarted[blocks % 3];
}

// Block `block` of `total` elements, cut by weights; all of them are exactly `total`.
uint64_t uneven(uint32_t ranks, uint64_t total, uint32_t block) {
  const uint64_t all = weights(ranks, ranks);
  return total * weights(ranks, block + 1) / all - total * weights(ranks, block) / all;
}

// Elements of block `block` where the blocks are the same for all ranks.
uint64_t block_length(const Spec& spec, const Shape& shape, uint32_t block) {
  if (facts(spec.op).blocks != Blocks::kUneven) return shape.count;
  return uneven(spec.ranks, shape.count, block);
}

// Elements from rank `from` to rank `to` in an all-to-all. Row 0 of the uneven matrix is the
// largest; the others are the same, turned and shortened, so no column is larger than it.
uint64_t pair_length(const Spec& spec, const Shape& shape, uint32_t from, uint32_t to) {
  if (facts(spec.op).blocks != Blocks::kUneven) return shape.count;
  const uint64_t whole = uneven(spec.ranks, shape.count, (to + spec.ranks - from) % spec.ranks);
  return whole - whole * from / (2 * spec.ranks);
}

// Elements before block `block`, and so more than 64 bytes: processors can be several times slower
// with copies to an address that is less than that ahead of the source within a page.
uint64_t gap(uint32_t block) { return 65 + block % 3; }

template <typename Length>
BlockList list_blocks(const Spec& spec, Length length) {
  const bool gaps = facts(spec.op).gaps();
  BlockList list;
  for (uint32_t i = 0; i < spec.ranks; ++i) {
    if (gaps) list.elements += gap(i);
    list.counts.push_back(length(i));
    list.displacements.push_back(list.elements);
    list.elements += list.counts.back();
  }
  if (gaps) list.elements += gap(spec.ranks);
  return list;
}

void reduce(const Spec& spec, const Shape& shape, uint32_t rank, Layout* layout) {
  layout->send_elements = layout->receive_elements = shape.count;
  if (spec.op == Op::kAllReduce || rank == spec.root) {
    layout->expected = {{kReduced, 0, 0, shape.count}};
  } else if (spec.in_place) {  // its input stays
    layout->expected = {{rank, 0, 0, shape.count}};
  }
}

// Of the blocks of all ranks, or of the root, everybody gets its own.
void scatter(const Spec& spec, const Shape& shape, uint32_t rank, Layout* layout) {
  const bool reduces = facts(spec.op).reduces();
  layout->send = list_blocks(spec, [&](uint32_t i) { return block_length(spec, shape, i); });
  layout->send_elements = reduces || rank == spec.root ? layout->send.elements : 0;
  layout->receive_elements = layout->send.counts[rank];
  layout->expected = {{reduces ? kReduced : spec.root, 0, layout->send.displacements[rank],
                       layout->receive_elements}};
}

void gather(const Spec& spec, const Shape& shape, uint32_t rank, Layout* layout) {
  layout->receive = list_blocks(spec, [&](uint32_t i) { return block_length(spec, shape, i); });
  layout->send_elements = layout->receive.counts[rank];
  layout->receive_elements = layout->receive.elements;
  for (uint32_t i = 0; i < spec.ranks; ++i) {
    layout->expected.push_back({i, layout->receive.displacements[i], 0, layout->receive.counts[i]});
  }
}

void all_to_all(const Spec& spec, const Shape& shape, uint32_t rank, Layout* layout) {
  const auto row = [&](uint32_t from) {
    return list_blocks(spec, [&](uint32_t to) { return pair_length(spec, shape, from, to); });
  };
  layout->send = row(rank);
  layout->receive =
      list_blocks(spec, [&](uint32_t from) { return pair_length(spec, shape, from, rank); });
  layout->send_elements = layout->send.elements;
  layout->receive_elements = layout->receive.elements;
  for (uint32_t i = 0; i < spec.ranks; ++i) {
    const BlockList sent = row(i);
    layout->expected.push_back(
        {i, layout->receive.displacements[i], sent.displacements[rank], layout->receive.counts[i]});
    if (spec.op == Op::kAllToAllVC) {
      layout->matrix.insert(layout->matrix.end(), sent.counts.begin(), sent.counts.end());
    }
  }
}

// The first half comes from the left, which sent its first half to the right, and the other way.
void exchange(const Spec& spec, const Shape& shape, uint32_t rank, Layout* layout) {
  layout->expected = {{left_of(spec, rank), 0, 0, shape.count}};
  if (spec.op == Op::kBatchSendRecv) {
    layout->expected.push_back({right_of(spec, rank), shape.count, shape.count, shape.count});
  }
  layout->send_elements = layout->receive_elements = layout->expected.size() * shape.count;
}

// What no part covers must stay as it is.
void add_gaps(Layout* layout) {
  std::vector<Expected> whole;
  uint64_t end = 0;
  const auto gap_until = [&](uint64_t at) {
    if (at > end) whole.push_back({kUntouched, end, 0, at - end});
  };
  for (const Expected& part : layout->expected) {
    gap_until(part.at);
    whole.push_back(part);
    end = part.at + part.count;
  }
  gap_until(layout->receive_elements);
  layout->expected = std::move(whole);
}

}  // namespace

Layout make_layout(const Spec& spec, const Shape& shape, uint32_t rank) {
  Layout layout;
  switch (spec.op) {
    case Op::kAllReduce:
    case Op::kReduce:
      reduce(spec, shape, rank, &layout);
      break;
    case Op::kBroadcast:
      layout.send_elements = layout.receive_elements = shape.count;
      layout.expected = {{spec.root, 0, 0, shape.count}};
      break;
    case Op::kScatter:
    case Op::kReduceScatter:
    case Op::kReduceScatterV:
      scatter(spec, shape, rank, &layout);
      break;
    case Op::kAllGather:
    case Op::kAllGatherV:
      gather(spec, shape, rank, &layout);
      break;
    case Op::kAllToAll:
    case Op::kAllToAllV:
    case Op::kAllToAllVC:
      all_to_all(spec, shape, rank, &layout);
      break;
    case Op::kSendRecv:
    case Op::kBatchSendRecv:
      exchange(spec, shape, rank, &layout);
      break;
    case Op::kBarrier:
      break;
  }
  add_gaps(&layout);
  return layout;
}

}  // namespace weft::tools
