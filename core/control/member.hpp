// SPDX-License-Identifier: Apache-2.0
// One rank's end of its control connection: what a Session is made of.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "control/control.hpp"
#include "control/loop.hpp"
#include "control/root_info.hpp"
#include "control/wire.hpp"

namespace weft::control {

class RootServer;

/// The program's threads wait here for what the control thread brings in.
class Member final : public std::enable_shared_from_this<Member>, private Link::User {
 public:
  using Clock = std::chrono::steady_clock;

  static Clock::time_point deadline_after(std::chrono::milliseconds timeout);

  Member(RootInfo root, std::uint32_t rank);

  /// Blocks until all ranks have joined; throws Error.
  void join(Socket socket, Hello hello, Clock::time_point deadline);
  const std::vector<Peer>& peers() const noexcept { return welcome_.peers; }
  bool is_member(std::uint32_t rank) const noexcept;
  void watch(Listener* listener);
  void post(std::uint32_t to, BytesView bytes);
  std::vector<Bytes> all_gather(BytesView mine, std::chrono::milliseconds timeout);
  /// Also right in the child of a fork, where the member does not exist.
  void leave() noexcept;

 private:
  enum class Phase { kJoining, kJoined, kEnded };

  enum class News { kLost, kLeft, kMessage, kCutOff };

  struct Event {
    News news;
    std::uint32_t rank;
    std::string what;  // of a loss, or why this rank is cut off
    Bytes bytes;       // of a message
  };

  void on_frame(Link& link, FrameKind kind, BytesView body) override;
  void on_end(Link& link, const std::string& why) override;

  void start(Socket socket, Hello hello, Clock::time_point deadline);
  bool take(FrameKind kind, BytesView body);
  bool take_welcome(BytesView body);
  bool take_event(FrameKind kind, BytesView body);
  bool take_posted(BytesView body);
  bool take_gathered(BytesView body);
  bool take_gather_failure(BytesView body);
  void end(Failure failure);
  void enqueue(const Frame& frame);
  void flush();
  bool part_with(std::uint32_t rank, const std::string& why);
  void report(Event event);
  void deliver(const Event& event);
  void say_goodbye();
  void check_process() const;
  std::string root_process() const;
  std::string describe(std::uint32_t rank) const;

  const RootInfo root_;
  const std::uint32_t rank_;
  const std::uint64_t generation_ = fork_generation();
  WelcomeMessage welcome_;  // written before the phase is kJoined, then constant

  // Control thread only.
  std::shared_ptr<Link> link_;
  std::weak_ptr<RootServer> server_;  // if this process has it
  Listener* listener_ = nullptr;
  std::vector<Event> earlier_events_;  // until there is a listener

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Under the mutex.
  Phase phase_ = Phase::kJoining;
  Failure failure_;                            // why the phase is kEnded
  std::map<std::uint32_t, std::string> gone_;  // ranks that left or were lost, and the news
  std::vector<Frame> outbox_;                  // in the order of the calls, for the control thread
  std::uint32_t sequence_ = 0;                 // of the next all_gather()
  bool waiting_ = false;                       // an all_gather() waits for its answer:
  std::vector<Bytes> gathered_;
  std::optional<Failure> gather_failure_;
};

}  // namespace weft::control
