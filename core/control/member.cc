// SPDX-License-Identifier: Apache-2.0
#include "control/member.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "control/roll_call.hpp"
#include "control/server.hpp"

namespace weft::control {
namespace {

// The root decides about time-outs, since it knows who is missing; its answer may take this long.
constexpr std::chrono::milliseconds kAnswerTime{2000};

std::uint32_t milliseconds_until(Member::Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Member::Clock::now());
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(left.count(), 0, UINT32_MAX));
}

}  // namespace

Member::Clock::time_point Member::deadline_after(std::chrono::milliseconds timeout) {
  // Longer ones would not fit the messages, nor in the end the clock.
  return Clock::now() + std::min<std::chrono::milliseconds>(timeout, std::chrono::days(30));
}

Member::Member(RootInfo root, std::uint32_t rank) : root_(std::move(root)), rank_(rank) {}

void Member::check_process() const {
  if (generation_ != fork_generation())
    throw Error(HCCL_E_UNAVAIL,
                "the communicator belongs to the parent of this forked process; create one here");
}

std::string Member::describe(std::uint32_t rank) const {
  return describe_rank(rank, peers()[rank].host, peers()[rank].pid);
}

std::string Member::root_process() const {
  if (root_.known())
    return "the process of rank 0 (at " + root_.ip + " port " + std::to_string(root_.port) + ")";
  return "the root process (process " + std::to_string(root_.pid) + " on host " + root_.host + ")";
}

void Member::join(Socket socket, Hello hello, Clock::time_point deadline) {
  Loop::instance().run([&] { start(std::move(socket), std::move(hello), deadline); });
  std::unique_lock lock(mutex_);
  const bool answered =
      changed_.wait_until(lock, deadline + kAnswerTime, [&] { return phase_ != Phase::kJoining; });
  if (!answered)
    throw Error(HCCL_E_TIMEOUT, root_process() + " does not answer; see whether it is stopped");
  if (phase_ == Phase::kEnded) throw Error(failure_.code, failure_.text);
}

void Member::start(Socket socket, Hello hello, Clock::time_point deadline) {
  RootServer* server = RootServer::find(root_.token);
  if (server != nullptr && server->is_joining()) server_ = server->weak_from_this();
  link_ = Loop::instance().make_link(std::move(socket));
  link_->start(this, kServerFrameLimit);
  link_->send(encode_auth(root_.token));
  link_->send(
      encode(HelloMessage{std::move(hello), milliseconds_until(deadline), !server_.expired()}));
}

void Member::on_frame(Link& link, FrameKind kind, BytesView body) {
  if (take(kind, body)) return;
  log::warn("dropped the control connection to " + root_process() +
            ": it sent a frame that it may not send, of kind " +
            std::to_string(static_cast<std::uint32_t>(kind)) + " with " +
            std::to_string(body.size()) + " bytes");
  link.close();
  on_end(link, "it sent something unexpected");
}

// False: this frame has no place here.
bool Member::take(FrameKind kind, BytesView body) {
  switch (kind) {
    case FrameKind::kWelcome:
      return take_welcome(body);
    case FrameKind::kPeerLeft:
    case FrameKind::kPeerLost:
      return take_event(kind, body);
    case FrameKind::kPosted:
      return take_posted(body);
    case FrameKind::kGathered:
      return take_gathered(body);
    case FrameKind::kGatherFailed:
      return take_gather_failure(body);
    case FrameKind::kRefused: {
      std::optional<Failure> failure = decode<Failure>(body);
      if (!failure) return false;
      link_->close();
      end(std::move(*failure));
      return true;
    }
    default:
      return false;
  }
}

bool Member::take_welcome(BytesView body) {
  std::optional<WelcomeMessage> welcome = decode<WelcomeMessage>(body);
  const std::lock_guard lock(mutex_);
  if (!welcome || rank_ >= welcome->peers.size() || phase_ != Phase::kJoining) return false;
  welcome_ = std::move(*welcome);
  phase_ = Phase::kJoined;
  changed_.notify_all();
  return true;
}

