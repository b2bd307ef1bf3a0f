// SPDX-License-Identifier: Apache-2.0
// The control plane of a communicator: its ranks meet by a root info, exchange opaque bytes, post
// messages to each other and notice peers that die.
//
// Shape: a star. The process that calls open_root() serves the root info on its control thread;
// every rank, also one of that process, joins over TCP and keeps the connection open while it is a
// member.
//
// Rules of watching:
//  * A connection that ends without a goodbye is a dead process: every other rank gets
//  on_peer_lost().
//  * A goodbye (leave()) is an orderly end: every other rank gets on_peer_left().
//  * The end of the serving process is the loss of those of its ranks that had not left. Once all
//  of them have left, its
//    end is silent, and the remaining ranks no longer watch each other. That is accepted: no
//    collective can begin after a rank has left, and those already under way have their execution
//    time-out.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "control/network.hpp"
#include "hccl/hccl_types.h"

namespace weft::control {

/// Something that must be equal on all ranks, such as a digest of the policy.
struct Fact {
  std::string name;
  std::string value;
};

/// What one rank says about itself when it joins.
struct Hello {
  std::uint32_t ranks = 0;
  std::uint32_t rank = 0;
  std::string host;
  std::int32_t pid = 0;
  std::int32_t device = 0;
  std::string name;  // of the communicator; equal on all ranks
  std::vector<Fact> facts;
  std::vector<std::byte> blob;  // for the other ranks; at most kMaxBlob bytes
  std::uint64_t process = 0;    // set by join(), see Peer
};

/// What every rank learns about a rank.
struct Peer {
  std::string host;
  std::int32_t pid = 0;
  std::int32_t device = 0;
  std::vector<std::byte> blob;
  /// A random identity: equal for the ranks of one process, different in every other process, also
  /// in one forked off it. Never 0.
  std::uint64_t process = 0;
};

/// Limit of one rank's contribution to join() or all_gather(), and limit of the sum over all ranks.
inline constexpr std::size_t kMaxBlob = std::size_t{32} << 20;
inline constexpr std::size_t kMaxGathered = std::size_t{1} << 30;

/// Limit of one post().
inline constexpr std::size_t kMaxPost = std::size_t{1} << 20;

/// Listens for the ranks of one communicator-to-be, as `network` says, and writes into `info`
/// where, with a random token that a connection must know. `device` only becomes part of the
/// default name. One root info serves one communicator. It is served until all ranks of the
/// communicator are gone; if nobody ever joins, until the process ends. A port of a limited range
/// is given back as soon as all ranks have joined. Throws Error as listen_as() does.
void open_root(HcclRootInfo* info, std::int32_t device, const Network& network = {});

/// Ends the roll call of `ranks` ranks at a root info of this process: those that have come, and
/// for some time those that come late, get code and text. Without effect once all ranks have
/// joined. Does not wait; from any thread.
void abandon_root(const HcclRootInfo& info, std::uint32_t ranks, HcclResult code,
                  const std::string& text);

/// Nobody will come to a root info of this process any more: what is left of its roll call goes at
/// once. Without effect once all ranks have joined. Does not wait; from any thread.
void close_root(const HcclRootInfo& info);

/// A meeting point that all ranks know beforehand, because a rank table says it.
struct KnownRoot {
  std::string ip;  // of rank 0
  std::uint16_t port = 0;
  std::array<std::byte, 16> table{};  // its digest: ranks of different tables never meet
};

/// The root info of it, the same bytes on every rank. Throws Error HCCL_E_PARA for a bad address.
void write_known_root(const KnownRoot& root, HcclRootInfo* info);

/// For rank 0, before it joins: listens there until all have joined. The others may come before or
/// after. One communicator after another can be made so. Blocks for up to `timeout` while this
/// process still tells ranks why the last try failed. Of `network` the white list and the detection
/// count. Throws Error: HCCL_E_NETWORK (cannot listen there), HCCL_E_PARA (the white list would let
/// in nobody), HCCL_E_TIMEOUT.
void serve_known_root(const HcclRootInfo& info, std::chrono::milliseconds timeout,
                      const Network& network = {});

/// The default communicator name, "{ip}_{port}_{device}_{microseconds since 1970}", the same on
/// every rank. Throws Error HCCL_E_PARA if the bytes are not a root info.
std::string root_identifier(const HcclRootInfo& info);

/// Gets the events of a session, on the control thread of the process: it must not block.
class Listener {
 public:
  virtual ~Listener() = default;
  /// The process of `rank` ended, or its host went away; `what` names rank, process, host and the
  /// cause.
  virtual void on_peer_lost(std::uint32_t rank, const std::string& what) noexcept = 0;
  virtual void on_peer_left(std::uint32_t rank) noexcept = 0;
  /// Rank `from` posted `bytes`, which are gone when this returns. What a rank posted comes before
  /// the news that it left.
  virtual void on_message([[maybe_unused]] std::uint32_t from,
                          [[maybe_unused]] std::span<const std::byte> bytes) noexcept {}
  /// The serving process has ended: the remaining ranks can post nothing to each other any more.
  /// After the losses that this is.
  virtual void on_cut_off([[maybe_unused]] const std::string& why) noexcept {}
};

class Member;

/// One rank's membership of one communicator.
class Session {
 public:
  /// Blocks until all ranks have joined; at the latest `timeout` and the two seconds that the news
  /// may take. Throws Error; when the ranks do not fit together, every rank gets the same text:
  ///   HCCL_E_PARA         bad root info or Hello; a rank claimed twice; ranks differ in nRanks,
  ///   name or a fact HCCL_E_TIMEOUT      ranks are missing (named), or the root does not answer
  ///   HCCL_E_REMOTE       a rank or the root ended before all ranks had joined
  ///   HCCL_E_TCP_CONNECT  nobody listens at the root's address, or its white list lacks a host
  ///   HCCL_E_UNAVAIL      the root info has already made its communicator
  /// At a known root: HCCL_E_TIMEOUT if nobody listens there in time, HCCL_E_PARA if who listens
  /// there has another rank table.
  static std::unique_ptr<Session> join(const HcclRootInfo& info, Hello hello,
                                       std::chrono::milliseconds timeout,
                                       const FaultDetection& detection = {});

