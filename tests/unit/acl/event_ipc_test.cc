// SPDX-License-Identifier: Apache-2.0
// Events shared between processes: records and waits on both sides, ends of processes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "event_ipc_support.hpp"

namespace weft::test {
namespace {

constexpr int kEntries = 504;  // records of one event that may be on their way at once

// A process that does what it is told with one event, its default stream, and a gate in it.
class Peer {
 public:
  int serve() {
    demand(aclrtSetDevice(0) == ACL_SUCCESS, "set device");
    std::string line;
    for (char letter = 0; read(STDIN_FILENO, &letter, 1) == 1;) {
      if (letter != '\n') {
        line += letter;
        continue;
      }
      std::istringstream words(std::exchange(line, ""));
      std::string command;
      words >> command;
      std::puts(obey(command, words).c_str());
      std::fflush(stdout);
    }
    return 0;
  }

 private:
  std::string obey(const std::string& command, std::istringstream& words) {
    if (command == "create") {
      demand(aclrtCreateEventExWithFlag(&event_, ACL_EVENT_IPC) == ACL_SUCCESS, "create");
      return export_text(event_);
    }
    if (command == "status") {
      aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
      const aclError error = aclrtQueryEventStatus(event_, &status);
      return error != ACL_SUCCESS                           ? std::to_string(error)
             : status == ACL_EVENT_RECORDED_STATUS_COMPLETE ? "complete"
                                                            : "not ready";
    }
    return std::to_string(call(command, words));
  }

  aclError call(const std::string& command, std::istringstream& words) {
    int number = 0;
    if (command == "open") {
      std::string text;
      words >> text;
      return aclrtIpcOpenEventHandle(to_handle(text), &event_);
    }
    words >> number;
    if (command == "close") return gates_.emplace_back(std::make_unique<Gate>())->launch(nullptr);
    if (command == "release") return gates_.back()->open(), ACL_SUCCESS;
    if (command == "record")
      return repeat(number, [&] { return aclrtRecordEvent(event_, nullptr); });
    if (command == "wait") return aclrtStreamWaitEventWithTimeout(nullptr, event_, number);
    if (command == "synchronise") return aclrtSynchronizeEventWithTimeout(event_, number);
    if (command == "finish") return aclrtSynchronizeStreamWithTimeout(nullptr, number);
    if (command == "destroy") return aclrtDestroyEvent(event_);
    if (command == "answer") {
      return repeat(number, [&] {
        const aclError error = aclrtStreamWaitEvent(nullptr, event_);
        return error != ACL_SUCCESS ? error : aclrtSynchronizeStream(nullptr);
      });
    }
    return -1;
  }

  template <class Call>
  static aclError repeat(int times, Call&& call) {
    for (int i = 0; i < std::max(times, 1); ++i) {
      if (const aclError error = call()) return error;
    }
    return ACL_SUCCESS;
  }

