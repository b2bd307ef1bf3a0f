// SPDX-License-Identifier: Apache-2.0
#include "control/server.hpp"

#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

#include "base/log.hpp"

namespace weft::control {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// How long a failed roll call can still be asked why by ranks that come late.
constexpr milliseconds kLinger{20'000};

// The servers of this process, by token. Control thread only; leaked on purpose, since that thread
// outlives statics.
struct Registry {
  const Loop* loop = nullptr;
  std::multimap<Token, std::shared_ptr<RootServer>> servers;
  Registry* before_fork = nullptr;  // of the parent; its servers do not exist in this process
};

Registry& registry() {
  static Registry* current = nullptr;
  const Loop* loop = &Loop::instance();
  if (current == nullptr || current->loop != loop) current = new Registry{loop, {}, current};
  return *current;
}

milliseconds until(Clock::time_point when) {
  return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(when - Clock::now()));
}

}  // namespace

void RootServer::open(Socket listener, const Token& token, const Rules& rules) {
  registry().servers.emplace(token,
                             std::make_shared<RootServer>(std::move(listener), token, rules));
}

RootServer* RootServer::find(const Token& token) {
  const auto [first, last] = registry().servers.equal_range(token);
  return first == last ? nullptr : std::prev(last)->second.get();
}

RootServer::RootServer(Socket listener, const Token& token, Rules rules)
    : token_(token),
      rules_(std::move(rules)),
      door_(std::move(listener), token,
            [this](std::shared_ptr<Link> link) { welcome_guest(std::move(link)); }),
      timer_(Loop::instance().make_timer()) {
  if (!rules_.known) return;
  door_.set_refusal(encode(Failure{
      HCCL_E_PARA, "process " + std::to_string(::getpid()) +
                       " listens there for the ranks of another rank table; give all ranks of a "
                       "job the same table, and two jobs on one host different places of rank 0 "
                       "(host_port, port or listen_port)"}));
}

void RootServer::take(std::uint32_t rank, const Frame& frame) {
  if (phase_ == Phase::kRunning && members_.contains(rank))
    on_member_frame(rank, decode_header(BytesView(*frame).first(kHeaderBytes)).kind,
                    body_of(frame));
}

void RootServer::leave(std::uint32_t rank) { take(rank, encode_goodbye()); }

void RootServer::abandon(std::uint32_t ranks, Failure why) {
  if (phase_ != Phase::kJoining) return;
  expected_ = std::max(expected_, ranks);
  fail(std::move(why));
}

void RootServer::shut() {
  if (phase_ != Phase::kRunning) close();
}

void RootServer::welcome_guest(std::shared_ptr<Link> link) {
  link->hand_to(this, kMemberFrameLimit);
  guests_.push_back(std::move(link));
}

std::shared_ptr<Link> RootServer::take_guest(const Link& link) {
  const auto found = std::ranges::find(guests_, &link, &std::shared_ptr<Link>::get);
  assert(found != guests_.end());
  std::shared_ptr<Link> guest = std::move(*found);
  guests_.erase(found);
  return guest;
}

void RootServer::on_frame(Link& link, FrameKind kind, BytesView body) {
  const auto known = rank_of_.find(&link);
  if (known != rank_of_.end()) return on_member_frame(known->second, kind, body);
  const std::shared_ptr<Link> guest = take_guest(link);
  std::optional<HelloMessage> hello;
  if (kind == FrameKind::kHello) hello = decode<HelloMessage>(body);
  if (hello) return on_hello(guest, std::move(*hello));
  log::info("dropped a control connection: it knows the token but does not introduce itself");
  guest->close();
}

void RootServer::on_end(Link& link, const std::string& why) {
  const auto known = rank_of_.find(&link);
  if (known != rank_of_.end()) return lose(known->second, why);
  take_guest(link);
  log::info("a control connection ended before it introduced itself: " + why);
}

void RootServer::on_hello(const std::shared_ptr<Link>& link, HelloMessage message) {
  const std::uint32_t rank = message.hello.rank;
  const std::uint32_t ranks = message.hello.ranks;
  switch (phase_) {
    case Phase::kJoining:
      return admit(link, std::move(message));
    case Phase::kFailed:
      return refuse(link, rank, ranks);
    case Phase::kRunning:
      link->send(encode(
          Failure{HCCL_E_UNAVAIL, "the root info has already made a communicator of " +
                                      std::to_string(roll_.ranks()) +
                                      " ranks, in which this rank is " + roll_.describe(rank) +
                                      "; one root info makes one communicator, get a new one"}));
      link->finish();
  }
}

void RootServer::admit(const std::shared_ptr<Link>& link, HelloMessage message) {
  const std::uint32_t rank = message.hello.rank;
  const std::uint32_t ranks = message.hello.ranks;
  const Clock::time_point deadline = Clock::now() + milliseconds(message.timeout_ms);
  expected_ = std::max(expected_, ranks);
  if (const std::string& ip = link->peer_ip(); !rules_.white_list.allows(ip)) {
    // All learn it: without this rank there is no communicator.
    fail({HCCL_E_TCP_CONNECT,
          describe_rank(rank, message.hello.host, message.hello.pid) + " connects from " + ip +
              ", which is not in the white list " + rules_.white_list.source +
              "; add it to \"host_ip\" there, or unset HCCL_WHITELIST_DISABLE on the root"});
    return refuse(link, rank, ranks);
  }
  if (std::optional<Failure> failure = roll_.add(std::move(message))) {
    fail(std::move(*failure));
    return refuse(link, rank, ranks);
  }
  if (members_.empty()) began_ = Clock::now();
  members_.emplace(rank, link);
  rank_of_.emplace(link.get(), rank);
  log::debug(roll_.describe(rank) + " has joined, " + std::to_string(members_.size()) + " of " +
             std::to_string(ranks));
  if (roll_.complete()) return start();
  // The first rank to give up ends it for all: without that rank there is no communicator.
  if (deadline >= deadline_) return;
  deadline_ = deadline;
  timer_->start(until(deadline), [this] {
    fail(roll_.missing(std::chrono::round<milliseconds>(Clock::now() - began_)));
  });
}