  explicit Session(std::shared_ptr<Member> member);
  ~Session();  // leaves
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// By rank, the own entry included.
  const std::vector<Peer>& peers() const noexcept;

  /// Whether `rank` neither left nor was lost, as far as this rank knows. The end of the root alone
  /// changes nothing here.
  bool is_member(std::uint32_t rank) const noexcept;

  /// Delivers events and messages to `listener` from now on, and before it returns those that came
  /// earlier. `listener` must live until leave() or watch(nullptr) has returned.
  void watch(Listener* listener);

  /// Sends `bytes` to rank `to`, which may be this one or another of this process: its listener
  /// gets them. Does not wait for the receiver; what it does not read is kept in memory. From any
  /// thread, also from a callback, and also while an all_gather() is under way. Two posts to one
  /// rank arrive in the order of the calls. Dropped silently if `to` leaves before it arrives.
  /// Throws Error: HCCL_E_PARA (no such rank, more than kMaxPost bytes), HCCL_E_REMOTE (`to` was
  /// lost or has left, or the root is gone), HCCL_E_UNAVAIL (this member has left).
  void post(std::uint32_t to, std::span<const std::byte> bytes);

  /// Every rank gives bytes (the sizes may differ) and gets everybody's, by rank. Collective: the
  /// same order of calls on every rank, one call at a time. A failed call fails on all ranks that
  /// are still waiting in it. Throws Error: HCCL_E_TIMEOUT (names the missing ranks), HCCL_E_REMOTE
  /// (a rank died or has left), HCCL_E_PARA (too many bytes), HCCL_E_UNAVAIL (this member has
  /// left).
  std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte> mine,
                                                 std::chrono::milliseconds timeout);

  /// all_gather() of nothing.
  void barrier(std::chrono::milliseconds timeout);

  /// Says goodbye and closes. Local: does not wait for peers. No callback runs after it returns;
  /// may be called again, and from any thread, also from a callback. A blocked all_gather() of
  /// another thread ends with HCCL_E_UNAVAIL.
  void leave() noexcept;

 private:
  std::shared_ptr<Member> member_;
};

}  // namespace weft::control
