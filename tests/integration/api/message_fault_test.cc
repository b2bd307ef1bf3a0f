// SPDX-License-Identifier: Apache-2.0
// Messages whose other side is killed, leaves, never comes or loses its stream: whoever waits gets
// an error that says why, and nobody hangs.
#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <vector>

#include "cases.hpp"
#include "policy_file.hpp"
#include "samples.hpp"

namespace weft::test {
namespace {

constexpr uint64_t kSmall = 5;      // carried by the mail itself
constexpr uint64_t kLarge = 50000;  // copied from the sender's buffer

/// Everybody must have learned it by then.
GroupOptions in_time(std::map<std::string, std::string> environment = {}) {
  GroupOptions options;
  options.deadline = std::chrono::seconds{10};
  options.environment = std::move(environment);
  return options;
}

enum class Way { kSend, kReceive, kBatch, kGroup };

void PrintTo(Way way, std::ostream* out) { *out << static_cast<int>(way); }

/// Something that waits for `peer`.
void wait_for(Way way, uint32_t peer, const Parcel& a, const Parcel& b, HcclComm comm,
              aclrtStream stream) {
  HcclSendRecvItem items[] = {a.item(HCCL_SEND, peer), b.item(HCCL_RECV, peer)};
  switch (way) {
    case Way::kSend:
      return a.send(peer, comm, stream);
    case Way::kReceive:
      return b.receive(peer, comm, stream);
    case Way::kBatch:
      return ok(HcclBatchSendRecv(items, 2, comm, stream));
    case Way::kGroup:
      ok(HcclGroupStart());
      b.receive(peer, comm, stream);
      a.send(peer, comm, stream);
      ok(HcclGroupEnd());
  }
}

/// The text of the error that the stream has, which it must have.
std::string stream_error(aclrtStream stream, HcclComm comm) {
  check(aclrtSynchronizeStream(stream) != ACL_SUCCESS, "the message went through");
  // The runtime only knows that it aborted the stream of the tasks engine.
  if (runs_as_tasks()) HcclBarrier(comm, stream);
  const char* text = aclGetRecentErrMsg();
  return text == nullptr ? "no text" : text;
}

void expect_text(const std::string& text, std::initializer_list<std::string> parts) {
  for (const std::string& part : parts) check(contains(text, part), text);
}

/// The communicator can do no more, and says why; destroying it is all that is left.
void expect_over(HcclComm comm, aclrtStream stream, HcclResult reason) {
  HcclResult state = HCCL_SUCCESS;
  ok(HcclGetCommAsyncError(comm, &state));
  check(state == reason, "HcclGetCommAsyncError says " + std::to_string(state));
  uint32_t self = 0;
  ok(HcclGetRankId(comm, &self));
  const uint32_t peer = self == 0 ? 1 : 0;
  const Parcel parcel(1);
  const auto fails = [&](HcclResult code, const char* function) {
    refused(code, reason, {function, "has failed"});
  };
  HcclSendRecvItem items[] = {parcel.item(HCCL_SEND, peer)};
  fails(HcclSend(parcel.data(), 1, HCCL_DATA_TYPE_INT32, peer, comm, stream), "HcclSend");
  fails(HcclBatchSendRecv(items, 1, comm, stream), "HcclBatchSendRecv");
  fails(HcclBarrier(comm, stream), "HcclBarrier");
  ok(HcclGroupStart());
  parcel.receive(peer, comm, stream);
  refused(HcclGroupEnd(), reason, {"HcclRecv", "has failed"});
  ok(HcclCommDestroy(comm));
}

class EachWay : public testing::TestWithParam<Way> {};
std::string name_of_way(const testing::TestParamInfo<Way>& given) {
  static constexpr const char* kNames[] = {"send", "receive", "batch", "group"};
  return kNames[static_cast<int>(given.param)];
}
INSTANTIATE_TEST_SUITE_P(Messages, EachWay,
                         testing::Values(Way::kSend, Way::kReceive, Way::kBatch, Way::kGroup),
                         name_of_way);

TEST_P(EachWay, AKilledPeerIsNamed) {
  for (const uint64_t count : {kSmall, kLarge}) {
    const auto body = [&](Rank& rank) {
      HcclComm comm = rank.join();
      const Stream stream;
      const Parcel a(count);
      const Parcel b(count);
      if (rank.rank() == 1) {
        rank.await(0, 1);
        rank.die();
      }
      wait_for(GetParam(), 1, a, b, comm, stream);
      rank.event(0);
      expect_text(stream_error(stream, comm), {"rank 1", "is gone"});
      expect_over(comm, stream, HCCL_E_REMOTE);
    };
    run_ranks(2, Layout::kProcesses, body, in_time());
  }
}

/// They wait for living ranks, which wait for others.
TEST(Messages, AChainOfWaitingRanksLearnsWhoWasKilled) {
  const auto body = [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    const Parcel parcel(kLarge);
    if (rank.rank() == 3) {
      rank.await(0, 3);
      rank.die();
    }
    parcel.receive(rank.rank() + 1, comm, stream);
    parcel.send((rank.rank() + 3) % 4, comm, stream);
    rank.event(0);
    expect_text(stream_error(stream, comm), {"rank 3"});
    expect_over(comm, stream, HCCL_E_REMOTE);
  };
  run_ranks(4, Layout::kProcesses, body, in_time());
}

TEST_P(EachWay, APeerThatNeverComesIsATimeOut) {
  const PolicyFile policy(policy_text({}, "[control]\nexec_timeout = \"200ms\"\n"));
  for (const Layout layout : {Layout::kProcesses, Layout::kThreads}) {
    const auto body = [](Rank& rank) {
      HcclComm comm = rank.join();
      const Stream stream;
      const Parcel a(kLarge);
      const Parcel b(kLarge);
      if (rank.rank() == 0) {
        wait_for(GetParam(), 1, a, b, comm, stream);
        expect_text(stream_error(stream, comm),
                    {"rank 1", "0.2 s", "50000 int32", "HCCL_EXEC_TIMEOUT"});
        expect_over(comm, stream, HCCL_E_TIMEOUT);
      }
      rank.sync();
      if (rank.rank() == 1) ok(HcclCommDestroy(comm));
    };
    run_ranks(2, layout, body, in_time(policy.environment()));
  }
}

TEST_P(EachWay, ACommunicatorIsNotDestroyedWhileAMessageWaits) {
  for (const Layout layout : {Layout::kProcesses, Layout::kThreads}) {
    const auto body = [](Rank& rank) {
      HcclComm comm = rank.join();
      const Stream stream;
      const Parcel a(kLarge);
      const Parcel b(kLarge);
      const Way mine = GetParam();
      if (rank.rank() == 1) {
        rank.await(0, 1);
        const Way other = mine == Way::kSend      ? Way::kReceive
                          : mine == Way::kReceive ? Way::kSend
                                                  : mine;
        wait_for(other, 0, a, b, comm, stream);
      } else {
        wait_for(mine, 1, a, b, comm, stream);
        refused(HcclCommDestroy(comm), HCCL_E_AGAIN, {"HcclCommDestroy", "has not ended"});
        rank.event(0);
      }
      stream.synchronize();
      ok(HcclCommDestroy(comm));
    };
    run_ranks(2, layout, body, in_time());
  }
}

TEST_P(EachWay, APeerThatHasDestroyedItsCommunicatorIsNamed) {
  for (const Layout layout : {Layout::kProcesses, Layout::kThreads}) {
    for (const bool before : {true, false}) {
      const auto body = [&](Rank& rank) {
        HcclComm comm = rank.join();
        const Stream stream;
        const Parcel a(kSmall);
        const Parcel b(kSmall);
        if (rank.rank() == 1) {
          if (!before) rank.await(0, 1);
          ok(HcclCommDestroy(comm));
          rank.event(1);
          rank.await(2, 1);
        } else {
          if (before) rank.await(1, 1);
          wait_for(GetParam(), 1, a, b, comm, stream);
          rank.event(0);
          expect_text(stream_error(stream, comm), {"rank 1", "destroyed"});
          expect_over(comm, stream, HCCL_E_REMOTE);
          rank.event(2);
        }
      };
      run_ranks(2, layout, body, in_time());
    }
  }
}

/// Rank 0 loses the stream with what it waits for; rank 1 waits for something that rank 0 never
/// does.
void lose_a_stream(Rank& rank, const std::function<void(HcclComm, aclrtStream)>& wait) {
  HcclComm comm = rank.join();
  const Stream stream;
  if (rank.rank() == 0) {
    aclrtStream victim = nullptr;
    ok(aclrtCreateStream(&victim));
    wait(comm, victim);
    ok(aclrtDestroyStreamForce(victim));
    rank.event(1);
    HcclResult state = HCCL_SUCCESS;
    ok(HcclGetCommAsyncError(comm, &state));
    check(state == HCCL_E_UNAVAIL, "HcclGetCommAsyncError says " + std::to_string(state));
    refused(HcclBarrier(comm, stream), HCCL_E_UNAVAIL, {"dropped by its stream"});
    rank.await(0, 1);
    ok(HcclCommDestroy(comm));
  } else {
    wait(comm, stream);
    expect_text(stream_error(stream, comm), {"rank 0", "lost a call"});
    rank.event(0);
    expect_over(comm, stream, HCCL_E_REMOTE);
  }
}

TEST_P(EachWay, AStreamDestroyedByForceIsToldToBothSides) {
  for (const Layout layout : {Layout::kProcesses, Layout::kThreads}) {
    const auto body = [](Rank& rank) {
      const Parcel a(kLarge);
      const Parcel b(kLarge);
      lose_a_stream(rank, [&](HcclComm comm, aclrtStream stream) {
        HcclSendRecvItem never[] = {b.item(HCCL_RECV, 0), b.item(HCCL_RECV, 0)};
        if (rank.rank() == 0 || GetParam() == Way::kSend) {
          wait_for(GetParam(), 1 - rank.rank(), a, b, comm, stream);
        } else {
          ok(HcclBatchSendRecv(never, 2, comm, stream));
        }
      });
    };
    run_ranks(2, layout, body, in_time());
  }
}

TEST(Collectives, AStreamDestroyedByForceIsToldToAll) {
  for (const Layout layout : {Layout::kProcesses, Layout::kThreads}) {
    const auto body = [](Rank& rank) {
      const Parcel a(kLarge);
      const Parcel b(kLarge);
      lose_a_stream(rank, [&](HcclComm comm, aclrtStream stream) {
        // Not before the stream is lost: then rank 0 cannot have read what rank 1 adds.
        if (rank.rank() == 1) rank.await(1, 1);
        ok(HcclAllReduce(a.data(), b.data(), kLarge, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm,
                         stream));
      });
    };
    run_ranks(2, layout, body, in_time());
  }
}

TEST(Messages, ARankThatEndsAfterItsLastMessageDoesNotHarmTheOther) {
  for (const uint32_t who : {0u, 1u}) {
    for (const uint64_t count : {kSmall, kLarge}) {
      for (int i = 0; i < 5; ++i) {
        const auto body = [&](Rank& rank) {
          HcclComm comm = rank.join();
          const Stream stream;
          Parcel parcel(count);
          if (rank.rank() == 0) {
            parcel.pack(0, 1, 1);
            parcel.send(1, comm, stream);
            stream.synchronize();
          } else {
            parcel.receive(0, comm, stream);
            stream.synchronize();
            parcel.check_is(0, 1, 1);
          }
          if (rank.rank() == who) rank.exit_process();
          ok(HcclCommDestroy(comm));
        };
        run_ranks(2, Layout::kProcesses, body, in_time());
      }
    }
  }
}

TEST(Messages, ARankMayLeaveWhileOthersExchangeMessages) {
  for (const Layout layout : {Layout::kProcesses, Layout::kThreads}) {
    const auto body = [](Rank& rank) {
      HcclComm comm = rank.join();
      const Stream stream;
      Parcel parcel(kLarge);
      if (rank.rank() == 2) {
        ok(HcclCommDestroy(comm));
        rank.event(0);
        return;
      }
      rank.await(0, 1);
      for (uint32_t number = 0; number < 20; ++number) {
        if (rank.rank() == number % 2) {
          parcel.pack(0, 1, number);
          parcel.send(1 - rank.rank(), comm, stream);
          stream.synchronize();
        } else {
          parcel.receive(1 - rank.rank(), comm, stream);
          stream.synchronize();
          parcel.check_is(0, 1, number);
        }
      }
      ok(HcclCommDestroy(comm));
    };
    run_ranks(3, layout, body, in_time());
  }
}

/// A collective that never ends because of a lost message, and the other way round.
TEST(Messages, AFailureOfAMessageEndsCollectivesOfAllRanks) {
  const PolicyFile policy(policy_text({}, "[control]\nexec_timeout = \"300ms\"\n"));
  const auto body = [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    const Stream other;
    const Parcel parcel(kLarge);
    if (rank.rank() == 0) {
      parcel.receive(2, comm, stream);
      expect_text(stream_error(stream, comm), {"rank 2"});
      expect_over(comm, stream, HCCL_E_TIMEOUT);
      rank.event(0);
    } else if (rank.rank() == 1) {
      rank.await(0, 1);
      ok(HcclBarrier(comm, other));
      expect_text(stream_error(other, comm), {"rank 2", "receive of 50000 int32"});
      expect_over(comm, other, HCCL_E_TIMEOUT);
      rank.event(1);
    } else {
      rank.await(1, 1);
      ok(HcclCommDestroy(comm));
    }
    rank.sync();
  };
  run_ranks(3, Layout::kProcesses, body, in_time(policy.environment()));
}

TEST(Messages, AfterALostRankTheOthersCanBeginAnew) {
  const auto body = [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    Parcel parcel(kLarge);
    if (rank.rank() == 1) {
      ok(HcclCommDestroy(comm));
    } else {
      parcel.receive(1, comm, stream);
      expect_text(stream_error(stream, comm), {"rank 1"});
      expect_over(comm, stream, HCCL_E_REMOTE);
    }
    HcclComm next = rank.join();
    const uint32_t me = rank.rank();
    const Parcel received(kLarge);
    parcel.pack(me, (me + 1) % 3, 1);
    HcclSendRecvItem items[] = {parcel.item(HCCL_SEND, (me + 1) % 3),
                                received.item(HCCL_RECV, (me + 2) % 3)};
    ok(HcclBatchSendRecv(items, 2, next, stream));
    stream.synchronize();
    received.check_is((me + 2) % 3, me, 1);
    expect_working(next, 3);
    ok(HcclCommDestroy(next));
  };
  run_ranks(3, Layout::kProcesses, body, in_time());
  run_ranks(3, Layout::kThreads, body, in_time());
}

}  // namespace
}  // namespace weft::test
