// SPDX-License-Identifier: Apache-2.0
// TCP sockets of the control plane: owned descriptors that no child process inherits, listening and
// connecting.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace weft::control {

/// Owns a descriptor. It is closed on exec, and in the child of a fork: a data loader forked off a
/// rank must not keep the rank's connections alive after the rank has died.
class Socket {
 public:
  Socket() = default;
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  /// socket(2) for TCP, non-blocking; throws Error HCCL_E_SYSCALL.
  static Socket open(int family);
  /// accept4(2), non-blocking; without a descriptor if there is none to take, then errno says why.
  static Socket accept(int listener) noexcept;

  int fd() const noexcept { return fd_; }
  /// Of an accepted connection: the address of the other side, as canonical_ip() writes it.
  const std::string& peer_ip() const noexcept { return peer_ip_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  void close() noexcept;

 private:
  Socket(int fd, std::uint64_t generation) noexcept : fd_(fd), generation_(generation) {}

  int fd_ = -1;
  std::uint64_t generation_ =
      0;  // of the process that opened it: in a later one the number means something else
  std::string peer_ip_;
};

/// How soon a connection counts as broken when the other host no longer answers.
struct FaultDetection {
  std::chrono::seconds time{20};  // 0: never
  bool heartbeat = true;          // also while nothing is sent
};

struct Endpoint {
  std::string ip;
  std::uint16_t port = 0;
  sockaddr_storage address{};
  socklen_t length = 0;
};

/// Reads an IPv4 or IPv6 address in digits with an optional "%interface", which is kept only where
/// it tells something: behind a link-local address. `source` says in the error where it came from.
/// Throws Error HCCL_E_PARA.
Endpoint parse_endpoint(const std::string& ip, std::uint16_t port, const std::string& source);

/// The same for HCCL_IF_IP, which must be an address that others can connect to.
Endpoint parse_own_address(const std::string& ip);

/// It stands for all addresses of a host, so nobody can connect to it.
bool is_unspecified(const Endpoint& endpoint) noexcept;

void set_port(Endpoint& endpoint, std::uint16_t port) noexcept;

/// An IPv4 or IPv6 address in digits, always the same text for the same address; without port and
/// interface.
std::string canonical_ip(const sockaddr* address);

/// Listens and sets the port in `endpoint`, if that is 0, to one that the system chooses. What is
/// accepted there is tuned for small frames and for `detection`. Without a descriptor if that
/// cannot be: errno says why. Throws Error HCCL_E_SYSCALL.
Socket try_listen(Endpoint& endpoint, const FaultDetection& detection);

/// Throws the Error (HCCL_E_NETWORK) for a failed try_listen(). `right_address` says which address
/// to give instead.
[[noreturn]] void refuse_to_listen(const Endpoint& endpoint, int error,
                                   const std::string& right_address);
inline constexpr const char* kOwnAddress = "HCCL_IF_IP, if set, must be an address of this host";

/// Both in one.
Socket listen_at(Endpoint& endpoint, const FaultDetection& detection = {});

/// The same at a port that was chosen beforehand; no socket if somebody listens there already.
Socket listen_if_free(Endpoint& endpoint, const FaultDetection& detection = {});

/// Connects, blocking until `deadline`; a refused connection is tried again for up to a second.
/// Throws Error HCCL_E_TCP_CONNECT, HCCL_E_TIMEOUT or HCCL_E_SYSCALL.
Socket connect_to(const Endpoint& endpoint, std::chrono::steady_clock::time_point deadline,
                  const FaultDetection& detection = {});

/// The same, but a refused connection is tried again until the deadline: somebody will listen
/// there. No socket if nobody did.
Socket connect_when_open(const Endpoint& endpoint, std::chrono::steady_clock::time_point deadline,
                         const FaultDetection& detection = {});

/// "127.0.0.1 port 60000"
std::string show(const Endpoint& endpoint);

/// Held around whatever a fork must not cut in two. Forking takes it.
std::mutex& fork_mutex();

/// How many forks lie between the first process and this one. With fork_mutex() held or on one
/// thread only.
std::uint64_t fork_generation() noexcept;

}  // namespace weft::control