bool Member::take_event(FrameKind kind, BytesView body) {
  std::optional<PeerMessage> message = decode<PeerMessage>(body);
  if (!message || message->rank >= peers().size() || message->rank == rank_) return false;
  const bool lost = kind == FrameKind::kPeerLost;
  const std::string left = describe(message->rank) + " has left the communicator";
  if (part_with(message->rank, lost ? message->what : left))
    report({lost ? News::kLost : News::kLeft, message->rank, std::move(message->what), {}});
  return true;
}

bool Member::take_posted(BytesView body) {
  std::optional<PostMessage> message = decode<PostMessage>(body);
  if (!message || message->rank >= peers().size()) return false;
  report({News::kMessage, message->rank, {}, std::move(message->bytes)});
  return true;
}

// Answers to a call that gave up waiting are of an older sequence number and dropped.
bool Member::take_gathered(BytesView body) {
  std::optional<GatheredMessage> message = decode<GatheredMessage>(body);
  if (!message || message->parts.size() != peers().size()) return false;
  const std::lock_guard lock(mutex_);
  if (!waiting_ || message->sequence + 1 != sequence_) return true;
  gathered_ = std::move(message->parts);
  waiting_ = false;
  changed_.notify_all();
  return true;
}

bool Member::take_gather_failure(BytesView body) {
  std::optional<GatherFailedMessage> message = decode<GatherFailedMessage>(body);
  if (!message) return false;
  const std::lock_guard lock(mutex_);
  if (!waiting_ || message->sequence + 1 != sequence_) return true;
  gather_failure_ = std::move(message->failure);
  waiting_ = false;
  changed_.notify_all();
  return true;
}

// The root is gone. See the rules of watching in control.hpp.
void Member::on_end(Link&, const std::string& why) {
  std::string cause = root_process() + " ended: " + why;
  if (peers().empty() && root_.known()) {
    return end({HCCL_E_REMOTE, cause + "; see whether rank 0 still runs, and whether it is another "
                                       "program that listens there"});
  }
  if (peers().empty()) {
    return end({HCCL_E_REMOTE, cause + "; if it still runs, the communicator of this root info may "
                                       "be over: get a new root info with HcclGetRootInfo"});
  }
  end({HCCL_E_REMOTE, cause});
  bool lost = false;
  for (std::uint32_t rank = 0; rank < peers().size(); ++rank) {
    if (!welcome_.in_root_process[rank] || rank == rank_) continue;
    const std::string what = describe(rank) + " ended without leaving: " + why;
    if (!part_with(rank, what)) continue;
    report({News::kLost, rank, what, {}});
    lost = true;
  }
  if (!lost) log::info(cause + "; the remaining ranks no longer notice each other's death");
  report({News::kCutOff, 0, cause, {}});
}

void Member::end(Failure failure) {
  const std::lock_guard lock(mutex_);
  if (phase_ == Phase::kEnded) return;
  phase_ = Phase::kEnded;
  failure_ = std::move(failure);
  changed_.notify_all();
}

// With the mutex held. From here on the frame is on its way, in order.
void Member::enqueue(const Frame& frame) {
  outbox_.push_back(frame);
  Loop::instance().post([self = shared_from_this()] { self->flush(); });
}

void Member::flush() {
  std::vector<Frame> frames;
  {
    const std::lock_guard lock(mutex_);
    frames.swap(outbox_);
  }
  if (link_ == nullptr || frames.empty()) return;
  const std::shared_ptr<RootServer> server = server_.lock();
  for (const Frame& frame : frames) {
    if (server != nullptr) {
      server->take(rank_, frame);
    } else {
      link_->send(frame);
    }
  }
}

// False if that is old news.
bool Member::part_with(std::uint32_t rank, const std::string& why) {
  const std::lock_guard lock(mutex_);
  return gone_.emplace(rank, why).second;
}

void Member::report(Event event) {
  if (listener_ == nullptr) {
    earlier_events_.push_back(std::move(event));
  } else {
    deliver(event);
  }
}