void RootServer::start() {
  timer_->cancel();
  if (std::optional<Failure> failure = roll_.differences()) return fail(std::move(*failure));
  phase_ = Phase::kRunning;
  if (rules_.door_shuts || rules_.known) door_.close();
  exchange_.begin(roll_.ranks());
  broadcast(encode(roll_.take_welcome()));
}

void RootServer::fail(Failure failure) {
  log::info("a communicator did not come about: " + failure.text);
  phase_ = Phase::kFailed;
  failure_ = encode(failure);
  for (const auto& [rank, link] : members_) {
    link->send(failure_);
    link->finish();
    told_.insert(rank);
  }
  members_.clear();
  rank_of_.clear();
  timer_->start(kLinger, [this] { close(); });
  settle();
}

void RootServer::refuse(const std::shared_ptr<Link>& link, std::uint32_t rank,
                        std::uint32_t ranks) {
  link->send(failure_);
  link->finish();
  told_.insert(rank);
  expected_ = std::max(expected_, ranks);
  settle();
}

void RootServer::settle() {
  if (told_.size() >= expected_) close();
}

void RootServer::on_member_frame(std::uint32_t rank, FrameKind kind, BytesView body) {
  if (kind == FrameKind::kGoodbye && phase_ == Phase::kRunning)
    return part_with(rank, FrameKind::kPeerLeft, {},
                     {HCCL_E_REMOTE, roll_.describe(rank) + " has destroyed the communicator"});
  std::optional<GatherMessage> message;
  if (kind == FrameKind::kGather && phase_ == Phase::kRunning)
    message = decode<GatherMessage>(body);
  if (message) return gather(rank, std::move(*message));
  if (kind == FrameKind::kPost && phase_ == Phase::kRunning && relay(rank, body)) return;
  log::warn("dropped the control connection of " + roll_.describe(rank) +
            ": it sent a frame that it may not send, of kind " +
            std::to_string(static_cast<std::uint32_t>(kind)) + " with " +
            std::to_string(body.size()) + " bytes");
  lose(rank, "it sent something unexpected");
}

// False: this is no message to a rank of this communicator.
bool RootServer::relay(std::uint32_t from, BytesView body) {
  const std::optional<PostMessage> message = decode<PostMessage>(body);
  if (!message || message->rank >= roll_.ranks()) return false;
  const auto to = members_.find(message->rank);
  if (to != members_.end()) to->second->send(encode_post(FrameKind::kPosted, from, message->bytes));
  return true;
}

void RootServer::gather(std::uint32_t rank, GatherMessage message) {
  const Exchange::Outcome outcome = exchange_.add(rank, std::move(message));
  if (outcome.malformed) return lose(rank, "it sent something unexpected");
  if (outcome.late) members_.at(rank)->send(encode(*outcome.late));
  if (outcome.failed) broadcast(encode(*outcome.failed));
  if (outcome.gathered) broadcast(encode(*outcome.gathered));
  schedule_exchange();
}

void RootServer::schedule_exchange() {
  const auto deadline = exchange_.deadline();
  if (!deadline) return timer_->cancel();
  timer_->start(until(*deadline), [this] { broadcast(encode(exchange_.expire())); });
}

void RootServer::lose(std::uint32_t rank, const std::string& why) {
  if (phase_ == Phase::kRunning) {
    const std::string what = roll_.describe(rank) + " ended without leaving: " + why;
    return part_with(rank, FrameKind::kPeerLost, what, {HCCL_E_REMOTE, what});
  }
  members_.at(rank)->close();
  rank_of_.erase(members_.at(rank).get());
  members_.erase(rank);
  told_.insert(rank);
  fail({HCCL_E_REMOTE, roll_.describe(rank) + " ended before all ranks had joined: " + why +
                           "; see why that process ended"});
}

// A member of the running communicator is gone.
void RootServer::part_with(std::uint32_t rank, FrameKind news, const std::string& what,
                           Failure for_exchange) {
  const std::shared_ptr<Link> link = members_.at(rank);
  link->close();
  rank_of_.erase(link.get());
  members_.erase(rank);
  if (members_.empty()) return close();
  broadcast(encode(news, PeerMessage{rank, what}));
  if (const auto failed = exchange_.abandon(std::move(for_exchange))) broadcast(encode(*failed));
  schedule_exchange();
}

void RootServer::broadcast(const Frame& frame) {
  for (const auto& [rank, link] : members_) link->send(frame);
}

void RootServer::close() {
  door_.close();
  timer_->cancel();
  for (const auto& guest : guests_) guest->close();
  guests_.clear();
  // This runs inside calls of the server's own parts, so it is destroyed after them.
  const auto [first, last] = registry().servers.equal_range(token_);
  const auto self =
      std::find_if(first, last, [this](const auto& each) { return each.second.get() == this; });
  if (self == last) return;
  Loop::instance().post([kept = self->second] {});
  registry().servers.erase(self);
}

}  // namespace weft::control
