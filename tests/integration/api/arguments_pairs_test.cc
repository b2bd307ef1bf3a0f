// SPDX-License-Identifier: Apache-2.0
// What Send, Recv and BatchSendRecv refuse.
#include <algorithm>

#include "arguments.hpp"

namespace weft::test {
namespace {

using F = Function;

/// Numbers that are no enumerator, as a program in C may pass them.
HcclDataType type_of(int number) { return static_cast<HcclDataType>(number); }
HcclSendRecvType kind_of(int number) { return static_cast<HcclSendRecvType>(number); }

TEST(Peers, APeerThatDoesNotExistIsAParameterError) {
  run_ranks(2, Layout::kThreads, [](Rank& rank) {
    const Fixture f(rank);
    for (const F function : {F::kSend, F::kRecv}) {
      Arguments a(f);
      for (const uint32_t peer : {2u, 3u, UINT32_MAX}) {
        a.root = peer;
        refused(call(function, a), HCCL_E_PARA,
                {names_of(function).function, function == F::kSend ? "destRank" : "srcRank",
                 std::to_string(peer), "0..1"});
        a.type = HCCL_DATA_TYPE_RESERVED;
        refused(call(function, a), HCCL_E_NOT_SUPPORT, {names_of(function).function, "type"});
        a.type = HCCL_DATA_TYPE_FP32;
      }
    }
  });
}

TEST(Peers, ItselfIsNotSupportedOutsideAGroup) {
  with_fixture([](const Fixture& f) {
    refused(call(F::kSend, Arguments(f)), HCCL_E_NOT_SUPPORT, {"HcclSend", "destRank"});
    refused(call(F::kRecv, Arguments(f)), HCCL_E_NOT_SUPPORT, {"HcclRecv", "srcRank"});
  });
}

TEST(BatchSendRecv, WithoutItemsIsASuccessAfterThePointers) {
  with_fixture([](const Fixture& f) {
    Arguments a(f);
    a.item_num = 0;
    for (void* Arguments::*pointer : {&Arguments::comm, &Arguments::stream, &Arguments::items}) {
      Arguments b = a;
      b.*pointer = nullptr;
      refused(call(F::kBatchSendRecv, b), HCCL_E_PTR, {"HcclBatchSendRecv", "null"});
    }
    HcclSendRecvItem nonsense = {kind_of(9), nullptr, UINT64_MAX, HCCL_DATA_TYPE_RESERVED, 77};
    a.items = &nonsense;
    ok(call(F::kBatchSendRecv, a));
  });
}

/// One wrong thing in the second of two items.
struct Spoiled {
  std::function<void(HcclSendRecvItem&)> spoil;
  HcclResult code;
  const char* text;
};

TEST(BatchSendRecv, EveryItemIsChecked) {
  with_fixture([](const Fixture& f) {
    const Spoiled all[] = {
        {[](auto& item) { item.dataType = type_of(13); }, HCCL_E_NOT_SUPPORT, "type 13"},
        {[](auto& item) { item.dataType = type_of(-1); }, HCCL_E_NOT_SUPPORT, "type -1"},
        {[](auto& item) { item.count = kMaxCount + 1; }, HCCL_E_PARA, "count"},
        {[](auto& item) { item.count = UINT64_MAX; }, HCCL_E_PARA, "18446744073709551615"},
        {[](auto& item) { item.remoteRank = 1; }, HCCL_E_PARA, "remoteRank"},
        {[](auto& item) { item.remoteRank = UINT32_MAX; }, HCCL_E_PARA, "4294967295"},
        {[](auto& item) { item.sendRecvType = HCCL_SEND_RECV_RESERVED; }, HCCL_E_PARA,
         "sendRecvType"},
        {[](auto& item) { item.sendRecvType = kind_of(-1); }, HCCL_E_PARA, "sendRecvType"},
        {[](auto& item) { item.buf = nullptr; }, HCCL_E_PTR, "buf"},
        // Two wrong things: the first in the order of the checks counts.
        {[](auto& item) {
           item.sendRecvType = kind_of(7);
           item.dataType = type_of(13);
         },
         HCCL_E_NOT_SUPPORT, "type 13"},
        {[](auto& item) {
           item.sendRecvType = kind_of(7);
           item.remoteRank = 9;
         },
         HCCL_E_PARA, "remoteRank"},
        {[](auto& item) {
           item.remoteRank = 9;
           item.count = kMaxCount + 1;
         },
         HCCL_E_PARA, "count"},
    };
    for (const Spoiled& spoiled : all) {
      std::vector<HcclSendRecvItem> items = f.items;
      spoiled.spoil(items[1]);
      Arguments a(f);
      a.items = items.data();
      // Which of the items it is, is told too.
      refused(call(F::kBatchSendRecv, a), spoiled.code,
              {"HcclBatchSendRecv", "sendRecvInfo[1]", spoiled.text});
    }
    ok(call(F::kBatchSendRecv, Arguments(f)));
    f.stream.synchronize();
  });
}

TEST(BatchSendRecv, ItemsOfNoElementsMayHaveNoBuffer) {
  with_fixture([](const Fixture& f) {
    std::vector<HcclSendRecvItem> items = f.items;
    items.push_back({HCCL_SEND, nullptr, 0, HCCL_DATA_TYPE_FP32, 0});
    items.insert(items.begin(), {HCCL_RECV, nullptr, 0, HCCL_DATA_TYPE_INT8, 0});
    items.push_back({HCCL_SEND, f.send, 0, HCCL_DATA_TYPE_FP64, 0});  // without a partner
    Arguments a(f);
    a.items = items.data();
    a.item_num = static_cast<uint32_t>(items.size());
    std::fill_n(f.send, 16, std::byte{0x42});
    ok(call(F::kBatchSendRecv, a));
    f.stream.synchronize();
    check(f.recv[0] == std::byte{0x42} && f.recv[15] == std::byte{0x42}, "nothing arrived");
  });
}

TEST(BatchSendRecv, SendsToItselfMustMeetEqualReceives) {
  with_fixture([](const Fixture& f) {
    std::vector<HcclSendRecvItem> more = f.items;
    more.push_back(f.items[0]);
    std::vector<HcclSendRecvItem> longer = f.items;
    longer[1].count = 5;
    std::vector<HcclSendRecvItem> other = f.items;
    other[1].dataType = HCCL_DATA_TYPE_INT32;
    const std::vector<HcclSendRecvItem> alone = {f.items[1]};
    for (std::vector<HcclSendRecvItem> items : {more, longer, other, alone}) {
      Arguments a(f);
      a.items = items.data();
      a.item_num = static_cast<uint32_t>(items.size());
      refused(call(F::kBatchSendRecv, a), HCCL_E_PARA, {"HcclBatchSendRecv", "itself"});
    }
  });
}

}  // namespace
}  // namespace weft::test
