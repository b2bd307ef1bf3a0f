// SPDX-License-Identifier: Apache-2.0
// Groups of collectives: several communicators and streams, the order of issue, one thread that
// drives all ranks; communicators made and destroyed in a group.
#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <vector>

#include "cases.hpp"
#include "policy_file.hpp"
#include "samples.hpp"

namespace weft::test {
namespace {

constexpr HcclDataType kInt32 = HCCL_DATA_TYPE_INT32;
constexpr uint64_t kCounts[] = {1, 3000, 17, 20011, 5, 999};

/// One of every collective, of different sizes.
std::vector<SampleCase> all_collectives(uint32_t number) {
  std::vector<SampleCase> all;
  for (uint32_t i = 0; i < kCollectives; ++i) {
    all.push_back({static_cast<Op>(i), kCounts[(i + number) % std::size(kCounts)] + i, number + i});
  }
  return all;
}

class Layouts : public testing::TestWithParam<Layout> {};
std::string name_of_layout(const testing::TestParamInfo<Layout>& given) {
  return layout_name(given.param);
}
INSTANTIATE_TEST_SUITE_P(Group, Layouts,
                         testing::Values(Layout::kThreads, Layout::kProcesses, Layout::kPairs),
                         name_of_layout);

TEST_P(Layouts, ResultsOfAllCommunicatorsAndStreamsAreThereAfterTheEnd) {
  run_ranks(4, GetParam(), [](Rank& rank) {
    const HcclComm comms[] = {rank.join(), rank.join()};
    const Stream streams[3];
    for (uint32_t round = 0; round < 4; ++round) {
      std::vector<Sample> samples;
      for (uint32_t k = 0; k < 2; ++k) {
        for (const SampleCase& c : all_collectives(round + 100 * k)) {
          samples.emplace_back(c, rank.rank(), rank.ranks());
        }
      }
      ok(HcclGroupStart());
      for (uint32_t i = 0; i < samples.size(); ++i) {
        samples[i].run(comms[i / kCollectives], streams[(i + rank.rank()) % 3]);
      }
      ok(HcclGroupEnd());
      for (const Sample& sample : samples) sample.verify();
    }
    for (HcclComm comm : comms) ok(HcclCommDestroy(comm));
  });
}

TEST_P(Layouts, RanksMayQueueCollectivesOfOneCountInDifferentOrder) {
  run_ranks(2, GetParam(), [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    std::vector<Sample> samples;
    for (const SampleCase& c : all_collectives(7)) {
      samples.emplace_back(c, rank.rank(), rank.ranks());
    }
    ok(HcclGroupStart());
    for (uint32_t i = 0; i < kFirstWithLengths; ++i) {
      samples[rank.rank() == 0 ? i : kFirstWithLengths - 1 - i].run(comm, stream);
    }
    for (uint32_t i = kFirstWithLengths; i < kCollectives; ++i) samples[i].run(comm, stream);
    ok(HcclGroupEnd());
    for (const Sample& sample : samples) sample.verify();
    ok(HcclCommDestroy(comm));
  });
}

TEST(Group, IssuesLongCollectivesFirstAndThoseWithLengthsLast) {
  const PolicyFile policy(policy_text({{"all_reduce", "mesh.one_shot"}}));
  GroupOptions options;
  options.environment = policy.environment();
  const auto body = [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    const auto last_of = [&](const std::vector<SampleCase>& cases) {
      std::vector<Sample> samples;
      for (const SampleCase& c : cases) samples.emplace_back(c, rank.rank(), rank.ranks());
      ok(HcclGroupStart());
      for (const Sample& sample : samples) sample.run(comm, stream);
      ok(HcclGroupEnd());
      for (const Sample& sample : samples) sample.verify();
      return last_call(comm).algorithm;
    };
    const SampleCase small{Op::kAllReduce, 10, 1};
    const SampleCase large{Op::kAllGather, 1000, 2};
    const SampleCase with_lengths{Op::kAllGatherV, 100000, 3};
    check(last_of({small, large}) == "mesh.one_shot", "the short one is not the last");
    check(last_of({large, small}) == "mesh.one_shot", "the order changed");
    check(last_of({with_lengths, small, large}) == "mesh.all_gather_v",
          "the one with lengths is not the last");
  };
  run_ranks(2, Layout::kProcesses, body, options);
}

TEST(Group, MessagesAndCollectivesOfOneCommunicatorMayShareAGroup) {
  run_ranks(3, Layout::kProcesses, [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    const uint32_t me = rank.rank();
    const uint32_t next = (me + 1) % 3;
    const uint32_t before = (me + 2) % 3;
    const Sample sample({Op::kAllReduce, 1000, 4}, me, 3);
    Parcel sent(3000, Memory::kHost);
    const Parcel received(3000);
    sent.pack(me, next, 1);
    ok(HcclGroupStart());
    sample.run(comm, stream);
    sent.send(next, comm, stream);
    received.receive(before, comm, stream);
    ok(HcclGroupEnd());
    sample.verify();
    received.check_is(before, me, 1);
    ok(HcclCommDestroy(comm));
  });
}

TEST(Group, KeepsArraysAndBuffersByReferenceUntilItsEnd) {
  run_ranks(2, Layout::kThreads, [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    const uint32_t me = rank.rank();
    const Words in(10);
    Words out(10);
    out.clear();
    const int32_t untouched = out.data()[0];
    uint64_t counts[] = {1, 1};
    uint64_t places[] = {0, 1};
    ok(HcclGroupStart());
    ok(HcclAllGatherV(in.data(), 3 + me, out.data(), counts, places, kInt32, comm, stream));
    counts[0] = 3;
    counts[1] = 4;
    places[0] = 6;
    for (uint64_t i = 0; i < 10; ++i) in.data()[i] = static_cast<int32_t>(10 * me + i);
    ok(HcclGroupEnd());
    const int32_t wanted[] = {untouched, 10, 11, 12, 13, untouched, 0, 1, 2, untouched};
    for (uint32_t i = 0; i < 10; ++i) check(out.data()[i] == wanted[i], "element is wrong");
    ok(HcclCommDestroy(comm));
  });
}

// One thread that drives all ranks of its process.

struct Team {
  explicit Team(uint32_t given) : ranks(given), comms(given), streams(given) {
    std::vector<int32_t> devices;
    for (uint32_t r = 0; r < ranks; ++r) devices.push_back(static_cast<int32_t>(r));
    ok(HcclCommInitAll(ranks, devices.data(), comms.data()));
    for (uint32_t r = 0; r < ranks; ++r) {
      use(r);
      ok(aclrtCreateStream(&streams[r]));
    }
  }
  ~Team() {
    for (uint32_t r = 0; r < ranks; ++r) {
      use(r);
      HcclCommDestroy(comms[r]);
      aclrtDestroyStream(streams[r]);
    }
  }
  static void use(uint32_t rank) { ok(aclrtSetDevice(static_cast<int32_t>(rank))); }

