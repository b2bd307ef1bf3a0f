// SPDX-License-Identifier: Apache-2.0
// The way into a root server: takes connections and lets in those that know the token. Anybody can
// connect to a port, so a stranger gets 28 bytes of memory, five seconds, and a place among a
// limited number.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "control/loop.hpp"
#include "control/wire.hpp"

namespace weft::control {

/// Used on the control thread only.
class Door final : private Link::User {
 public:
  static constexpr std::chrono::milliseconds kPatience{5000};

  /// `on_guest` gets each connection that gave the token, and must hand_to() it to a user of its
  /// own.
  Door(Socket listener, const Token& token, std::function<void(std::shared_ptr<Link>)> on_guest,
       std::chrono::milliseconds patience = kPatience);

  /// What a stranger with a wrong token is told from now on; nothing before.
  void set_refusal(Frame refusal) { refusal_ = std::move(refusal); }

  /// May be called again.
  void close();

 private:
  struct Stranger {
    std::shared_ptr<Link> link;
    std::chrono::steady_clock::time_point since;
  };

  void on_frame(Link& link, FrameKind kind, BytesView body) override;
  void on_end(Link& link, const std::string& why) override;
  void meet(Socket socket);
  std::shared_ptr<Link> dismiss(const Link& link);
  bool may_refuse();
  void tidy();

  Token token_;
  std::chrono::milliseconds patience_;
  std::function<void(std::shared_ptr<Link>)> on_guest_;
  std::list<Stranger> strangers_;  // oldest first
  Frame refusal_;
  std::deque<std::chrono::steady_clock::time_point> refused_;  // lately, oldest first
  std::shared_ptr<Acceptor> acceptor_;
  std::unique_ptr<Timer> tidy_timer_;
};

}  // namespace weft::control
