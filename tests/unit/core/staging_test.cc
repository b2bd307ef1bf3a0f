// SPDX-License-Identifier: Apache-2.0
// Staging memory: used again when free, never while in use, given back in the end.
#include "comm/staging.hpp"

#include <gtest/gtest.h>

#include <map>

#include "base/error.hpp"
#include "comm/message_staging.hpp"

namespace weft::comm {
namespace {

constexpr uint64_t kRoom = uint64_t{1} << 30;

/// Its endpoint is itself. No memory behind the addresses.
struct FakeMemory {
  std::map<void*, uint64_t> blocks;
  uint64_t next = 4096;
  uint64_t allocations = 0;
  uint64_t used = 0;
  weft_transport transport{};

  FakeMemory() {
    transport.allocate = [](void* endpoint, uint64_t bytes, void** address) -> int32_t {
      auto& self = *static_cast<FakeMemory*>(endpoint);
      if (bytes > kRoom - self.used) return HCCL_E_OOM;
      self.used += bytes;
      *address = reinterpret_cast<void*>(self.next);
      self.next += bytes;
      ++self.allocations;
      self.blocks[*address] = bytes;
      return HCCL_SUCCESS;
    };
    transport.release = [](void* endpoint, void* address) {
      auto& self = *static_cast<FakeMemory*>(endpoint);
      self.used -= self.blocks[address];
      EXPECT_EQ(self.blocks.erase(address), 1u);
    };
  }
};

TEST(Staging, ServesAllCallsWithOneBufferOfEachKind) {
  FakeMemory memory;
  {
    Staging staging(memory.transport, &memory);
    void* in = staging.in(1000, 1, 0);
    void* out = staging.out(1000, 1, 0);
    EXPECT_NE(in, out);
    EXPECT_EQ(staging.in(500, 2, 0), in);
    EXPECT_EQ(staging.in(1, 3, 2), in);
    EXPECT_EQ(staging.out(1000, 3, 2), out);
    EXPECT_EQ(memory.allocations, 2u);
  }
  EXPECT_TRUE(memory.blocks.empty());
}

TEST(Staging, KeepsAnOldBufferUntilTheCallsThatUseItAreDone) {
  FakeMemory memory;
  {
    Staging staging(memory.transport, &memory);
    void* first = staging.in(100'000, 1, 0);
    void* second = staging.in(1'000'000, 3, 0);  // calls 1 and 2 use the first one
    EXPECT_NE(first, second);
    staging.in(3'000'000, 4, 1);
    EXPECT_EQ(memory.blocks.count(first), 1u) << "call 2 is not done";
    staging.in(9'000'000, 5, 2);
    EXPECT_EQ(memory.blocks.count(first), 0u);
    EXPECT_EQ(memory.blocks.count(second), 1u);
  }
  EXPECT_TRUE(memory.blocks.empty());
}

TEST(Staging, LackOfMemoryIsAnErrorAndKeepsWhatThereIs) {
  FakeMemory memory;
  Staging staging(memory.transport, &memory);
  void* in = staging.in(1000, 1, 0);
  EXPECT_THROW(staging.in(2 * kRoom, 2, 1), Error);
  EXPECT_EQ(staging.in(1000, 2, 1), in);
}

/// A use of a task that is on its way.
void begin(exec::MessageTask& task) {
  ++task.ticket;
  task.busy = true;
}

TEST(MessageStaging, UsesABufferAgainOnceItsTaskHasEnded) {
  FakeMemory memory;
  {
    MessageStaging staging(memory.transport, &memory);
    exec::MessageTask first, second;
    begin(first);
    void* address = staging.get(10'000, first);
    begin(second);
    void* other = staging.get(10'000, second);
    EXPECT_NE(other, address) << "the first is on its way";
    first.busy = false;
    begin(first);
    EXPECT_EQ(staging.get(9'000, first), address);
    EXPECT_EQ(memory.allocations, 2u);
  }
  EXPECT_TRUE(memory.blocks.empty());
}

TEST(MessageStaging, GivesEveryMessageOfATaskABufferOfItsOwn) {
  FakeMemory memory;
  MessageStaging staging(memory.transport, &memory);
  exec::MessageTask task;
  ++task.ticket;  // not launched yet
  void* a = staging.get(100, task);
  void* b = staging.get(100, task);
  void* c = staging.get(100, task);
  EXPECT_NE(a, b);
  EXPECT_NE(b, c);
  EXPECT_NE(a, c);
  ++task.ticket;  // used again
  EXPECT_EQ(staging.get(100, task), a);
  EXPECT_EQ(memory.allocations, 3u);
}

TEST(MessageStaging, ServesWithTheSmallestFreeBufferThatDoes) {
  FakeMemory memory;
  MessageStaging staging(memory.transport, &memory);
  exec::MessageTask task, other;
  begin(task);
  void* large = staging.get(50'000, task);
  void* small = staging.get(5'000, task);
  begin(other);
  void* in_use = staging.get(4'000, other);
  task.busy = false;
  begin(task);
  EXPECT_EQ(staging.get(3'000, task), small);
  EXPECT_EQ(staging.get(3'000, task), large);
  EXPECT_EQ(memory.allocations, 3u);
  EXPECT_EQ(memory.blocks.count(in_use), 1u);
}

constexpr uint64_t kMiB = uint64_t{1} << 20;

TEST(MessageStaging, TakesLittleMoreThanALongMessageNeeds) {
  FakeMemory memory;
  MessageStaging staging(memory.transport, &memory);
  exec::MessageTask task;
  begin(task);
  staging.get(257 * kMiB + 1, task);
  EXPECT_EQ(memory.used, 258 * kMiB);
}

TEST(MessageStaging, KeepsOnlySomeOfWhatIsFree) {
  FakeMemory memory;
  MessageStaging staging(memory.transport, &memory);
  exec::MessageTask task;
  begin(task);
  for (int i = 0; i < 20; ++i) staging.get(10 * kMiB, task);
  EXPECT_EQ(memory.used, 200 * kMiB);
  task.busy = false;
  begin(task);
  staging.get(300 * kMiB, task);
  EXPECT_LE(memory.used, (300 + 64) * kMiB);
}

TEST(MessageStaging, ReleasesWhatIsFreeWhereMemoryIsShort) {
  FakeMemory memory;
  MessageStaging staging(memory.transport, &memory);
  exec::MessageTask task, other;
  begin(other);
  void* in_use = staging.get(100 * kMiB, other);
  begin(task);
  staging.get(50 * kMiB, task);
  task.busy = false;
  begin(task);
  EXPECT_NE(staging.get(900 * kMiB, task), nullptr);
  EXPECT_EQ(memory.used, 1000 * kMiB);
  EXPECT_EQ(memory.blocks.count(in_use), 1u);
}

TEST(MessageStaging, LackOfMemoryIsAnErrorAndDoesNoHarm) {
  FakeMemory memory;
  {
    MessageStaging staging(memory.transport, &memory);
    exec::MessageTask task;
    begin(task);
    void* address = staging.get(100, task);
    EXPECT_THROW(staging.get(2 * kRoom, task), Error);
    EXPECT_EQ(memory.blocks.count(address), 1u);
    task.busy = false;
    begin(task);
    EXPECT_THROW(staging.get(2 * kRoom, task), Error);
    EXPECT_NE(staging.get(100, task), nullptr);
  }
  EXPECT_TRUE(memory.blocks.empty());
}

}  // namespace
}  // namespace weft::comm