  aclrtEvent event_ = nullptr;
  std::vector<std::unique_ptr<Gate>> gates_;
};
[[maybe_unused]] const int kEventPeer =
    register_child("event_peer", [](const std::vector<std::string>&) { return Peer().serve(); });

const std::string kStuck = std::to_string(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);

TEST_F(EventIpc, WithoutARecordNobodyWaits) {
  Child peer("event_peer", {});
  open_in(peer);
  expect_complete(event_, true);
  wait(stream_, event_);
  EXPECT_EQ(aclrtSynchronizeEvent(event_), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(ask(peer, "status"), "complete");
  EXPECT_EQ(ask(peer, "wait"), "0");
  EXPECT_EQ(ask(peer, "synchronise -1"), "0");
  EXPECT_EQ(ask(peer, "finish 30000"), "0");
}

TEST_F(EventIpc, StreamsOfOneProcessUseItByEitherHandle) {
  aclrtEvent opened = open(export_text(event_));
  aclrtEvent again = open(export_text(event_));
  for (aclrtEvent recorded : {event_, opened, again}) {
    for (aclrtEvent waited : {event_, opened, again}) {
      Gate gate;
      close(gate, stream_);
      record(recorded, stream_);
      wait(other_, waited);
      expect_complete(waited, false);
      EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(other_, 5), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
      EXPECT_EQ(aclrtSynchronizeEventWithTimeout(waited, 5), ACL_ERROR_RT_EVENT_SYNC_TIMEOUT);
      gate.open();
      EXPECT_EQ(aclrtSynchronizeEvent(waited), ACL_SUCCESS) << error_text();
      EXPECT_EQ(aclrtSynchronizeStream(other_), ACL_SUCCESS) << error_text();
      expect_complete(recorded, true);
      EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
    }
  }
  EXPECT_EQ(aclrtDestroyEvent(opened), ACL_SUCCESS);
  record(again, stream_);
  EXPECT_EQ(aclrtSynchronizeEvent(event_), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyEvent(again), ACL_SUCCESS);
}

TEST_F(EventIpc, AnotherProcessWaitsForTheCreatorsRecord) {
  Child peer("event_peer", {});
  open_in(peer);
  Gate gate;
  close(gate, stream_);
  record(event_, stream_);
  EXPECT_EQ(ask(peer, "wait"), "0");
  EXPECT_EQ(ask(peer, "status"), "not ready");
  EXPECT_EQ(ask(peer, "finish 5"), kStuck);
  EXPECT_EQ(ask(peer, "synchronise 5"), std::to_string(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT));
  gate.open();
  EXPECT_EQ(ask(peer, "finish 30000"), "0");
  EXPECT_EQ(ask(peer, "synchronise 30000"), "0");
  EXPECT_EQ(ask(peer, "status"), "complete");
}

TEST_F(EventIpc, TheCreatorWaitsForTheRecordOfAnotherProcess) {
  Child peer("event_peer", {});
  open_in(peer);
  EXPECT_EQ(ask(peer, "close"), "0");
  EXPECT_EQ(ask(peer, "record"), "0");
  wait(stream_, event_);
  expect_complete(event_, false);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream_, 5), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  EXPECT_EQ(aclrtSynchronizeEventWithTimeout(event_, 5), ACL_ERROR_RT_EVENT_SYNC_TIMEOUT);
  EXPECT_EQ(ask(peer, "release"), "0");
  EXPECT_EQ(aclrtSynchronizeEvent(event_), ACL_SUCCESS) << error_text();
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS) << error_text();
}

TEST_F(EventIpc, AWaitIsForTheRecordThatWasNewestThen) {
  Child peer("event_peer", {});
  open_in(peer);
  Gate first;
  Gate second;
  close(first, stream_);
  close(second, other_);
  record(event_, stream_);
  EXPECT_EQ(ask(peer, "wait"), "0");
  record(event_, other_);
  EXPECT_EQ(ask(peer, "finish 5"), kStuck);
  first.open();
  EXPECT_EQ(ask(peer, "finish 30000"), "0");
  EXPECT_EQ(ask(peer, "status"), "not ready");
  EXPECT_EQ(ask(peer, "wait"), "0");
  EXPECT_EQ(ask(peer, "finish 5"), kStuck);
  // A record of the waiting process itself replaces that one, and does not end the wait for it.
  EXPECT_EQ(ask(peer, "record"), "0");
  expect_complete(event_, false);
  second.open();
  EXPECT_EQ(ask(peer, "finish 30000"), "0");
  EXPECT_EQ(aclrtSynchronizeEvent(event_), ACL_SUCCESS) << error_text();
}

TEST_F(EventIpc, ALaterRecordMayBeReachedFirst) {
  Child peer("event_peer", {});
  open_in(peer);
  Gate gate;
  close(gate, stream_);
  record(event_, stream_);
  EXPECT_EQ(ask(peer, "wait"), "0");
  record(event_, other_);
  EXPECT_EQ(aclrtSynchronizeEvent(event_), ACL_SUCCESS) << error_text();
  EXPECT_EQ(ask(peer, "status"), "complete");
  EXPECT_EQ(ask(peer, "finish 5"), kStuck);
  gate.open();
  EXPECT_EQ(ask(peer, "finish 30000"), "0");
}

TEST_F(EventIpc, ManyRecordsAndWaitsOnBothSides) {
  constexpr int kRounds = 2000;
  Child peer("event_peer", {});
  open_in(peer);
  peer.write_line("answer " + std::to_string(kRounds));
  for (int i = 0; i < kRounds; ++i) record(event_, i % 3 == 0 ? stream_ : other_);
  EXPECT_EQ(peer.read_line(), "0");
  peer.write_line("record " + std::to_string(kRounds));
  for (int i = 0; i < kRounds; ++i) {
    wait(stream_, event_);
    record(event_, other_);
  }
  EXPECT_EQ(peer.read_line(), "0");
  EXPECT_EQ(aclrtSynchronizeEvent(event_), ACL_SUCCESS) << error_text();
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS) << error_text();
  EXPECT_EQ(aclrtSynchronizeStream(other_), ACL_SUCCESS) << error_text();
}

