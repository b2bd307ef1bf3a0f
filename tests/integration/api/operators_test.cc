// SPDX-License-Identifier: Apache-2.0
// Every operator with every type, reduction, in-place form, kind of memory and algorithm, on groups
// of threads and of processes. One group runs all cases of an operator.
#include "operators.hpp"

namespace weft::test {
namespace {

class Operators : public testing::TestWithParam<Shape> {};
INSTANTIATE_TEST_SUITE_P(Groups, Operators, testing::ValuesIn(shapes()), shape_name);

TEST_P(Operators, AllReduceIsRightInEveryForm) {
  run_all(GetParam(), Op::kAllReduce, {Place::kApart, Place::kSame});
}

TEST_P(Operators, ReduceScatterIsRightInEveryForm) {
  run_all(GetParam(), Op::kReduceScatter, {Place::kApart, Place::kSame, Place::kOwnSlot});
}

TEST_P(Operators, AllGatherIsRightInEveryForm) {
  run_all(GetParam(), Op::kAllGather, {Place::kApart, Place::kOwnSlot});
}

TEST_P(Operators, BroadcastIsRightFromEveryRoot) { run_all(GetParam(), Op::kBroadcast); }

TEST_P(Operators, ReduceIsRightToEveryRootAndWritesNowhereElse) {
  run_all(GetParam(), Op::kReduce, {Place::kApart, Place::kSame});
}

TEST_P(Operators, ScatterIsRightFromEveryRootInEveryForm) {
  run_all(GetParam(), Op::kScatter, {Place::kApart, Place::kOwnSlot});
}

TEST_P(Operators, AllToAllIsRight) { run_all(GetParam(), Op::kAllToAll); }

TEST_P(Operators, AllGatherVIsRightWithUnevenBlocksAndGaps) {
  run_all(GetParam(), Op::kAllGatherV);
}

TEST_P(Operators, ReduceScatterVIsRightWithUnevenBlocksAndGaps) {
  run_all(GetParam(), Op::kReduceScatterV);
}

TEST_P(Operators, AllToAllVIsRightWithUnevenBlocksAndGaps) { run_all(GetParam(), Op::kAllToAllV); }

TEST_P(Operators, AllToAllVCIsRightWithUnevenBlocks) { run_all(GetParam(), Op::kAllToAllVC); }

TEST_P(Operators, NobodyPassesABarrierBeforeAllHaveReachedIt) {
  run_ranks(GetParam().ranks, GetParam().layout, [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    for (uint32_t round = 1; round <= 20; ++round) {
      rank.event(0);
      ok(HcclBarrier(comm, stream));
      stream.synchronize();
      check(rank.counted(0) >= round * rank.ranks(), "the barrier let a rank through too early");
    }
    ok(HcclCommDestroy(comm));
  });
}

}  // namespace
}  // namespace weft::test
