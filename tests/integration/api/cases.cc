// SPDX-License-Identifier: Apache-2.0
#include "cases.hpp"

#include <algorithm>
#include <tuple>

#include "weft/comm.h"

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

}  // namespace

std::string name_of(Op op) {
  static constexpr const char* kNames[] = {"all_reduce", "broadcast", "reduce_scatter",
                                           "all_gather", "all_to_all"};
  return kNames[static_cast<int>(op)];
}

std::string describe(const Case& c) {
  static constexpr const char* kPlaces[] = {"", ", in place", ", in the own slot"};
  std::string text = name_of(c.op) + " of " + std::to_string(c.count) + ' ' + name_of(c.type);
  if (reduces(c.op)) text += ", " + name_of(c.reduce);
  if (c.op == Op::kBroadcast) text += ", root " + std::to_string(c.root);
  return text + kPlaces[static_cast<int>(c.place)] + ", from " + name_of(c.send) + " to " +
         name_of(c.recv);
}

uint32_t send_blocks(Op op, uint32_t ranks) {
  return op == Op::kReduceScatter || op == Op::kAllToAll ? ranks : 1;
}

uint32_t recv_blocks(Op op, uint32_t ranks) {
  return op == Op::kAllGather || op == Op::kAllToAll ? ranks : 1;
}

HcclResult issue(const Case& c, const std::byte* send, std::byte* recv, HcclComm comm,
                 aclrtStream stream) {
  auto* in = const_cast<std::byte*>(send);
  switch (c.op) {
    case Op::kAllReduce:
      return HcclAllReduce(in, recv, c.count, c.type, c.reduce, comm, stream);
    case Op::kBroadcast:
      return HcclBroadcast(recv, c.count, c.type, c.root, comm, stream);
    case Op::kReduceScatter:
      return HcclReduceScatter(in, recv, c.count, c.type, c.reduce, comm, stream);
    case Op::kAllGather:
      return HcclAllGather(in, recv, c.count, c.type, comm, stream);
    default:
      return HcclAlltoAll(in, c.count, c.type, recv, c.count, c.type, comm, stream);
  }
}

Trial::Trial(const Case& c, uint32_t rank, uint32_t ranks, Arena& send, Arena& recv)
    : case_(c),
      rank_(rank),
      ranks_(ranks),
      block_bytes_(c.count * size_of(c.type)),
      send_arena_(send),
      recv_arena_(recv) {
  const uint64_t own = rank * block_bytes_;
  const uint64_t send_bytes = send_blocks(c.op, ranks) * block_bytes_;
  const uint64_t recv_bytes = recv_blocks(c.op, ranks) * block_bytes_;
  if (c.op == Op::kBroadcast || (c.place == Place::kOwnSlot && c.op == Op::kAllGather)) {
    send_arena_.lend(0);
    recv_ = recv_arena_.lend(recv_bytes);
    send_ = c.op == Op::kBroadcast ? recv_ : recv_ + own;
  } else {
    send_ = send_arena_.lend(send_bytes);
    recv_ = recv_arena_.lend(c.place == Place::kApart ? recv_bytes : 0);
    if (c.place == Place::kSame) recv_ = send_;
    if (c.place == Place::kOwnSlot) recv_ = send_ + own;
  }
  if (c.op != Op::kBroadcast || rank == c.root) {
    input_of(c, rank).write(send_, 0, send_bytes / size_of(c.type));
  }
}

void Trial::run(HcclComm comm, aclrtStream stream) const {
  ok(issue(case_, send_, recv_, comm, stream));
}

void Trial::verify() const {
  verify_output();
  verify_input();
  check(!send_arena_.guards_broken(), "bytes around sendBuf were written by " + describe(case_));
  check(!recv_arena_.guards_broken(), "bytes around recvBuf were written by " + describe(case_));
}

