// SPDX-License-Identifier: Apache-2.0
// Sub communicators whose members do not fit together, above all in their lists of members.
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "cases.hpp"
#include "sub_comm.hpp"
#include "weft/comm.h"

namespace weft::test {
namespace {

TEST(SubComm, MembersThatDifferLearnInWhat) {
  run_ranks(2, Layout::kProcesses, [](Rank& rank) {
    HcclComm comm = join_small(rank);
    HcclCommConfig config = small_config("buffer");
    config.hcclBufferSize = 1 + rank.rank();
    HcclComm sub = sub_of(comm, {0, 1}, rank.rank(), config);
    refused(HcclBarrier(sub, Stream()), HCCL_E_PARA,
            {"communicator buffer", "HCCL buffer", "1048576", "2097152"});
    HcclResult state = HCCL_SUCCESS;
    ok(HcclGetCommAsyncError(sub, &state));
    check(state == HCCL_E_PARA, "the asynchronous error is " + std::to_string(state));
    ok(HcclCommDestroy(sub));
    // Nothing of that is left.
    sub = sub_of(comm, {0, 1}, rank.rank(), small_config("buffer"));
    expect_working(sub, 2);
    ok(HcclCommDestroy(sub));
    ok(HcclCommDestroy(comm));
  });
}

/// What the ranks of a parent pass as rankIds; empty: the rank takes no part.
struct Lists {
  const char* name;
  std::vector<std::vector<uint32_t>> by_rank;
  std::vector<std::string> told;
};
void PrintTo(const Lists& lists, std::ostream* out) { *out << lists.name; }

class Crossed : public testing::TestWithParam<std::tuple<Lists, Layout>> {};
INSTANTIATE_TEST_SUITE_P(
    All, Crossed,
    testing::Combine(
        testing::Values(Lists{"order", {{0, 1}, {1, 0}, {}}, {" 0,1", " 1,0"}},
                        Lists{"more", {{0, 1}, {0, 1, 2}, {}}, {" 0,1, rank", " 0,1,2"}},
                        Lists{"fewer", {{0, 1, 2}, {0, 1}, {0, 1, 2}}, {" 0,1,2", " 0,1;"}},
                        Lists{"first", {{}, {1, 2}, {0, 1, 2}}, {" 1,2", " 0,1,2"}}),
        testing::Values(Layout::kThreads, Layout::kProcesses)),
    [](const auto& test) {
      return std::get<0>(test.param).name + std::string("_") + layout_name(std::get<1>(test.param));
    });

TEST_P(Crossed, ListsAreToldAtOnceToAllWhoWait) {  // long before the time-out
  const auto& [lists, layout] = GetParam();
  run_ranks(3, layout, [&](Rank& rank) {
    HcclComm comm = join_small(rank);
    const uint32_t self = rank.rank();
    for (const uint32_t last : {0U, 1U, 2U}) {  // one after the other, the first two in any order
      const std::vector<uint32_t>& mine = lists.by_rank[self];
      const HcclCommConfig config = small_config("crossed");
      HcclComm sub = nullptr;
      HcclResult code = HCCL_SUCCESS;
      if (self == last) rank.await(last, 2);
      if (!mine.empty()) code = create_sub(comm, mine, self, 1, config, &sub);
      if (self != last) rank.event(last);
      if (sub != nullptr) {
        code = HcclBarrier(sub, Stream());
        ok(HcclCommDestroy(sub));
      }
      if (!mine.empty()) {
        refused(code, HCCL_E_PARA, {"communicator crossed", "rankIds", "of the parent"});
        const std::string text = weft_last_error();
        for (const std::string& part : lists.told) check(contains(text, part), text);
      }
      rank.sync();
    }
    // Nothing of that is left.
    HcclComm sub = sub_of(comm, {0, 1, 2}, self, small_config("crossed"));
    expect_working(sub, 3);
    ok(HcclCommDestroy(sub));
    ok(HcclCommDestroy(comm));
  });
}

TEST(SubComm, AMemberThatComesLateToADisputeIsToldOfIt) {
  run_ranks(3, Layout::kProcesses, [](Rank& rank) {
    HcclComm comm = join_small(rank);
    const auto members =
        rank.rank() == 1 ? std::vector<uint32_t>{1, 0, 2} : std::vector<uint32_t>{0, 1, 2};
    const auto dispute = [&] {
      refused(meet_in_sub(comm, members, rank.rank(), small_config("dispute")), HCCL_E_PARA,
              {"communicator dispute", " 0,1,2", " 1,0,2", "rank 1"});
    };
    if (rank.rank() != 2) dispute();
    rank.sync();
    if (rank.rank() == 2) dispute();
    rank.sync();
    HcclComm sub = sub_of(comm, {0, 1, 2}, rank.rank(), small_config("dispute"));
    expect_working(sub, 3);
    ok(HcclCommDestroy(sub));
    ok(HcclCommDestroy(comm));
  });
}

TEST(SubComm, ANameMayGoFromOneListToAnotherOnARankThatIsInBoth) {
  run_ranks(3, Layout::kProcesses, [](Rank& rank) {
    HcclComm comm = join_small(rank);
    if (rank.rank() == 2) rank.await(0, 2);
    HcclComm sub = nullptr;
    if (rank.rank() == 0) sub = sub_of(comm, {0, 1}, 0);
    if (rank.rank() != 0) sub = sub_of(comm, {1, 2}, rank.rank());
    rank.event(0);
    if (rank.rank() != 0) {
      expect_working(sub, 2);
      ok(HcclCommDestroy(sub));
    }
    if (rank.rank() == 1) sub = sub_of(comm, {0, 1}, 1);
    if (rank.rank() != 2) {
      expect_working(sub, 2);
      ok(HcclCommDestroy(sub));
    }
    ok(HcclCommDestroy(comm));
  });
}

}  // namespace
}  // namespace weft::test
