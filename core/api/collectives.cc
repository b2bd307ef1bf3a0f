// SPDX-License-Identifier: Apache-2.0
// The collective operators of the C API with one count: check arguments in the documented order,
// make a Call, issue it.
#include <fmt/format.h>

#include "api/export.hpp"
#include "api/operators.hpp"
#include "base/names.hpp"
#include "hccl/hccl.h"

namespace weft::api {
namespace {

uint64_t bytes_of(uint64_t count, int type) { return count * type_size(type); }

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
    return perform({"HcclAllReduce", comm, stream, bytes_of(count, dataType)}, [=] {
      const InUse use(comm);
      weft::comm::Communicator& group = *use;
      check_count(count, "count");
      check_reduction(dataType, op);
      group.issue({key(WEFT_OP_ALL_REDUCE, count, dataType, op), sendBuf, recvBuf}, stream);
    });
  });
}

WEFT_API HcclResult HcclBroadcast(void* buf, uint64_t count, HcclDataType dataType, uint32_t root,
                                  HcclComm comm, aclrtStream stream) {
  if (count == 0) return HCCL_SUCCESS;
  return weft::guard("HcclBroadcast", [&] {
    require_all({{"comm", comm}, {"buf", buf}, {"stream", stream}});
    return perform({"HcclBroadcast", comm, stream, bytes_of(count, dataType)}, [=] {
      const InUse use(comm);
      weft::comm::Communicator& group = *use;
      check_count(count, "count");
      check_type(dataType);
      check_rank(root, "root", group);
      group.issue({key(WEFT_OP_BROADCAST, count, dataType, 0, root), buf, buf}, stream);
    });
  });
}

WEFT_API HcclResult HcclReduce(void* sendBuf, void* recvBuf, uint64_t count, HcclDataType dataType,
                               HcclReduceOp op, uint32_t root, HcclComm comm, aclrtStream stream) {
  if (count == 0) return HCCL_SUCCESS;
  return weft::guard("HcclReduce", [&] {
    require_all({{"comm", comm}, {"sendBuf", sendBuf}, {"recvBuf", recvBuf}, {"stream", stream}});
    return perform({"HcclReduce", comm, stream, bytes_of(count, dataType)}, [=] {
      const InUse use(comm);
      weft::comm::Communicator& group = *use;
      check_count(count, "count");
      check_reduction(dataType, op);
      check_rank(root, "root", group);
      group.issue({key(WEFT_OP_REDUCE, count, dataType, op, root), sendBuf, recvBuf}, stream);
    });
  });
}

WEFT_API HcclResult HcclScatter(void* sendBuf, void* recvBuf, uint64_t recvCount,
                                HcclDataType dataType, uint32_t root, HcclComm comm,
                                aclrtStream stream) {
  if (recvCount == 0) return HCCL_SUCCESS;
  return weft::guard("HcclScatter", [&] {
    require_all({{"comm", comm}, {"recvBuf", recvBuf}, {"stream", stream}});
    // Which of them is the root, only the communicator tells: a null pointer of it fails in a group
    // too, as null pointers do.
    if (root == (*InUse(comm)).rank()) require_all({{"sendBuf", sendBuf}});
    return perform({"HcclScatter", comm, stream, bytes_of(recvCount, dataType)}, [=] {
      const InUse use(comm);
      weft::comm::Communicator& group = *use;
      check_count(recvCount, "recvCount");
      check_type(dataType);
      check_rank(root, "root", group);
      group.issue({key(WEFT_OP_SCATTER, recvCount, dataType, 0, root), sendBuf, recvBuf}, stream);
    });
  });
}

WEFT_API HcclResult HcclReduceScatter(void* sendBuf, void* recvBuf, uint64_t recvCount,
                                      HcclDataType dataType, HcclReduceOp op, HcclComm comm,
                                      aclrtStream stream) {
  if (recvCount == 0) return HCCL_SUCCESS;
  return weft::guard("HcclReduceScatter", [&] {
    require_all({{"comm", comm}, {"sendBuf", sendBuf}, {"recvBuf", recvBuf}, {"stream", stream}});
    return perform({"HcclReduceScatter", comm, stream, bytes_of(recvCount, dataType)}, [=] {
      const InUse use(comm);
      weft::comm::Communicator& group = *use;
      check_count(recvCount, "recvCount");
      check_reduction(dataType, op);
      group.issue({key(WEFT_OP_REDUCE_SCATTER, recvCount, dataType, op), sendBuf, recvBuf}, stream);
    });
  });
}

WEFT_API HcclResult HcclAllGather(void* sendBuf, void* recvBuf, uint64_t sendCount,
                                  HcclDataType dataType, HcclComm comm, aclrtStream stream) {
  if (sendCount == 0) return HCCL_SUCCESS;
  return weft::guard("HcclAllGather", [&] {
    require_all({{"comm", comm}, {"sendBuf", sendBuf}, {"recvBuf", recvBuf}, {"stream", stream}});
    return perform({"HcclAllGather", comm, stream, bytes_of(sendCount, dataType)}, [=] {
      const InUse use(comm);
      weft::comm::Communicator& group = *use;
      check_count(sendCount, "sendCount");
      check_type(dataType);
      group.issue({key(WEFT_OP_ALL_GATHER, sendCount, dataType), sendBuf, recvBuf}, stream);
    });
  });
}

WEFT_API HcclResult HcclAlltoAll(const void* sendBuf, uint64_t sendCount, HcclDataType sendType,
                                 const void* recvBuf, uint64_t recvCount, HcclDataType recvType,
                                 HcclComm comm, aclrtStream stream) {
  if (sendCount == 0 && recvCount == 0) return HCCL_SUCCESS;
  return weft::guard("HcclAlltoAll", [&] {
    require_all({{"sendBuf", sendBuf}, {"recvBuf", recvBuf}, {"stream", stream}, {"comm", comm}});
    return perform({"HcclAlltoAll", comm, stream, bytes_of(sendCount, sendType)}, [=] {
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
      const InUse use(comm);
      weft::comm::Communicator& group = *use;
      check_count(sendCount, "sendCount");
      check_type(sendType);
      group.issue(
          {key(WEFT_OP_ALL_TO_ALL, sendCount, sendType), sendBuf, const_cast<void*>(recvBuf)},
          stream);
    });
  });
}

WEFT_API HcclResult HcclBarrier(HcclComm comm, aclrtStream stream) {
  return weft::guard("HcclBarrier", [&] {
    require_all({{"comm", comm}, {"stream", stream}});
    (*InUse(comm)).issue({key(WEFT_OP_BARRIER, 0, 0), nullptr, nullptr}, stream);
    return HCCL_SUCCESS;
  });
}

}  // extern "C"
