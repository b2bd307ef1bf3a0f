// SPDX-License-Identifier: Apache-2.0
#include "cases.hpp"

#include <algorithm>

#include "policy_file.hpp"
#include "weft/comm.h"

namespace weft::test {

HcclResult issue(const Case& c, const Arrays& arrays, const std::byte* send, std::byte* recv,
                 HcclComm comm, aclrtStream stream) {
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
    case Op::kAllToAll:
      return HcclAlltoAll(in, c.count, c.type, recv, c.count, c.type, comm, stream);
    case Op::kReduce:
      return HcclReduce(in, recv, c.count, c.type, c.reduce, c.root, comm, stream);
    case Op::kScatter:
      return HcclScatter(in, recv, c.count, c.type, c.root, comm, stream);
    case Op::kAllGatherV:
      return HcclAllGatherV(in, arrays.own, recv, arrays.recv_counts.data(), arrays.recv_at.data(),
                            c.type, comm, stream);
    case Op::kReduceScatterV:
      return HcclReduceScatterV(in, arrays.send_counts.data(), arrays.send_at.data(), recv,
                                arrays.own, c.type, c.reduce, comm, stream);
    case Op::kAllToAllV:
      return HcclAlltoAllV(in, arrays.send_counts.data(), arrays.send_at.data(), c.type, recv,
                           arrays.recv_counts.data(), arrays.recv_at.data(), c.type, comm, stream);
    default:
      return HcclAlltoAllVC(in, arrays.matrix.data(), c.type, recv, c.type, comm, stream);
  }
}

namespace {

bool nothing_in(const std::vector<Part>& parts) {
  return std::all_of(parts.begin(), parts.end(), [](const Part& part) { return part.count == 0; });
}

}  // namespace

Trial::Trial(const Case& c, uint32_t rank, uint32_t ranks, Arena& send, Arena& recv)
    : case_(c),
      element_(size_of(c.type)),
      arrays_(arrays_of(c, rank, ranks)),
      buffers_(buffers_of(c, rank, ranks)),
      send_arena_(send),
      recv_arena_(recv) {
  const uint64_t send_bytes = buffers_.send_size * element_;
  const uint64_t recv_bytes = buffers_.recv_size * element_;
  const uint64_t own = rank * c.count * element_;
  if (c.op == Op::kBroadcast || (c.op == Op::kAllGather && c.place == Place::kOwnSlot)) {
    send_arena_.lend(0);
    recv_ = recv_arena_.lend(recv_bytes);
    send_ = c.op == Op::kBroadcast ? recv_ : recv_ + own;
  } else {
    const bool apart = c.place == Place::kApart || (c.op == Op::kScatter && rank != c.root);
    send_ = send_arena_.lend(send_bytes);
    recv_ = recv_arena_.lend(apart ? recv_bytes : 0);
    if (!apart) recv_ = c.place == Place::kSame ? send_ : send_ + own;
  }
  for (const Part& part : buffers_.send) {
    part.pattern->write(send_ + part.at * element_, part.first, part.count);
  }
}

void Trial::run(HcclComm comm, aclrtStream stream) const {
  const bool may = case_.null && case_.op != Op::kBroadcast && case_.op != Op::kReduce;
  const std::byte* send = may && nothing_in(buffers_.send) ? nullptr : send_;
  std::byte* recv = may && nothing_in(buffers_.recv) ? nullptr : recv_;
  bool in_group = false;
  ok(HcclGroupStatusGet(&in_group));
  if (in_group) return ok(issue(case_, arrays_, send, recv, comm, stream));
  Arrays arrays = arrays_;
  ok(issue(case_, arrays, send, recv, comm, stream));
  // Outside a group they are read during the call.
  for (auto* list : {&arrays.send_counts, &arrays.send_at, &arrays.recv_counts, &arrays.recv_at,
                     &arrays.matrix}) {
    std::fill(list->begin(), list->end(), uint64_t{1} << 40);
  }
}

/// The output lies over it.
bool Trial::covered(const Part& input) const {
  const std::byte* begin = send_ + input.at * element_;
  const std::byte* end = begin + input.count * element_;
  return std::any_of(buffers_.recv.begin(), buffers_.recv.end(), [&](const Part& out) {
    const std::byte* from = recv_ + out.at * element_;
    return begin >= from && end <= from + out.count * element_;
  });
}

void Trial::verify() const {
  for (const Part& part : buffers_.recv) verify_part(recv_, part, "recvBuf");
  for (const Part& part : buffers_.send) {
    if (!covered(part)) verify_part(send_, part, "sendBuf");
  }
  const bool shared = case_.op == Op::kBroadcast || case_.place != Place::kApart;
  if (!shared) {
    verify_gaps(send_, buffers_.send_size, buffers_.send, "sendBuf");
    verify_gaps(recv_, buffers_.recv_size, buffers_.recv, "recvBuf");
  }
  check(!send_arena_.guards_broken(), "bytes around sendBuf were written by " + describe(case_));
  check(!recv_arena_.guards_broken(), "bytes around recvBuf were written by " + describe(case_));
}

