// SPDX-License-Identifier: Apache-2.0
// The operators that can be measured: all of hccl.h and HcclBarrier, as a table of facts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace weft::tools {

/// In the order of kOperators.
enum class Op : uint8_t {
  kAllReduce,
  kReduce,
  kBroadcast,
  kScatter,
  kAllGather,
  kAllGatherV,
  kReduceScatter,
  kReduceScatterV,
  kAllToAll,
  kAllToAllV,
  kAllToAllVC,
  kSendRecv,
  kBatchSendRecv,
  kBarrier
};

/// What the larger buffer of a rank consists of.
enum class Blocks : uint8_t {
  kNone,   // there is no buffer
  kOne,    // the whole
  kTwo,    // a half for each neighbour
  kRanks,  // equal blocks, one for every rank
  kUneven  // a block for every rank, each of its own length
};

/// Bus bandwidth / algorithm bandwidth: the share of the bytes that has to cross between ranks, so
/// that numbers of different operations and ranks can be compared.
enum class BusFactor : uint8_t {
  kOne,
  kOthers,      // (n-1)/n
  kTwiceOthers  // 2(n-1)/n
};

// Facts, or'ed; an operator without one does not have it.
inline constexpr unsigned kGaps = 1;     // between its blocks
inline constexpr unsigned kRoot = 2;     // one rank is not like the others
inline constexpr unsigned kReduces = 4;  // combines elements of several ranks
inline constexpr unsigned kInPlace = 8;  // may send and receive in one buffer

struct Operator {
  Op op;
  std::string_view name;
  const char* function;  // of HCCL
  Blocks blocks;
  BusFactor bus;
  unsigned facts = 0;

  constexpr bool gaps() const { return (facts & kGaps) != 0; }
  constexpr bool root() const { return (facts & kRoot) != 0; }
  constexpr bool reduces() const { return (facts & kReduces) != 0; }
  constexpr bool in_place() const { return (facts & kInPlace) != 0; }
};

inline constexpr auto kOperators = std::to_array<Operator>({
    {Op::kAllReduce, "all_reduce", "HcclAllReduce", Blocks::kOne, BusFactor::kTwiceOthers,
     kReduces | kInPlace},
    {Op::kReduce, "reduce", "HcclReduce", Blocks::kOne, BusFactor::kOne,
     kRoot | kReduces | kInPlace},
    {Op::kBroadcast, "broadcast", "HcclBroadcast", Blocks::kOne, BusFactor::kOne, kRoot | kInPlace},
    {Op::kScatter, "scatter", "HcclScatter", Blocks::kRanks, BusFactor::kOthers, kRoot},
    {Op::kAllGather, "all_gather", "HcclAllGather", Blocks::kRanks, BusFactor::kOthers, kInPlace},
    {Op::kAllGatherV, "all_gather_v", "HcclAllGatherV", Blocks::kUneven, BusFactor::kOthers, kGaps},
    {Op::kReduceScatter, "reduce_scatter", "HcclReduceScatter", Blocks::kRanks, BusFactor::kOthers,
     kReduces | kInPlace},
    {Op::kReduceScatterV, "reduce_scatter_v", "HcclReduceScatterV", Blocks::kUneven,
     BusFactor::kOthers, kGaps | kReduces},
    {Op::kAllToAll, "all_to_all", "HcclAlltoAll", Blocks::kRanks, BusFactor::kOthers, 0},
    {Op::kAllToAllV, "all_to_all_v", "HcclAlltoAllV", Blocks::kUneven, BusFactor::kOthers, kGaps},
    {Op::kAllToAllVC, "all_to_all_vc", "HcclAlltoAllVC", Blocks::kUneven, BusFactor::kOthers, 0},
    {Op::kSendRecv, "send_recv", "HcclSend, HcclRecv", Blocks::kOne, BusFactor::kOne, 0},
    {Op::kBatchSendRecv, "batch_send_recv", "HcclBatchSendRecv", Blocks::kTwo, BusFactor::kOne, 0},
    {Op::kBarrier, "barrier", "HcclBarrier", Blocks::kNone, BusFactor::kOne, 0},
});

constexpr const Operator& facts(Op op) { return kOperators[size_t(op)]; }

static_assert([] {
  for (size_t i = 0; i < kOperators.size(); ++i) {
    if (kOperators[i].op != Op(i)) return false;
  }
  return kOperators.back().op == Op::kBarrier;
}());

inline constexpr auto kOperatorNames = [] {
  std::array<std::string_view, kOperators.size()> names;
  for (size_t i = 0; i < names.size(); ++i) names[i] = kOperators[i].name;
  return names;
}();

constexpr std::optional<Op> find_operator(std::string_view name) {
  for (const Operator& each : kOperators) {
    if (each.name == name) return each.op;
  }
  return std::nullopt;
}

}  // namespace weft::tools
