// SPDX-License-Identifier: Apache-2.0
// What the operators with arrays of counts refuse, and which of their buffers may be NULL.
#include <algorithm>
#include <ostream>

#include "arguments.hpp"

namespace weft::test {
namespace {

using F = Function;

constexpr uint64_t kTooMany = kMaxCount + 1;

/// The pointer to an argument that may be NULL, and the one that holds counts, of one direction.
struct Side {
  const char* counts;
  const char* displacements;
  void* Arguments::*counts_pointer;
  void* Arguments::*displacements_pointer;
};

const Side kSend{"sendCounts", "sendDispls", &Arguments::send_counts,
                 &Arguments::send_displacements};
const Side kRecv{"recvCounts", "recvDispls", &Arguments::recv_counts,
                 &Arguments::recv_displacements};
const Side kSendOfAll{"sendCounts", "sdispls", &Arguments::send_counts,
                      &Arguments::send_displacements};
const Side kRecvOfAll{"recvCounts", "rdispls", &Arguments::recv_counts,
                      &Arguments::recv_displacements};

struct Target {
  Function function;
  Side side;
};

std::vector<Target> targets() {
  return {{F::kAllGatherV, kRecv},
          {F::kReduceScatterV, kSend},
          {F::kAllToAllV, kSendOfAll},
          {F::kAllToAllV, kRecvOfAll}};
}

void PrintTo(const Target& target, std::ostream* out) { *out << target.side.counts; }

class ArrayArguments : public testing::TestWithParam<Target> {};
std::string target_name(const testing::TestParamInfo<Target>& given) {
  return names_of(given.param.function).function + "_" + given.param.side.counts;
}
INSTANTIATE_TEST_SUITE_P(Each, ArrayArguments, testing::ValuesIn(targets()), target_name);

TEST_P(ArrayArguments, ACountOverTheLimitIsRefusedWhoeversItIs) {
  run_ranks(2, Layout::kThreads, [](Rank& rank) {
    const auto& [function, side] = GetParam();
    const Fixture f(rank);
    Arguments a(f);
    for (const uint64_t wrong : {kTooMany, UINT64_MAX}) {
      uint64_t counts[2] = {4, 4};
      counts[1 - rank.rank()] = wrong;
      a.*side.counts_pointer = counts;
      refused(call(function, a), HCCL_E_PARA,
              {names_of(function).function, side.counts, std::to_string(wrong), "34359738367"});
      a.type = a.recv_type = HCCL_DATA_TYPE_RESERVED;  // looked at later
      refused(call(function, a), HCCL_E_PARA, {side.counts});
      a.type = a.recv_type = HCCL_DATA_TYPE_FP32;
    }
  });
}

TEST_P(ArrayArguments, ABlockBeyondTheAddressSpaceIsRefused) {
  with_fixture([](const Fixture& f) {
    const auto& [function, side] = GetParam();
    Arguments a(f);
    // The sum of elements, the product of elements and their size, the end of the last block.
    for (uint64_t wrong : {UINT64_MAX, UINT64_MAX - 3, UINT64_MAX / 4, UINT64_MAX / 4 - 3,
                           uint64_t{1} << 62, uint64_t{1} << 63, uint64_t{1} << 45}) {
      a.*side.displacements_pointer = &wrong;
      refused(call(function, a), HCCL_E_PARA,
              {names_of(function).function, side.displacements, std::to_string(wrong)});
    }
    ok(call(function, Arguments(f)));
    f.stream.synchronize();
  });
}

TEST_P(ArrayArguments, ANullArrayIsRefusedEvenIfThereIsNothingToDo) {
  with_fixture([](const Fixture& f) {
    const auto& [function, side] = GetParam();
    uint64_t zero = 0;
    Arguments good(f);
    good.count = 0;
    good.send_counts = good.recv_counts = &zero;
    Arguments a = good;
    a.*side.counts_pointer = nullptr;
    refused(call(function, a), HCCL_E_PTR, {names_of(function).function, side.counts, "null"});
    a = good;
    a.*side.displacements_pointer = nullptr;
    refused(call(function, a), HCCL_E_PTR,
            {names_of(function).function, side.displacements, "null"});
    ok(call(function, good));
    f.stream.synchronize();
  });
}

class OwnCount : public testing::TestWithParam<Function> {};
INSTANTIATE_TEST_SUITE_P(Each, OwnCount,
                         testing::Values(Function::kAllGatherV, Function::kReduceScatterV),
                         test_name);

TEST_P(OwnCount, MustBeTheEntryOfTheArray) {
  run_ranks(2, Layout::kThreads, [](Rank& rank) {
    const bool gather = GetParam() == F::kAllGatherV;
    const Fixture f(rank);
    uint64_t counts[2] = {4, 5};
    Arguments a(f);
    a.send_counts = a.recv_counts = counts;
    for (const uint64_t wrong : {uint64_t{5} - rank.rank(), uint64_t{0}, uint64_t{6}}) {
      a.count = wrong;
      refused(call(GetParam(), a), HCCL_E_PARA,
              {names_of(GetParam()).function, gather ? "sendCount" : "recvCount",
               gather ? "recvCounts" : "sendCounts", std::to_string(wrong),
               std::to_string(counts[rank.rank()])});
    }
  });
}

TEST_P(OwnCount, WithAllCountsZeroThereIsNothingToDoAndNoBufferIsNeeded) {
  with_fixture([](const Fixture& f) {
    uint64_t zero = 0;
    Arguments a(f);
    a.count = 0;
    a.send_counts = a.recv_counts = &zero;
    a.send = a.recv = nullptr;
    ok(call(GetParam(), a));
    f.stream.synchronize();
  });
}

TEST_P(OwnCount, OfZeroNeedsNoBufferOfThatSideButIsPartOfTheCall) {
  run_ranks(2, Layout::kThreads, [](Rank& rank) {
    const Fixture f(rank);
    uint64_t counts[2] = {0, 4};
    Arguments a(f);
    a.send_counts = a.recv_counts = counts;
    a.count = counts[rank.rank()];
    void* Arguments::*own = GetParam() == F::kAllGatherV ? &Arguments::send : &Arguments::recv;
    void* Arguments::*all = GetParam() == F::kAllGatherV ? &Arguments::recv : &Arguments::send;
    const std::string names[] = {"sendBuf", "recvBuf"};
    a.*all = nullptr;
    refused(call(GetParam(), a), HCCL_E_PTR,
            {names_of(GetParam()).function, names[GetParam() == F::kAllGatherV], "null"});
    a = Arguments(f);
    a.send_counts = a.recv_counts = counts;
    a.count = counts[rank.rank()];
    a.*own = nullptr;
    if (rank.rank() == 1) {
      refused(call(GetParam(), a), HCCL_E_PTR,
              {names_of(GetParam()).function, names[GetParam() != F::kAllGatherV], "null"});
      a.*own = Arguments(f).*own;
    }
    ok(call(GetParam(), a));
    f.stream.synchronize();
  });
}

class Exchange : public testing::TestWithParam<Function> {};
INSTANTIATE_TEST_SUITE_P(Each, Exchange,
                         testing::Values(Function::kAllToAllV, Function::kAllToAllVC), test_name);

TEST_P(Exchange, EqualBuffersAreRefused) {
  with_fixture([](const Fixture& f) {
    Arguments a(f);
    a.recv = a.send;
    refused(call(GetParam(), a), HCCL_E_PARA,
            {names_of(GetParam()).function, "sendBuf", "recvBuf", "same"});
  });
}

TEST_P(Exchange, TypesThatDifferAreRefused) {
  with_fixture([](const Fixture& f) {
    Arguments a(f);
    a.recv_type = HCCL_DATA_TYPE_INT32;
    refused(call(GetParam(), a), HCCL_E_PARA,
            {names_of(GetParam()).function, "sendType", "recvType"});
  });
}

TEST_P(Exchange, WithoutElementsTakesNullBuffersAndIsDone) {
  with_fixture([](const Fixture& f) {
    uint64_t zero = 0;
    Arguments a(f);
    a.send_counts = a.recv_counts = a.matrix = &zero;
    a.send = a.recv = nullptr;
    ok(call(GetParam(), a));
    f.stream.synchronize();
    a.comm = nullptr;  // it is never short-cut
    refused(call(GetParam(), a), HCCL_E_PTR, {names_of(GetParam()).function, "comm"});
  });
}

TEST_P(Exchange, InOneDirectionOnlyNeedsOneBufferOnEachRank) {
  run_ranks(2, Layout::kThreads, [](Rank& rank) {
    const Fixture f(rank);
    uint64_t matrix[4] = {0, 4, 0, 0};  // rank 0 to rank 1
    uint64_t sends[2] = {0, rank.rank() == 0 ? uint64_t{4} : 0};
    uint64_t receives[2] = {rank.rank() == 1 ? uint64_t{4} : 0, 0};
    Arguments good(f);
    good.matrix = matrix;
    good.send_counts = sends;
    good.recv_counts = receives;
    Arguments a = good;
    (rank.rank() == 0 ? a.send : a.recv) = nullptr;
    refused(call(GetParam(), a), HCCL_E_PTR,
            {names_of(GetParam()).function, rank.rank() == 0 ? "sendBuf" : "recvBuf", "null"});
    a = good;
    (rank.rank() == 0 ? a.recv : a.send) = nullptr;
    if (rank.rank() == 0) std::fill_n(f.send, 64, std::byte{0x42});
    ok(call(GetParam(), a));
    f.stream.synchronize();
    if (rank.rank() == 1) check(f.recv[15] == std::byte{0x42}, "nothing arrived");
  });
}

TEST(AllToAllV, AnOwnBlockOfTwoLengthsIsRefused) {
  with_fixture([](const Fixture& f) {
    uint64_t sent = 4;
    uint64_t expected = 3;
    Arguments a(f);
    a.send_counts = &sent;
    a.recv_counts = &expected;
    refused(call(F::kAllToAllV, a), HCCL_E_PARA,
            {"HcclAlltoAllV", "sends 4 elements to itself and expects 3", "sendCounts[0]"});
  });
}

TEST(AllToAllVC, ACountOfTheOwnRowOverTheLimitIsRefused) {
  run_ranks(2, Layout::kThreads, [](Rank& rank) {
    const Fixture f(rank);
    Arguments a(f);
    for (const uint64_t wrong : {kTooMany, UINT64_MAX}) {
      uint64_t matrix[4] = {4, 4, 4, 4};
      matrix[rank.rank() * 2 + 1] = wrong;
      a.matrix = matrix;
      refused(call(F::kAllToAllVC, a), HCCL_E_PARA,
              {"HcclAlltoAllVC", "sendCountMatrix", std::to_string(wrong), "34359738367"});
    }
  });
}

}  // namespace
}  // namespace weft::test
