// SPDX-License-Identifier: Apache-2.0
#include "parts.hpp"

#include <functional>
#include <map>
#include <numeric>
#include <tuple>

namespace weft::test {
namespace {

/// Patterns are costly to make and few; they are kept by what they depend on.
const Pattern& cached(const std::tuple<int, int, int, uint32_t>& key,
                      const std::function<Pattern()>& make) {
  thread_local std::map<std::tuple<int, int, int, uint32_t>, Pattern> patterns;
  const auto found = patterns.find(key);
  return found != patterns.end() ? found->second : patterns.emplace(key, make()).first->second;
}

const Pattern& input_of(const Case& c, uint32_t rank) {
  if (!reduces(c.op)) {
    return cached({0, c.type, 0, rank}, [&] { return moved(c.type, rank); });
  }
  if (c.rough) {
    return cached({1, c.type, 0, rank}, [&] { return rough_addend(c.type, rank); });
  }
  return cached({2, c.type, c.reduce, rank}, [&] { return addend(c.type, c.reduce, rank); });
}

const Pattern& result_of(const Case& c, uint32_t ranks) {
  if (c.rough) {
    return cached({3, c.type, c.reduce, ranks},
                  [&] { return rough_reduced(c.type, c.reduce, ranks); });
  }
  return cached({4, c.type, c.reduce, ranks}, [&] { return reduced(c.type, c.reduce, ranks); });
}

/// Where block `b` of a rank's input begins in the rank's sequence.
uint64_t first_of(uint32_t b) { return uint64_t{b} * 1009; }

/// Some are zero, some are shorter than a block of the case, some are longer.
uint64_t uneven(uint64_t count, uint64_t number) {
  switch ((number + count) % 4) {
    case 0:
      return 0;
    case 1:
      return count;
    case 2:
      return count / 2;
    default:
      return 2 * count + 3;
  }
}

/// Elements from rank i to rank j. Some ranks send nothing at all, some receive nothing.
uint64_t between(uint64_t count, uint32_t i, uint32_t j) {
  if ((i + count) % 5 == 4 || (j + 2 * count) % 7 == 3) return 0;
  return uneven(count, 3 * i + j);
}

std::vector<uint64_t> list(uint32_t ranks, const std::function<uint64_t(uint32_t)>& length) {
  std::vector<uint64_t> lengths(ranks);
  for (uint32_t b = 0; b < ranks; ++b) lengths[b] = length(b);
  return lengths;
}

/// Backwards from a rank that depends on `turn`, with gaps before and between the blocks.
std::vector<uint64_t> scattered(const std::vector<uint64_t>& counts, uint64_t turn) {
  std::vector<uint64_t> at(counts.size());
  uint64_t end = 0;
  for (size_t k = 0; k < counts.size(); ++k) {
    const size_t b = (2 * counts.size() - 1 - k + turn % counts.size()) % counts.size();
    end += 1 + (b + turn) % 3;
    at[b] = end;
    end += counts[b];
  }
  return at;
}

std::vector<uint64_t> packed(const std::vector<uint64_t>& counts) {
  std::vector<uint64_t> at(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), at.begin(), uint64_t{0});
  return at;
}

/// With a gap behind the last block, which only AlltoAllVC has not.
uint64_t size_of_blocks(const Case& c, const std::vector<uint64_t>& counts) {
  const uint64_t sum = std::accumulate(counts.begin(), counts.end(), uint64_t{0});
  return c.op == Op::kAllToAllVC ? sum : sum + 3 * counts.size() + 2;
}

Buffers equal_blocks(const Case& c, uint32_t rank, uint32_t ranks) {
  const bool many_in = c.op == Op::kReduceScatter || c.op == Op::kAllToAll || c.op == Op::kScatter;
  const bool many_out = c.op == Op::kAllGather || c.op == Op::kAllToAll;
  const bool gives = (c.op != Op::kBroadcast && c.op != Op::kScatter) || rank == c.root;
  const bool takes = c.op != Op::kReduce || rank == c.root;
  Buffers all;
  all.send_size = (many_in ? ranks : 1) * c.count;
  all.recv_size = (many_out ? ranks : 1) * c.count;
  for (uint32_t b = 0; gives && b < (many_in ? ranks : 1); ++b) {
    all.send.push_back({b * c.count, c.count, &input_of(c, rank), first_of(b)});
  }
  for (uint32_t b = 0; takes && b < (many_out ? ranks : 1); ++b) {
    const uint32_t from = has_root(c.op) ? c.root : b;
    const Pattern* pattern = reduces(c.op) ? &result_of(c, ranks) : &input_of(c, from);
    all.recv.push_back({b * c.count, c.count, pattern, first_of(many_in ? rank : 0)});
  }
  return all;
}

Buffers unequal_blocks(const Case& c, uint32_t rank, uint32_t ranks) {
  const Arrays arrays = arrays_of(c, rank, ranks);
  Buffers all;
  if (c.op == Op::kAllGatherV) {
    all.send_size = arrays.own;
    all.send.push_back({0, arrays.own, &input_of(c, rank), 0});
  } else {
    all.send_size = size_of_blocks(c, arrays.send_counts);
    for (uint32_t b = 0; b < ranks; ++b) {
      all.send.push_back(
          {arrays.send_at[b], arrays.send_counts[b], &input_of(c, rank), first_of(b)});
    }
  }
  if (c.op == Op::kReduceScatterV) {
    all.recv_size = arrays.own;
    all.recv.push_back({0, arrays.own, &result_of(c, ranks), first_of(rank)});
  } else {
    all.recv_size = size_of_blocks(c, arrays.recv_counts);
    const uint64_t first = first_of(c.op == Op::kAllGatherV ? 0 : rank);
    for (uint32_t b = 0; b < ranks; ++b) {
      all.recv.push_back({arrays.recv_at[b], arrays.recv_counts[b], &input_of(c, b), first});
    }
  }
  return all;
}

}  // namespace

