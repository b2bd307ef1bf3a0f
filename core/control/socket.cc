// SPDX-License-Identifier: Apache-2.0
#include "control/socket.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <set>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/shortage.hpp"

namespace weft::control {
namespace {

using Clock = std::chrono::steady_clock;

// Everything a fork has to know. Leaked on purpose: the control thread outlives static destructors.
struct ForkState {
  std::mutex mutex;
  std::set<int> fds;
  std::atomic<std::uint64_t> generation{0};
};

ForkState& fork_state() {
  static ForkState* state = [] {
    auto* made = new ForkState;
    pthread_atfork([] { fork_state().mutex.lock(); }, [] { fork_state().mutex.unlock(); },
                   [] {
                     ForkState& child = fork_state();
                     for (const int fd : child.fds) ::close(fd);
                     child.fds.clear();
                     ++child.generation;
                     child.mutex.unlock();
                   });
    return made;
  }();
  return *state;
}

void set_option(int fd, int level, int name, int value) noexcept {
  // A refused option costs speed or late news of a lost host, never correctness.
  (void)::setsockopt(fd, level, name, &value, sizeof value);
}

// Small frames leave at once. A host that went away is noticed after the time of detection, if
// something is on its way there, and up to a tenth of it later if only the heartbeat is.
void tune(int fd, const FaultDetection& detection) noexcept {
  constexpr int kMostSeconds = 7200;
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  if (detection.time.count() <= 0) return;
  const int seconds =
      static_cast<int>(std::min<std::int64_t>(detection.time.count(), kMostSeconds));
  set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, seconds * 1000);
  if (!detection.heartbeat) return;
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, std::max(1, seconds / 5));
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, seconds / 10));
}

// Connecting to a port nobody listens on can meet itself when the system picks that port as the
// local one.
bool is_connected_to_itself(int fd) noexcept {
  sockaddr_storage local{};
  sockaddr_storage remote{};
  socklen_t local_size = sizeof local;
  socklen_t remote_size = sizeof remote;
  return ::getsockname(fd, reinterpret_cast<sockaddr*>(&local), &local_size) == 0 &&
         ::getpeername(fd, reinterpret_cast<sockaddr*>(&remote), &remote_size) == 0 &&
         local_size == remote_size && std::memcmp(&local, &remote, local_size) == 0;
}

