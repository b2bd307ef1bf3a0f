// SPDX-License-Identifier: Apache-2.0
// Much at once: several communicators from several threads, several streams of one communicator,
// messages among collectives, and the user's own copies and events between them.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "samples.hpp"

namespace weft::test {
namespace {

constexpr uint64_t kCounts[] = {3, 4000, 1, 777, 20000, 64};

SampleCase mixed_case(uint32_t number) {
  return {static_cast<Op>(number % kCollectives), kCounts[number % std::size(kCounts)] + number % 3,
          number};
}

class Concurrency : public testing::TestWithParam<Layout> {};
std::string name_of_layout(const testing::TestParamInfo<Layout>& given) {
  return layout_name(given.param);
}
INSTANTIATE_TEST_SUITE_P(Groups, Concurrency,
                         testing::Values(Layout::kThreads, Layout::kProcesses, Layout::kPairs),
                         name_of_layout);

/// An event of the current device.
class Event {
 public:
  Event() { ok(aclrtCreateEvent(&event_)); }
  ~Event() { aclrtDestroyEvent(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  operator aclrtEvent() const { return event_; }

 private:
  aclrtEvent event_ = nullptr;
};

/// Runs body(0) .. body(count - 1) as threads that use the device of the rank.
void run_threads(const Rank& rank, uint32_t count, const std::function<void(uint32_t)>& body) {
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < count; ++t) {
    threads.emplace_back([&, t] {
      try {
        ok(aclrtSetDevice(rank.device()));
        body(t);
        ok(aclrtResetDevice(rank.device()));
      } catch (const Failure& failure) {
        ADD_FAILURE_AT(failure.file, failure.line) << "thread " << t << ": " << failure.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(Concurrency, EveryCommunicatorCanHaveAThread) {
  run_ranks(4, GetParam(), [](Rank& rank) {
    const HcclComm comms[] = {rank.join(), rank.join(), rank.join()};
    run_threads(rank, 3, [&](uint32_t thread) {
      const Stream stream;
      for (uint32_t i = 0; i < 22; ++i) {
        const Sample sample(mixed_case(i + 50 * thread), rank.rank(), rank.ranks());
        sample.run(comms[thread], stream);
        stream.synchronize();
        sample.verify();
      }
    });
    for (HcclComm comm : comms) ok(HcclCommDestroy(comm));
  });
}

TEST_P(Concurrency, RanksMayUseCommunicatorsInDifferentOrderOnDifferentStreams) {
  run_ranks(4, GetParam(), [](Rank& rank) {
    constexpr uint32_t kComms = 4;
    HcclComm comms[kComms];
    for (HcclComm& comm : comms) comm = rank.join();
    const Stream streams[kComms];
    std::vector<Sample> samples;
    for (uint32_t round = 0; round < 11; ++round) {
      for (uint32_t k = 0; k < kComms; ++k) {
        const uint32_t which = (k + rank.rank() + round) % kComms;
        samples.emplace_back(mixed_case(round + 20 * which), rank.rank(), rank.ranks());
        samples.back().run(comms[which], streams[which]);
      }
    }
    for (uint32_t k = 0; k < kComms; ++k) streams[(k + 3 * rank.rank()) % kComms].synchronize();
    for (const Sample& sample : samples) sample.verify();
    for (HcclComm comm : comms) ok(HcclCommDestroy(comm));
  });
}

TEST_P(Concurrency, CollectivesOfOneCommunicatorRunInTheOrderOfIssueWhateverTheStreams) {
  run_ranks(6, GetParam(), [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream streams[4];
    std::vector<Sample> samples;
    for (uint32_t i = 0; i < 3 * kCollectives; ++i) {
      samples.emplace_back(mixed_case(i), rank.rank(), rank.ranks());
      samples.back().run(comm, streams[(i * 5 + i / 7 + rank.rank()) % 4]);
    }
    for (uint32_t s = 0; s < 4; ++s) streams[(s + rank.rank()) % 4].synchronize();
    for (const Sample& sample : samples) sample.verify();
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(Concurrency, SendsOnOneStreamDoNotKeepBackReceivesOnAnother) {
  run_ranks(4, GetParam(), [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream out;
    const Stream in;
    const uint32_t me = rank.rank();
    std::vector<Parcel> sent;
    std::vector<Parcel> received;
    for (uint32_t number = 0; number < 8; ++number) {
      for (uint32_t d = 1; d < rank.ranks(); ++d) {
        const uint64_t count = kCounts[number % std::size(kCounts)];
        const auto kind = static_cast<Memory>(number % kMemoryKinds);
        sent.emplace_back(count, kind).pack(me, (me + d) % 4, number);
        received.emplace_back(count, kind);
      }
    }
    // All ranks send before any of them receives.
    for (uint32_t i = 0; i < sent.size(); ++i) sent[i].send((me + 1 + i % 3) % 4, comm, out);
    rank.sync();
    for (uint32_t i = 0; i < sent.size(); ++i) {
      received[i].receive((me + 3 - i % 3) % 4, comm, in);
    }
    (me % 2 == 0 ? out : in).synchronize();
    (me % 2 == 0 ? in : out).synchronize();
    for (uint32_t i = 0; i < sent.size(); ++i) {
      received[i].check_is((me + 3 - i % 3) % 4, me, i / 3);
    }
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(Concurrency, TheNthSendMeetsTheNthReceiveAcrossStreamsAndBatches) {
  run_ranks(2, GetParam(), [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream streams[3];
    const uint32_t me = rank.rank();
    constexpr uint32_t kMessages = 60;
    std::vector<Parcel> parcels;
    for (uint32_t i = 0; i < kMessages; ++i) {
      parcels.emplace_back(kCounts[i % std::size(kCounts)]);
      if (me == 0) parcels.back().pack(0, 1, i);
    }
    const HcclSendRecvType kind = me == 0 ? HCCL_SEND : HCCL_RECV;
    // The two sides choose streams, and which messages form a batch, each in its own way.
    for (uint32_t i = 0; i < kMessages;) {
      const Stream& stream = streams[(i * 7 + i / 5 + me) % 3];
      const uint32_t together = std::min(1 + (i * (me + 2)) % 4, kMessages - i);
      if (together > 1) {
        std::vector<HcclSendRecvItem> items;
        for (uint32_t k = 0; k < together; ++k) items.push_back(parcels[i + k].item(kind, 1 - me));
        ok(HcclBatchSendRecv(items.data(), together, comm, stream));
      } else if (me == 0) {
        parcels[i].send(1, comm, stream);
      } else {
        parcels[i].receive(0, comm, stream);
      }
      i += together;
    }
    for (uint32_t s = 0; s < 3; ++s) streams[(s + me) % 3].synchronize();
    for (uint32_t i = 0; i < kMessages; ++i) parcels[i].check_is(0, 1, i);
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(Concurrency, AMessageSeesWhatTheUsersCopiesAndEventsPutBeforeIt) {
  run_ranks(4, GetParam(), [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream work;
    const Stream side;
    const uint32_t me = rank.rank();
    const uint32_t next = (me + 1) % 4;
    const uint32_t before = (me + 3) % 4;
    for (uint32_t round = 0; round < 10; ++round) {
      const uint64_t count = kCounts[round % std::size(kCounts)];
      const size_t bytes = count * sizeof(int32_t);
      const Event filled;
      const Event arrived;
      Parcel source(count);
      const Parcel sent(count);
      const Parcel received(count);
      const Parcel result(count);
      source.pack(me, next, round);
      // A copy on one stream, the messages on the other, and back.
      ok(aclrtMemcpyAsync(sent.data(), bytes, source.data(), bytes, ACL_MEMCPY_DEVICE_TO_DEVICE,
                          side));
      ok(aclrtRecordEvent(filled, side));
      ok(aclrtStreamWaitEvent(work, filled));
      HcclSendRecvItem items[] = {sent.item(HCCL_SEND, next), received.item(HCCL_RECV, before)};
      ok(HcclBatchSendRecv(items, 2, comm, work));
      ok(aclrtRecordEvent(arrived, work));
      ok(aclrtMemsetAsync(sent.data(), bytes, 0, bytes, work));  // not before it was taken
      ok(aclrtStreamWaitEvent(side, arrived));
      ok(aclrtMemcpyAsync(result.data(), bytes, received.data(), bytes, ACL_MEMCPY_DEVICE_TO_DEVICE,
                          side));
      side.synchronize();
      result.check_is(before, me, round);
      work.synchronize();
      check(sent.data()[count - 1] == 0, "the buffer was not cleared");
    }
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(Concurrency, CollectivesStandInLineWithTheUsersCopiesAndEvents) {
  run_ranks(5, GetParam(), [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream streams[2];
    constexpr uint64_t kCount = 5000;
    constexpr size_t kBytes = kCount * sizeof(int32_t);
    const Words a(kCount);
    const Words b(kCount);
    for (uint64_t i = 0; i < kCount; ++i) a.data()[i] = static_cast<int32_t>(i + rank.rank());
    constexpr uint32_t kRounds = 6;
    const Event events[kRounds];
    // Each round on the other stream: b = the sum of all a; a = b.
    for (uint32_t k = 0; k < kRounds; ++k) {
      const Stream& stream = streams[(k + rank.rank()) % 2];
      if (k > 0) ok(aclrtStreamWaitEvent(stream, events[k - 1]));
      ok(HcclAllReduce(a.data(), b.data(), kCount, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm,
                       stream));
      ok(aclrtMemcpyAsync(a.data(), kBytes, b.data(), kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
      ok(aclrtRecordEvent(events[k], stream));
    }
    for (const Stream& stream : streams) stream.synchronize();
    uint32_t factor = 1;
    for (uint32_t k = 1; k < kRounds; ++k) factor *= 5;
    for (uint64_t i = 0; i < kCount; ++i) {
      const auto wanted = static_cast<int32_t>((5 * static_cast<uint32_t>(i) + 10) * factor);
      check(a.data()[i] == wanted, "wrong at " + std::to_string(i));
    }
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(Concurrency, MessagesAmongCollectivesOnOneStream) {
  run_ranks(4, GetParam(), [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    const uint32_t me = rank.rank();
    const uint32_t partner = me ^ 1;
    std::vector<Sample> samples;
    std::vector<Parcel> sent;
    std::vector<Parcel> received;
    for (uint32_t i = 0; i < 2 * kCollectives; ++i) {
      const uint64_t count = kCounts[i % std::size(kCounts)];
      samples.emplace_back(mixed_case(i), me, rank.ranks());
      sent.emplace_back(count, Memory::kHostUnaligned).pack(me, partner, i);
      received.emplace_back(count);
      samples.back().run(comm, stream);
      if (me < partner) {
        sent.back().send(partner, comm, stream);
        received.back().receive(partner, comm, stream);
      } else {
        received.back().receive(partner, comm, stream);
        sent.back().send(partner, comm, stream);
      }
    }
    stream.synchronize();
    for (uint32_t i = 0; i < samples.size(); ++i) {
      samples[i].verify();
      received[i].check_is(partner, me, i);
    }
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(Concurrency, MessagesDoNotWaitForCollectivesOnAnotherStream) {
  run_ranks(3, GetParam(), [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream collectives;
    const Stream messages;
    const uint32_t me = rank.rank();
    const Sample sample({Op::kAllReduce, 100, 1}, me, 3);
    Parcel parcel(3000);
    if (me == 2) rank.await(0, 2);  // the collective cannot end before the message has
    sample.run(comm, collectives);
    if (me == 0) {
      parcel.pack(0, 1, 1);
      parcel.send(1, comm, messages);
    } else if (me == 1) {
      parcel.receive(0, comm, messages);
    }
    messages.synchronize();
    if (me < 2) {
      parcel.check_is(0, 1, 1);
      rank.event(0);
    }
    collectives.synchronize();
    sample.verify();
    ok(HcclCommDestroy(comm));
  });
}

TEST_P(Concurrency, MoreMessagesThanAStreamHoldsCanBeQueuedInALoop) {
  run_ranks(2, GetParam(), [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    const Words words(3000);
    for (uint32_t i = 0; i < 3000; ++i) {
      int32_t* at = words.data() + i;
      if (rank.rank() == 0) {
        *at = static_cast<int32_t>(i * 3);
        ok(HcclSend(at, 1, HCCL_DATA_TYPE_INT32, 1, comm, stream));
      } else {
        ok(HcclRecv(at, 1, HCCL_DATA_TYPE_INT32, 0, comm, stream));
      }
    }
    stream.synchronize();
    for (uint32_t i = 0; i < 3000; ++i)
      check(words.data()[i] == static_cast<int32_t>(i * 3), "a message is wrong");
    ok(HcclCommDestroy(comm));
  });
}

/// Everything of the above at once, by more threads than there are cores.
TEST_P(Concurrency, ThreadsWithCollectivesMessagesAndGroupsShareNothingButTheDevice) {
  run_ranks(4, GetParam(), [](Rank& rank) {
    const HcclComm comms[] = {rank.join(), rank.join(), rank.join()};
    const uint32_t me = rank.rank();
    run_threads(rank, 3, [&](uint32_t thread) {
      const Stream stream;
      HcclComm comm = comms[thread];
      for (uint32_t i = 0; i < 15; ++i) {
        const uint32_t number = i + 100 * thread;
        const uint64_t count = kCounts[number % std::size(kCounts)];
        const uint32_t next = (me + 1 + i % 3) % 4;
        const uint32_t before = (me + 3 - i % 3) % 4;
        const Sample sample(mixed_case(number), me, 4);
        Parcel sent(count);
        const Parcel received(count);
        sent.pack(me, next, number);
        if (thread != 0) ok(HcclGroupStart());
        if (thread != 1) sample.run(comm, stream);
        if (thread == 0) {
          HcclSendRecvItem items[] = {sent.item(HCCL_SEND, next), received.item(HCCL_RECV, before)};
          ok(HcclBatchSendRecv(items, 2, comm, stream));
        } else {
          received.receive(before, comm, stream);
          sent.send(next, comm, stream);
          ok(HcclGroupEnd());
        }
        stream.synchronize();
        if (thread != 1) sample.verify();
        received.check_is(before, me, number);
      }
    });
    for (HcclComm comm : comms) ok(HcclCommDestroy(comm));
  });
}

}  // namespace
}  // namespace weft::test
