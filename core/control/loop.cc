// SPDX-License-Identifier: Apache-2.0
// One thread runs all handlers, and the mutex of Asio's queue orders what other threads post.
// Asio's extra fences are not needed, and the thread sanitizer does not know them.
#define BOOST_ASIO_DISABLE_FENCED_BLOCK

#include "control/loop.hpp"

#include <pthread.h>

#include <array>
#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/system_error.hpp>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <exception>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/shortage.hpp"
#include "base/thread.hpp"

namespace weft::control {
namespace {

namespace asio = boost::asio;
using Errc = boost::system::error_code;
using AsioSocket = asio::generic::stream_protocol::socket;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kFinishTimeout{5000};
constexpr std::chrono::milliseconds kAcceptRetry{100};
constexpr std::chrono::minutes kTellAgain{1};

void serve(asio::io_context& context) noexcept {
  ::pthread_setname_np(::pthread_self(), "weft-control");
  for (;;) {
    try {
      context.run();
      return;
    } catch (const std::exception& error) {
      // Only memory can run out here. The one event is lost, and whoever waits for it has a
      // deadline.
      log::error(std::string("control thread: ") + error.what());
    }
  }
}

}  // namespace

struct Loop::State {
  // The timer makes Asio take now what it needs of descriptors.
  State() { const asio::steady_timer timer(context); }

  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  std::uint64_t generation = fork_generation();
  Loop* before_fork = nullptr;  // keeps the memory of the parent's loop accounted for
};

Loop::Loop() try {
  auto made = std::make_unique<State>();
  start_detached([&context = made->context] { serve(context); });
  state_ = made.release();  // never destroyed, see the class
} catch (const boost::system::system_error& error) {
  throw Error(HCCL_E_SYSCALL, "cannot watch connections: " + explain_errno(error.code().value()));
}

Loop& Loop::instance() {
  static Loop* current = nullptr;
  const std::lock_guard lock(fork_mutex());
  if (current == nullptr || current->state_->generation != fork_generation()) {
    auto made = std::unique_ptr<Loop>(new Loop);
    made->state_->before_fork = current;
    current = made.release();
  }
  return *current;
}

void Loop::post(std::function<void()> task) { asio::post(state_->context, std::move(task)); }

void Loop::run(const std::function<void()>& task) {
  if (state_->context.get_executor().running_in_this_thread()) {
    task();
    return;
  }
  std::mutex mutex;
  std::condition_variable finished;
  bool done = false;
  std::exception_ptr problem;
  post([&] {
    try {
      task();
    } catch (...) {
      problem = std::current_exception();
    }
    // Notified under the lock: the waiting thread must not destroy the condition before that.
    const std::lock_guard lock(mutex);
    done = true;
    finished.notify_one();
  });
  std::unique_lock lock(mutex);
  finished.wait(lock, [&] { return done; });
  if (problem) std::rethrow_exception(problem);
}

namespace {

// Asio watches the descriptor, Socket owns it.
class WatchedSocket {
 public:
  WatchedSocket(asio::io_context& context, Socket socket)
      : asio_(context), owner_(std::move(socket)) {
    int family = AF_INET;
    socklen_t size = sizeof family;
    (void)::getsockopt(owner_.fd(), SOL_SOCKET, SO_DOMAIN, &family, &size);
    Errc error;
    asio_.assign(asio::generic::stream_protocol(family, 0), owner_.fd(), error);
    if (!error) asio_.non_blocking(true, error);
    if (error) log::error("cannot watch a control connection: " + error.message());
  }
  ~WatchedSocket() { close(); }
  WatchedSocket(const WatchedSocket&) = delete;
  WatchedSocket& operator=(const WatchedSocket&) = delete;

  AsioSocket& asio() noexcept { return asio_; }
  int fd() const noexcept { return owner_.fd(); }
  const std::string& peer_ip() const noexcept { return owner_.peer_ip(); }
  void close() noexcept {
    if (!owner_) return;
    // Ends the connection even if a child process holds a copy of the descriptor.
    ::shutdown(owner_.fd(), SHUT_RDWR);
    Errc ignored;
    asio_.release(ignored);
    owner_.close();
  }

