// SPDX-License-Identifier: Apache-2.0
// WEFT_CHECK=memory as a user meets it: every operator with every kind of wrong buffer, what the
// other ranks learn, and programs that are right.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "cases.hpp"
#include "hccl/hccl_comm.h"
#include "vmm.hpp"

namespace weft::test {
namespace {

constexpr size_t kPage = 4096;

GroupOptions checked() {
  GroupOptions options;
  options.environment = {{"WEFT_CHECK", "memory"}};
  options.deadline = std::chrono::seconds{30};
  return options;
}

/// Device memory of one page.
class Block {
 public:
  Block() { ok(aclrtMalloc(&memory_, kPage, ACL_MEM_MALLOC_HUGE_FIRST)); }
  ~Block() { free(); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  std::byte* at(size_t offset = 0) const { return static_cast<std::byte*>(memory_) + offset; }
  /// The address stays known.
  void free() {
    if (!freed_) ok(aclrtFree(memory_));
    freed_ = true;
  }

 private:
  void* memory_ = nullptr;
  bool freed_ = false;
};

struct Fault {
  std::string text;                         // of the error
  std::function<void*(size_t bytes)> make;  // a buffer of this size that has the fault
};

/// One of each kind.
class Faults {
 public:
  Faults() { freed_.free(); }

  std::vector<Fault> all() {
    return {
        {"is freed memory of device", [this](size_t) { return freed_.at(); }},
        {"was freed, unmapped or never allocated", [this](size_t) { return unmapped_; }},
        {"ends 4 bytes behind it", [this](size_t bytes) { return live_.at(kPage + 4 - bytes); }},
        {"is the address of a pointer", [this](size_t) { return &pointer_; }}};
  }

