// SPDX-License-Identifier: Apache-2.0
// Calls that differ between ranks: everybody learns who called what, nobody hangs, and the
// communicator is over.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <vector>

#include "cases.hpp"
#include "policy_file.hpp"

namespace weft::test {
namespace {

/// What rank 1 calls while all others call the first.
struct Difference {
  const char* name;
  Case most;
  Case one;
  const char* most_text;
  const char* one_text;
  bool untouched;  // the algorithm reads all headers before it writes any result
  bool late;  // the algorithm does not bring all ranks together: some learn it at the next call
};

constexpr HcclDataType kFp32 = HCCL_DATA_TYPE_FP32;

Case sum_of(uint64_t count, HcclDataType type = kFp32) {
  return {Op::kAllReduce, type, HCCL_REDUCE_SUM, count};
}

Case broadcast_from(uint32_t root) {
  return {Op::kBroadcast, kFp32, HCCL_REDUCE_SUM, 1000, Place::kApart, root};
}

std::vector<Difference> differences() {
  const Case max = {Op::kReduceScatter, kFp32, HCCL_REDUCE_MAX, 500};
  const Case min = {Op::kReduceScatter, kFp32, HCCL_REDUCE_MIN, 500};
  const Case gather = {Op::kAllGather, kFp32, HCCL_REDUCE_SUM, 100};
  const Case reduce = {Op::kReduce, kFp32, HCCL_REDUCE_SUM, 1000, Place::kApart, 0};
  const Case reduce_elsewhere = {Op::kReduce, kFp32, HCCL_REDUCE_SUM, 1000, Place::kApart, 1};
  const Case scatter = {Op::kScatter, kFp32, HCCL_REDUCE_SUM, 100, Place::kApart, 0};
  const Case scatter_elsewhere = {Op::kScatter, kFp32, HCCL_REDUCE_SUM, 100, Place::kApart, 1};
  const Case all_to_all = {Op::kAllToAll, kFp32, HCCL_REDUCE_SUM, 100};
  return {
      {"operation", sum_of(1000), broadcast_from(0), "all_reduce of 1000 fp32, sum",
       "broadcast of 1000 fp32, root 0", true, false},
      {"count", sum_of(1000), sum_of(1001), "all_reduce of 1000 fp32, sum",
       "all_reduce of 1001 fp32, sum", true, false},
      {"short_count", sum_of(2), sum_of(1), "all_reduce of 2 fp32, sum",
       "all_reduce of 1 fp32, sum", true, false},
      {"type", sum_of(1000), sum_of(1000, HCCL_DATA_TYPE_INT32), "all_reduce of 1000 fp32, sum",
       "all_reduce of 1000 int32, sum", true, false},
      {"reduction", max, min, "reduce_scatter of 500 fp32, max", "reduce_scatter of 500 fp32, min",
       true, false},
      {"root", broadcast_from(0), broadcast_from(1), "broadcast of 1000 fp32, root 0",
       "broadcast of 1000 fp32, root 1", false, true},
      {"reduce_root", reduce, reduce_elsewhere, "reduce of 1000 fp32, sum, root 0",
       "reduce of 1000 fp32, sum, root 1", false, true},
      {"scatter_root", scatter, scatter_elsewhere, "scatter of 100 fp32, root 0",
       "scatter of 100 fp32, root 1", false, true},
      {"gather", gather, all_to_all, "all_gather of 100 fp32", "all_to_all of 100 fp32", false,
       false},
  };
}

struct Setting {
  Difference difference;
  uint32_t ranks;
  Layout layout;
};

void PrintTo(const Setting& setting, std::ostream* out) { *out << setting.difference.name; }

std::vector<Setting> settings() {
  std::vector<Setting> all;
  for (const Difference& difference : differences()) {
    all.push_back({difference, 2, Layout::kProcesses});
    all.push_back({difference, 3, Layout::kThreads});
    all.push_back({difference, 4, Layout::kProcesses});
  }
  return all;
}

class Mismatch : public testing::TestWithParam<Setting> {};
std::string name_of_setting(const testing::TestParamInfo<Setting>& given) {
  return std::string(given.param.difference.name) + "_" + layout_name(given.param.layout) + "_" +
         std::to_string(given.param.ranks);
}
INSTANTIATE_TEST_SUITE_P(Each, Mismatch, testing::ValuesIn(settings()), name_of_setting);

/// Some good calls first, on the same stream.
void warm_up(HcclComm comm, const Stream& stream, uint32_t calls) {
  Arena arena(Memory::kDevice, 4);
  std::byte* data = arena.lend(4);
  for (uint32_t i = 0; i < calls; ++i) {
    ok(HcclAllReduce(data, data, 1, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm, stream));
  }
  stream.synchronize();
}

void expect_over(HcclComm comm, const Stream& stream, HcclResult wanted) {
  HcclResult state = HCCL_SUCCESS;
  ok(HcclGetCommAsyncError(comm, &state));
  check(state == wanted, "HcclGetCommAsyncError says " + std::to_string(state));
  Arena arena(Memory::kDevice, 4);
  std::byte* data = arena.lend(4);
  for (int i = 0; i < 2; ++i) {
    refused(HcclAllReduce(data, data, 1, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm, stream),
            wanted, {"HcclAllReduce", "has failed"});
  }
  refused(HcclBarrier(comm, stream), wanted, {"HcclBarrier", "has failed"});
}

TEST_P(Mismatch, IsToldToEveryRankAndEndsTheCommunicator) {
  const Difference& difference = GetParam().difference;
  const auto body = [&](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    warm_up(comm, stream, 3);
    // The tasks engine finds the difference at issue, and ends what has not ended on slower ranks.
    if (runs_as_tasks()) rank.sync();
    const Case& mine = rank.rank() == 1 ? difference.one : difference.most;
    Arena send(Memory::kDevice, 32768);
    Arena recv(Memory::kDevice, 32768);
    std::byte* in = send.lend(32768);
    std::byte* out = recv.lend(32768);
    std::fill_n(in, 32768, std::byte{0x11});
    aclError error = end_of(issue(mine, {}, in, out, comm, stream), comm, stream);
    if (error == ACL_SUCCESS && difference.late) {
      error = end_of(HcclBarrier(comm, stream), comm, stream);
    }
    check(error != ACL_SUCCESS, "the synchronisation succeeded");
    const char* text = aclGetRecentErrMsg();
    check(text != nullptr, "no text");
    for (const char* part : {"rank 1", difference.most_text, difference.one_text, "pid"}) {
      check(contains(text, part), std::string("no \"") + part + "\" in: " + text);
    }
    check(std::count(in, in + 32768, std::byte{0x11}) == 32768, "the input was changed");
    if (difference.untouched) {
      check(std::count(out, out + 32768, Arena::kFill) == 32768, "the output was changed");
    }
    expect_over(comm, stream, HCCL_E_PARA);
    if (difference.late) rank.sync();
    ok(HcclCommDestroy(comm));
    HcclComm next = rank.join();  // the process goes on
    warm_up(next, stream, 3);
    ok(HcclCommDestroy(next));
  };
  run_ranks(GetParam().ranks, GetParam().layout, body);
}

TEST(MismatchLater, QueuedCallsBehindTheFailedOneFailToo) {
  run_ranks(2, Layout::kProcesses, [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    const Stream other;
    Arena arena(Memory::kDevice, 4096);
    std::byte* data = arena.lend(4096);
    const uint64_t count = 10 + rank.rank();
    ok(HcclAllReduce(data, data, count, kFp32, HCCL_REDUCE_SUM, comm, stream));
    for (int i = 0; i < 5; ++i) {
      // Refused as soon as the failure is known, else queued.
      const HcclResult code =
          HcclAllReduce(data, data, 100, kFp32, HCCL_REDUCE_SUM, comm, i % 2 ? stream : other);
      check(code == HCCL_SUCCESS || code == HCCL_E_PARA, "code " + std::to_string(code));
    }
    check(aclrtSynchronizeStream(stream) != ACL_SUCCESS, "the synchronisation succeeded");
    aclrtSynchronizeStream(other);
    expect_over(comm, stream, HCCL_E_PARA);
    ok(HcclCommDestroy(comm));
  });
}

TEST(MismatchLater, OfCallsThatAreCutIntoPiecesIsFound) {
  const PolicyFile policy(policy_text({{"all_reduce", "mesh.one_shot"}}));
  GroupOptions options;
  options.environment = policy.environment();
  options.environment["HCCL_BUFFSIZE"] = "1";
  const auto body = [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    const uint64_t count = rank.rank() == 0 ? 1 << 20 : 10;
    Arena arena(Memory::kDevice, count * 4);
    std::byte* data = arena.lend(count * 4);
    ok(HcclAllReduce(data, data, count, kFp32, HCCL_REDUCE_SUM, comm, stream));
    check(aclrtSynchronizeStream(stream) != ACL_SUCCESS, "the synchronisation succeeded");
    expect_over(comm, stream, HCCL_E_PARA);
    ok(HcclCommDestroy(comm));
  };
  run_ranks(2, Layout::kProcesses, body, options);
}

TEST(Timeout, OfACallThatAPeerNeverMakesNamesThePeer) {
  const PolicyFile policy(policy_text({}, "[control]\nexec_timeout = \"1s\"\n"));
  GroupOptions options;
  options.environment = policy.environment();
  const auto body = [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    warm_up(comm, stream, 2);
    if (rank.rank() != 1) {
      Arena arena(Memory::kDevice, 4096);
      std::byte* data = arena.lend(4096);
      ok(HcclAllReduce(data, data, 1024, kFp32, HCCL_REDUCE_SUM, comm, stream));
      check(aclrtSynchronizeStream(stream) != ACL_SUCCESS, "the synchronisation succeeded");
      const char* text = aclGetRecentErrMsg();
      check(text != nullptr && contains(text, "rank 1") && contains(text, "HCCL_EXEC_TIMEOUT") &&
                contains(text, "all_reduce of 1024 fp32, sum"),
            text == nullptr ? "no text" : text);
      expect_over(comm, stream, HCCL_E_TIMEOUT);
    }
    rank.sync();
    ok(HcclCommDestroy(comm));
  };
  run_ranks(3, Layout::kProcesses, body, options);
}

}  // namespace
}  // namespace weft::test