 private:
  AsioSocket asio_;
  Socket owner_;
};

class AsioTimer final : public Timer {
 public:
  explicit AsioTimer(asio::io_context& context) : timer_(context) {}
  ~AsioTimer() override { ++*latest_; }

  void start(std::chrono::milliseconds delay, std::function<void()> task) override {
    timer_.expires_after(delay);
    // A call that is already on its way when it is replaced or cancelled sees another number.
    timer_.async_wait([latest = latest_, mine = ++*latest_, run = std::move(task)](const Errc&) {
      if (*latest == mine) run();
    });
  }

  void cancel() override {
    ++*latest_;
    timer_.cancel();
  }

 private:
  asio::steady_timer timer_;
  std::shared_ptr<std::uint64_t> latest_ = std::make_shared<std::uint64_t>(0);
};

class AsioLink final : public Link, public std::enable_shared_from_this<AsioLink> {
 public:
  AsioLink(asio::io_context& context, Socket socket)
      : socket_(context, std::move(socket)), finish_timer_(context) {}

  const std::string& peer_ip() const override { return socket_.peer_ip(); }

  void start(User* user, std::size_t limit) override {
    hand_to(user, limit);
    read_header();
  }

  void hand_to(User* user, std::size_t limit) override {
    user_ = user;
    limit_ = limit;
  }

  void send(Frame frame) override {
    if (!open_) return;
    queue_.push_back(std::move(frame));
    if (queue_.size() == 1) write();
  }

  void finish() override {
    if (!open_) return;
    user_ = nullptr;
    finishing_ = true;
    finish_timer_.start(kFinishTimeout, [self = shared_from_this()] { self->close(); });
    if (queue_.empty()) end_sending();
  }

  void close() override {
    user_ = nullptr;
    open_ = false;
    queue_.clear();
    finish_timer_.cancel();
    socket_.close();
  }

 private:
  void end(const std::string& why) {
    User* user = user_;
    close();
    if (user != nullptr) user->on_end(*this, why);
  }

  // After a read. A frame there is no memory for ends the connection rather than leaving it mute.
  template <typename Next>
  void go_on(const Errc& error, Next next) {
    if (!open_) return;
    if (error)
      return end(error == asio::error::eof ? "the connection was closed" : error.message());
    try {
      next();
    } catch (const std::exception& problem) {
      end(problem.what());
    }
  }

  void read_header() {
    asio::async_read(socket_.asio(), asio::buffer(header_),
                     [self = shared_from_this()](const Errc& error, std::size_t) {
                       self->go_on(error, [&] { self->read_body(); });
                     });
  }

  void read_body() {
    const FrameHeader header = decode_header(header_);
    if (header.magic != kMagic) return end("it sent something else than a frame");
    if (header.length > limit_)
      return end("it announced a frame of " + std::to_string(header.length) + " bytes");
    body_.resize(header.length);
    asio::async_read(
        socket_.asio(), asio::buffer(body_),
        [self = shared_from_this(), kind = header.kind](const Errc& error, std::size_t) {
          self->go_on(error, [&] { self->deliver(kind); });
        });
  }

  void deliver(FrameKind kind) {
    if (user_ != nullptr) user_->on_frame(*this, kind, body_);
    body_ = Bytes();
    if (open_) read_header();
  }

  void write() {
    while (!queue_.empty()) {
      const Bytes& front = *queue_.front();
      Errc error;
      sent_ += socket_.asio().write_some(asio::buffer(front.data() + sent_, front.size() - sent_),
                                         error);
      if (error == asio::error::would_block) return wait_to_write();
      // The reading side finds out and reports, after what the peer still managed to say.
      if (error) sent_ = front.size();
      if (sent_ < front.size()) continue;
      sent_ = 0;
      queue_.pop_front();
    }
    if (finishing_) end_sending();
  }

