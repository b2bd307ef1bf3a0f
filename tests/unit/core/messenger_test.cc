// SPDX-License-Identifier: Apache-2.0
// Messages between ranks on ordinary memory: which send meets which receive, and how those end that
// meet none.
#include "exec/messenger.hpp"

#include <gtest/gtest.h>

#include <set>

#include "support.hpp"

namespace {

void meet(const weft::Problem& p, weft::Schedule& s) {
  for (const uint32_t peer : p.peers()) s.signal(peer);
  for (const uint32_t peer : p.peers()) s.wait(peer);
}

}  // namespace

WEFT_ALGORITHM(meet, .name = "meet", .summary = "", .op = WEFT_OP_ALL_REDUCE);

namespace weft::exec {
namespace {

using Buffer = std::vector<int32_t>;
using Kind = MessageStep::Kind;

// Elements: one, the most that a mail carries, one more, many.
constexpr uint64_t kLengths[] = {1, 8, 9, 4001};

MessageStep step(Kind kind, uint32_t peer, uint64_t count) {
  MessageStep made;
  made.kind = kind;
  made.type = HCCL_DATA_TYPE_INT32;
  made.peer = peer;
  made.count = count;
  made.bytes = count * 4;
  return made;
}

MessageStep send(uint32_t peer, const Buffer& from) {
  MessageStep made = step(Kind::kSend, peer, from.size());
  made.from = from.data();
  return made;
}

MessageStep receive(uint32_t peer, Buffer& to) {
  MessageStep made = step(Kind::kReceive, peer, to.size());
  made.to = to.data();
  return made;
}

MessageStep copy(uint32_t self, const Buffer& from, Buffer& to) {
  MessageStep made = step(Kind::kCopy, self, from.size());
  made.from = from.data();
  made.to = to.data();
  return made;
}

MessageTask& launch(Group& group, uint32_t r, std::vector<MessageStep> steps, uint32_t stream = 0) {
  MessageTask& task = group.messenger(r).fresh_task();
  task.steps = std::move(steps);
  group.messenger(r).launch(task);
  group.submit(r, task.base, stream);
  return task;
}

Buffer numbers(uint64_t count, uint32_t from, uint32_t to, uint32_t number) {
  Buffer made(count);
  for (uint64_t i = 0; i < count; ++i) made[i] = value(from, 100 * number + to, i);
  return made;
}

/// Buffers that stay where they are, with what should be in them in the end.
class Expectations {
 public:
  const Buffer& data(Buffer data) { return buffers_.emplace_back(std::move(data)); }
  Buffer& room_for(const Buffer& data) {
    Buffer& room = buffers_.emplace_back(data.size(), -1);
    pairs_.emplace_back(&room, &data);
    return room;
  }
  void check() const {
    for (size_t i = 0; i < pairs_.size(); ++i) {
      ASSERT_EQ(*pairs_[i].first, *pairs_[i].second) << "message " << i;
    }
  }