TEST_F(EventIpc, ARecordWaitsForRoomWhenTooManyAreOnTheirWay) {
  Gate gate;
  close(gate, stream_);
  std::atomic<int> recorded{0};
  std::thread recorder([&] {
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    for (int i = 0; i < kEntries + 100; ++i, ++recorded) record(event_, stream_);
    EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  });
  EXPECT_TRUE(eventually([&] { return recorded == kEntries; }));
  expect_complete(event_, false);
  EXPECT_EQ(recorded, kEntries);
  gate.open();
  recorder.join();
  EXPECT_EQ(aclrtSynchronizeEvent(event_), ACL_SUCCESS) << error_text();
}

TEST_F(EventIpc, TheCreatorMayDestroyItWhileOthersUseIt) {
  Child peer("event_peer", {});
  Child another("event_peer", {});
  open_in(peer);
  open_in(another);
  const std::string text = export_text(event_);
  Gate gate;
  close(gate, stream_);
  record(event_, stream_);
  EXPECT_EQ(ask(peer, "wait"), "0");
  destroy_event();
  EXPECT_EQ(ask(peer, "finish 5"), kStuck);
  gate.open();
  EXPECT_EQ(ask(peer, "finish 30000"), "0");
  EXPECT_EQ(ask(peer, "close"), "0");
  EXPECT_EQ(ask(peer, "record"), "0");
  EXPECT_EQ(ask(another, "wait"), "0");
  EXPECT_EQ(ask(another, "finish 5"), kStuck);
  EXPECT_EQ(ask(peer, "release"), "0");
  EXPECT_EQ(ask(another, "finish 30000"), "0");
  aclrtEvent late = nullptr;
  EXPECT_EQ(aclrtIpcOpenEventHandle(to_handle(text), &late), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(ask(another, "open " + text), std::to_string(ACL_ERROR_RT_PARAM_INVALID));
}

TEST_F(EventIpc, WhoOpenedItMayDestroyItWithARecordOnItsWay) {
  Child peer("event_peer", {});
  open_in(peer);
  EXPECT_EQ(ask(peer, "close"), "0");
  EXPECT_EQ(ask(peer, "record"), "0");
  EXPECT_EQ(ask(peer, "destroy"), "0");
  wait(stream_, event_);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream_, 5), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  EXPECT_EQ(ask(peer, "release"), "0");
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS) << error_text();
  EXPECT_EQ(ask(peer, "destroy"), std::to_string(ACL_ERROR_RT_INVALID_HANDLE));
}

TEST_F(EventIpc, AKilledCreatorIsNoticedAndTheEventRemains) {
  Child creator("event_peer", {});
  Child peer("event_peer", {});
  const std::string text = ask(creator, "create");
  aclrtEvent opened = open(text);
  EXPECT_EQ(ask(peer, "open " + text), "0");
  EXPECT_EQ(ask(creator, "close"), "0");
  EXPECT_EQ(ask(creator, "record"), "0");
  wait(stream_, opened);
  EXPECT_EQ(ask(peer, "wait"), "0");
  creator.kill();
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_ERROR_RT_IPC_ERROR);
  expect_text("has ended before its stream got there");
  EXPECT_EQ(aclrtSynchronizeEvent(opened), ACL_ERROR_RT_IPC_ERROR);
  aclrtEventRecordedStatus status{};
  EXPECT_EQ(aclrtQueryEventStatus(opened, &status), ACL_ERROR_RT_IPC_ERROR);
  EXPECT_EQ(ask(peer, "finish 30000"), std::to_string(ACL_ERROR_RT_IPC_ERROR));
  aclrtEvent late = nullptr;
  EXPECT_EQ(aclrtIpcOpenEventHandle(to_handle(text), &late), ACL_ERROR_RT_IPC_ERROR);
  // The next record makes the event whole for those who have it.
  record(opened, stream_);
  EXPECT_EQ(aclrtSynchronizeEvent(opened), ACL_SUCCESS) << error_text();
  EXPECT_EQ(ask(peer, "synchronise 30000"), "0");
  EXPECT_EQ(aclrtDestroyEvent(opened), ACL_SUCCESS);
}