  // Reading goes on until the peer closes too: to close with something unread would reset the
  // connection, and what the peer has not received yet would be lost.
  void end_sending() { ::shutdown(socket_.fd(), SHUT_WR); }

  void wait_to_write() {
    socket_.asio().async_wait(AsioSocket::wait_write, [self = shared_from_this()](const Errc&) {
      if (self->open_) self->write();
    });
  }

  WatchedSocket socket_;
  AsioTimer finish_timer_;
  User* user_ = nullptr;
  std::size_t limit_ = 0;
  bool open_ = true;
  bool finishing_ = false;
  std::array<std::byte, kHeaderBytes> header_{};
  Bytes body_;
  std::deque<Frame> queue_;
  std::size_t sent_ = 0;  // of the frame in front
};

// Once, and again after a while: there may be many roots, and each tries many times in a second.
// Control thread only.
void tell_of_shortage(int error) {
  static Clock::time_point told{};
  const Clock::time_point now = Clock::now();
  if (told != Clock::time_point{} && now - told < kTellAgain) return;
  told = now;
  log::warn("ranks that want to join cannot be let in: " + explain_errno(error) +
            ". Trying on until their time-out");
}

class AsioAcceptor final : public Acceptor, public std::enable_shared_from_this<AsioAcceptor> {
 public:
  AsioAcceptor(asio::io_context& context, Socket listener, std::function<void(Socket)> on_socket)
      : socket_(context, std::move(listener)), retry_(context), on_socket_(std::move(on_socket)) {}

  void pause() override { paused_ = true; }

  void resume() override {
    paused_ = false;
    wait();
  }

  void close() override {
    open_ = false;
    retry_.cancel();
    socket_.close();
  }

 private:
  void wait() {
    if (!open_ || waiting_) return;
    waiting_ = true;
    socket_.asio().async_wait(AsioSocket::wait_read, [self = shared_from_this()](const Errc&) {
      self->waiting_ = false;
      self->take();
    });
  }

  void take() {
    while (open_ && !paused_) {
      Socket socket = Socket::accept(socket_.fd());
      if (!socket) return recover(errno);
      on_socket_(std::move(socket));
    }
  }

  void recover(int error) {
    if (error != EMFILE && error != ENFILE && error != ENOBUFS && error != ENOMEM) return wait();
    tell_of_shortage(error);
    retry_.start(kAcceptRetry, [self = shared_from_this()] { self->wait(); });
  }

  WatchedSocket socket_;
  AsioTimer retry_;
  std::function<void(Socket)> on_socket_;
  bool open_ = true;
  bool paused_ = false;
  bool waiting_ = false;
};

}  // namespace

std::shared_ptr<Link> Loop::make_link(Socket socket) {
  return std::make_shared<AsioLink>(state_->context, std::move(socket));
}

std::shared_ptr<Acceptor> Loop::make_acceptor(Socket listener,
                                              std::function<void(Socket)> on_socket) {
  auto acceptor =
      std::make_shared<AsioAcceptor>(state_->context, std::move(listener), std::move(on_socket));
  acceptor->resume();
  return acceptor;
}

namespace {

class Readable : public std::enable_shared_from_this<Readable> {
 public:
  Readable(asio::io_context& context, int descriptor, std::function<void()> task)
      : descriptor_(context, descriptor), task_(std::move(task)) {}

  void wait() {
    descriptor_.async_wait(asio::posix::descriptor_base::wait_read,
                           [self = shared_from_this()](const Errc& error) {
                             if (error) return;
                             self->task_();
                             self->wait();
                           });
  }

 private:
  asio::posix::stream_descriptor descriptor_;
  std::function<void()> task_;
};

}  // namespace

void Loop::on_readable(int descriptor, std::function<void()> task) {
  const auto made = std::make_shared<Readable>(state_->context, descriptor, std::move(task));
  post([made] { made->wait(); });
}

std::unique_ptr<Timer> Loop::make_timer() { return std::make_unique<AsioTimer>(state_->context); }

}  // namespace weft::control
