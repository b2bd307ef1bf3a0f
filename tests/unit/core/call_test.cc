// SPDX-License-Identifier: Apache-2.0
// How calls are described in messages, and the digest of lengths.
#include "comm/call.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "hccl/hccl_types.h"

namespace weft::comm {
namespace {

std::string text_of(uint8_t op, uint64_t count = 5, uint32_t root = 0) {
  return describe({.count = count,
                   .root = root,
                   .op = op,
                   .type = HCCL_DATA_TYPE_FP32,
                   .reduce_op = HCCL_REDUCE_MAX});
}

TEST(Call, IsDescribedByWhatItsRanksMustAgreeOn) {
  EXPECT_EQ(text_of(WEFT_OP_ALL_REDUCE), "all_reduce of 5 fp32, max");
  EXPECT_EQ(text_of(WEFT_OP_BROADCAST, 5, 2), "broadcast of 5 fp32, root 2");
  EXPECT_EQ(text_of(WEFT_OP_ALL_GATHER), "all_gather of 5 fp32");
  EXPECT_EQ(text_of(WEFT_OP_REDUCE_SCATTER), "reduce_scatter of 5 fp32, max");
  EXPECT_EQ(text_of(WEFT_OP_ALL_TO_ALL), "all_to_all of 5 fp32");
  EXPECT_EQ(text_of(WEFT_OP_BARRIER, 0), "barrier");
  EXPECT_EQ(text_of(WEFT_OP_REDUCE, 5, 3), "reduce of 5 fp32, max, root 3");
  EXPECT_EQ(text_of(WEFT_OP_SCATTER, 5, 1), "scatter of 5 fp32, root 1");
  EXPECT_EQ(text_of(WEFT_OP_ALL_GATHER_V), "all_gather_v of 5 fp32 in all");
  EXPECT_EQ(text_of(WEFT_OP_REDUCE_SCATTER_V), "reduce_scatter_v of 5 fp32 in all, max");
  EXPECT_EQ(text_of(WEFT_OP_ALL_TO_ALL_V, 0), "all_to_all_v of fp32");
  EXPECT_EQ(text_of(kOpSend, 5, 4), "send of 5 fp32 to rank 4");
  EXPECT_EQ(text_of(kOpReceive, 5, 4), "receive of 5 fp32 from rank 4");
  EXPECT_EQ(text_of(kOpBatch), "batch of 5 sends and receives");
}

TEST(Call, NumbersFromAnotherProcessNeedNotMakeSense) {
  EXPECT_EQ(describe({.count = 1, .op = 255, .type = 255, .reduce_op = 255}),
            "unknown of 1 unknown");
  EXPECT_EQ(describe({.count = 1, .op = WEFT_OP_ALL_REDUCE, .type = 200, .reduce_op = 255}),
            "all_reduce of 1 unknown, unknown");
}

TEST(Call, TheDigestTellsOrderSizeAndBothListsApart) {
  using List = std::vector<uint64_t>;
  const auto of = [](const List& counts, const List& places) {
    return digest(places, digest(counts));
  };
  std::set<uint64_t> all;
  const std::pair<List, List> calls[] = {{{1, 2}, {0, 1}}, {{2, 1}, {0, 1}}, {{1, 2}, {1, 0}},
                                         {{0, 1}, {1, 2}}, {{1, 3}, {0, 1}}, {{0, 0}, {0, 1}},
                                         {{1, 2}, {0, 2}}, {{1, 1}, {2, 2}}, {{2, 2}, {1, 1}}};
  for (const auto& [counts, places] : calls) all.insert(of(counts, places));
  EXPECT_EQ(all.size(), std::size(calls));
  EXPECT_EQ(of({1, 2}, {0, 1}), of({1, 2}, {0, 1}));
}

TEST(Call, TheDigestFoldedTo32BitsTellsSmallMistakesApart) {
  std::set<uint32_t> all;
  std::array<uint64_t, 16> counts;
  counts.fill(1000);
  for (uint64_t& count : counts) {
    for (uint64_t k = 0; k < 200; ++k) {
      count = 1001 + k;
      const uint64_t state = digest(counts);
      all.insert(static_cast<uint32_t>(state ^ state >> 32));
    }
    count = 1000;
  }
  EXPECT_EQ(all.size(), 16u * 200);
}

}  // namespace
}  // namespace weft::comm
