// SPDX-License-Identifier: Apache-2.0
// Destroying a communicator on which another thread issues operators.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ostream>
#include <string>
#include <thread>

#include "cases.hpp"
#include "weft/comm.h"

namespace weft::test {
namespace {

enum class Calls { kPlain, kInGroups, kMessages };

struct Issues {
  uint32_t ranks;
  Layout layout;
  Calls calls;
};
void PrintTo(const Issues& issues, std::ostream* out) {
  *out << layout_name(issues.layout) << "_" << issues.ranks
       << (issues.calls == Calls::kInGroups   ? "_in_groups"
           : issues.calls == Calls::kMessages ? "_messages"
                                              : "");
}

/// Issues operators without a pause until one is refused; how that was.
struct Issuer {
  Issuer(const Rank& rank, HcclComm comm, Calls calls)
      : thread([this, comm, calls, peer = 1 - rank.rank(), device = rank.device()] {
          aclrtSetDevice(device);
          const Stream stream;
          constexpr uint64_t kCount = 1 << 18;  // too long to be carried out while it is issued
          Arena in(Memory::kDevice, kCount * 4);
          Arena out(Memory::kDevice, kCount * 4);
          std::byte* send = in.lend(kCount * 4);
          std::byte* recv = out.lend(kCount * 4);
          const auto issue = [&] {
            return HcclAllReduce(send, recv, kCount, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm,
                                 stream);
          };
          while (code == HCCL_SUCCESS) {
            if (calls == Calls::kPlain) {
              code = issue();
            } else {
              HcclGroupStart();
              if (calls == Calls::kInGroups) {
                issue();
                issue();
              } else {
                HcclSend(send, kCount, HCCL_DATA_TYPE_INT32, peer, comm, stream);
                HcclRecv(recv, kCount, HCCL_DATA_TYPE_INT32, peer, comm, stream);
              }
              code = HcclGroupEnd();
            }
            if (code == HCCL_SUCCESS) ++issued;
          }
          aclrtSynchronizeStream(stream);  // calls whose peer has gone fail
        }) {}

  std::atomic<HcclResult> code{HCCL_SUCCESS};
  std::atomic<uint32_t> issued{0};
  std::thread thread;
};

class Contest : public testing::TestWithParam<Issues> {};
INSTANTIATE_TEST_SUITE_P(All, Contest,
                         testing::Values(Issues{1, Layout::kProcesses, Calls::kPlain},
                                         Issues{1, Layout::kProcesses, Calls::kInGroups},
                                         Issues{2, Layout::kThreads, Calls::kPlain},
                                         Issues{2, Layout::kProcesses, Calls::kPlain},
                                         Issues{2, Layout::kProcesses, Calls::kInGroups},
                                         Issues{2, Layout::kProcesses, Calls::kMessages}),
                         [](const auto& test) { return testing::PrintToString(test.param); });

TEST_P(Contest, OneWhoDestroysWinsAgainstOneWhoIssuesWithoutAPause) {
  const Issues& issues = GetParam();
  run_ranks(issues.ranks, issues.layout, [&](Rank& rank) {
    constexpr int kMany = 20;  // tries; each alone is enough unless the machine stands still
    for (int round = 0; round < 2; ++round) {
      HcclComm comm = rank.join();
      Issuer other(rank, comm, issues.calls);
      eventually([&] { return other.issued > 100; }, "operators are on their way");
      rank.sync();
      HcclResult code = HCCL_E_AGAIN;
      int tries = 0;
      for (; code == HCCL_E_AGAIN && tries < kMany; ++tries) {
        code = HcclCommDestroy(comm);
        // The other thread has had time to fill the queue again when the next try comes.
        if (code == HCCL_E_AGAIN) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
      if (code == HCCL_E_AGAIN) {
        ADD_FAILURE() << "it was refused " << kMany << " times";
        std::abort();  // the other thread would never end
      }
      other.thread.join();
      ok(code);
      const bool refused_as_gone = other.code == HCCL_E_PARA || other.code == HCCL_E_REMOTE;
      check(refused_as_gone, "operators ended with " + std::to_string(other.code.load()));
      rank.sync();
    }
  });
}

TEST(End, BesideAnOperatorThatIsBeingIssuedIsRefused) {
  run_ranks(2, Layout::kProcesses, [](Rank& rank) {
    constexpr uint32_t kRoom = 1024;  // calls that may be on their way at once
    HcclComm comm = rank.join();
    if (rank.rank() == 1) {
      rank.await(0, 1);
      const Stream stream;
      for (uint32_t i = 0; i <= kRoom; ++i) ok(HcclBarrier(comm, stream));
      stream.synchronize();
    } else {
      const Stream stream;
      std::atomic<uint32_t> issued{0};
      std::thread caller([&, device = rank.device()] {
        aclrtSetDevice(device);
        // The last one waits for room, which the other rank keeps back.
        for (uint32_t i = 0; i <= kRoom; ++i) {
          if (HcclBarrier(comm, stream) == HCCL_SUCCESS) ++issued;
        }
      });
      eventually(
          [&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));  // for all but the last
            check(HcclCommDestroy(comm) == HCCL_E_AGAIN, "it was destroyed");
            return contains(weft_last_error(), "is being issued");
          },
          "an operator is being issued");
      rank.event(0);
      caller.join();
      check(issued == kRoom + 1, "an operator failed");
      stream.synchronize();
    }
    expect_working(comm, 2);
    ok(HcclCommDestroy(comm));
  });
}

}  // namespace
}  // namespace weft::test