void Trial::verify_output() const {
  switch (case_.op) {
    case Op::kAllReduce:
      return verify_block(recv_, result_of(case_, ranks_), 0);
    case Op::kReduceScatter:
      return verify_block(recv_, result_of(case_, ranks_), rank_ * case_.count);
    case Op::kBroadcast:
      return verify_block(recv_, input_of(case_, case_.root), 0);
    case Op::kAllGather:
      for (uint32_t r = 0; r < ranks_; ++r) {
        verify_block(recv_ + r * block_bytes_, input_of(case_, r), 0);
      }
      return;
    case Op::kAllToAll:
      for (uint32_t r = 0; r < ranks_; ++r) {
        verify_block(recv_ + r * block_bytes_, input_of(case_, r), rank_ * case_.count);
      }
      return;
  }
}

void Trial::verify_block(const std::byte* data, const Pattern& good, uint64_t first) const {
  const auto wrong = good.first_wrong(data, first, case_.count);
  if (!wrong) return;
  const size_t size = size_of(case_.type);
  check(false, describe(case_) + ": element " + std::to_string(*wrong) + " of the block at byte " +
                   std::to_string(data - recv_) + " of recvBuf is " +
                   hex(data + *wrong * size, size) + ", not " + good.text(first + *wrong));
}

/// Of a buffer that is also the output, what the output does not cover.
void Trial::verify_input() const {
  if (case_.op == Op::kBroadcast || (case_.op == Op::kAllReduce && case_.place == Place::kSame) ||
      (case_.op == Op::kAllGather && case_.place == Place::kOwnSlot)) {
    return;
  }
  const uint32_t output = case_.place == Place::kSame      ? 0
                          : case_.place == Place::kOwnSlot ? rank_
                                                           : UINT32_MAX;
  for (uint32_t b = 0; b < send_blocks(case_.op, ranks_); ++b) {
    if (b == output) continue;
    const auto wrong =
        input_of(case_, rank_).first_wrong(send_ + b * block_bytes_, b * case_.count, case_.count);
    check(!wrong, "sendBuf was changed by " + describe(case_) + ", in block " + std::to_string(b) +
                      " at element " + std::to_string(wrong.value_or(0)));
  }
}

Runner::Runner(Rank& rank, size_t capacity) : rank_(rank), capacity_(capacity) {}

Arena& Runner::arena(std::map<Memory, std::unique_ptr<Arena>>& arenas, Memory kind) const {
  std::unique_ptr<Arena>& made = arenas[kind];
  if (made == nullptr) made = std::make_unique<Arena>(kind, capacity_);
  return *made;
}

void Runner::run(HcclComm comm, const Case& c, const std::string& algorithm) {
  rank_.note(describe(c));
  const Trial trial(c, rank_.rank(), rank_.ranks(), arena(send_, c.send), arena(recv_, c.recv));
  trial.run(comm, stream_);
  stream_.synchronize();
  trial.verify();
  if (rank_.ranks() == 1) return;
  const std::string used = last_call(comm).algorithm;
  check(used == algorithm, describe(c) + " was done by " + used + ", not " + algorithm);
}

std::string comm_name(HcclComm comm) {
  char name[COMM_NAME_MAX_LENGTH];
  ok(HcclGetCommName(comm, name));
  return name;
}

void expect_working(HcclComm comm, uint32_t ranks) {
  const Stream stream;
  Arena arena(Memory::kDevice, sizeof(int32_t));
  auto* data = reinterpret_cast<int32_t*>(arena.lend(sizeof(int32_t)));
  *data = 1;
  ok(HcclAllReduce(data, data, 1, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm, stream));
  stream.synchronize();
  check(*data == static_cast<int32_t>(ranks), "the sum is " + std::to_string(*data));
}

CallFacts last_call(HcclComm comm) {
  weft_call_info info{};
  info.head = WEFT_HEAD(weft_call_info);
  ok(weft_comm_last_call(comm, &info));
  return {info.algorithm, info.source, info.pieces, info.staged_in != 0, info.staged_out != 0};
}

}  // namespace weft::test
