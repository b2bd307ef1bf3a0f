// SPDX-License-Identifier: Apache-2.0
// The collective operators of the C API: check arguments in the documented order, make a Call,
// issue it.
#include <fmt/format.h>

#include "api/export.hpp"
#include "api/guard.hpp"
#include "api/handles.hpp"
#include "base/names.hpp"
#include "base/op_names.hpp"
#include "hccl/hccl.h"

namespace weft::api {
namespace {

constexpr uint64_t kMaxCount = 0x7FFFFFFFF;  // 2^35 - 1 elements

struct Pointer {
  const char* name;
  const void* value;
};

/// Step 2 of every operator: throws for the first null pointer.
void require_all(std::initializer_list<Pointer> pointers) {
  for (const Pointer& p : pointers) {
    if (p.value == nullptr) throw Error(HCCL_E_PTR, fmt::format("{} is a null pointer", p.name));
  }
}

comm::Communicator& communicator(HcclComm handle) {
  comm::Communicator* found = find(handle);
  if (found == nullptr) {
    throw Error(HCCL_E_PARA, "comm is no communicator of this process (destroyed?)");
  }
  return *found;
}

void check_count(uint64_t count, const char* name) {
  if (count > kMaxCount) {
    throw Error(HCCL_E_PARA, fmt::format("{} is {}; at most {} elements", name, count, kMaxCount));
  }
}

void check_type(int type) {
  if (type_size(type) == 0) {
    throw Error(HCCL_E_NOT_SUPPORT, fmt::format("data type {} is unknown", type));
  }
}

void check_reduction(int type, int op) {
  check_type(type);
  if (op < HCCL_REDUCE_SUM || op > HCCL_REDUCE_MIN) {
    throw Error(HCCL_E_NOT_SUPPORT, fmt::format("reduce operation {} is unknown", op));
  }
  if (!reducible(type)) {
    throw Error(HCCL_E_NOT_SUPPORT,
                fmt::format("type {} can be moved but not reduced", type_name(type)));
  }
}

comm::CallKey key(uint32_t op, uint64_t count, int type, int reduce_op = 0, uint32_t root = 0) {
  return {count,
          root,
          static_cast<uint8_t>(op),
          static_cast<uint8_t>(type),
          static_cast<uint8_t>(reduce_op),
          0};
}

}  // namespace
}  // namespace weft::api

using namespace weft::api;  // of this file's own helpers

extern "C" {

WEFT_API HcclResult HcclAllReduce(void* sendBuf, void* recvBuf, uint64_t count,
                                  HcclDataType dataType, HcclReduceOp op, HcclComm comm,
                                  aclrtStream stream) {
  if (count == 0) return HCCL_SUCCESS;
  return weft::guard("HcclAllReduce", [&] {
    require_all({{"comm", comm}, {"sendBuf", sendBuf}, {"recvBuf", recvBuf}, {"stream", stream}});
    weft::comm::Communicator& group = communicator(comm);
    check_count(count, "count");
    check_reduction(dataType, op);
    group.issue({key(WEFT_OP_ALL_REDUCE, count, dataType, op), sendBuf, recvBuf}, stream);
    return HCCL_SUCCESS;
  });
}

WEFT_API HcclResult HcclBroadcast(void* buf, uint64_t count, HcclDataType dataType, uint32_t root,
                                  HcclComm comm, aclrtStream stream) {
  if (count == 0) return HCCL_SUCCESS;
  return weft::guard("HcclBroadcast", [&] {
    require_all({{"comm", comm}, {"buf", buf}, {"stream", stream}});
    weft::comm::Communicator& group = communicator(comm);
    check_count(count, "count");
    check_type(dataType);
    if (root >= group.ranks()) {
      throw weft::Error(HCCL_E_PARA, fmt::format("root is {}; the communicator has ranks 0..{}",
                                                 root, group.ranks() - 1));
    }
    group.issue({key(WEFT_OP_BROADCAST, count, dataType, 0, root), buf, buf}, stream);
    return HCCL_SUCCESS;
  });
}

WEFT_API HcclResult HcclReduceScatter(void* sendBuf, void* recvBuf, uint64_t recvCount,
                                      HcclDataType dataType, HcclReduceOp op, HcclComm comm,
                                      aclrtStream stream) {
  if (recvCount == 0) return HCCL_SUCCESS;
  return weft::guard("HcclReduceScatter", [&] {
    require_all({{"comm", comm}, {"sendBuf", sendBuf}, {"recvBuf", recvBuf}, {"stream", stream}});
    weft::comm::Communicator& group = communicator(comm);
    check_count(recvCount, "recvCount");
    check_reduction(dataType, op);
    group.issue({key(WEFT_OP_REDUCE_SCATTER, recvCount, dataType, op), sendBuf, recvBuf}, stream);
    return HCCL_SUCCESS;
  });
}

WEFT_API HcclResult HcclAllGather(void* sendBuf, void* recvBuf, uint64_t sendCount,
                                  HcclDataType dataType, HcclComm comm, aclrtStream stream) {
  if (sendCount == 0) return HCCL_SUCCESS;
  return weft::guard("HcclAllGather", [&] {
    require_all({{"comm", comm}, {"sendBuf", sendBuf}, {"recvBuf", recvBuf}, {"stream", stream}});
    weft::comm::Communicator& group = communicator(comm);
    check_count(sendCount, "sendCount");
    check_type(dataType);
    group.issue({key(WEFT_OP_ALL_GATHER, sendCount, dataType), sendBuf, recvBuf}, stream);
    return HCCL_SUCCESS;
  });
}

WEFT_API HcclResult HcclAlltoAll(const void* sendBuf, uint64_t sendCount, HcclDataType sendType,
                                 const void* recvBuf, uint64_t recvCount, HcclDataType recvType,
                                 HcclComm comm, aclrtStream stream) {
  if (sendCount == 0 && recvCount == 0) return HCCL_SUCCESS;
  return weft::guard("HcclAlltoAll", [&] {
    require_all({{"sendBuf", sendBuf}, {"recvBuf", recvBuf}, {"stream", stream}, {"comm", comm}});
    if (sendCount != recvCount) {
      throw weft::Error(HCCL_E_PARA,
                        fmt::format("sendCount is {}, recvCount is {}; they must be equal",
                                    sendCount, recvCount));
    }
    if (sendType != recvType) {
      throw weft::Error(HCCL_E_PARA, "sendType and recvType differ; they must be equal");
    }
    if (sendBuf == recvBuf) {
      throw weft::Error(HCCL_E_PARA, "sendBuf and recvBuf are the same; they must differ");
    }
    weft::comm::Communicator& group = communicator(comm);
    check_count(sendCount, "sendCount");
    check_type(sendType);
    group.issue({key(WEFT_OP_ALL_TO_ALL, sendCount, sendType), sendBuf, const_cast<void*>(recvBuf)},
                stream);
    return HCCL_SUCCESS;
  });
}

WEFT_API HcclResult HcclBarrier(HcclComm comm, aclrtStream stream) {
  return weft::guard("HcclBarrier", [&] {
    require_all({{"comm", comm}, {"stream", stream}});
    communicator(comm).issue({key(WEFT_OP_BARRIER, 0, 0), nullptr, nullptr}, stream);
    return HCCL_SUCCESS;
  });
}

}  // extern "C"
