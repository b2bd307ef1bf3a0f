// SPDX-License-Identifier: Apache-2.0
// The control thread of the process and what runs on it: connections, acceptors, timers. Asio stays
// inside loop.cc.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "control/socket.hpp"
#include "control/wire.hpp"

namespace weft::control {

/// A connection that carries frames.
class Link {
 public:
  class User {
   public:
    virtual void on_frame(Link& link, FrameKind kind, BytesView body) = 0;
    /// The last call: the connection ended, or did not speak the protocol. Not called after close()
    /// or finish().
    virtual void on_end(Link& link, const std::string& why) = 0;

   protected:
    ~User() = default;
  };

  virtual ~Link() = default;
  /// The address of the other side; empty if this side connected.
  virtual const std::string& peer_ip() const = 0;
  /// Begins to read. A body longer than `limit` ends the connection before any memory is spent on
  /// it.
  virtual void start(User* user, std::size_t limit) = 0;
  /// The next frame goes to another user.
  virtual void hand_to(User* user, std::size_t limit) = 0;
  /// The frame is with the kernel when this returns, unless the peer does not read: then it is
  /// queued.
  virtual void send(Frame frame) = 0;
  /// Sends what is queued and the end, and closes when the peer does, after five seconds at the
  /// latest. The user is not called again.
  virtual void finish() = 0;
  /// Closes now. The user is not called again.
  virtual void close() = 0;
};

/// Takes connections from a listening socket.
class Acceptor {
 public:
  virtual ~Acceptor() = default;
  virtual void pause() = 0;
  virtual void resume() = 0;
  virtual void close() = 0;
};

/// One pending call; its destructor cancels.
class Timer {
 public:
  virtual ~Timer() = default;
  /// Replaces the pending call, if any.
  virtual void start(std::chrono::milliseconds delay, std::function<void()> task) = 0;
  virtual void cancel() = 0;
};

/// The event loop, one per process, with its thread. It starts at the first use and is never torn
/// down: threads of the program may use it while static objects are destroyed, and exit() never
/// waits for it. In the child of a fork the first use makes a new one.
class Loop {
 public:
  /// Throws Error HCCL_E_SYSCALL if it cannot start.
  static Loop& instance();

  /// Does `task` on the control thread, later and in order. From any thread.
  void post(std::function<void()> task);
  /// The same, and waits for its end, then throws what it threw; on the control thread it is done
  /// at once.
  void run(const std::function<void()>& task);

  /// What these make is used, and destroyed, on the control thread only.
  std::shared_ptr<Link> make_link(Socket socket);
  /// Starts to accept. `on_socket` is not called after close().
  std::shared_ptr<Acceptor> make_acceptor(Socket listener, std::function<void(Socket)> on_socket);
  std::unique_ptr<Timer> make_timer();

  /// Does `task` on the control thread whenever the descriptor has something to read, which the
  /// task takes. For ever: the descriptor stays open. From any thread.
  void on_readable(int descriptor, std::function<void()> task);

 private:
  struct State;
  Loop();
  State* state_ = nullptr;
};

}  // namespace weft::control
