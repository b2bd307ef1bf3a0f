// SPDX-License-Identifier: Apache-2.0
// The root server: calls the roll of one communicator, then relays its exchanges, goodbyes and
// deaths.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "control/door.hpp"
#include "control/exchange.hpp"
#include "control/loop.hpp"
#include "control/network.hpp"
#include "control/roll_call.hpp"
#include "control/wire.hpp"

namespace weft::control {

/// Lives on the control thread of the process that opened the root info; used there only. It ends
/// itself when all its ranks are gone, or, when the communicator did not come about, when all ranks
/// were told why. That of a known root lets nobody in once all have joined: who comes then is early
/// for the next communicator that meets there.
class RootServer final : public std::enable_shared_from_this<RootServer>, private Link::User {
 public:
  struct Rules {
    WhiteList white_list;
    bool door_shuts = false;  // when all ranks have joined: others need the port
    bool known = false;       // meets at a place that all know; its door shuts too
  };

  static void open(Socket listener, const Token& token, const Rules& rules);
  /// The server of a root info if this process has it; of a known root the latest.
  static RootServer* find(const Token& token);

  RootServer(Socket listener, const Token& token, Rules rules);

  /// Ranks can still join.
  bool is_joining() const noexcept { return phase_ == Phase::kJoining; }
  /// Ranks that come are told why there is no communicator.
  bool has_failed() const noexcept { return phase_ == Phase::kFailed; }

  /// Frames and the goodbye of a rank of this process. Not by its connection: the process may end
  /// before that is read, and then they must be with the others.
  void take(std::uint32_t rank, const Frame& frame);
  void leave(std::uint32_t rank);
  /// Not all of so many ranks will come. Without effect if they have.
  void abandon(std::uint32_t ranks, Failure why);
  /// Nobody will come any more. Without effect if all have.
  void shut();

 private:
  enum class Phase { kJoining, kRunning, kFailed };

  void on_frame(Link& link, FrameKind kind, BytesView body) override;
  void on_end(Link& link, const std::string& why) override;

  void welcome_guest(std::shared_ptr<Link> link);
  std::shared_ptr<Link> take_guest(const Link& link);
  void on_hello(const std::shared_ptr<Link>& link, HelloMessage message);
  void admit(const std::shared_ptr<Link>& link, HelloMessage message);
  void refuse(const std::shared_ptr<Link>& link, std::uint32_t rank, std::uint32_t ranks);
  void start();
  void fail(Failure failure);
  void settle();
  void on_member_frame(std::uint32_t rank, FrameKind kind, BytesView body);
  void gather(std::uint32_t rank, GatherMessage message);
  bool relay(std::uint32_t from, BytesView body);
  void lose(std::uint32_t rank, const std::string& why);
  void part_with(std::uint32_t rank, FrameKind news, const std::string& what, Failure for_exchange);
  void schedule_exchange();
  void broadcast(const Frame& frame);
  void close();

  const Token token_;
  const Rules rules_;
  Door door_;
  std::unique_ptr<Timer>
      timer_;  // joining: the deadline; running: of the exchange; failed: the end
  Phase phase_ = Phase::kJoining;
  std::vector<std::shared_ptr<Link>> guests_;  // know the token, have not said who they are
  std::map<std::uint32_t, std::shared_ptr<Link>> members_;
  std::unordered_map<const Link*, std::uint32_t> rank_of_;
  RollCall roll_;
  std::chrono::steady_clock::time_point began_{};
  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::time_point::max();
  Exchange exchange_;
  Frame failure_;                 // for whoever comes after the roll call failed
  std::set<std::uint32_t> told_;  // ranks that know of the failure, or are dead
  std::uint32_t expected_ = 0;    // the largest number of ranks that any rank gave
};

}  // namespace weft::control