// One attempt; 0 or the error number, ETIMEDOUT at the deadline.
int try_connect(int fd, const Endpoint& endpoint, Clock::time_point deadline) {
  const auto* address = reinterpret_cast<const sockaddr*>(&endpoint.address);
  if (::connect(fd, address, endpoint.length) != 0) {
    if (errno != EINPROGRESS && errno != EINTR) return errno;
    pollfd waiting{fd, POLLOUT, 0};
    int ready = 0;
    do {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
      const auto wait = std::clamp<std::int64_t>(left.count(), 0, 60'000);
      ready = ::poll(&waiting, 1, static_cast<int>(wait));
      if (ready < 0 && errno != EINTR) return errno;
    } while (ready <= 0 && Clock::now() < deadline);
    if (ready <= 0) return ETIMEDOUT;
    int error = 0;
    socklen_t size = sizeof error;
    if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
    if (error != 0) return error;
  }
  return is_connected_to_itself(fd) ? ECONNREFUSED : 0;
}

// No socket if the connection was refused until `refused_until`.
Socket connect_until(const Endpoint& endpoint, Clock::time_point deadline,
                     Clock::time_point refused_until, const FaultDetection& detection) {
  constexpr std::chrono::milliseconds kLongestPause{200};
  for (auto pause = std::chrono::milliseconds(10);; pause = std::min(2 * pause, kLongestPause)) {
    Socket socket = Socket::open(endpoint.address.ss_family);
    const int error = try_connect(socket.fd(), endpoint, deadline);
    if (error == 0) {
      tune(socket.fd(), detection);
      return socket;
    }
    if (error == ETIMEDOUT)
      throw Error(HCCL_E_TIMEOUT, "the root at " + show(endpoint) + " cannot be reached: time-out");
    if (error != ECONNREFUSED)
      throw Error(HCCL_E_TCP_CONNECT,
                  "cannot connect to the root at " + show(endpoint) + ": " + explain_errno(error));
    if (Clock::now() + pause > refused_until) return {};
    socket.close();
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace

std::mutex& fork_mutex() { return fork_state().mutex; }

std::uint64_t fork_generation() noexcept { return fork_state().generation; }

Socket::Socket(Socket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      generation_(other.generation_),
      peer_ip_(std::move(other.peer_ip_)) {}

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = std::exchange(other.fd_, -1);
    generation_ = other.generation_;
    peer_ip_ = std::move(other.peer_ip_);
  }
  return *this;
}

Socket::~Socket() { close(); }

Socket Socket::open(int family) {
  ForkState& state = fork_state();
  const std::lock_guard lock(state.mutex);
  const int fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
  if (fd < 0) throw Error(HCCL_E_SYSCALL, "cannot create a TCP socket: " + explain_errno(errno));
  state.fds.insert(fd);
  return {fd, state.generation};
}

Socket Socket::accept(int listener) noexcept {
  ForkState& state = fork_state();
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  auto* address = reinterpret_cast<sockaddr*>(&peer);
  Socket socket;
  {
    const std::lock_guard lock(state.mutex);
    // It has the options of the listener.
    socket.fd_ = ::accept4(listener, address, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
    socket.generation_ = state.generation;
    if (!socket) return {};
    state.fds.insert(socket.fd_);
  }
  socket.peer_ip_ = canonical_ip(address);
  return socket;
}

void Socket::close() noexcept {
  if (fd_ < 0) return;
  ForkState& state = fork_state();
  const std::lock_guard lock(state.mutex);
  // In the child of a fork the descriptor is closed already.
  if (generation_ == state.generation && state.fds.erase(fd_) != 0) ::close(fd_);
  fd_ = -1;
}

Endpoint parse_endpoint(const std::string& ip, std::uint16_t port, const std::string& source) {
  const std::size_t percent = ip.find('%');
  const std::string digits = ip.substr(0, percent);
  Endpoint endpoint{digits, port, {}, 0};
  unsigned scope = 0;
  if (percent != std::string::npos) {
    scope = ::if_nametoindex(ip.c_str() + percent + 1);
    if (scope == 0)
      throw Error(HCCL_E_PARA,
                  source + ": '" + ip + "' names an interface this host does not have");
  }
  auto* v4 = reinterpret_cast<sockaddr_in*>(&endpoint.address);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&endpoint.address);
  if (::inet_pton(AF_INET, digits.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    endpoint.length = sizeof *v4;
  } else if (::inet_pton(AF_INET6, digits.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    endpoint.length = sizeof *v6;
    if (IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr)) {
      v6->sin6_scope_id = scope;
      endpoint.ip = ip;
    }
  } else {
    throw Error(HCCL_E_PARA, source + ": '" + ip + "' is not an IPv4 or IPv6 address");
  }
  return endpoint;
}

bool is_unspecified(const Endpoint& endpoint) noexcept {
  if (endpoint.address.ss_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&endpoint.address);
    return IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr);
  }
  return reinterpret_cast<const sockaddr_in*>(&endpoint.address)->sin_addr.s_addr == INADDR_ANY;
}

std::string show(const Endpoint& endpoint) {
  return endpoint.ip + " port " + std::to_string(endpoint.port);
}

Endpoint parse_own_address(const std::string& ip) {
  const std::string source = "environment variable HCCL_IF_IP";
  Endpoint endpoint = parse_endpoint(ip, 0, source);
  if (is_unspecified(endpoint))
    throw Error(HCCL_E_PARA, source + ": '" + ip +
                                 "' is no address that other ranks can connect to; set one of this "
                                 "host's addresses or unset it");
  return endpoint;
}

void set_port(Endpoint& endpoint, std::uint16_t port) noexcept {
  endpoint.port = port;
  if (endpoint.address.ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(&endpoint.address)->sin6_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in*>(&endpoint.address)->sin_port = htons(port);
  }
}

std::string canonical_ip(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = {};
  const void* digits = &reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
  if (address->sa_family == AF_INET6)
    digits = &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  (void)::inet_ntop(address->sa_family, digits, text, sizeof text);
  return text;
}

Socket try_listen(Endpoint& endpoint, const FaultDetection& detection) {
  Socket socket = Socket::open(endpoint.address.ss_family);
  auto* address = reinterpret_cast<sockaddr*>(&endpoint.address);
  // A port that was used a moment ago is free. Two processes may then both be bound to it: the
  // second to listen learns it.
  if (endpoint.port != 0) set_option(socket.fd(), SOL_SOCKET, SO_REUSEADDR, 1);
  tune(socket.fd(), detection);
  if (::bind(socket.fd(), address, endpoint.length) != 0 || ::listen(socket.fd(), SOMAXCONN) != 0) {
    const int error = errno;
    socket.close();
    errno = error;
    return {};
  }
  socklen_t size = sizeof endpoint.address;
  if (::getsockname(socket.fd(), address, &size) != 0)
    throw Error(HCCL_E_SYSCALL, "getsockname failed: " + explain_errno(errno));
  endpoint.port = ntohs(endpoint.address.ss_family == AF_INET6
                            ? reinterpret_cast<sockaddr_in6*>(address)->sin6_port
                            : reinterpret_cast<sockaddr_in*>(address)->sin_port);
  return socket;
}

void refuse_to_listen(const Endpoint& endpoint, int error, const std::string& right_address) {
  throw Error(HCCL_E_NETWORK,
              "cannot listen for ranks at " + show(endpoint) + ": " + explain_errno(error) + "; " +
                  (error == EACCES ? "give rank 0 a port from 1024 on, or this process the "
                                     "privileges for that one"
                                   : right_address));
}

Socket listen_at(Endpoint& endpoint, const FaultDetection& detection) {
  Socket socket = try_listen(endpoint, detection);
  if (!socket) refuse_to_listen(endpoint, errno, kOwnAddress);
  return socket;
}

Socket listen_if_free(Endpoint& endpoint, const FaultDetection& detection) {
  Socket socket = try_listen(endpoint, detection);
  if (socket || errno == EADDRINUSE) return socket;
  refuse_to_listen(endpoint, errno,
                   "the rank table must name an address of this host for the server of rank 0, or "
                   "none if all ranks are on one host");
}

Socket connect_to(const Endpoint& endpoint, Clock::time_point deadline,
                  const FaultDetection& detection) {
  Socket socket =
      connect_until(endpoint, deadline,
                    std::min(deadline, Clock::now() + std::chrono::milliseconds(1000)), detection);
  if (!socket)
    throw Error(HCCL_E_TCP_CONNECT,
                "nobody listens at the root's address " + show(endpoint) +
                    ": the root process may have ended, or the communicator of this root info "
                    "may be over; get a new root info with HcclGetRootInfo");
  return socket;
}

Socket connect_when_open(const Endpoint& endpoint, Clock::time_point deadline,
                         const FaultDetection& detection) {
  return connect_until(endpoint, deadline, deadline, detection);
}

}  // namespace weft::control
