// SPDX-License-Identifier: Apache-2.0
// The collective operators of the C API whose blocks have lengths of their own: check arguments and
// arrays in the documented order, make a Call, issue it.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "api/export.hpp"
#include "api/operators.hpp"
#include "base/names.hpp"
#include "hccl/hccl.h"

namespace weft::api {
namespace {

using comm::Communicator;
using Array = const uint64_t*;

Array numbers(const void* array) { return static_cast<Array>(array); }

bool all_zero(Array counts, uint64_t n) {
  return std::all_of(counts, counts + n, [](uint64_t count) { return count == 0; });
}

void check_counts(Array counts, uint64_t n, const char* name) {
  for (uint64_t i = 0; i < n; ++i) {
    if (counts[i] <= kMaxCount) continue;
    throw Error(HCCL_E_PARA,
                fmt::format("{}[{}] is {}; at most {} elements", name, i, counts[i], kMaxCount));
  }
}

/// No block may end beyond what a process can address.
void check_displacements(Array counts, Array displacements, uint64_t n, int type,
                         const char* name) {
  constexpr uint64_t kAddressable = uint64_t{1} << 47;  // bytes
  const uint64_t most = kAddressable / type_size(type);
  for (uint64_t i = 0; i < n; ++i) {
    if (counts[i] == 0 || (displacements[i] <= most && counts[i] <= most - displacements[i])) {
      continue;
    }
    throw Error(HCCL_E_PARA,
                fmt::format("{}[{}] is {}: the block would end beyond the address space", name, i,
                            displacements[i]));
  }
}

/// A buffer may be null only if nothing is in it.
void check_buffer(const void* buffer, const char* name, Array counts, uint64_t n) {
  if (buffer == nullptr && !all_zero(counts, n)) {
    throw Error(HCCL_E_PTR, fmt::format("{} is a null pointer", name));
  }
}

void check_own(uint64_t count, const char* name, Array counts, const char* array, uint32_t rank) {
  if (count == counts[rank]) return;
  throw Error(HCCL_E_PARA, fmt::format("{} is {}, {}[{}] is {}; for this rank they must be equal",
                                       name, count, array, rank, counts[rank]));
}

/// Elements of all blocks, and of what must be equal on all ranks: the arrays.
comm::CallKey summed(uint32_t op, Array counts, uint64_t n, int type, int reduce_op = 0) {
  uint64_t total = 0;
  for (uint64_t i = 0; i < n; ++i) total += counts[i];
  return key(op, total, type, reduce_op);
}

uint64_t digest_of(Array counts, Array displacements, uint64_t n) {
  return comm::digest({displacements, n}, comm::digest({counts, n}));
}

void check_exchange(const void* send, const void* recv, int send_type, int recv_type) {
  if (send != nullptr && send == recv) {
    throw Error(HCCL_E_PARA, "sendBuf and recvBuf are the same; they must differ");
  }
  if (send_type != recv_type) {
    throw Error(HCCL_E_PARA, "sendType and recvType differ; they must be equal");
  }
}

struct Exchange {
  const void* send;
  void* recv;
  int type;
  comm::Lengths lengths;
};

void exchange(Communicator& group, const Exchange& what, aclrtStream stream) {
  const uint32_t n = group.ranks();
  const comm::Lengths& lengths = what.lengths;
  check_buffer(what.send, "sendBuf", lengths.in_counts, n);
  check_buffer(what.recv, "recvBuf", lengths.out_counts, n);
  check_type(what.type);
  const uint32_t me = group.rank();
  if (lengths.in_counts[me] != lengths.out_counts[me]) {
    throw Error(HCCL_E_PARA,
                fmt::format("this rank sends {} elements to itself and expects {}; sendCounts[{}] "
                            "and recvCounts[{}] must be equal",
                            lengths.in_counts[me], lengths.out_counts[me], me, me));
  }
  check_displacements(lengths.in_counts, lengths.in_displacements, n, what.type, "sdispls");
  check_displacements(lengths.out_counts, lengths.out_displacements, n, what.type, "rdispls");
  group.issue({key(WEFT_OP_ALL_TO_ALL_V, 0, what.type), what.send, what.recv, lengths}, stream);
}

/// Row and column of this rank in a matrix of counts, packed one block after the other.
class Packed {
 public:
  /// Borrows room of the thread: one at a time.
  Packed(Array matrix, uint32_t n, uint32_t rank) : n_(n) {
    room().resize(size_t{4} * n);
    uint64_t sent = 0;
    uint64_t received = 0;
    for (uint32_t i = 0; i < n; ++i) {
      const uint64_t to = matrix[size_t{rank} * n + i];
      const uint64_t from = matrix[size_t{i} * n + rank];
      room()[i] = to;
      room()[n + i] = sent;
      room()[2 * n + i] = from;
      room()[3 * n + i] = received;
      sent += to;
      received += from;
    }
  }

  [[nodiscard]] comm::Lengths lengths(uint64_t digest) const {
    const Array at = room().data();
    return {at, at + n_, at + 2 * n_, at + 3 * n_, digest};
  }

 private:
  static std::vector<uint64_t>& room() {
    thread_local std::vector<uint64_t> room;
    return room;
  }

  const size_t n_;
};

}  // namespace
}  // namespace weft::api

using namespace weft::api;  // of this file's own helpers