void Member::deliver(const Event& event) {
  switch (event.news) {
    case News::kLost:
      return listener_->on_peer_lost(event.rank, event.what);
    case News::kLeft:
      return listener_->on_peer_left(event.rank);
    case News::kMessage:
      return listener_->on_message(event.rank, event.bytes);
    case News::kCutOff:
      return listener_->on_cut_off(event.what);
  }
}

// In the child of a fork the mutex may be locked by a thread that is not there.
bool Member::is_member(std::uint32_t rank) const noexcept {
  if (generation_ != fork_generation()) return false;
  const std::lock_guard lock(mutex_);
  return rank < peers().size() && !gone_.contains(rank);
}

void Member::watch(Listener* listener) {
  check_process();
  Loop::instance().run([&] {
    listener_ = listener;
    for (const Event& event : std::exchange(earlier_events_, {}))
      if (listener_ != nullptr) deliver(event);  // a callback may leave()
  });
}

void Member::post(std::uint32_t to, BytesView bytes) {
  check_process();
  if (to >= peers().size())
    throw Error(HCCL_E_PARA, "there is no rank " + std::to_string(to) +
                                 " to post to, the communicator has " +
                                 std::to_string(peers().size()));
  if (bytes.size() > kMaxPost)
    throw Error(HCCL_E_PARA, "a post to " + describe(to) + " has " + std::to_string(bytes.size()) +
                                 " bytes, the limit is " + std::to_string(kMaxPost));
  const Frame frame = encode_post(FrameKind::kPost, to, bytes);
  const std::lock_guard lock(mutex_);
  if (const auto self = gone_.find(rank_); self != gone_.end())
    throw Error(HCCL_E_UNAVAIL, self->second);
  if (const auto gone = gone_.find(to); gone != gone_.end())
    throw Error(HCCL_E_REMOTE, gone->second);
  if (phase_ == Phase::kEnded)
    throw Error(failure_.code, describe(to) + " cannot be reached: " + failure_.text);
  enqueue(frame);
}

std::vector<Bytes> Member::all_gather(BytesView mine, std::chrono::milliseconds timeout) {
  check_process();
  if (mine.size() > kMaxBlob)
    throw Error(HCCL_E_PARA, "an all-gather of the control plane takes at most " +
                                 std::to_string(kMaxBlob) + " bytes per rank, not " +
                                 std::to_string(mine.size()));
  const Clock::time_point deadline = deadline_after(timeout);
  std::unique_lock lock(mutex_);
  if (phase_ == Phase::kEnded) throw Error(failure_.code, failure_.text);
  waiting_ = true;
  gather_failure_.reset();
  enqueue(encode(sequence_++, milliseconds_until(deadline), mine));
  const bool answered = changed_.wait_until(lock, deadline + kAnswerTime,
                                            [&] { return !waiting_ || phase_ == Phase::kEnded; });
  if (!std::exchange(waiting_, false)) {
    if (gather_failure_) throw Error(gather_failure_->code, gather_failure_->text);
    return std::move(gathered_);
  }
  if (answered) throw Error(failure_.code, failure_.text);
  throw Error(HCCL_E_TIMEOUT, root_process() + " does not answer; see whether it is stopped");
}

void Member::leave() noexcept {
  if (generation_ != fork_generation()) {
    // The connection and its loop are the parent's: not even their destructors may run here.
    if (link_ != nullptr) new std::shared_ptr<Link>(std::exchange(link_, nullptr));
    return;
  }
  try {
    Loop::instance().run([this] { say_goodbye(); });
  } catch (const std::exception& error) {
    log::error(std::string("leaving a communicator failed: ") + error.what());
  }
}

void Member::say_goodbye() {
  listener_ = nullptr;
  earlier_events_.clear();
  const std::string why = "this rank has left the communicator";
  end({HCCL_E_UNAVAIL, why});
  part_with(rank_, why);
  flush();
  if (link_ == nullptr) return;
  // A rank that was refused is not a member, and its number may be another's.
  const bool member = !peers().empty();
  const std::shared_ptr<RootServer> server = member ? server_.lock() : nullptr;
  if (server != nullptr) {
    server->leave(rank_);
  } else if (member) {
    link_->send(encode_goodbye());
  }
  link_->finish();
  link_.reset();
}

}  // namespace weft::control