std::string name_of(Op op) {
  static constexpr const char* kNames[] = {
      "all_reduce", "broadcast",    "reduce_scatter",   "all_gather",   "all_to_all",   "reduce",
      "scatter",    "all_gather_v", "reduce_scatter_v", "all_to_all_v", "all_to_all_vc"};
  return kNames[static_cast<int>(op)];
}

std::string operation_of(Op op) { return name_of(op == Op::kAllToAllVC ? Op::kAllToAllV : op); }

bool reduces(Op op) {
  return op == Op::kAllReduce || op == Op::kReduce || op == Op::kReduceScatter ||
         op == Op::kReduceScatterV;
}

bool has_root(Op op) { return op == Op::kBroadcast || op == Op::kReduce || op == Op::kScatter; }

bool is_v(Op op) {
  return op == Op::kAllGatherV || op == Op::kReduceScatterV || op == Op::kAllToAllV ||
         op == Op::kAllToAllVC;
}

std::string describe(const Case& c) {
  static constexpr const char* kPlaces[] = {"", ", in place", ", in the own slot"};
  std::string text = name_of(c.op) + " of " + std::to_string(c.count) + ' ' + name_of(c.type);
  if (reduces(c.op)) text += ", " + name_of(c.reduce);
  if (has_root(c.op)) text += ", root " + std::to_string(c.root);
  return text + kPlaces[static_cast<int>(c.place)] + (c.null ? ", NULL where allowed" : "") +
         ", from " + name_of(c.send) + " to " + name_of(c.recv);
}

Buffers buffers_of(const Case& c, uint32_t rank, uint32_t ranks) {
  return is_v(c.op) ? unequal_blocks(c, rank, ranks) : equal_blocks(c, rank, ranks);
}

Arrays arrays_of(const Case& c, uint32_t rank, uint32_t ranks) {
  Arrays all;
  all.own = uneven(c.count, rank);
  const auto by_block = [&](uint32_t b) { return uneven(c.count, b); };
  switch (c.op) {
    case Op::kAllGatherV:
      all.recv_counts = list(ranks, by_block);
      all.recv_at = scattered(all.recv_counts, c.count);
      break;
    case Op::kReduceScatterV:
      all.send_counts = list(ranks, by_block);
      all.send_at = scattered(all.send_counts, c.count);
      break;
    case Op::kAllToAllV:
    case Op::kAllToAllVC:
      all.send_counts = list(ranks, [&](uint32_t j) { return between(c.count, rank, j); });
      all.recv_counts = list(ranks, [&](uint32_t i) { return between(c.count, i, rank); });
      all.matrix =
          list(ranks * ranks, [&](uint32_t k) { return between(c.count, k / ranks, k % ranks); });
      if (c.op == Op::kAllToAllVC) {
        all.send_at = packed(all.send_counts);
        all.recv_at = packed(all.recv_counts);
      } else {
        all.send_at = scattered(all.send_counts, c.count + rank);
        all.recv_at = scattered(all.recv_counts, 2 * c.count + rank);
      }
      break;
    default:
      break;
  }
  return all;
}

uint64_t most_elements(const Case& c, uint32_t ranks) {
  if (is_v(c.op)) return ranks * (2 * c.count + 6) + 2;
  const bool one = c.op == Op::kAllReduce || c.op == Op::kBroadcast || c.op == Op::kReduce;
  return (one ? 1 : ranks) * c.count;
}

}  // namespace weft::test