  std::vector<Sample> samples(const SampleCase& c) const {
    std::vector<Sample> made;
    for (uint32_t r = 0; r < ranks; ++r) {
      use(r);
      made.emplace_back(c, r, ranks);
    }
    return made;
  }

  const uint32_t ranks;
  std::vector<HcclComm> comms;
  std::vector<aclrtStream> streams;
};

class OneThread : public testing::TestWithParam<uint32_t> {};
std::string name_of_size(const testing::TestParamInfo<uint32_t>& given) {
  return std::to_string(given.param) + "_ranks";
}
INSTANTIATE_TEST_SUITE_P(Drives, OneThread, testing::Values(2, 3, 8), name_of_size);

TEST_P(OneThread, AGroupOfAllRanksWithOrWithoutTheirDevicesSet) {
  run_alone([](Rank& rank) {
    const Team team(GetParam());
    for (const bool set : {true, false}) {
      for (const SampleCase& c : all_collectives(set ? 3 : 8)) {
        rank.note(name_of(c.what));
        const std::vector<Sample> samples = team.samples(c);
        Team::use(0);
        ok(HcclGroupStart());
        for (uint32_t r = 0; r < team.ranks; ++r) {
          if (set) Team::use(r);
          samples[r].run(team.comms[r], team.streams[r]);
        }
        ok(HcclGroupEnd());
        int32_t device = -1;
        ok(aclrtGetDevice(&device));
        check(device == static_cast<int32_t>(set ? team.ranks - 1 : 0), "the device changed");
        for (const Sample& sample : samples) sample.verify();
      }
    }
  });
}

TEST_P(OneThread, AllCollectivesOfAllRanksInOneGroup) {
  run_alone([](Rank&) {
    const Team team(GetParam());
    std::vector<std::vector<Sample>> samples;
    for (const SampleCase& c : all_collectives(5)) samples.push_back(team.samples(c));
    ok(HcclGroupStart());
    for (const auto& sample : samples) {
      for (uint32_t r = 0; r < team.ranks; ++r) sample[r].run(team.comms[r], team.streams[r]);
    }
    ok(HcclGroupEnd());
    for (const auto& of_all : samples) {
      for (const Sample& sample : of_all) sample.verify();
    }
  });
}

TEST_P(OneThread, LaunchesOnEveryStreamAndThenSynchronisesEach) {
  run_alone([](Rank& rank) {
    const Team team(GetParam());
    for (const SampleCase& c : all_collectives(2)) {
      rank.note(name_of(c.what));
      const std::vector<Sample> samples = team.samples(c);
      for (uint32_t r = 0; r < team.ranks; ++r) {
        Team::use(r);
        samples[r].run(team.comms[r], team.streams[r]);
      }
      for (uint32_t r = 0; r < team.ranks; ++r) {
        Team::use(r);
        ok(aclrtSynchronizeStream(team.streams[r]));
        samples[r].verify();
      }
    }
  });
}

TEST_P(OneThread, MessagesBetweenAllRanksInAGroupAndWithout) {
  run_alone([](Rank&) {
    const Team team(GetParam());
    std::vector<Parcel> sent;
    std::vector<Parcel> received;
    for (uint32_t r = 0; r < team.ranks; ++r) {
      Team::use(r);
      sent.emplace_back(1000 + r).pack(r, (r + 1) % team.ranks, 1);
      received.emplace_back(1000 + (r + team.ranks - 1) % team.ranks);
    }
    for (const bool grouped : {true, false}) {
      if (grouped) ok(HcclGroupStart());
      for (uint32_t r = 0; r < team.ranks; ++r) {
        Team::use(r);
        const uint32_t next = (r + 1) % team.ranks;
        const uint32_t before = (r + team.ranks - 1) % team.ranks;
        HcclSendRecvItem items[] = {sent[r].item(HCCL_SEND, next),
                                    received[r].item(HCCL_RECV, before)};
        if (grouped) {
          sent[r].send(next, team.comms[r], team.streams[r]);
          received[r].receive(before, team.comms[r], team.streams[r]);
        } else {
          ok(HcclBatchSendRecv(items, 2, team.comms[r], team.streams[r]));
        }
      }
      if (grouped) ok(HcclGroupEnd());
      for (uint32_t r = 0; r < team.ranks; ++r) {
        ok(aclrtSynchronizeStream(team.streams[r]));
        const uint32_t before = (r + team.ranks - 1) % team.ranks;
        received[r].check_is(before, r, 1);
        std::fill_n(received[r].data(), received[r].count(), 0);
      }
    }
  });
}

// Communicator management.

constexpr uint32_t kRanks = 4;

void expect_sum(const std::vector<HcclComm>& comms) {
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<Words> words;
  for (uint32_t r = 0; r < comms.size(); ++r) {
    ok(aclrtSetDevice(static_cast<int32_t>(r)));
    streams.push_back(std::make_unique<Stream>());
    *words.emplace_back(1).data() = static_cast<int32_t>(r + 1);
  }
  ok(HcclGroupStart());
  for (uint32_t r = 0; r < comms.size(); ++r) {
    ok(HcclAllReduce(words[r].data(), words[r].data(), 1, kInt32, HCCL_REDUCE_SUM, comms[r],
                     *streams[r]));
  }
  ok(HcclGroupEnd());
  for (const Words& each : words) check(*each.data() == 10, "wrong sum");
}

TEST(Group, OneThreadMakesAndDestroysACommunicatorOfAllDevices) {
  run_alone([](Rank&) {
    for (const bool with_config : {false, true}) {
      HcclRootInfo root{};
      HcclCommConfig config;
      HcclCommConfigInit(&config);
      std::vector<HcclComm> comms(kRanks);
      ok(HcclGroupStart());
      for (uint32_t r = 0; r < kRanks; ++r) {
        ok(aclrtSetDevice(static_cast<int32_t>(r)));
        ok(with_config ? HcclCommInitRootInfoConfig(kRanks, &root, r, &config, &comms[r])
                       : HcclCommInitRootInfo(kRanks, &root, r, &comms[r]));
        check(comms[r] == nullptr, "a communicator was made before the end of the group");
      }
      // Both are kept by reference until the end.
      ok(HcclGetRootInfo(&root));
      snprintf(config.hcclCommName, sizeof config.hcclCommName, "late");
      ok(HcclGroupEnd());
      for (uint32_t r = 0; r < kRanks; ++r) {
        uint32_t id = 99;
        ok(HcclGetRankId(comms[r], &id));
        check(id == r, "wrong rank");
        check(with_config == (comm_name(comms[r]) == "late"), "wrong name");
      }
      expect_sum(comms);
      ok(HcclGroupStart());
      for (HcclComm comm : comms) ok(HcclCommDestroy(comm));
      ok(HcclGroupEnd());
      for (HcclComm comm : comms) {
        uint32_t id = 0;
        refused(HcclGetRankId(comm, &id), HCCL_E_PARA);
      }
    }
  });
}

TEST(Group, AJobThatFailsGivesItsErrorAndTheOthersAreDone) {
  run_alone([](Rank&) {
    HcclRootInfo root{};
    HcclComm good = nullptr;
    HcclComm bad = nullptr;
    ok(HcclGetRootInfo(&root));
    ok(HcclGroupStart());
    ok(HcclCommInitRootInfo(1, &root, 5, &bad));
    ok(HcclCommInitRootInfo(1, &root, 0, &good));
    refused(HcclCommInitRootInfo(1, &root, 0, nullptr), HCCL_E_PTR, {"comm"});
    refused(HcclCommInitRootInfo(1, nullptr, 0, &bad), HCCL_E_PTR, {"rootInfo"});
    refused(HcclGroupEnd(), HCCL_E_PARA, {"HcclGroupEnd", "HcclCommInitRootInfo", "rank is 5"});
    check(good != nullptr && bad == nullptr, "not the right one was made");
    expect_working(good, 1);
    ok(HcclGroupStart());
    ok(HcclCommDestroy(good));
    ok(HcclGroupEnd());
    ok(HcclGroupStart());
    ok(HcclCommDestroy(good));
    refused(HcclGroupEnd(), HCCL_E_PARA, {"HcclCommDestroy", "destroyed?"});
    ok(HcclGroupStart());
    ok(HcclGroupEnd());
  });
}

TEST(Group, RefusesAMixtureOfManagementAndOperatorsWhereItBegins) {
  run_alone([](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    HcclRootInfo root{};
    HcclComm other = nullptr;
    ok(HcclGetRootInfo(&root));
    const Sample sample({Op::kAllReduce, 10, 1}, 0, 1);
    Parcel sent(10);
    const auto mixes = [](HcclResult code, const char* function) {
      refused(code, HCCL_E_PARA, {function, "end the group"});
    };
    ok(HcclGroupStart());
    sample.run(comm, stream);
    mixes(HcclCommDestroy(comm), "HcclCommDestroy");
    mixes(HcclCommInitRootInfo(1, &root, 0, &other), "HcclCommInitRootInfo");
    ok(HcclGroupEnd());
    sample.verify();
    ok(HcclGroupStart());
    ok(HcclCommInitRootInfo(1, &root, 0, &other));
    mixes(HcclAllReduce(sent.data(), sent.data(), 10, kInt32, HCCL_REDUCE_SUM, comm, stream),
          "HcclAllReduce");
    mixes(HcclSend(sent.data(), 10, kInt32, 0, comm, stream), "HcclSend");
    ok(HcclGroupEnd());
    expect_working(other, 1);
    ok(HcclCommDestroy(other));
    ok(HcclCommDestroy(comm));
  });
}

TEST(Group, InitAllActsAtOnce) {
  run_alone([](Rank&) {
    int32_t devices[] = {0, 1, 2, 3};
    std::vector<HcclComm> comms(kRanks);
    ok(HcclGroupStart());
    ok(HcclCommInitAll(kRanks, devices, comms.data()));
    for (HcclComm comm : comms) check(comm != nullptr, "no communicator yet");
    ok(HcclGroupEnd());
    expect_sum(comms);
    for (HcclComm comm : comms) ok(HcclCommDestroy(comm));
  });
}

TEST(Group, DestroyTwiceInOneGroupDoesItOnce) {
  run_ranks(1, Layout::kProcesses, [](Rank& rank) {
    for (int i = 0; i < 20; ++i) {
      HcclComm comm = rank.join();
      ok(HcclGroupStart());
      ok(HcclCommDestroy(comm));
      ok(HcclCommDestroy(comm));
      // The second comes after the first or waits for it.
      refused(HcclGroupEnd(), HCCL_E_PARA, {"HcclCommDestroy", "destroyed?"});
      refused(HcclCommDestroy(comm), HCCL_E_PARA, {"HcclCommDestroy", "destroyed?"});
    }
  });
}

TEST(Group, DestroyOfABusyCommunicatorInAGroupIsRefused) {
  run_ranks(2, Layout::kProcesses, [](Rank& rank) {
    HcclComm comm = rank.join();
    const Stream stream;
    if (rank.rank() == 1) rank.await(0, 1);
    ok(HcclBarrier(comm, stream));
    if (rank.rank() == 0) {
      ok(HcclGroupStart());
      ok(HcclCommDestroy(comm));
      refused(HcclGroupEnd(), HCCL_E_AGAIN, {"HcclCommDestroy"});
      rank.event(0);
    }
    stream.synchronize();
    ok(HcclCommDestroy(comm));
  });
}

}  // namespace
}  // namespace weft::test
