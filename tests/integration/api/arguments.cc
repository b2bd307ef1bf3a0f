// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"

#include <ostream>

namespace weft::test {

std::vector<Function> all_functions() {
  std::vector<Function> all = counted_functions();
  all.insert(all.end(), {Function::kAllGatherV, Function::kReduceScatterV, Function::kAllToAllV,
                         Function::kAllToAllVC, Function::kBatchSendRecv});
  return all;
}

std::vector<Function> counted_functions() {
  return {Function::kAllReduce, Function::kBroadcast, Function::kReduceScatter,
          Function::kAllGather, Function::kReduce,    Function::kScatter,
          Function::kSend,      Function::kRecv,      Function::kAllToAll};
}

std::vector<Function> reducing_functions() {
  return {Function::kAllReduce, Function::kReduceScatter, Function::kReduce,
          Function::kReduceScatterV};
}

void PrintTo(Function function, std::ostream* out) { *out << names_of(function).function; }

std::string test_name(const testing::TestParamInfo<Function>& given) {
  return names_of(given.param).function;
}

Fixture::Fixture(Rank& rank)
    : ranks(rank.ranks()),
      comm(rank.join()),
      send(bytes.lend(512)),
      recv(send + 256),
      counts(ranks, 4),
      displacements(ranks),
      matrix(ranks * ranks, 4) {
  for (uint32_t r = 0; r < ranks; ++r) displacements[r] = r * 4;
  items = {{HCCL_SEND, send, 4, HCCL_DATA_TYPE_FP32, rank.rank()},
           {HCCL_RECV, recv, 4, HCCL_DATA_TYPE_FP32, rank.rank()}};
}

void with_fixture(const std::function<void(const Fixture&)>& body) {
  run_alone([&](Rank& rank) {
    const Fixture fixture(rank);
    body(fixture);
  });
}

Arguments::Arguments(const Fixture& f)
    : send(f.send),
      recv(f.recv),
      comm(f.comm),
      stream(f.stream),
      send_counts(const_cast<uint64_t*>(f.counts.data())),
      send_displacements(const_cast<uint64_t*>(f.displacements.data())),
      recv_counts(send_counts),
      recv_displacements(send_displacements),
      matrix(const_cast<uint64_t*>(f.matrix.data())),
      items(const_cast<HcclSendRecvItem*>(f.items.data())) {}

HcclResult call(Function function, const Arguments& a) {
  switch (function) {
    case Function::kAllReduce:
      return HcclAllReduce(a.send, a.recv, a.count, a.type, a.op, a.comm, a.stream);
    case Function::kBroadcast:
      return HcclBroadcast(a.recv, a.count, a.type, a.root, a.comm, a.stream);
    case Function::kReduceScatter:
      return HcclReduceScatter(a.send, a.recv, a.count, a.type, a.op, a.comm, a.stream);
    case Function::kAllGather:
      return HcclAllGather(a.send, a.recv, a.count, a.type, a.comm, a.stream);
    case Function::kReduce:
      return HcclReduce(a.send, a.recv, a.count, a.type, a.op, a.root, a.comm, a.stream);
    case Function::kScatter:
      return HcclScatter(a.send, a.recv, a.count, a.type, a.root, a.comm, a.stream);
    case Function::kSend:
      return HcclSend(a.send, a.count, a.type, a.root, a.comm, a.stream);
    case Function::kRecv:
      return HcclRecv(a.recv, a.count, a.type, a.root, a.comm, a.stream);
    case Function::kAllToAll:
      return HcclAlltoAll(a.send, a.count, a.type, a.recv, a.recv_count, a.recv_type, a.comm,
                          a.stream);
    case Function::kAllGatherV:
      return HcclAllGatherV(a.send, a.count, a.recv, a.recv_counts, a.recv_displacements, a.type,
                            a.comm, a.stream);
    case Function::kReduceScatterV:
      return HcclReduceScatterV(a.send, a.send_counts, a.send_displacements, a.recv, a.count,
                                a.type, a.op, a.comm, a.stream);
    case Function::kAllToAllV:
      return HcclAlltoAllV(a.send, a.send_counts, a.send_displacements, a.type, a.recv,
                           a.recv_counts, a.recv_displacements, a.recv_type, a.comm, a.stream);
    case Function::kAllToAllVC:
      return HcclAlltoAllVC(a.send, a.matrix, a.type, a.recv, a.recv_type, a.comm, a.stream);
    default:
      return HcclBatchSendRecv(static_cast<HcclSendRecvItem*>(a.items), a.item_num, a.comm,
                               a.stream);
  }
}

Names names_of(Function function) {
  using A = Arguments;
  const Pointer comm{"comm", &A::comm};
  const Pointer stream{"stream", &A::stream};
  const Pointer send{"sendBuf", &A::send};
  const Pointer recv{"recvBuf", &A::recv};
  const std::vector<Pointer> common = {comm, send, recv, stream};
  switch (function) {
    case Function::kAllReduce:
      return {"HcclAllReduce", "count", common, {}};
    case Function::kBroadcast:
      return {"HcclBroadcast", "count", {comm, {"buf", &A::recv}, stream}, {}};
    case Function::kReduceScatter:
      return {"HcclReduceScatter", "recvCount", common, {}};
    case Function::kAllGather:
      return {"HcclAllGather", "sendCount", common, {}};
    case Function::kReduce:
      return {"HcclReduce", "count", common, {}};
    case Function::kScatter:
      return {"HcclScatter", "recvCount", {comm, recv, stream}, {send}};
    case Function::kSend:
      return {"HcclSend", "count", {comm, send, stream}, {}};
    case Function::kRecv:
      return {"HcclRecv", "count", {comm, recv, stream}, {}};
    case Function::kAllToAll:
      return {"HcclAlltoAll", "sendCount", {send, recv, stream, comm}, {}};
    case Function::kAllGatherV:
      return {
          "HcclAllGatherV",
          "recvCounts",
          {comm, {"recvCounts", &A::recv_counts}, {"recvDispls", &A::recv_displacements}, stream},
          {send, recv}};
    case Function::kReduceScatterV:
      return {
          "HcclReduceScatterV",
          "sendCounts",
          {comm, {"sendCounts", &A::send_counts}, {"sendDispls", &A::send_displacements}, stream},
          {send, recv}};
    case Function::kAllToAllV:
      return {"HcclAlltoAllV",
              "sendCounts",
              {{"sendCounts", &A::send_counts},
               {"sdispls", &A::send_displacements},
               {"recvCounts", &A::recv_counts},
               {"rdispls", &A::recv_displacements},
               stream,
               comm},
              {send, recv}};
    case Function::kAllToAllVC:
      return {"HcclAlltoAllVC",
              "sendCountMatrix",
              {{"sendCountMatrix", &A::matrix}, comm, stream},
              {send, recv}};
    default:
      return {"HcclBatchSendRecv", "count", {comm, stream, {"sendRecvInfo", &A::items}}, {}};
  }
}

}  // namespace weft::test
