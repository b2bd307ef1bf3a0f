// SPDX-License-Identifier: Apache-2.0
#include "control/door.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/log.hpp"

namespace weft::control {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxStrangers = 128;
// With all places taken, silence of this length is enough to lose one. A rank sends its token right
// after connecting.
constexpr std::chrono::milliseconds kPatienceWhenFull{250};

}  // namespace

Door::Door(Socket listener, const Token& token, std::function<void(std::shared_ptr<Link>)> on_guest,
           std::chrono::milliseconds patience)
    : token_(token),
      patience_(patience),
      on_guest_(std::move(on_guest)),
      tidy_timer_(Loop::instance().make_timer()) {
  acceptor_ = Loop::instance().make_acceptor(std::move(listener),
                                             [this](Socket socket) { meet(std::move(socket)); });
}

void Door::close() {
  acceptor_->close();
  tidy_timer_->cancel();
  for (Stranger& stranger : strangers_) stranger.link->close();
  strangers_.clear();
}

void Door::meet(Socket socket) {
  strangers_.push_back({Loop::instance().make_link(std::move(socket)), Clock::now()});
  strangers_.back().link->start(this, token_.size());
  tidy();
}

void Door::on_frame(Link& link, FrameKind kind, BytesView body) {
  const bool known = kind == FrameKind::kAuth && std::ranges::equal(body, token_);
  const std::shared_ptr<Link> guest = dismiss(link);
  if (known) {
    on_guest_(guest);
  } else {
    if (kind == FrameKind::kAuth && body.size() == token_.size() && may_refuse()) {
      guest->send(refusal_);
      guest->finish();
    } else {
      guest->close();
    }
    log::info("dropped a control connection: it does not know the token");
  }
  tidy();
}

// Who is told something may stay for five seconds to read it: there cannot be many of those either.
bool Door::may_refuse() {
  if (refusal_ == nullptr) return false;
  const Clock::time_point now = Clock::now();
  while (!refused_.empty() && refused_.front() + kPatience < now) refused_.pop_front();
  if (refused_.size() >= kMaxStrangers) return false;
  refused_.push_back(now);
  return true;
}

void Door::on_end(Link& link, const std::string& why) {
  dismiss(link);
  log::info("dropped a control connection before it gave the token: " + why);
  tidy();
}

std::shared_ptr<Link> Door::dismiss(const Link& link) {
  const auto found = std::ranges::find_if(
      strangers_, [&](const Stranger& stranger) { return stranger.link.get() == &link; });
  assert(found != strangers_.end());
  std::shared_ptr<Link> dismissed = std::move(found->link);
  strangers_.erase(found);
  return dismissed;
}

// Drops those who waited too long, stops accepting while all places are taken, and sees to being
// called again in time.
void Door::tidy() {
  const auto full = [this] { return strangers_.size() >= kMaxStrangers; };
  const auto due = [&] {
    return strangers_.front().since + (full() ? std::min(kPatienceWhenFull, patience_) : patience_);
  };
  const Clock::time_point now = Clock::now();
  while (!strangers_.empty() && due() <= now) {
    strangers_.front().link->close();
    strangers_.pop_front();
    log::info("dropped a control connection that did not give the token in time");
  }
  if (full()) {
    acceptor_->pause();
  } else {
    acceptor_->resume();
  }
  if (strangers_.empty()) return tidy_timer_->cancel();
  tidy_timer_->start(std::chrono::ceil<std::chrono::milliseconds>(due() - now), [this] { tidy(); });
}

}  // namespace weft::control
