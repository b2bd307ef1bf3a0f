// SPDX-License-Identifier: Apache-2.0
// WEFT_CHECK=memory against books that the tests write, and memory that really is there or not.
#include "comm/memory_check.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace weft::comm {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kCount = 100;  // elements of a block
constexpr uint64_t kBytes = kCount * sizeof(float);

/// Pages of this process.
class Pages {
 public:
  explicit Pages(uint64_t count, int access = PROT_READ | PROT_WRITE)
      : bytes_(count * kPage),
        base_(mmap(nullptr, bytes_, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (base_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~Pages() { munmap(base_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  [[nodiscard]] std::byte* at(uint64_t offset = 0) const {
    return static_cast<std::byte*>(base_) + offset;
  }
  [[nodiscard]] uint64_t bytes() const { return bytes_; }
  void protect(uint64_t page, int access) const { mprotect(at(page * kPage), kPage, access); }

 private:
  const uint64_t bytes_;
  void* const base_;
};

/// What the runtime believes.
class Books {
 public:
  Books() {
    transport_.look_up = [](void* self, const void* address, weft_address* place) {
      return static_cast<const Books*>(self)->look_up(reinterpret_cast<uint64_t>(address), place);
    };
  }

  void write(const std::byte* base, uint64_t bytes, uint32_t kind) {
    places_.push_back({{}, kind, 3, reinterpret_cast<uint64_t>(base), bytes});
  }
  void lose() { lost_ = true; }
  MemoryCheck check() { return {transport_, this}; }

 private:
  int32_t look_up(uint64_t address, weft_address* place) const {
    if (lost_) return WEFT_E_RUNTIME;
    *place = {place->head, WEFT_ADDRESS_OTHER, -1, 0, 0};
    for (const weft_address& each : places_) {
      if (address - each.base < each.bytes) *place = each;
    }
    return WEFT_OK;
  }

  weft_transport transport_{};
  std::vector<weft_address> places_;
  bool lost_ = false;
};

void expect_finding(const MemoryCheck::Result& result, const std::vector<std::string>& parts,
                    const std::string& brief) {
  ASSERT_TRUE(result) << "nothing was found";
  for (const std::string& part : parts) {
    EXPECT_NE(result->text.find(part), std::string::npos) << part << " is not in: " << result->text;
  }
  EXPECT_EQ(result->brief, brief);
}

void expect_good(const MemoryCheck::Result& result) { EXPECT_FALSE(result) << result->text; }

Call call_of(uint32_t op, const void* in, void* out, int type = HCCL_DATA_TYPE_FP32) {
  Call call;
  call.key.op = static_cast<uint8_t>(op);
  call.key.count = kCount;
  call.key.type = static_cast<uint8_t>(type);
  call.in = in;
  call.out = out;
  return call;
}

/// Rank 1 of 3.
CallShape shape_of(uint64_t in_blocks = 1, uint64_t out_blocks = 1) {
  CallShape shape;
  shape.rank = 1;
  shape.ranks = 3;
  shape.in_bytes = in_blocks * kBytes;
  shape.out_bytes = out_blocks * kBytes;
  shape.block_bytes = kBytes;
  return shape;
}

class MemoryChecks : public testing::Test {
 protected:
  MemoryCheck::Result all_reduce(const void* in, void* out) {
    return check_.look_at(call_of(WEFT_OP_ALL_REDUCE, in, out), shape_of());
  }

  Books books_;
  MemoryCheck check_ = books_.check();
  Pages pages_{8};
  std::byte* const good_ = pages_.at();  // a page that nothing is known of
};

TEST_F(MemoryChecks, LiveMemoryOfEveryKindIsGood) {
  books_.write(pages_.at(kPage), kBytes, WEFT_ADDRESS_DEVICE);
  books_.write(pages_.at(2 * kPage), kBytes, WEFT_ADDRESS_PINNED);
  books_.write(pages_.at(3 * kPage), kBytes, WEFT_ADDRESS_MAPPED);
  for (uint64_t page = 1; page <= 3; ++page)
    expect_good(all_reduce(pages_.at(page * kPage), good_));
  const std::vector<float> heap(kCount);
  expect_good(all_reduce(heap.data(), good_));
  expect_good(check_.look_at(call_of(WEFT_OP_BARRIER, nullptr, nullptr), {}));
}

/// Its pages appear when they are touched.
TEST_F(MemoryChecks, TheStackIsGoodWhereItHasNotGrownYet) {
  const auto here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  void* below = reinterpret_cast<void*>(here - (1 << 20));
  expect_good(all_reduce(below, good_));
  expect_good(all_reduce(good_, below));
}

TEST_F(MemoryChecks, FreedDeviceMemoryIsNamed) {
  books_.write(pages_.at(kPage), kPage, WEFT_ADDRESS_FREED);
  expect_finding(all_reduce(pages_.at(kPage), good_),
                 {"sendBuf at 0x", "400 bytes", "freed memory of device 3", "keep it allocated"},
                 "sendBuf is freed device memory");
  expect_finding(all_reduce(good_, pages_.at(kPage)), {"recvBuf at 0x"},
                 "recvBuf is freed device memory");
}

TEST_F(MemoryChecks, ABufferMayNotLeaveItsAllocation) {
  const std::vector<std::pair<uint32_t, std::string>> kinds = {
      {WEFT_ADDRESS_DEVICE, "allocation"},
      {WEFT_ADDRESS_PINNED, "page-locked memory"},
      {WEFT_ADDRESS_MAPPED, "mapped memory"}};
  uint64_t page = 0;
  for (const auto& [kind, word] : kinds) {
    std::byte* base = pages_.at(++page * kPage);
    books_.write(base, 1024, kind);
    expect_good(all_reduce(base + 1024 - kBytes, good_));
    expect_finding(all_reduce(base + 1028 - kBytes, good_),
                   {"out of range", "offset 628", "1024 bytes", "ends 4 bytes behind", word,
                    "1028 bytes or more"},
                   "sendBuf is longer than its " + word);
  }
}

TEST_F(MemoryChecks, NeighboursAreOneBufferOnlyIfTheyAreMappings) {
  for (const uint32_t kind : {WEFT_ADDRESS_MAPPED, WEFT_ADDRESS_DEVICE}) {
    Books books;
    MemoryCheck check = books.check();
    for (uint64_t i = 0; i < 3; ++i) books.write(pages_.at(1024 * (i + 4)), 1024, kind);
    CallShape shape = shape_of();
    shape.in_bytes = 3 * 1024;
    const Call call = call_of(WEFT_OP_ALL_REDUCE, pages_.at(4 * 1024), good_);
    const auto result = check.look_at(call, shape);
    EXPECT_EQ(result.has_value(), kind == WEFT_ADDRESS_DEVICE);
    shape.in_bytes = 3 * 1024 + 1;
    EXPECT_TRUE(check.look_at(call, shape));
  }
}

TEST_F(MemoryChecks, WhatIsNotMappedIsFoundWithItsOffset) {
  pages_.protect(2, PROT_NONE);
  pages_.protect(4, PROT_READ);
  expect_finding(all_reduce(pages_.at(2 * kPage - 8), good_),
                 {"not all memory", "(offset 8)", "reserved", "unmapped"}, "sendBuf is not mapped");
  expect_good(all_reduce(pages_.at(4 * kPage), good_));
  expect_finding(all_reduce(good_, pages_.at(5 * kPage - kBytes)),
                 {"cannot be written", "(offset 0)", "read-only"}, "recvBuf is read-only memory");
  std::byte* gone = nullptr;
  {
    const Pages freed(1);
    gone = freed.at();
  }
  expect_finding(all_reduce(gone, good_), {"freed, unmapped or never allocated", "(offset 0)"},
                 "sendBuf is freed or unmapped");
  void* nowhere = reinterpret_cast<void*>(UINT64_MAX - 100);  // wraps around
  expect_finding(all_reduce(nowhere, good_), {"sendBuf"}, "sendBuf is freed or unmapped");
}

TEST_F(MemoryChecks, NothingOfZeroBytesIsLookedAt) {
  void* nowhere = reinterpret_cast<void*>(8);
  expect_good(check_.look_at(call_of(WEFT_OP_SCATTER, nowhere, good_), shape_of(0, 1)));
  expect_good(check_.look_at(call_of(WEFT_OP_REDUCE, good_, nowhere), shape_of(1, 0)));
}

TEST_F(MemoryChecks, ABroadcastHasOneBufferThatIsReadOnTheRootOnly) {
  pages_.protect(0, PROT_READ);
  Call call = call_of(WEFT_OP_BROADCAST, good_, good_);
  call.key.root = 1;
  expect_good(check_.look_at(call, shape_of(1, 0)));
  call.key.root = 2;
  expect_finding(check_.look_at(call, shape_of(1, 1)), {"buf at"}, "buf is read-only memory");
}

TEST_F(MemoryChecks, OverlapIsForbiddenButInTheFormsOfInPlace) {
  struct Form {
    uint32_t op;
    uint64_t in_blocks;
    uint64_t out_blocks;
    int64_t out;  // where it begins, in bytes from In
    bool good;
  };
  constexpr auto kBlock = static_cast<int64_t>(kBytes);
  const std::vector<Form> forms = {
      {WEFT_OP_ALL_REDUCE, 1, 1, 0, true},
      {WEFT_OP_ALL_REDUCE, 1, 1, 4, false},
      {WEFT_OP_ALL_REDUCE, 1, 1, kBlock - 4, false},
      {WEFT_OP_ALL_REDUCE, 1, 1, kBlock, true},
      {WEFT_OP_ALL_REDUCE, 1, 1, -kBlock, true},
      {WEFT_OP_ALL_REDUCE, 1, 1, 4 - kBlock, false},
      {WEFT_OP_REDUCE, 1, 1, 0, true},
      {WEFT_OP_REDUCE, 1, 1, 8, false},
      {WEFT_OP_REDUCE_SCATTER, 3, 1, 0, true},
      {WEFT_OP_REDUCE_SCATTER, 3, 1, kBlock, true},  // of rank 1
      {WEFT_OP_REDUCE_SCATTER, 3, 1, 2 * kBlock, false},
      {WEFT_OP_REDUCE_SCATTER, 3, 1, 3 * kBlock, true},
      {WEFT_OP_SCATTER, 3, 1, kBlock, true},
      {WEFT_OP_SCATTER, 3, 1, kBlock + 4, false},
      {WEFT_OP_ALL_GATHER, 1, 3, -kBlock, true},
      {WEFT_OP_ALL_GATHER, 1, 3, 0, false},
      {WEFT_OP_ALL_GATHER, 1, 3, -2 * kBlock, false},
      {WEFT_OP_ALL_TO_ALL, 3, 3, 0, false},
      {WEFT_OP_ALL_TO_ALL, 3, 3, 4, false},
      {WEFT_OP_ALL_TO_ALL, 3, 3, 3 * kBlock, true},
  };
  std::byte* in = pages_.at(4 * kPage);
  for (const Form& form : forms) {
    const auto result = check_.look_at(call_of(form.op, in, in + form.out),
                                       shape_of(form.in_blocks, form.out_blocks));
    SCOPED_TRACE(describe(call_of(form.op, nullptr, nullptr).key) + ", " +
                 std::to_string(form.out));
    EXPECT_EQ(!result, form.good);
    if (result) {
      EXPECT_NE(result->text.find("overlap in"), std::string::npos) << result->text;
    }
  }
}

TEST_F(MemoryChecks, BlocksWithLengthsAreLookedAtOneByOne) {
  pages_.protect(1, PROT_NONE);  // a gap
  pages_.protect(3, PROT_NONE);
  const std::vector<uint64_t> counts(3);  // only whether they are there matters
  Call call = call_of(WEFT_OP_ALL_TO_ALL_V, pages_.at(), pages_.at(4 * kPage));
  call.lengths = {counts.data(), counts.data(), counts.data(), counts.data(), 0};
  std::vector<uint64_t> offsets = {0, 2 * kPage, 3 * kPage, 0, 64, 128};
  std::vector<uint64_t> lengths = {kPage, kPage, 0, 64, 64, 64};
  CallShape shape = shape_of();
  shape.blocks = {offsets.data(), lengths.data()};
  expect_good(check_.look_at(call, shape));
  lengths[2] = 4;
  expect_finding(check_.look_at(call, shape), {"block 2 of sendBuf at 0x", "4 bytes", "(offset 0)"},
                 "block 2 of sendBuf is not mapped");
  lengths[2] = 0;
  lengths[4] = 65;
  expect_finding(check_.look_at(call, shape),
                 {"block 1 of recvBuf", "block 2 of recvBuf", "overlap in 1 bytes"},
                 "block 1 of recvBuf and block 2 of recvBuf overlap");
  call.lengths.in_counts = nullptr;  // AllGatherV
  shape.in_bytes = kPage + 1;
  expect_finding(check_.look_at(call, shape), {"sendBuf at", "(offset 4096)"},
                 "sendBuf is not mapped");
}

TEST_F(MemoryChecks, ReceivedMessagesMayOverlapNothing) {
  const auto message = [&](bool sends, uint64_t offset, uint64_t count = kCount) {
    return Message{sends, good_ + offset, count, HCCL_DATA_TYPE_FP32, 2};
  };
  expect_good(check_.look_at(
      std::vector{message(true, 0), message(true, 4), message(false, 404), message(false, 804)}));
  expect_good(check_.look_at(std::vector{message(false, 0), message(false, 4, 0)}));
  expect_finding(
      check_.look_at(std::vector{message(false, 0), message(true, 800), message(false, 396)}),
      {"buf of item 0 (receive of 100 fp32 from rank 2) at", "buf of item 2", "overlap in 4 bytes"},
      "buf of item 0 and buf of item 2 overlap");
  expect_finding(check_.look_at(std::vector{message(false, 0), message(true, 396)}),
                 {"item 1 (send of 100 fp32 to rank 2)"},
                 "buf of item 0 and buf of item 1 overlap");
  // The longest one before counts, not the last one.
  expect_finding(check_.look_at(std::vector{message(false, 0, 300), message(true, 4, 1),
                                            message(true, 800, 1)}),
                 {"overlap in 4 bytes"}, "buf of item 0 and buf of item 1 overlap");
}

TEST_F(MemoryChecks, ASingleMessageIsNamedAsItsFunctionDoes) {
  books_.write(good_, kPage, WEFT_ADDRESS_FREED);
  Message message{true, good_, kCount, HCCL_DATA_TYPE_FP32, 2};
  expect_finding(check_.look_at({&message, 1}), {"sendBuf"}, "sendBuf is freed device memory");
  message.sends = false;
  expect_finding(check_.look_at({&message, 1}), {"recvBuf"}, "recvBuf is freed device memory");
}

TEST_F(MemoryChecks, TheAddressOfAPointerIsNoBuffer) {
  books_.write(pages_.at(kPage), kPage, WEFT_ADDRESS_DEVICE);
  const auto pointer = std::make_unique<void*>(pages_.at(kPage + 40));
  // One element of 4 bytes: a pointer is longer than that.
  CallShape shape = shape_of();
  shape.in_bytes = 4;
  expect_finding(check_.look_at(call_of(WEFT_OP_ALL_REDUCE, pointer.get(), good_), shape),
                 {"sendBuf 0x", "host memory that begins with 0x", "memory of device 3",
                  "pass the pointer itself"},
                 "sendBuf is the address of a pointer");
  shape.in_bytes = 8;
  expect_good(check_.look_at(
      call_of(WEFT_OP_ALL_REDUCE, pointer.get(), good_, HCCL_DATA_TYPE_UINT64), shape));
  *pointer = good_;  // no device memory
  expect_good(check_.look_at(call_of(WEFT_OP_ALL_REDUCE, pointer.get(), good_), shape));
  // Device memory may hold addresses.
  *reinterpret_cast<void**>(pages_.at(kPage)) = pages_.at(kPage);
  expect_good(all_reduce(pages_.at(kPage), good_));
}

TEST_F(MemoryChecks, AnArgumentOfAWindowMayBeAnAddressWithoutMemory) {
  books_.write(pages_.at(kPage), kPage, WEFT_ADDRESS_MAPPED);
  pages_.protect(2, PROT_NONE);
  expect_good(check_.look_at("addr", pages_.at(kPage)));
  expect_good(check_.look_at("addr", pages_.at(2 * kPage)));
  void* pointer = pages_.at(kPage);
  expect_finding(check_.look_at("addr", &pointer), {"addr 0x"}, "addr is the address of a pointer");
}

TEST_F(MemoryChecks, BooksThatCannotBeReadAreAnError) {
  books_.lose();
  try {
    (void)all_reduce(good_, good_);
    ADD_FAILURE() << "the call passed unchecked";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), HCCL_E_RUNTIME);
    EXPECT_NE(std::string(error.what()).find("cannot look up"), std::string::npos);
  }
}

}  // namespace
}  // namespace weft::comm