extern "C" {

WEFT_API HcclResult HcclAllGatherV(void* sendBuf, uint64_t sendCount, void* recvBuf,
                                   const void* recvCounts, const void* recvDispls,
                                   HcclDataType dataType, HcclComm comm, aclrtStream stream) {
  return weft::guard("HcclAllGatherV", [&] {
    require_all({{"comm", comm},
                 {"recvCounts", recvCounts},
                 {"recvDispls", recvDispls},
                 {"stream", stream}});
    if (sendCount > 0) require_all({{"sendBuf", sendBuf}});
    const uint32_t n = (*InUse(comm)).ranks();
    const auto counts = numbers(recvCounts);
    const auto displacements = numbers(recvDispls);
    if (all_zero(counts, n)) return HCCL_SUCCESS;
    require_all({{"recvBuf", recvBuf}});
    return perform({"HcclAllGatherV", comm, stream, 0, true}, [=] {
      const InUse use(comm);
      Communicator& group = *use;
      check_counts(counts, n, "recvCounts");
      check_own(sendCount, "sendCount", counts, "recvCounts", group.rank());
      check_type(dataType);
      check_displacements(counts, displacements, n, dataType, "recvDispls");
      const weft::comm::Lengths lengths{nullptr, nullptr, counts, displacements,
                                        digest_of(counts, displacements, n)};
      group.issue({summed(WEFT_OP_ALL_GATHER_V, counts, n, dataType), sendBuf, recvBuf, lengths},
                  stream);
    });
  });
}

WEFT_API HcclResult HcclReduceScatterV(void* sendBuf, const void* sendCounts,
                                       const void* sendDispls, void* recvBuf, uint64_t recvCount,
                                       HcclDataType dataType, HcclReduceOp op, HcclComm comm,
                                       aclrtStream stream) {
  return weft::guard("HcclReduceScatterV", [&] {
    require_all({{"comm", comm},
                 {"sendCounts", sendCounts},
                 {"sendDispls", sendDispls},
                 {"stream", stream}});
    if (recvCount > 0) require_all({{"recvBuf", recvBuf}});
    const uint32_t n = (*InUse(comm)).ranks();
    const auto counts = numbers(sendCounts);
    const auto displacements = numbers(sendDispls);
    if (all_zero(counts, n)) return HCCL_SUCCESS;
    require_all({{"sendBuf", sendBuf}});
    return perform({"HcclReduceScatterV", comm, stream, 0, true}, [=] {
      const InUse use(comm);
      Communicator& group = *use;
      check_counts(counts, n, "sendCounts");
      check_own(recvCount, "recvCount", counts, "sendCounts", group.rank());
      check_reduction(dataType, op);
      check_displacements(counts, displacements, n, dataType, "sendDispls");
      const weft::comm::Lengths lengths{counts, displacements, nullptr, nullptr,
                                        digest_of(counts, displacements, n)};
      group.issue(
          {summed(WEFT_OP_REDUCE_SCATTER_V, counts, n, dataType, op), sendBuf, recvBuf, lengths},
          stream);
    });
  });
}

WEFT_API HcclResult HcclAlltoAllV(const void* sendBuf, const void* sendCounts, const void* sdispls,
                                  HcclDataType sendType, const void* recvBuf,
                                  const void* recvCounts, const void* rdispls,
                                  HcclDataType recvType, HcclComm comm, aclrtStream stream) {
  return weft::guard("HcclAlltoAllV", [&] {
    require_all({{"sendCounts", sendCounts},
                 {"sdispls", sdispls},
                 {"recvCounts", recvCounts},
                 {"rdispls", rdispls},
                 {"stream", stream},
                 {"comm", comm}});
    return perform({"HcclAlltoAllV", comm, stream, 0, true}, [=] {
      check_exchange(sendBuf, recvBuf, sendType, recvType);
      const InUse use(comm);
      Communicator& group = *use;
      const weft::comm::Lengths lengths{numbers(sendCounts), numbers(sdispls), numbers(recvCounts),
                                        numbers(rdispls)};
      check_counts(lengths.in_counts, group.ranks(), "sendCounts");
      check_counts(lengths.out_counts, group.ranks(), "recvCounts");
      exchange(group, {sendBuf, const_cast<void*>(recvBuf), recvType, lengths}, stream);
    });
  });
}

WEFT_API HcclResult HcclAlltoAllVC(const void* sendBuf, const void* sendCountMatrix,
                                   HcclDataType sendType, const void* recvBuf,
                                   HcclDataType recvType, HcclComm comm, aclrtStream stream) {
  return weft::guard("HcclAlltoAllVC", [&] {
    require_all({{"sendCountMatrix", sendCountMatrix}, {"comm", comm}, {"stream", stream}});
    return perform({"HcclAlltoAllVC", comm, stream, 0, true}, [=] {
      check_exchange(sendBuf, recvBuf, sendType, recvType);
      const InUse use(comm);
      Communicator& group = *use;
      const uint64_t n = group.ranks();
      const auto matrix = numbers(sendCountMatrix);
      check_counts(matrix, n * n, "sendCountMatrix");
      const Packed packed(matrix, group.ranks(), group.rank());
      const uint64_t digest = weft::comm::digest({matrix, n * n});
      exchange(group, {sendBuf, const_cast<void*>(recvBuf), recvType, packed.lengths(digest)},
               stream);
    });
  });
}

}  // extern "C"
