// SPDX-License-Identifier: Apache-2.0
// HcclSend, HcclRecv and HcclBatchSendRecv: check arguments in the documented order, make messages,
// issue them.
#include <fmt/format.h>

#include <span>
#include <vector>

#include "api/export.hpp"
#include "api/operators.hpp"
#include "hccl/hccl.h"

namespace weft::api {
namespace {

using comm::Message;

/// A send or receive outside a batch. In a group it may be to this rank itself.
HcclResult one_message(const char* function, const char* peer_name, const Message& message,
                       HcclComm comm, aclrtStream stream) {
  check_count(message.count, "count");
  const Operator what{function, comm, stream};
  if (in_group()) {
    queue(what, message);
    return HCCL_SUCCESS;
  }
  const InUse use(comm);
  comm::Communicator& group = *use;
  check_message(message, peer_name, group);
  if (message.peer == group.rank()) {
    throw Error(HCCL_E_NOT_SUPPORT,
                fmt::format("{} is {}, this rank itself; use a group or HcclBatchSendRecv",
                            peer_name, message.peer));
  }
  group.issue({&message, 1}, stream);
  return HCCL_SUCCESS;
}

Message checked_item(const HcclSendRecvItem& item, const comm::Communicator& group) {
  const Message message{item.sendRecvType == HCCL_SEND, item.buf, item.count, item.dataType,
                        item.remoteRank};
  check_message(message, "remoteRank", group);
  if (item.sendRecvType != HCCL_SEND && item.sendRecvType != HCCL_RECV) {
    throw Error(HCCL_E_PARA, fmt::format("sendRecvType is {}; 0 sends, 1 receives",
                                         static_cast<int>(item.sendRecvType)));
  }
  if (item.count > 0 && item.buf == nullptr) throw Error(HCCL_E_PTR, "buf is a null pointer");
  return message;
}

}  // namespace
}  // namespace weft::api

using namespace weft::api;  // of this file's own helpers

extern "C" {

WEFT_API HcclResult HcclSend(void* sendBuf, uint64_t count, HcclDataType dataType,
                             uint32_t destRank, HcclComm comm, aclrtStream stream) {
  if (count == 0) return HCCL_SUCCESS;
  return weft::guard("HcclSend", [&] {
    require_all({{"comm", comm}, {"sendBuf", sendBuf}, {"stream", stream}});
    return one_message("HcclSend", "destRank", {true, sendBuf, count, dataType, destRank}, comm,
                       stream);
  });
}

WEFT_API HcclResult HcclRecv(void* recvBuf, uint64_t count, HcclDataType dataType, uint32_t srcRank,
                             HcclComm comm, aclrtStream stream) {
  if (count == 0) return HCCL_SUCCESS;
  return weft::guard("HcclRecv", [&] {
    require_all({{"comm", comm}, {"recvBuf", recvBuf}, {"stream", stream}});
    return one_message("HcclRecv", "srcRank", {false, recvBuf, count, dataType, srcRank}, comm,
                       stream);
  });
}

WEFT_API HcclResult HcclBatchSendRecv(HcclSendRecvItem* sendRecvInfo, uint32_t itemNum,
                                      HcclComm comm, aclrtStream stream) {
  return weft::guard("HcclBatchSendRecv", [&] {
    require_all({{"comm", comm}, {"stream", stream}, {"sendRecvInfo", sendRecvInfo}});
    if (itemNum == 0) return HCCL_SUCCESS;
    const InUse use(comm);
    weft::comm::Communicator& group = *use;
    thread_local std::vector<weft::comm::Message> messages;
    messages.clear();
    for (uint32_t i = 0; i < itemNum; ++i) {
      try {
        messages.push_back(checked_item(sendRecvInfo[i], group));
      } catch (const weft::Error& error) {
        throw weft::Error(error.code(), fmt::format("sendRecvInfo[{}]: {}", i, error.what()));
      }
    }
    group.issue(messages, stream);
    return HCCL_SUCCESS;
  });
}

}  // extern "C"