 private:
  std::deque<Buffer> buffers_;
  std::vector<std::pair<const Buffer*, const Buffer*>> pairs_;
};

/// Resumes the streams in a random order, or on threads if `seed` is 0.
void run(Group& group, uint32_t seed) { seed == 0 ? group.run_on_threads() : group.run(seed); }

/// Every rank sends a few messages to every other, on one stream; receives on the other one.
void run_in_order(uint32_t n, uint32_t seed) {
  Group group(n);
  Expectations expectations;
  for (uint32_t number = 0; number < 12; ++number) {
    for (uint32_t distance = 1; distance < n; ++distance) {
      for (uint32_t from = 0; from < n; ++from) {
        const uint32_t to = (from + distance) % n;
        const uint64_t count = kLengths[(number + from) % 4];
        const Buffer& data = expectations.data(numbers(count, from, to, number));
        launch(group, from, {send(to, data)}, 0);
        launch(group, to, {receive(from, expectations.room_for(data))}, 1);
      }
    }
  }
  run(group, seed);
  expectations.check();
  for (uint32_t r = 0; r < n; ++r) EXPECT_FALSE(group.messenger(r).busy());
}

TEST(Messenger, MessagesOfAPairArriveInTheirOrder) {
  for (const uint32_t n : {2, 3, 5}) {
    for (uint32_t seed = 1; seed < 5; ++seed) run_in_order(n, seed);
  }
}

TEST(Messenger, MessagesOfAPairArriveInTheirOrderOnThreads) { run_in_order(3, 0); }

/// One batch per rank: two messages to each rank, itself included, and as many from it.
void run_batches(uint32_t n, uint32_t seed) {
  Group group(n);
  Expectations expectations;
  for (uint32_t round = 0; round < 4; ++round) {
    std::vector<std::vector<MessageStep>> batches(n);
    for (uint32_t number = 0; number < 2; ++number) {
      for (uint32_t from = 0; from < n; ++from) {
        for (uint32_t to = 0; to < n; ++to) {
          const uint64_t count = kLengths[(number + round + from) % 4];
          const Buffer& data = expectations.data(numbers(count, from, to, 2 * round + number));
          Buffer& room = expectations.room_for(data);
          if (from == to) {
            batches[from].push_back(copy(from, data, room));
            continue;
          }
          batches[from].push_back(send(to, data));
          // Before what is there, so that receives of some rank come before its sends.
          batches[to].insert(number == 0 ? batches[to].begin() : batches[to].end(),
                             receive(from, room));
        }
      }
    }
    for (uint32_t r = 0; r < n; ++r) launch(group, r, batches[r], round % 2);
  }
  run(group, seed);
  expectations.check();
}

TEST(Messenger, NoMessageOfABatchKeepsAnotherFromGoingOn) {
  for (const uint32_t n : {1, 2, 3, 4}) {
    for (uint32_t seed = 1; seed < 5; ++seed) run_batches(n, seed);
  }
}

TEST(Messenger, BatchesRunOnThreads) { run_batches(3, 0); }

TEST(Messenger, ALongBatchTakesTimeInProportionToItsLength) {
  // With a look at every message in every round this would take billions of looks.
  constexpr uint32_t kMessages = 60'000;
  Group group(2);
  const Buffer data(1, 5);
  Buffer rooms(kMessages, -1);
  Buffer one(1);
  std::vector<MessageStep> sends, receives;
  for (uint32_t i = 0; i < kMessages; ++i) {
    sends.push_back(send(1, data));
    receives.push_back(receive(0, one));
    receives.back().to = &rooms[i];
  }
  launch(group, 0, std::move(sends));
  launch(group, 1, std::move(receives));
  run(group, 1);
  EXPECT_EQ(rooms, Buffer(kMessages, 5));
}

TEST(Messenger, StagedDataIsCopiedWhenTheTaskBegins) {
  Group group(2);
  Buffer data(100, 1);
  Buffer staging(100, 0);
  Buffer room(100, -1);
  MessageStep staged = send(1, staging);
  staged.staged = data.data();
  launch(group, 0, {staged});
  launch(group, 1, {receive(0, room)});
  data.assign(100, 2);  // by what is before it on the stream
  group.run(1);
  EXPECT_EQ(room, Buffer(100, 2));
}

TEST(Messenger, ACopyOntoItselfIsFine) {
  Group group(1);
  Buffer data(100, 7);
  launch(group, 0, {copy(0, data, data)});
  EXPECT_EQ(group.step(0), WEFT_TASK_DONE);
  EXPECT_EQ(data, Buffer(100, 7));
}

TEST(Messenger, AnUndoneLaunchLeavesNoTrace) {
  Group group(2);
  const Buffer data(20, 5);
  Buffer room(20);
  MessageTask& undone = group.messenger(0).fresh_task();
  undone.steps = {send(1, room), send(1, room), receive(1, room), copy(0, data, room)};
  group.messenger(0).launch(undone);
  EXPECT_TRUE(group.messenger(0).busy());
  group.messenger(0).undo(undone);
  EXPECT_FALSE(group.messenger(0).busy());
  launch(group, 0, {send(1, data)});
  launch(group, 1, {receive(0, room)});
  group.run(1);
  EXPECT_EQ(room, data);
}

TEST(Messenger, TasksAreUsedAgainButNotWhileTheyAreOnTheirWay) {
  Group group(2);
  const Buffer data(20, 5);
  Buffer room(20);
  std::set<const MessageTask*> tasks;
  uint64_t ticket = 0;
  for (int i = 0; i < 50; ++i) {
    MessageTask& sending = launch(group, 0, {send(1, data)});
    tasks.insert(&sending);
    EXPECT_NE(&sending, &group.messenger(0).fresh_task());
    launch(group, 1, {receive(0, room)});
    group.run(1);
    EXPECT_GE(sending.ticket, ticket);
    ticket = sending.ticket;
  }
  EXPECT_LE(tasks.size(), 2u);
  EXPECT_GT(ticket, 20u) << "each use has a number of its own";
}

TEST(Messenger, MessagesThatDifferFailAndNameBothSides) {
  for (const bool in_type : {false, true}) {
    Group group(2);
    const Buffer data(20, 5);
    Buffer room(in_type ? 20 : 21, -1);
    MessageStep wrong = receive(0, room);
    if (in_type) wrong.type = HCCL_DATA_TYPE_UINT32;
    launch(group, 0, {send(1, data)});
    launch(group, 1, {wrong});
    EXPECT_EQ(group.step(0), WEFT_TASK_AGAIN);
    EXPECT_EQ(group.finish(1), HCCL_E_PARA);
    EXPECT_EQ(group.finish(0), HCCL_E_PARA);
    for (const uint32_t r : {0, 1}) {
      const std::string text = group.watch(r).health_text();
      EXPECT_NE(text.find("message 1 differs"), std::string::npos) << text;
      EXPECT_NE(text.find("send of 20 int32 to rank 1"), std::string::npos) << text;
      const char* other = in_type ? "receive of 20 uint32 from rank 0" : "receive of 21 int32";
      EXPECT_NE(text.find(other), std::string::npos) << text;
      EXPECT_FALSE(group.messenger(r).busy());
    }
    EXPECT_EQ(room, Buffer(room.size(), -1)) << "nothing is received";
  }
}

TEST(Messenger, AMessageToOrFromALostPeerFailsAndNamesIt) {
  for (const bool sends : {false, true}) {
    Group group(2);
    Buffer buffer(20);
    launch(group, 0, {sends ? send(1, buffer) : receive(1, buffer)});
    EXPECT_EQ(group.step(0), WEFT_TASK_AGAIN);
    group.watch(0).peer_lost(1, "its process ended");
    EXPECT_EQ(group.finish(0), HCCL_E_REMOTE);
    EXPECT_NE(last_task_error.find("rank 1 is gone: its process ended"), std::string::npos)
        << last_task_error;
    EXPECT_NE(last_task_error.find("of 20 int32"), std::string::npos) << last_task_error;
  }
}

TEST(Messenger, WhatALostPeerPostedBeforeIsStillReceived) {
  Group group(2);
  const Buffer data(20, 5);
  Buffer room(20);
  Buffer never(20);
  launch(group, 1, {send(0, data)});
  EXPECT_EQ(group.step(1), WEFT_TASK_AGAIN);
  launch(group, 0, {receive(1, never)});  // in its place: the first one posted
  group.watch(0).peer_lost(1, "its process ended");
  EXPECT_EQ(group.finish(0), WEFT_TASK_DONE);
  EXPECT_EQ(never, data);
  launch(group, 0, {receive(1, room)});
  EXPECT_EQ(group.finish(0), HCCL_E_REMOTE);
}

TEST(Messenger, APeerThatLeavesBeforeItPostsFailsTheReceive) {
  Group group(2);
  Buffer room(20, -1);
  launch(group, 0, {receive(1, room)});
  EXPECT_EQ(group.step(0), WEFT_TASK_AGAIN);
  group.board(1).identity.magic = closed(Board::kMagic);
  group.watch(0).peer_left(1);
  EXPECT_EQ(group.finish(0), HCCL_E_REMOTE);
  EXPECT_NE(last_task_error.find("destroyed"), std::string::npos) << last_task_error;
  EXPECT_EQ(room, Buffer(20, -1));
}

TEST(Messenger, ADataPlaceOfAPeerThatHasLeftIsNotRead) {
  Group group(2);
  const Buffer data(20, 5);
  Buffer room(20, -1);
  launch(group, 1, {send(0, data)});
  EXPECT_EQ(group.step(1), WEFT_TASK_AGAIN);
  group.board(1).identity.magic = closed(Board::kMagic);  // it gave up: its buffer may be gone
  launch(group, 0, {receive(1, room)});
  EXPECT_EQ(group.finish(0), HCCL_E_REMOTE);
  EXPECT_EQ(room, Buffer(20, -1));
}

TEST(Messenger, NothingIsPostedToARankThatHasClosedItsBoard) {
  Group group(2);
  const Buffer data(2, 5);
  group.board(1).identity.magic = 0;
  const std::vector<std::byte> before = group.bytes_of_board(1);
  launch(group, 0, {send(1, data)});
  EXPECT_EQ(group.finish(0), HCCL_E_REMOTE);
  EXPECT_EQ(group.bytes_of_board(1), before);
}

TEST(Messenger, AMessageThatMeetsNoneEndsAtItsTimeOut) {
  for (const bool sends : {false, true}) {
    Group group(2, std::chrono::milliseconds(20));
    Buffer buffer(20);
    launch(group, 0, {sends ? send(1, buffer) : receive(1, buffer)});
    EXPECT_EQ(group.finish(0), HCCL_E_TIMEOUT);
    EXPECT_NE(last_task_error.find("rank 1 did not do its part"), std::string::npos)
        << last_task_error;
    EXPECT_NE(last_task_error.find(sends ? "send of 20" : "receive of 20"), std::string::npos)
        << last_task_error;
    EXPECT_NE(last_task_error.find("(message 1)"), std::string::npos) << last_task_error;
    EXPECT_FALSE(group.messenger(0).busy());
  }
}

TEST(Messenger, WhatASenderPostedBeforeItGaveUpIsNotReceived) {
  for (const uint64_t count : {4, 100}) {  // carried, and in a buffer that is its caller's again
    Group group(2, std::chrono::milliseconds(20));
    const Buffer data = numbers(count, 0, 1, 1);
    Buffer room(count, -1);
    launch(group, 0, {send(1, data)});
    EXPECT_EQ(group.finish(0), HCCL_E_TIMEOUT);
    launch(group, 1, {receive(0, room)});
    EXPECT_EQ(group.finish(1), HCCL_E_TIMEOUT);
    EXPECT_NE(last_task_error.find("send of"), std::string::npos) << last_task_error;
    EXPECT_EQ(room, Buffer(count, -1));
  }
}

TEST(Messenger, ADroppedTaskFailsTheCommunicatorOnAllRanks) {
  Group group(2);
  Buffer buffers[3] = {Buffer(20), Buffer(20), Buffer(20)};
  launch(group, 0, {receive(1, buffers[0])});
  launch(group, 1, {send(0, buffers[1]), receive(0, buffers[2])});
  EXPECT_EQ(group.step(0), WEFT_TASK_AGAIN);
  group.drop(1);
  EXPECT_EQ(group.watch(1).health(), HCCL_E_UNAVAIL);
  EXPECT_NE(group.watch(1).health_text().find("batch of 2"), std::string::npos)
      << group.watch(1).health_text();
  EXPECT_FALSE(group.messenger(1).busy());
  EXPECT_EQ(group.finish(0), HCCL_E_REMOTE);
  EXPECT_NE(last_task_error.find("rank 1"), std::string::npos) << last_task_error;
}

TEST(Messenger, AFaultOfARankThatIsNotWaitedForIsAdopted) {
  Group group(3);
  Buffer room(20);
  launch(group, 0, {receive(1, room)});
  EXPECT_EQ(group.step(0), WEFT_TASK_AGAIN);
  Fault fault{};
  fault.code = HCCL_E_TIMEOUT;
  fault.rank_a = 1;
  fault.rank_b = 2;
  group.watch(2).raise(fault);
  EXPECT_EQ(group.finish(0), HCCL_E_TIMEOUT);
}

TEST(Messenger, ATaskOfACommunicatorThatHasFailedEndsAtOnce) {
  Group group(2);
  Buffer buffer(20);
  launch(group, 0, {send(1, buffer)});
  launch(group, 0, {send(1, buffer)});
  group.drop(0);
  EXPECT_EQ(group.step(0), HCCL_E_UNAVAIL);
  EXPECT_FALSE(group.messenger(0).busy());
}

TEST(Messenger, AFailedMessageEndsARunningCallOfTheSameRank) {
  Group group(2);
  Buffer in(4), out(4), room(20);
  group.add(0, weft_algorithm_meet, 4, in.data(), out.data(), 0);
  EXPECT_EQ(group.step(0, 0), WEFT_TASK_AGAIN);
  launch(group, 0, {receive(1, room)}, 1);
  group.drop(0, 1);
  EXPECT_EQ(group.finish(0, 0), HCCL_E_UNAVAIL);
}

}  // namespace
}  // namespace weft::exec
