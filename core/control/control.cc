// SPDX-License-Identifier: Apache-2.0
#include "control/control.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "control/loop.hpp"
#include "control/member.hpp"
#include "control/root_info.hpp"
#include "control/server.hpp"
#include "control/socket.hpp"

namespace weft::control {
namespace {

// A connection that happens to have the port as its own end is soon over.
constexpr std::chrono::milliseconds kPortPatience{1000};
constexpr std::chrono::milliseconds kPause{20};

Token random_token() {
  Token token;
  if (::getrandom(token.data(), token.size(), 0) != static_cast<ssize_t>(token.size()))
    throw Error(HCCL_E_SYSCALL, "the system gives no random numbers");
  return token;
}

std::uint64_t random_number() {
  std::uint64_t number = 0;
  while (number == 0)
    if (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number))
      throw Error(HCCL_E_SYSCALL, "the system gives no random numbers");
  return number;
}

// See Peer::process.
std::uint64_t process_identity() {
  static std::uint64_t identity = 0;
  static std::uint64_t generation = 0;
  const std::lock_guard lock(fork_mutex());
  if (identity == 0 || generation != fork_generation()) identity = random_number();
  generation = fork_generation();
  return identity;
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "(unnamed)";
  return name.data();
}

void check(const Hello& hello) {
  if (hello.ranks == 0 || hello.ranks > kMaxRanks)
    throw Error(HCCL_E_PARA, "nRanks is " + std::to_string(hello.ranks) + ", it must be 1 to " +
                                 std::to_string(kMaxRanks));
  if (hello.rank >= hello.ranks)
    throw Error(HCCL_E_PARA, "rank is " + std::to_string(hello.rank) +
                                 ", it must be less than nRanks, which is " +
                                 std::to_string(hello.ranks));
  if (hello.blob.size() > kMaxBlob)
    throw Error(HCCL_E_PARA, "a rank joins with at most " + std::to_string(kMaxBlob) +
                                 " bytes, not " + std::to_string(hello.blob.size()));
}

}  // namespace

void open_root(HcclRootInfo* info, std::int32_t device, const Network& network) {
  Endpoint endpoint;
  Socket listener = listen_as(network, endpoint);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto stamp = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  const RootInfo root{endpoint.ip,
                      endpoint.port,
                      host_name(),
                      static_cast<std::int32_t>(::getpid()),
                      random_token(),
                      endpoint.ip + "_" + std::to_string(endpoint.port) + "_" +
                          std::to_string(device) + "_" + std::to_string(stamp)};
  const RootServer::Rules rules{network.white_list, !network.ports.empty(), false};
  Loop::instance().run([&] { RootServer::open(std::move(listener), root.token, rules); });
  write_root_info(root, info);
}

void abandon_root(const HcclRootInfo& info, std::uint32_t ranks, HcclResult code,
                  const std::string& text) {
  Loop::instance().post([token = read_root_info(info).token, ranks, failure = Failure{code, text}] {
    RootServer* server = RootServer::find(token);
    if (server != nullptr) server->abandon(ranks, failure);
  });
}

void close_root(const HcclRootInfo& info) {
  Loop::instance().post([token = read_root_info(info).token] {
    RootServer* server = RootServer::find(token);
    if (server != nullptr) server->shut();
  });
}

void write_known_root(const KnownRoot& root, HcclRootInfo* info) {
  const Endpoint endpoint = parse_endpoint(root.ip, root.port, "the place of rank 0");
  if (is_unspecified(endpoint) || root.port == 0)
    throw Error(HCCL_E_PARA, "the place of rank 0: nobody can connect to " + show(endpoint));
  write_root_info(
      {root.ip, root.port, "", 0, root.table, root.ip + "_" + std::to_string(root.port)}, info);
}

void serve_known_root(const HcclRootInfo& info, std::chrono::milliseconds timeout,
                      const Network& network) {
  check_white_list(network.white_list);
  const RootInfo root = read_root_info(info);
  Endpoint endpoint = parse_endpoint(root.ip, root.port, "the place of rank 0");
  const auto began = Member::Clock::now();
  const auto deadline = Member::deadline_after(timeout);
  for (;;) {
    bool telling = false;
    bool open = false;
    Loop::instance().run([&] {
      const RootServer* server = RootServer::find(root.token);
      telling = server != nullptr && server->has_failed();
      open =
          server != nullptr && server->is_joining();  // of a try that did not get so far as to join
      if (open) return;
      Socket listener = listen_if_free(endpoint, network.detection);
      open = static_cast<bool>(listener);
      if (open)
        RootServer::open(std::move(listener), root.token, {network.white_list, false, true});
    });
    if (open) return;
    const auto now = Member::Clock::now();
    if (now >= deadline)
      throw Error(HCCL_E_TIMEOUT,
                  "the last try to make this communicator failed, and not all "
                  "ranks have come to hear why");
    if (!telling && now >= began + kPortPatience)
      throw Error(HCCL_E_NETWORK,
                  "cannot listen for ranks at " + show(endpoint) +
                      ": the port is in use; give rank 0 another port in the rank table "
                      "(host_port, port or listen_port), or, where it has none, all ranks "
                      "another HCCL_HOST_SOCKET_PORT_RANGE or HCCL_IF_BASE_PORT");
    std::this_thread::sleep_for(kPause);
  }
}

std::string root_identifier(const HcclRootInfo& info) { return read_root_info(info).identifier; }

std::unique_ptr<Session> Session::join(const HcclRootInfo& info, Hello hello,
                                       std::chrono::milliseconds timeout,
                                       const FaultDetection& detection) {
  const auto deadline = Member::deadline_after(timeout);
  const RootInfo root = read_root_info(info);
  check(hello);
  hello.process = process_identity();
  const Endpoint endpoint = parse_endpoint(root.ip, root.port, "root info");
  Socket socket = root.known() ? connect_when_open(endpoint, deadline, detection)
                               : connect_to(endpoint, deadline, detection);
  if (!socket)
    throw Error(HCCL_E_TIMEOUT,
                "rank 0 did not come: nobody listened at " + show(endpoint) + " for " +
                    std::to_string(timeout.count()) +
                    " ms; see why rank 0 did not start, or whether all ranks of the rank table "
                    "have met already, without this process");
  const auto member = std::make_shared<Member>(root, hello.rank);
  auto session = std::make_unique<Session>(member);  // cleans up if joining fails
  member->join(std::move(socket), std::move(hello), deadline);
  return session;
}

Session::Session(std::shared_ptr<Member> member) : member_(std::move(member)) {}

Session::~Session() { leave(); }

const std::vector<Peer>& Session::peers() const noexcept { return member_->peers(); }

bool Session::is_member(std::uint32_t rank) const noexcept { return member_->is_member(rank); }

void Session::watch(Listener* listener) { member_->watch(listener); }

void Session::post(std::uint32_t to, std::span<const std::byte> bytes) {
  const std::shared_ptr<Member> member = member_;  // the session may be destroyed meanwhile
  member->post(to, bytes);
}

std::vector<std::vector<std::byte>> Session::all_gather(std::span<const std::byte> mine,
                                                        std::chrono::milliseconds timeout) {
  const std::shared_ptr<Member> member = member_;  // the session may be destroyed meanwhile
  return member->all_gather(mine, timeout);
}

void Session::barrier(std::chrono::milliseconds timeout) { (void)all_gather({}, timeout); }

void Session::leave() noexcept { member_->leave(); }

}  // namespace weft::control
