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
  run_all(GetParam(), Op::kScatter, {Place::kApart, Place::kOwnSlot, Place::kSame});
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

class OperatorsInPieces : public testing::TestWithParam<Layout> {};
INSTANTIATE_TEST_SUITE_P(Groups, OperatorsInPieces,
                         testing::Values(Layout::kThreads, Layout::kProcesses),
                         [](const auto& given) { return layout_name(given.param); });

TEST_P(OperatorsInPieces, AreRightFromAndToMemoryThatPeersCannotSee) {
  GroupOptions options;
  options.environment = {{"HCCL_BUFFSIZE", "1"}};  // MiB
  const auto body = [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    for (int op = 0; op <= static_cast<int>(Op::kAllToAllVC); ++op) {
      const HcclDataType type = runs_as_tasks() ? HCCL_DATA_TYPE_FP32 : HCCL_DATA_TYPE_INT64;
      Case c{static_cast<Op>(op), type, HCCL_REDUCE_SUM, 200001};
      c.root = static_cast<uint32_t>(op) % rank.ranks();
      c.send = static_cast<Memory>(static_cast<uint32_t>(op) % kMemoryKinds);
      c.recv = Memory::kHost;
      rank.note(describe(c));
      const size_t bytes = most_elements(c, rank.ranks()) * size_of(c.type);
      Arena send(c.send, bytes);
      Arena recv(c.recv, bytes);
      const Trial trial(c, rank.rank(), rank.ranks(), send, recv);
      trial.run(comm, stream);
      stream.synchronize();
      trial.verify();
    }
    ok(HcclCommDestroy(comm));
  };
  run_ranks(3, GetParam(), body, options);
}

TEST_P(Operators, NobodyPassesABarrierBeforeAllHaveReachedIt) {
  const PolicyFile policy(policy_text());
  GroupOptions options;
  options.environment = policy.environment();
  const auto body = [&](Rank& rank) {
    const Stream stream;
    uint32_t round = 0;
    for (const char* algorithm : {"mesh.barrier", "tree.barrier", "tree.star_barrier"}) {
      rank.sync();
      if (rank.rank() == 0) policy.write(policy_text({{"barrier", algorithm}}));
      rank.sync();
      HcclComm comm = rank.join();
      for (const uint32_t last = round + 20; round < last;) {
        ++round;
        rank.event(0);
        ok(HcclBarrier(comm, stream));
        stream.synchronize();
        check(rank.counted(0) >= round * rank.ranks(), "the barrier let a rank through too early");
      }
      check(rank.ranks() == 1 || last_call(comm).algorithm == algorithm, "another algorithm ran");
      ok(HcclCommDestroy(comm));
    }
  };
  run_ranks(GetParam().ranks, GetParam().layout, body, options);
}

}  // namespace
}  // namespace weft::test