 private:
  Block freed_;
  Block live_;
  void* unmapped_ = reinterpret_cast<void*>(kPage);  // where no process has memory
  void* pointer_ = live_.at();  // with what follows it as long as a buffer of the fixture
  uint64_t more_[8] = {};
};

/// The buffers of an operator, by the names of its prototype.
std::vector<Pointer> buffers_of(Function function) {
  const Names names = names_of(function);
  std::vector<Pointer> buffers;
  for (const auto& list : {names.pointers, names.buffers}) {
    for (const Pointer& each : list) {
      if (each.name.ends_with("Buf") || each.name == "buf") buffers.push_back(each);
    }
  }
  return buffers;
}

std::vector<Function> collectives() {
  std::vector<Function> all;
  for (const Function each : all_functions()) {
    if (each != Function::kSend && each != Function::kRecv && each != Function::kBatchSendRecv) {
      all.push_back(each);
    }
  }
  return all;
}

/// One rank: nobody is told, and its communicator can go on.
class OfOneRank : public testing::TestWithParam<Function> {};
INSTANTIATE_TEST_SUITE_P(Each, OfOneRank, testing::ValuesIn(collectives()), test_name);

TEST_P(OfOneRank, EveryBufferWithEveryFaultIsNamed) {
  const auto body = [](Rank& rank) {
    const Fixture fixture(rank);
    Faults faults;
    const std::vector<Pointer> buffers = buffers_of(GetParam());
    check(!buffers.empty(), "the operator has no buffers");
    for (const Pointer& buffer : buffers) {
      for (const Fault& fault : faults.all()) {
        Arguments wrong(fixture);
        wrong.*buffer.value = fault.make(4 * sizeof(float));
        refused(call(GetParam(), wrong), HCCL_E_PARA,
                {names_of(GetParam()).function + ": call 1 of rank 0 of communicator ", "fp32",
                 buffer.name, fault.text});
      }
    }
    ok(call(GetParam(), Arguments(fixture)));
    fixture.stream.synchronize();
    expect_working(fixture.comm, 1);
  };
  run_alone(body, checked());
}

TEST_P(OfOneRank, BuffersThatOverlapAreRefused) {
  if (GetParam() == Function::kBroadcast) return;  // has one
  const auto body = [](Rank& rank) {
    const Fixture fixture(rank);
    Arguments wrong(fixture);
    wrong.recv = fixture.send + sizeof(float);
    refused(call(GetParam(), wrong), HCCL_E_PARA,
            {names_of(GetParam()).function, "sendBuf at", "recvBuf at", "overlap in 12 bytes"});
    expect_working(fixture.comm, 1);
  };
  run_alone(body, checked());
}

TEST(MemoryCheckOfBatches, NamesTheItem) {
  const auto body = [](Rank& rank) {
    Fixture fixture(rank);
    Faults faults;
    for (const Fault& fault : faults.all()) {
      std::vector<HcclSendRecvItem> items = fixture.items;
      items[1].buf = fault.make(4 * sizeof(float));
      refused(HcclBatchSendRecv(items.data(), 2, fixture.comm, fixture.stream), HCCL_E_PARA,
              {"HcclBatchSendRecv: batch ", "buf of item 1", fault.text});
    }
    std::vector<HcclSendRecvItem> items = fixture.items;
    items[1].buf = static_cast<std::byte*>(items[0].buf) + 12;
    refused(HcclBatchSendRecv(items.data(), 2, fixture.comm, fixture.stream), HCCL_E_PARA,
            {"buf of item 0 (send of 4 fp32 to rank 0)", "overlap in 4 bytes"});
    ok(HcclBatchSendRecv(fixture.items.data(), 2, fixture.comm, fixture.stream));
    fixture.stream.synchronize();
  };
  run_alone(body, checked());
}

/// What a rank that did nothing wrong learns of rank 1. Its call may have ended before.
void expect_told(HcclComm comm, aclrtStream stream, const std::string& what) {
  if (aclrtSynchronizeStream(stream) != ACL_SUCCESS) {
    const std::string text = aclGetRecentErrMsg();
    check(contains(text, "rank 1") && contains(text, what), text);
  }
  eventually(
      [&] {
        HcclResult state = HCCL_SUCCESS;
        ok(HcclGetCommAsyncError(comm, &state));
        return state == HCCL_E_PARA;
      },
      "the other ranks are told");
  refused(HcclBarrier(comm, stream), HCCL_E_PARA, {"has failed", "rank 1", what});
}

class OfAGroup : public testing::TestWithParam<Layout> {};
INSTANTIATE_TEST_SUITE_P(Each, OfAGroup, testing::Values(Layout::kThreads, Layout::kProcesses),
                         [](const auto& given) { return layout_name(given.param); });

TEST_P(OfAGroup, NobodyWaitsForARankWhoseBufferIsWrong) {
  const auto body = [](Rank& rank) {
    for (const Function function : collectives()) {
      const Fixture fixture(rank);
      const Names names = names_of(function);
      rank.note(names.function);
      const Pointer buffer = buffers_of(function).back();
      Arguments arguments(fixture);
      // Where it is looked at: output of all, or of the root.
      arguments.root = 1;
      Block freed;
      freed.free();
      if (rank.rank() == 1) {
        arguments.*buffer.value = freed.at();
        refused(call(function, arguments), HCCL_E_PARA,
                {names.function, "of rank 1 of communicator", buffer.name, "is freed memory"});
      } else {
        ok(call(function, arguments));
      }
      expect_told(fixture.comm, fixture.stream, buffer.name + " is freed device memory");
    }
  };
  run_ranks(3, GetParam(), body, checked());
}

TEST_P(OfAGroup, NobodyWaitsForAMessageWhoseBufferIsWrong) {
  for (const bool sends : {true, false}) {
    const auto body = [&](Rank& rank) {
      HcclComm comm = rank.join();
      const Stream stream;
      Block block;
      const bool sender = (rank.rank() == 1) == sends;
      if (rank.rank() == 1) block.free();
      const uint32_t peer = 1 - rank.rank();
      const auto transfer = sender ? &HcclSend : &HcclRecv;
      const HcclResult code = transfer(block.at(), 100, HCCL_DATA_TYPE_FP32, peer, comm, stream);
      const std::string buffer = sends ? "sendBuf" : "recvBuf";
      if (rank.rank() == 1) {
        refused(code, HCCL_E_PARA,
                {sends ? "send of 100 fp32 to rank 0" : "receive of 100 fp32 from rank 0", buffer});
      } else {
        ok(code);
      }
      expect_told(comm, stream, buffer + " is freed device memory");
      ok(HcclCommDestroy(comm));
    };
    run_ranks(2, GetParam(), body, checked());
  }
}

TEST_P(OfAGroup, AGroupOfCallsTellsWhichOneItWas) {
  const auto body = [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    const Block good;
    Block wrong;
    if (rank.rank() == 1) wrong.free();
    ok(HcclGroupStart());
    ok(HcclAllReduce(good.at(), good.at(), 64, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm,
                     stream));
    ok(HcclBroadcast(wrong.at(), 32, HCCL_DATA_TYPE_INT32, 1, comm, stream));
    const HcclResult code = HcclGroupEnd();
    if (rank.rank() == 1) {
      refused(code, HCCL_E_PARA, {"HcclBroadcast", "call 2", "buf at", "is freed memory"});
    }
    expect_told(comm, stream, "buf is freed device memory");
    ok(HcclCommDestroy(comm));
  };
  run_ranks(2, GetParam(), body, checked());
}

/// Memory of the program's own: addresses and what is behind them.
TEST(MemoryCheckOfMappings, FollowsThemFromBlockToBlock) {
  const auto body = [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    Mapped memory({kPhysicalUnit, kPhysicalUnit});
    void* const data = memory.data();
    const uint64_t count = 2 * kPhysicalUnit;
    const auto broadcast = [&](uint64_t bytes) {
      return HcclBroadcast(data, bytes, HCCL_DATA_TYPE_INT8, 0, comm, stream);
    };
    ok(broadcast(count));
    stream.synchronize();
    refused(broadcast(count + 1), HCCL_E_PARA,
            {"out of range", "mapped memory", "ends 1 bytes behind", std::to_string(count)});
    memory.free();
    refused(broadcast(1), HCCL_E_PARA, {"buf at", "not all memory"});
    ok(HcclCommDestroy(comm));
  };
  run_alone(body, checked());
}

TEST(MemoryCheckOfWindows, ThePointerIsMeantNotItsAddress) {
  const auto body = [](Rank& rank) {
    HcclComm comm = rank.join();
    const Mapped memory(kPhysicalUnit);
    void* pointer = memory.data();
    HcclCommSymWindow window = nullptr;
    size_t offset = 0;
    const auto expect = [](HcclResult code, const std::string& argument) {
      refused(code, HCCL_E_PARA, {argument + " 0x", "is the address of a pointer"});
    };
    expect(HcclCommSymWinRegister(comm, &pointer, kPhysicalUnit, &window, 1), "addr");
    expect(HcclCommSymWinGet(comm, &pointer, 8, &window, &offset), "ptr");
    expect(HcclCommSetMemoryRange(comm, &pointer, kPhysicalUnit, 0, 0), "baseVirPtr");
    expect(HcclCommActivateCommMemory(comm, &pointer, kPhysicalUnit, 0, memory.handle(), 0),
           "virPtr");
    // They keep their own errors.
    ok(HcclCommSetMemoryRange(comm, memory.data(), kPhysicalUnit, 0, 0));
    ok(HcclCommActivateCommMemory(comm, memory.data(), kPhysicalUnit, 0, memory.handle(), 0));
    ok(HcclCommSymWinRegister(comm, memory.data(), kPhysicalUnit, &window, 1));
    ok(HcclCommDestroy(comm));
  };
  run_alone(body, checked());
}

TEST(MemoryCheckOff, LooksAtNothing) {
  const auto body = [](Rank& rank) {
    const Fixture fixture(rank);
    Arguments overlapping(fixture);
    overlapping.recv = fixture.send + sizeof(float);
    ok(call(Function::kAllReduce, overlapping));
    fixture.stream.synchronize();
  };
  run_alone(body);
}

TEST(MemoryCheckOff, ACheckThatNobodyKnowsStopsEveryCommunicator) {
  GroupOptions options;
  options.environment = {{"WEFT_CHECK", "memroy"}};
  const auto body = [](Rank&) {
    HcclComm comm = nullptr;
    int32_t device = 0;
    refused(HcclCommInitAll(1, &device, &comm), HCCL_E_PARA,
            {"WEFT_CHECK", "memroy", "there is one: memory"});
  };
  run_alone(body, options);
}

}  // namespace
}  // namespace weft::test
