// SPDX-License-Identifier: Apache-2.0
#include "bench/call.hpp"

#include <iterator>

namespace weft::tools {
namespace {

// A shift around the ring. Even ranks send first and odd ones receive first: a ring of two or more
// ranks has an odd one, so there is no circle of ranks that wait for each other.
Issued send_recv(const Call& call) {
  const auto send = [&]() -> Issued {
    return {"HcclSend", HcclSend(call.send, call.shape.count, call.spec.type,
                                 right_of(call.spec, call.rank), call.comm, call.stream)};
  };
  const auto receive = [&]() -> Issued {
    return {"HcclRecv", HcclRecv(call.receive, call.shape.count, call.spec.type,
                                 left_of(call.spec, call.rank), call.comm, call.stream)};
  };
  const bool sends_first = call.rank % 2 == 0;
  const Issued first = sends_first ? send() : receive();
  if (first.result != HCCL_SUCCESS) return first;
  return sends_first ? receive() : send();
}

// Where both neighbours are one rank, its items meet ours in this order.
HcclResult batch_send_recv(const Call& call) {
  const uint64_t count = call.shape.count;
  const HcclDataType type = call.spec.type;
  const size_t half = count * element_size(call.spec);
  const uint32_t right = right_of(call.spec, call.rank);
  const uint32_t left = left_of(call.spec, call.rank);
  const auto second = [half](void* buffer) -> void* {
    return static_cast<std::byte*>(buffer) + half;
  };
  HcclSendRecvItem items[] = {{HCCL_SEND, call.send, count, type, right},
                              {HCCL_RECV, call.receive, count, type, left},
                              {HCCL_SEND, second(call.send), count, type, left},
                              {HCCL_RECV, second(call.receive), count, type, right}};
  return HcclBatchSendRecv(items, uint32_t(std::size(items)), call.comm, call.stream);
}

// The V operators, whose blocks are in lists.
HcclResult uneven(const Call& call) {
  const auto& [spec, shape, layout, rank, send, receive, comm, stream] = call;
  const BlockList& from = layout.send;
  const BlockList& to = layout.receive;
  switch (spec.op) {
    case Op::kAllGatherV:
      return HcclAllGatherV(send, layout.send_elements, receive, to.counts.data(),
                            to.displacements.data(), spec.type, comm, stream);
    case Op::kReduceScatterV:
      return HcclReduceScatterV(send, from.counts.data(), from.displacements.data(), receive,
                                layout.receive_elements, spec.type, spec.reduce_op, comm, stream);
    case Op::kAllToAllV:
      return HcclAlltoAllV(send, from.counts.data(), from.displacements.data(), spec.type, receive,
                           to.counts.data(), to.displacements.data(), spec.type, comm, stream);
    default:
      return HcclAlltoAllVC(send, layout.matrix.data(), spec.type, receive, spec.type, comm,
                            stream);
  }
}

HcclResult collective(const Call& call) {
  const auto& [spec, shape, layout, rank, send, receive, comm, stream] = call;
  const uint64_t count = shape.count;
  switch (spec.op) {
    case Op::kAllReduce:
      return HcclAllReduce(send, receive, count, spec.type, spec.reduce_op, comm, stream);
    case Op::kReduce:
      return HcclReduce(send, receive, count, spec.type, spec.reduce_op, spec.root, comm, stream);
    case Op::kBroadcast:
      return HcclBroadcast(receive, count, spec.type, spec.root, comm, stream);
    case Op::kScatter:
      return HcclScatter(send, receive, count, spec.type, spec.root, comm, stream);
    case Op::kAllGather:
      return HcclAllGather(send, receive, count, spec.type, comm, stream);
    case Op::kReduceScatter:
      return HcclReduceScatter(send, receive, count, spec.type, spec.reduce_op, comm, stream);
    case Op::kAllToAll:
      return HcclAlltoAll(send, count, spec.type, receive, count, spec.type, comm, stream);
    case Op::kBatchSendRecv:
      return batch_send_recv(call);
    case Op::kBarrier:
      return HcclBarrier(comm, stream);
    default:
      return uneven(call);
  }
}

}  // namespace

Issued issue(const Call& call) {
  if (call.spec.op == Op::kSendRecv) return send_recv(call);
  return {facts(call.spec.op).function, collective(call)};
}

}  // namespace weft::tools