void Trial::verify_part(const std::byte* data, const Part& good, const char* buffer) const {
  const std::byte* from = data + good.at * element_;
  const auto wrong = good.pattern->first_wrong(from, good.first, good.count);
  if (!wrong) return;
  check(false, describe(case_) + ": element " + std::to_string(*wrong) + " of the " +
                   std::to_string(good.count) + " at element " + std::to_string(good.at) + " of " +
                   buffer + " is " + hex(from + *wrong * element_, element_) + ", not " +
                   good.pattern->text(good.first + *wrong));
}

void Trial::verify_gaps(const std::byte* data, uint64_t size, std::vector<Part> parts,
                        const char* buffer) const {
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.at < b.at; });
  parts.push_back({size, 0, nullptr, 0});
  uint64_t at = 0;
  for (const Part& part : parts) {
    const std::byte* from = data + at * element_;
    const std::byte* to = data + std::max(at, part.at) * element_;
    const bool intact = std::all_of(from, to, [](std::byte byte) { return byte == Arena::kFill; });
    check(intact, describe(case_) + ": something was written between elements " +
                      std::to_string(at) + " and " + std::to_string(part.at) + " of " + buffer);
    at = std::max(at, part.at + part.count);
  }
}

uint64_t Trial::digest() const {
  uint64_t sum = 14695981039346656037u;  // FNV-1a
  for (const Part& part : buffers_.recv) {
    for (const std::byte *at = recv_ + part.at * element_, *end = at + part.count * element_;
         at != end; ++at) {
      sum = (sum ^ std::to_integer<uint64_t>(*at)) * 1099511628211u;
    }
  }
  return sum;
}

Runner::Runner(Rank& rank, size_t capacity) : rank_(rank), capacity_(capacity) {}

Arena& Runner::arena(std::map<Memory, std::unique_ptr<Arena>>& arenas, Memory kind) const {
  std::unique_ptr<Arena>& made = arenas[kind];
  if (made == nullptr) made = std::make_unique<Arena>(kind, capacity_);
  return *made;
}

void Runner::run(HcclComm comm, const Case& c, const std::string& algorithm) {
  trial_of(comm, c, algorithm).verify();
}

void Runner::run_and_compare(HcclComm comm, const Case& c, const std::string& algorithm) {
  const uint64_t digest = trial_of(comm, c, algorithm).digest();
  const auto low = static_cast<int32_t>(digest);
  const auto high = static_cast<int32_t>(digest >> 32);
  constexpr size_t kBounds = 4;
  Arena arena(Memory::kDevice, kBounds * sizeof(int32_t));
  auto* bounds = reinterpret_cast<int32_t*>(arena.lend(kBounds * sizeof(int32_t)));
  bounds[0] = low;
  bounds[1] = ~low;
  bounds[2] = high;
  bounds[3] = ~high;
  ok(HcclAllReduce(bounds, bounds, kBounds, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_MAX, comm, stream_));
  stream_.synchronize();
  check(bounds[0] == ~bounds[1] && bounds[2] == ~bounds[3],
        describe(c) + ": the bits differ between ranks");
}

Trial Runner::trial_of(HcclComm comm, const Case& c, const std::string& algorithm) {
  rank_.note(describe(c));
  Trial trial(c, rank_.rank(), rank_.ranks(), arena(send_, c.send), arena(recv_, c.recv));
  trial.run(comm, stream_);
  if (rank_.ranks() > 1) {
    const std::string used = last_call(comm).algorithm;
    check(used == algorithm, describe(c) + " was done by " + used + ", not " + algorithm);
  }
  stream_.synchronize();
  return trial;
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

aclError end_of(HcclResult issued, HcclComm comm, aclrtStream stream) {
  if (!runs_as_tasks()) ok(issued);
  check(issued == HCCL_SUCCESS || issued == HCCL_E_PARA, "code " + std::to_string(issued));
  const aclError error = aclrtSynchronizeStream(stream);
  if (!runs_as_tasks() || issued != HCCL_SUCCESS) return issued != HCCL_SUCCESS ? 1 : error;
  return HcclBarrier(comm, stream) == HCCL_SUCCESS ? error : ACL_ERROR_RT_PARAM_INVALID;
}

CallFacts last_call(HcclComm comm) {
  weft_call_info info{};
  info.head = WEFT_HEAD(weft_call_info);
  ok(weft_comm_last_call(comm, &info));
  return {info.algorithm, info.source, info.pieces, info.in_way == WEFT_WAY_STAGED,
          info.out_way == WEFT_WAY_STAGED};
}

}  // namespace weft::test