TEST_F(EventIpc, TheRecordsOfAKilledProcessAreReplaced) {
  Child peer("event_peer", {});
  open_in(peer);
  EXPECT_EQ(ask(peer, "close"), "0");
  EXPECT_EQ(ask(peer, "record " + std::to_string(kEntries)), "0");
  expect_complete(event_, false);
  peer.kill();
  for (int i = 0; i < 3; ++i) record(event_, stream_);
  EXPECT_EQ(aclrtSynchronizeEvent(event_), ACL_SUCCESS) << error_text();
}

std::size_t count_of(const std::string& file, const std::string& part) {
  std::ifstream lines(file);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);)
    count += line.find(part) != std::string::npos ? 1U : 0U;
  return count;
}

std::size_t open_files() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST_F(EventIpc, ManyLeaveNothingBehind) {
  constexpr int kMany = 400;
  export_text(event_);  // the serving thread is there
  const std::size_t files = open_files();
  const std::size_t maps = count_of("/proc/self/maps", "weft-event");
  std::vector<aclrtEvent> events(kMany);
  std::vector<aclrtEvent> opened(kMany);
  for (int i = 0; i < kMany; ++i) {
    ASSERT_EQ(aclrtCreateEventExWithFlag(&events[i], ACL_EVENT_IPC), ACL_SUCCESS) << error_text();
    opened[i] = open(export_text(events[i]));
  }
  Gate gate;
  close(gate, stream_);
  for (int i = 0; i < kMany; ++i) {
    record(i % 2 == 0 ? events[i] : opened[i], stream_);
    wait(other_, i % 2 == 0 ? opened[i] : events[i]);
    EXPECT_EQ(aclrtDestroyEvent(i % 3 == 0 ? events[i] : opened[i]), ACL_SUCCESS);
  }
  gate.open();
  EXPECT_EQ(aclrtSynchronizeStream(other_), ACL_SUCCESS) << error_text();
  for (int i = 0; i < kMany; ++i)
    EXPECT_EQ(aclrtDestroyEvent(i % 3 == 0 ? opened[i] : events[i]), ACL_SUCCESS);
  EXPECT_EQ(open_files(), files);
  EXPECT_EQ(count_of("/proc/self/maps", "weft-event"), maps);
}

TEST_F(EventIpc, DiscardingAStreamReachesItsRecords) {
  aclrtStream doomed = nullptr;
  ASSERT_EQ(aclrtCreateStream(&doomed), ACL_SUCCESS);
  Gate gate;
  close(gate, doomed);
  record(event_, doomed);
  wait(stream_, event_);
  EXPECT_EQ(aclrtDestroyStreamForce(doomed), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS) << error_text();
  EXPECT_EQ(aclrtSynchronizeEvent(event_), ACL_SUCCESS);
}

TEST_F(EventIpc, AWaitThatExpiresIsAFault) {
  Gate gate;
  close(gate, other_);
  record(event_, other_);
  ASSERT_EQ(aclrtStreamWaitEventWithTimeout(stream_, event_, 1), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_ERROR_RT_TASK_TIMEOUT);
  expect_text("has waited 1 s for a record of a shared event");
  gate.open();
  EXPECT_EQ(aclrtSynchronizeEvent(event_), ACL_SUCCESS);
}

TEST_F(EventIpc, ThreadsMayUseOneEventAtOnce) {
  constexpr int kRounds = 300;
  const std::string text = export_text(event_);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      ASSERT_EQ(aclrtSetDevice(thread % 2), ACL_SUCCESS);
      aclrtStream stream = nullptr;
      ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
      for (int i = 0; i < kRounds; ++i) {
        aclrtEvent mine = i % 10 == 0 ? open(text) : nullptr;
        aclrtEvent used = mine != nullptr ? mine : event_;
        record(used, stream);
        wait(stream, event_);
        aclrtEventRecordedStatus status{};
        EXPECT_EQ(aclrtQueryEventStatus(used, &status), ACL_SUCCESS);
        if (i % 7 == 0) {
          EXPECT_EQ(aclrtSynchronizeEvent(used), ACL_SUCCESS) << error_text();
        }
        if (mine != nullptr) {
          EXPECT_EQ(aclrtDestroyEvent(mine), ACL_SUCCESS);
        }
      }
      EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS) << error_text();
      EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
      EXPECT_EQ(aclrtResetDevice(thread % 2), ACL_SUCCESS);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace weft::test
