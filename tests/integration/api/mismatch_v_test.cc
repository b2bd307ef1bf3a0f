// SPDX-License-Identifier: Apache-2.0
// Arrays of counts that differ between ranks, and transfers whose two ends differ: everybody
// involved learns it, nobody hangs.
#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "buffers.hpp"
#include "cases.hpp"
#include "policy_file.hpp"
#include "ranks.hpp"

namespace weft::test {
namespace {

constexpr HcclDataType kFp32 = HCCL_DATA_TYPE_FP32;
constexpr HcclDataType kInt32 = HCCL_DATA_TYPE_INT32;

/// What a rank has at hand for its call.
struct Hand {
  uint32_t rank;
  uint32_t ranks;
  std::byte* send;
  std::byte* recv;
  HcclComm comm;
  aclrtStream stream;

  std::vector<uint64_t> fours() const { return std::vector<uint64_t>(ranks, 4); }
  std::vector<uint64_t> packed() const {
    std::vector<uint64_t> at(ranks);
    for (uint32_t r = 0; r < ranks; ++r) at[r] = 8 * uint64_t{r};
    return at;
  }
};

HcclResult gather(const Hand& h, const std::vector<uint64_t>& counts, HcclDataType type = kFp32) {
  return HcclAllGatherV(h.send, counts[h.rank], h.recv, counts.data(), h.packed().data(), type,
                        h.comm, h.stream);
}

HcclResult reduce_scatter(const Hand& h, const std::vector<uint64_t>& counts,
                          HcclReduceOp op = HCCL_REDUCE_SUM) {
  return HcclReduceScatterV(h.send, counts.data(), h.packed().data(), h.recv, counts[h.rank], kFp32,
                            op, h.comm, h.stream);
}

HcclResult exchange(const Hand& h, const std::vector<uint64_t>& sends,
                    const std::vector<uint64_t>& receives, HcclDataType type = kFp32) {
  return HcclAlltoAllV(h.send, sends.data(), h.packed().data(), type, h.recv, receives.data(),
                       h.packed().data(), type, h.comm, h.stream);
}

std::vector<uint64_t> with(std::vector<uint64_t> counts, size_t index, uint64_t count) {
  counts[index] = count;
  return counts;
}

/// Rank 1 does something else than rank 0 and, if it is a collective, all others.
struct Difference {
  const char* name;
  bool pair;  // ranks 0 and 1 only
  std::function<HcclResult(const Hand&)> most;
  std::function<HcclResult(const Hand&)> one;
  std::vector<std::string> parts;
};

HcclResult gather_4(const Hand& h) { return gather(h, h.fours()); }
HcclResult scatter_4(const Hand& h) { return reduce_scatter(h, h.fours()); }
HcclResult exchange_4(const Hand& h) { return exchange(h, h.fours(), h.fours()); }
HcclResult exchange_matrix(const Hand& h, uint64_t first) {
  std::vector<uint64_t> matrix(h.ranks * h.ranks, 4);
  matrix[0] = first;
  return HcclAlltoAllVC(h.send, matrix.data(), kFp32, h.recv, kFp32, h.comm, h.stream);
}

std::vector<Difference> reducing_and_gathering() {
  return {
      {"gather_count_of_rank_1",
       false,
       gather_4,
       [](const Hand& h) { return gather(h, with(h.fours(), 1, 5)); },
       {"all_gather_v"}},
      {"gather_count_of_rank_0",
       false,
       gather_4,
       [](const Hand& h) { return gather(h, with(h.fours(), 0, 3)); },
       {"all_gather_v"}},
      {"gather_counts_of_equal_sum",
       false,
       gather_4,
       [](const Hand& h) { return gather(h, with(with(h.fours(), 0, 3), 1, 5)); },
       {"all_gather_v", "different counts"}},
      {"gather_type",
       false,
       gather_4,
       [](const Hand& h) { return gather(h, h.fours(), kInt32); },
       {"all_gather_v", "int32"}},
      {"reduce_scatter_count",
       false,
       scatter_4,
       [](const Hand& h) { return reduce_scatter(h, with(h.fours(), 0, 5)); },
       {"reduce_scatter_v"}},
      {"reduce_scatter_reduction",
       false,
       scatter_4,
       [](const Hand& h) { return reduce_scatter(h, h.fours(), HCCL_REDUCE_MAX); },
       {"reduce_scatter_v", "sum", "max"}},
  };
}

std::vector<Difference> exchanging() {
  return {
      {"operation", false, gather_4, exchange_4, {"all_gather_v", "all_to_all_v"}},
      {"exchange_type",
       false,
       exchange_4,
       [](const Hand& h) { return exchange(h, h.fours(), h.fours(), kInt32); },
       {"all_to_all_v", "fp32", "int32"}},
      {"exchange_sends_more",
       false,
       exchange_4,
       [](const Hand& h) { return exchange(h, with(h.fours(), 0, 5), h.fours()); },
       {"all_to_all_v"}},
      {"exchange_receives_less",
       false,
       exchange_4,
       [](const Hand& h) { return exchange(h, h.fours(), with(h.fours(), 0, 3)); },
       {"all_to_all_v"}},
      {"exchange_receives_nothing",
       false,
       exchange_4,
       [](const Hand& h) { return exchange(h, h.fours(), with(h.fours(), 0, 0)); },
       {"all_to_all_v"}},
      {"matrix",
       false,
       [](const Hand& h) { return exchange_matrix(h, 4); },
       [](const Hand& h) { return exchange_matrix(h, 5); },
       {"all_to_all_v", "different counts"}},
  };
}

std::vector<Difference> collective_differences() {
  std::vector<Difference> all = reducing_and_gathering();
  for (Difference& each : exchanging()) all.push_back(std::move(each));
  return all;
}

std::function<HcclResult(const Hand&)> send(uint64_t count, HcclDataType type) {
  return [=](const Hand& h) { return HcclSend(h.send, count, type, 1 - h.rank, h.comm, h.stream); };
}

std::function<HcclResult(const Hand&)> receive(uint64_t count, HcclDataType type) {
  return [=](const Hand& h) { return HcclRecv(h.recv, count, type, 1 - h.rank, h.comm, h.stream); };
}

/// Sends `out` elements and receives `in`.
std::function<HcclResult(const Hand&)> batch(uint64_t out, uint64_t in) {
  return [=](const Hand& h) {
    HcclSendRecvItem items[] = {{HCCL_SEND, h.send, out, kFp32, 1 - h.rank},
                                {HCCL_RECV, h.recv, in, kFp32, 1 - h.rank}};
    return HcclBatchSendRecv(items, 2, h.comm, h.stream);
  };
}

std::vector<Difference> pair_differences() {
  return {
      {"send_more", true, send(5, kFp32), receive(4, kFp32), {"5 fp32", "4 fp32"}},
      {"send_less", true, send(4, kFp32), receive(5, kFp32), {"4 fp32", "5 fp32"}},
      {"long_send", true, send(7000, kFp32), receive(7001, kFp32), {"7000 fp32", "7001 fp32"}},
      {"send_type", true, send(4, kFp32), receive(4, kInt32), {"4 fp32", "4 int32"}},
      {"receive_first", true, receive(4, kInt32), send(4, kFp32), {"4 fp32", "4 int32"}},
      {"batch", true, batch(3, 5), batch(5, 4), {"3 fp32", "4 fp32"}},
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
  for (const auto& list : {collective_differences(), pair_differences()}) {
    for (const Difference& difference : list) {
      all.push_back({difference, 2, Layout::kProcesses});
      all.push_back({difference, 3, Layout::kThreads});
    }
  }
  return all;
}

class MismatchV : public testing::TestWithParam<Setting> {};
std::string name_of_setting(const testing::TestParamInfo<Setting>& given) {
  return std::string(given.param.difference.name) + "_" + layout_name(given.param.layout) + "_" +
         std::to_string(given.param.ranks);
}
INSTANTIATE_TEST_SUITE_P(Each, MismatchV, testing::ValuesIn(settings()), name_of_setting);

void verify_text(const Difference& difference, const Hand& hand) {
  const char* text = aclGetRecentErrMsg();
  check(text != nullptr, "no text");
  std::vector<std::string> parts = difference.parts;
  parts.emplace_back(hand.rank == 1 ? "rank 0" : "rank 1");
  if (!difference.pair && hand.rank == 1 && hand.ranks > 2) parts.back() = "rank ";
  for (const std::string& part : parts) {
    check(contains(text, part), "no \"" + part + "\" in: " + text);
  }
}

TEST_P(MismatchV, IsToldToEveryRankInvolved) {
  const Difference& difference = GetParam().difference;
  const auto body = [&](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    Arena send(Memory::kDevice, 32768);
    Arena recv(Memory::kDevice, 32768);
    const Hand hand = {rank.rank(), rank.ranks(), send.lend(32768), recv.lend(32768), comm, stream};
    ok(HcclBarrier(comm, stream));
    stream.synchronize();
    if (rank.rank() < 2 || !difference.pair) {
      const HcclResult issued = (rank.rank() == 1 ? difference.one : difference.most)(hand);
      aclError error = end_of(issued, comm, stream);
      // A rank between which and the two nothing differs may learn it at the next call only.
      if (error == ACL_SUCCESS && rank.rank() > 1) {
        error = end_of(HcclBarrier(comm, stream), comm, stream);
      }
      check(error != ACL_SUCCESS, "the synchronisation succeeded");
      verify_text(difference, hand);
      HcclResult state = HCCL_SUCCESS;
      ok(HcclGetCommAsyncError(comm, &state));
      check(state == HCCL_E_PARA, "HcclGetCommAsyncError says " + std::to_string(state));
      refused(HcclBarrier(comm, stream), HCCL_E_PARA, {"HcclBarrier", "has failed"});
    }
    rank.sync();
    ok(HcclCommDestroy(comm));
  };
  run_ranks(GetParam().ranks, GetParam().layout, body);
}

TEST(TransferTimeout, OfAMessageThatNeverComesNamesThePeer) {
  const PolicyFile policy(policy_text({}, "[control]\nexec_timeout = \"1s\"\n"));
  GroupOptions options;
  options.environment = policy.environment();
  const auto body = [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    if (rank.rank() == 0) {
      Arena arena(Memory::kDevice, 4096);
      ok(HcclRecv(arena.lend(4096), 1024, kFp32, 1, comm, stream));
      check(aclrtSynchronizeStream(stream) != ACL_SUCCESS, "the synchronisation succeeded");
      const char* text = aclGetRecentErrMsg();
      check(text != nullptr && contains(text, "rank 1") && contains(text, "HCCL_EXEC_TIMEOUT") &&
                contains(text, "1024 fp32"),
            text == nullptr ? "no text" : text);
    }
    rank.sync();
    ok(HcclCommDestroy(comm));
  };
  run_ranks(2, Layout::kProcesses, body, options);
}

TEST(TransferDeath, OfThePeerEndsAReceiveAndNamesIt) {
  run_ranks(3, Layout::kProcesses, [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    Arena arena(Memory::kDevice, 4096);
    if (rank.rank() == 0) ok(HcclRecv(arena.lend(4096), 1024, kFp32, 1, comm, stream));
    rank.sync();
    if (rank.rank() == 1) rank.die();
    if (rank.rank() == 0) {
      check(aclrtSynchronizeStream(stream) != ACL_SUCCESS, "the synchronisation succeeded");
      const char* text = aclGetRecentErrMsg();
      check(text != nullptr && contains(text, "rank 1"), text == nullptr ? "no text" : text);
      HcclResult state = HCCL_SUCCESS;
      ok(HcclGetCommAsyncError(comm, &state));
      check(state == HCCL_E_REMOTE, "HcclGetCommAsyncError says " + std::to_string(state));
    }
    ok(HcclCommDestroy(comm));
  });
}

}  // namespace
}  // namespace weft::test
